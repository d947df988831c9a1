"""What the course's nbgrader_config.py switches on."""

import os

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, GetGrades, SaveAutoGrades
from traitlets.config import Config

from .execute import IsolatedExecute
from .feedback import FeedbackPage, RedactTests
from .intake import Intake
from .loaded import note_loaded


def configure(c: Config) -> None:
    """Put the grader into an nbgrader configuration: ``configure(c)`` in nbgrader_config.py."""
    c.Autograde.sanitize_preprocessors = [Intake, CheckCellMetadata]
    c.Autograde.autograde_preprocessors = [IsolatedExecute, SaveAutoGrades, AssignLatePenalties, CheckCellMetadata]
    c.GenerateFeedback.preprocessors = [GetGrades, RedactTests, CSSHTMLHeaderPreprocessor]
    c.GenerateFeedback.exporter_class = FeedbackPage
    c.HTMLExporter.filters = {"markdown2html": "manyheads.grade.feedback.safe_markdown"}
    c.Execute.shutdown_kernel = "immediate"  # a graceful shutdown takes longer than a lesson's cells
    c.Execute.extra_arguments = ["--Application.log_level=ERROR"]  # ipykernel warns about TCP in every kernel
    note_loaded(c.CourseDirectory.get("root") or os.getcwd())
