"""The graded sample that lies committed under autograded/, so that a reader sees a result without grading anything."""

import hashlib
import shutil
import tempfile
from pathlib import Path

import nbformat
from nbgrader.utils import determine_grade

from manyheads.course import sample
from manyheads.course.build import Stale, solution_hash, tidy
from manyheads.course.lesson import Course, Refused, read_notebook

from . import feedback
from .nbgrading import Nbgrader
from .sandbox import probe


def place(course: Course, lesson: str) -> Path:
    return course.root / "autograded" / sample.COMMITTED / lesson / f"{lesson}.ipynb"


def refresh_sample(course: Course, lessons: list[str] | None = None) -> list[Path]:
    """Grade the sample of each lesson anew where it is stale, and return the notebooks written.

    Grading happens in a scratch folder; the class gradebook is not touched. What is kept is what the student would
    see of the grading (no hidden tests, one message a test cell). Demonstrations and experiments lose their outputs,
    which are incomplete while grading and may be random, so that the sample is the same on every machine. Raises Failed.
    """
    written = []
    for stale in stale_sample(course, lessons):
        lesson = Path(stale.path).stem
        with tempfile.TemporaryDirectory(prefix="manyheads-sample-") as folder:
            path = place(course, lesson)
            path.parent.mkdir(parents=True, exist_ok=True)
            nb = _graded(course, lesson, Course(Path(folder).resolve()))
            path.write_text(nbformat.writes(nb) + "\n", encoding="utf-8")
        written.append(path)
    return written


def stale_sample(course: Course, lessons: list[str] | None = None) -> list[Stale]:
    """The committed samples that a refresh would write, by the hash of all that they depend on; nothing is run."""
    stale = []
    for lesson in lessons or course.lessons():
        path = place(course, lesson)
        name = path.relative_to(course.root).as_posix()
        if not path.is_file():
            stale.append(Stale(name, "missing"))
        elif _made_of(path, lesson) != _hash(course, lesson):
            stale.append(Stale(name, "the source, the sample answers or the grader changed since it was graded"))
    return stale


def _graded(course: Course, lesson: str, scratch: Course) -> nbformat.NotebookNode:
    shutil.copy(course.root / "nbgrader_config.py", scratch.root)
    shutil.copytree(course.folder("source", lesson), scratch.folder("source", lesson))
    nbgrader = Nbgrader(scratch)
    nbgrader.config.IsolatedExecute.sandbox = probe().level  # whatever there is: the sample is our own code
    nbgrader.release(lesson)
    student = sample.COMMITTED.removeprefix("sample-")  # the course's configuration excludes sample-*
    nbgrader.hand_in(lesson, student, sample.hand_in(scratch, lesson, sample.COMMITTED))
    nbgrader.autograde(lesson, student)
    nb = nbformat.read(nbgrader.place("autograded", lesson, student), as_version=4)
    points = {cell.id: determine_grade(cell) for cell in nb.cells if feedback.is_test(cell)}
    experiments = {cell.id for cell in nb.cells if cell.cell_type == "code" and "nbgrader" not in cell.metadata
                   and cell.metadata.manyheads.role != "check"}
    feedback.redact(nb)
    for cell in nb.cells:
        if cell.id in points:
            got, most = points[cell.id]
            cell.outputs[0].text = f"{got:g} of {most:g} points. {cell.outputs[0].text}"
        elif cell.id in experiments:
            cell.outputs = []
    tidy(nb)
    nb.metadata["manyheads"] = {**nb.metadata.get("manyheads", {}), "sample": _hash(course, lesson)}
    nb.metadata["manyheads"].pop("sandbox", None)  # says something of the machine, not of the sample
    return nb


def _made_of(path: Path, lesson: str) -> str | None:
    """The hash that a committed sample carries, if it can be read."""
    try:
        return read_notebook(path, lesson).metadata.get("manyheads", {}).get("sample")
    except Refused:
        return None


def _hash(course: Course, lesson: str) -> str:
    digest = hashlib.sha256(solution_hash(course, course.notebook("source", lesson)).encode())
    answers = sample.ANSWERS / f"{lesson}.toml"
    grader = ("committed", "examiner", "feedback", "hand_in", "harmless", "intake")
    modules = [Path(__file__).with_name(f"{name}.py") for name in grader]
    for path in (answers, Path(sample.__file__), *modules):
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()
