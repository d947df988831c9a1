"""A small class for tests, graded by nbgrader itself."""

import logging

import nbformat
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory

from manyheads.course.lesson import Course
from manyheads.course.stock import find_tools, nbgrader_config


class Class:
    """Students of a scratch course folder with its own gradebook.db."""

    def __init__(self, course: Course):
        find_tools()
        self.course = course
        config = nbgrader_config(course)
        self.api = NbGraderAPI(coursedir=CourseDirectory(config=config), config=config)
        self.api.log.setLevel(logging.CRITICAL)

    def hand_in(self, student: str, lesson: str, notebook: nbformat.NotebookNode) -> None:
        path = self.course.root / "submitted" / student / lesson / f"{lesson}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)

    def autograde(self, student: str, lesson: str) -> dict[str, float | None]:
        """nbgrader's automatic score of each graded cell."""
        result = self.api.autograde(lesson, student, force=True)
        assert result["success"], result
        with self.gradebook() as gradebook:
            submission = gradebook.find_submission_notebook(lesson, lesson, student)
            return {grade.name: grade.auto_score for grade in submission.grades}

    def gradebook(self) -> Gradebook:
        return Gradebook(self.api.coursedir.db_url, self.api.coursedir.course_id)


def blank(course: Course, lesson: str) -> nbformat.NotebookNode:
    """What a student hands in who did nothing."""
    return nbformat.read(course.notebook("release", lesson), as_version=4)


def solved(course: Course, lesson: str) -> nbformat.NotebookNode:
    """The release with every answer of the source filled in."""
    notebook = blank(course, lesson)
    right = {cell.id: cell for cell in nbformat.read(course.notebook("source", lesson), as_version=4).cells}
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = right[cell.id].source
    return notebook
