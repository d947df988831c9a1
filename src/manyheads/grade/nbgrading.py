"""nbgrader's own steps on a course folder, without trusting what they return: each looks at what it made."""

import contextlib
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import CsvExportPlugin
from sqlalchemy.exc import SAWarning
from traitlets.config import Config
from traitlets.log import get_logger

from manyheads.course.lesson import Course
from manyheads.course.stock import find_tools, nbgrader_config, quiet, stop_if_interrupted

# The last line of a traceback in nbgrader's log, which indents them.
_EXCEPTION = re.compile(r"^    [A-Za-z_][\w.]*(Error|Exception|Entry|Interrupt|Died)\b")


class Failed(Exception):
    """A step that did not make what it should have made, in one line."""


class Nbgrader:
    """nbgrader on one course folder, under that folder's nbgrader_config.py. Everything stays inside the folder."""

    def __init__(self, course: Course):
        self.course = course
        self.config: Config = nbgrader_config(course)
        self.config.CourseDirectory.root = str(course.root)
        self.config.CourseDirectory.db_url = f"sqlite:///{course.root / 'gradebook.db'}"
        with quiet(get_logger()):  # it complains about a missing exchange, which nobody needs here
            self.api = NbGraderAPI(coursedir=CourseDirectory(config=self.config), config=self.config)

    def release(self, lesson: str) -> None:
        """Make the student version and enter the lesson into the gradebook. Raises Failed."""
        made = self.course.notebook("release", lesson)
        self._run(lambda: self.api.generate_assignment(lesson, force=True, create=True), made)

    def hand_in(self, lesson: str, student: str, nb: NotebookNode) -> Path:
        """Write a notebook to where nbgrader collects it."""
        path = self.place("submitted", lesson, student)
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nb, path)
        return path

    def autograde(self, lesson: str, student: str) -> None:
        """Grade one submission. Raises Failed."""
        self._run(lambda: self.api.autograde(lesson, student, force=True), self.place("autograded", lesson, student))

    def feedback(self, lesson: str, student: str) -> Path:
        """Write one student's feedback. Raises Failed."""
        made = self.place("feedback", lesson, student).with_suffix(".html")
        self._run(lambda: self.api.generate_feedback(lesson, student, force=True), made)
        return made

    def export(self, path: Path) -> None:
        """Write the gradebook as nbgrader's CSV. Raises Failed."""
        plugin = CsvExportPlugin(config=self.config)
        plugin.to = str(path)

        def write() -> dict:
            with quiet(plugin.log), self.gradebook() as gradebook:
                plugin.export(gradebook)
            return {"success": True}

        self._run(write, path)

    def gradebook(self) -> Gradebook:
        return Gradebook(self.config.CourseDirectory.db_url, self.api.course_id)

    def place(self, step: str, lesson: str, student: str) -> Path:
        """The notebook of a submission; ``step`` is "submitted", "autograded" or "feedback"."""
        return self.course.root / step / student / lesson / f"{lesson}.ipynb"

    def _run(self, step, made: Path) -> None:
        made.unlink(missing_ok=True)  # so that an old file is no proof
        with quiet(self.api.log), _environment():
            result = step()
        stop_if_interrupted(result)
        if not result["success"] or not made.is_file():
            raise Failed(_reason(result))


def _reason(result: dict) -> str:
    """The line of nbgrader's log that says why: the exception if there is one, else the first error."""
    log = result.get("log", "").splitlines()
    raised = [re.sub(r"^[\w.]+\.", "", line.strip()) for line in log if _EXCEPTION.match(line)]
    errors = [line for line in log if line.startswith(("[ERROR]", "[CRITICAL]"))]
    return (raised[-1:] or errors[:1] or [result.get("error", "nbgrader gave no reason").strip().splitlines()[-1]])[0]


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """One BLAS thread in the kernels: faster than many on tiny tensors, and gentler on a shared machine."""
    find_tools()
    kept = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # of nbgrader's own queries
            yield
    finally:
        if kept is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = kept
