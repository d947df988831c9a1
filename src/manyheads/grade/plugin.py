"""What the course's nbgrader_config.py switches on."""

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import CheckCellMetadata, ClearOutput, GetGrades, OverwriteCells, OverwriteKernelspec
from traitlets.config import Config

from .feedback import FeedbackPage, RedactTests
from .intake import ForgetRemovedCells, ResolveDuplicates


def configure(c: Config) -> None:
    """Put the grader into an nbgrader configuration: ``configure(c)`` in nbgrader_config.py."""
    c.Autograde.sanitize_preprocessors = [
        ClearOutput, ResolveDuplicates, OverwriteKernelspec, OverwriteCells, ForgetRemovedCells, CheckCellMetadata,
    ]
    # nbgrader counts a test cell with stderr as failed; a correct function that warns is correct.
    c.IgnorePattern.enabled = True
    c.IgnorePattern.pattern = r"\S"
    c.GenerateFeedback.preprocessors = [GetGrades, RedactTests, CSSHTMLHeaderPreprocessor]
    c.GenerateFeedback.exporter_class = FeedbackPage
    c.HTMLExporter.filters = {"markdown2html": "manyheads.grade.feedback.safe_markdown"}
    c.Execute.shutdown_kernel = "immediate"  # a graceful shutdown takes longer than a lesson's cells
    c.Execute.extra_arguments = ["--Application.log_level=ERROR"]  # ipykernel warns about TCP in every kernel
