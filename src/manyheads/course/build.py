"""Build lessons: lesson text -> source -> release and solutions, by nbgrader's own converters.

All work happens in a scratch folder with a throwaway database; a lesson is swapped in when nothing refused it.
The class gradebook is never opened.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Base
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import GenerateSolution
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import Execute
from nbgrader.utils import capture_log, temp_attrs
from sqlalchemy import create_engine
from traitlets.config import Config

from . import refuse
from .lesson import LANGUAGE_INFO, Course, Problem, Refused, fingerprint, lesson_text, read_lesson, read_notebook
from .stock import find_tools, nbgrader_config, quiet, stop_if_interrupted

STEPS = ("source", "release", "solutions")
# Files of no interest beside a notebook; the same list as nbgrader's CourseDirectory.ignore.
_IGNORED = shutil.ignore_patterns(".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback")
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_SECONDS_A_CELL = 300


@dataclass(frozen=True)
class Stale:
    """A committed file that a build would change."""

    path: str
    why: str


def build(
    course: Course,
    lessons: list[str] | None = None,
    solutions: bool = True,
    say: Callable[[str], object] = lambda line: None,
) -> list[str]:
    """Build `lessons` (default: all that exist) and return their names; `say` is told of each when it is done.

    Every lesson that can be built is swapped in. Raises Refused with the problems of those that cannot; their
    notebooks stay as they were. Without `solutions` nothing is executed: quick, for an author at work.
    """
    built, refused = [], []
    for lesson in lessons or course.lessons():
        try:
            refuse_overwriting(course, lesson)
            with scratch_course(course) as scratch:
                make_lesson(course, scratch, lesson)
                if solutions:
                    run_blank(scratch, lesson)
                    make_solution(course, scratch, lesson)
                with _one_at_a_time(course):
                    for step in STEPS if solutions else STEPS[:2]:
                        _swap_in(scratch.folder(step, lesson), course.folder(step, lesson))
            built.append(lesson)
            say(f"{lesson}: {', '.join(STEPS)}" if solutions else f"{lesson}: source, release (solutions not run)")
        except Refused as error:
            refused.append(error)
    if refused:
        raise Refused.together(refused)
    return built


def build_into(root: Path, lessons: list[str] | None = None, origin: Course | None = None) -> Course:
    """A fresh course folder at `root` with `lessons` of `origin` (default: this repository) in source/ and release/.

    For tests and demonstrations: the folder has its own nbgrader_config.py and no gradebook yet; nothing is executed.
    """
    origin = origin or Course.find(Path(__file__).parent)
    lessons = lessons or origin.lessons()
    copy = Course(Path(root))
    (copy.root / "lessons").mkdir(parents=True)
    shutil.copy(origin.root / "nbgrader_config.py", copy.root)
    for lesson in lessons:
        shutil.copy(origin.text(lesson), copy.root / "lessons")
        if origin.helpers(lesson).is_dir():
            shutil.copytree(origin.helpers(lesson), copy.helpers(lesson), ignore=_IGNORED)
    build(copy, lessons, solutions=False)
    return copy


def check(course: Course, lessons: list[str] | None = None) -> list[Stale]:
    """The committed files under source/, release/ and solutions/ that are not what a build would make.

    source/ and release/ are compared byte for byte, solutions/ by their hash and the sources of their cells, so
    nothing is executed. Raises Refused if a lesson cannot be built.
    """
    stale = []
    for lesson in lessons or course.lessons():
        with scratch_course(course) as scratch:
            make_lesson(course, scratch, lesson)
            for step in STEPS[:2]:
                stale += _differences(course, scratch, step, lesson)
            stale += _stale_solution(course, scratch, lesson)
    if lessons is None:
        for step in STEPS:
            for folder in sorted((course.root / step).glob("[0-9][0-9]_*")):
                if folder.name not in course.lessons():
                    stale.append(Stale(f"{step}/{folder.name}", f"there is no lessons/{folder.name}.md"))
    return stale


# ---- one lesson -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def scratch_course(course: Course) -> Iterator[Course]:
    """A temporary course folder under `course`'s nbgrader configuration."""
    with tempfile.TemporaryDirectory(prefix="manyheads-build-") as folder:
        scratch = Course(Path(folder).resolve())
        (scratch.root / "lessons").mkdir()
        shutil.copy(course.root / "nbgrader_config.py", scratch.root)
        # With tables there already, nbgrader does not call alembic for the version: a second saved.
        engine = create_engine(scratch_database(scratch))
        Base.metadata.create_all(engine)
        engine.dispose()
        yield scratch


def scratch_database(scratch: Course) -> str:
    """The address of the throwaway gradebook."""
    return f"sqlite:///{scratch.root / 'gradebook.db'}"


def make_lesson(course: Course, scratch: Course, lesson: str) -> None:
    """Make source/ and release/ of one lesson in `scratch`. Raises Refused."""
    source = make_source(course, lesson)
    if course.helpers(lesson).is_dir():
        shutil.copytree(course.helpers(lesson), scratch.folder("source", lesson), ignore=_IGNORED, dirs_exist_ok=True)
    # First a copy with a marker in every secret region: no text search can be surer than that.
    canary = f"canary-{secrets.token_hex(8)}"
    _write(refuse.with_canary(source, canary), scratch.notebook("source", lesson))
    convert(scratch, lesson, "release")
    problems = refuse.canary_problems(canary, scratch.folder("release", lesson))
    _write(source, scratch.notebook("source", lesson))
    convert(scratch, lesson, "release")
    problems = problems or refuse.leaks(source, scratch.folder("release", lesson))
    if problems:
        raise Refused(lesson, *problems)


def make_source(course: Course, lesson: str) -> NotebookNode:
    """The source notebook of a lesson. Raises Refused."""
    notebook = read_lesson(lesson_text(course, lesson), lesson)
    problems = refuse.source_problems(lesson, notebook)
    if problems:
        raise Refused(lesson, *problems)
    helpers = helper_hashes(course.helpers(lesson))
    if any(name.endswith(".ipynb") for name in helpers):
        remedy = f"Move it out of lessons/{lesson}/: nbgrader would take it for a second notebook of the assignment."
        raise Refused(lesson, Problem(None, "a helper file is a notebook", remedy))
    header = notebook.metadata.manyheads
    header["names"] = refuse.names_of(notebook)
    if helpers:
        header["files"] = helpers
    header["built"] = fingerprint(notebook)
    return notebook


def helper_hashes(folder: Path, but: str = "") -> dict[str, str]:
    """Path -> sha256 of the files in `folder` (none if it does not exist), except the one called `but`."""
    if not folder.is_dir():
        return {}
    hashes = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != but and not {".ipynb_checkpoints", "__pycache__"} & set(path.parts):
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def edited_by_hand(course: Course, lesson: str) -> bool:
    """Whether the source folder holds an edit that neither the build nor `adopt` has seen.

    Raises Refused if its notebook cannot be read.
    """
    path = course.notebook("source", lesson)
    if not path.is_file():
        return False
    notebook = read_notebook(path, lesson)
    header = notebook.metadata.get("manyheads", {})
    helpers = helper_hashes(path.parent, but=path.name)
    return header.get("built") != fingerprint(notebook) or dict(header.get("files", {})) != helpers


def mark_as_seen(course: Course, lesson: str) -> None:
    """Let the source folder as it is count as no edit: its lesson text has everything."""
    path = course.notebook("source", lesson)
    notebook = nbformat.read(path, as_version=4)
    header = notebook.metadata.setdefault("manyheads", {})
    header["built"] = fingerprint(notebook)
    header["files"] = helper_hashes(path.parent, but=path.name)
    _write(notebook, path)


def refuse_overwriting(course: Course, lesson: str) -> None:
    """Raise Refused if a build would lose what somebody edited in the source notebook."""
    if edited_by_hand(course, lesson):
        what = f"source/{lesson}/ was edited since it was built"
        raise Refused(lesson, Problem(None, what, f"Run `manyheads adopt {lesson}` to keep the edit, then build again."))


def run_blank(scratch: Course, lesson: str) -> None:
    """Run the release notebook as a student who has not begun. Raises Refused if it raises what it must not."""
    notebook = nbformat.read(scratch.notebook("release", lesson), as_version=4)
    problems = refuse.blank_problems(_execute(scratch, notebook, scratch.folder("release", lesson)))
    if problems:
        raise Refused(lesson, *problems)


def make_solution(course: Course, scratch: Course, lesson: str) -> None:
    """Make the executed solution of one lesson in `scratch`, without timings and widgets. Raises Refused."""
    convert(scratch, lesson, "solutions")
    path = scratch.notebook("solutions", lesson)
    notebook = nbformat.read(path, as_version=4)
    problems = refuse.solution_problems(notebook)
    if problems:
        raise Refused(lesson, *problems)
    tidy(notebook)
    notebook.metadata.manyheads["solution"] = solution_hash(course, scratch.notebook("source", lesson))
    _write(notebook, path)


def tidy(notebook: NotebookNode) -> None:
    """Drop from an executed notebook what differs from run to run, and widgets.

    Kept widget state would make an HTML export load scripts from the network; the static twin stays.
    """
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = LANGUAGE_INFO
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type != "code":
            continue
        kept = []
        for output in cell.outputs:
            data = output.get("data", {})
            if data.pop(_WIDGET_VIEW, None) is not None and set(data) <= {"text/plain"}:
                continue  # a bare "VBox(...)" line is no picture
            kept.append(output)
        cell.outputs = kept


def solution_hash(course: Course, source: Path) -> str:
    """A hash of all that an executed solution depends on: its source, what a notebook can import, the lock."""
    digest = hashlib.sha256(source.read_bytes())
    for path in _imported_files():
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    lock = course.root / "requirements.txt"
    digest.update(lock.read_bytes() if lock.is_file() else b"")
    return digest.hexdigest()


def _imported_files() -> list[Path]:
    """The rooms of the package that a lesson imports; changes in grade/ and course/ leave solutions as they are."""
    package = Path(__file__).parents[1]
    rooms = [path for room in ("learn", "check") for path in (package / room).rglob("*")]
    files = [path for path in (package / "__init__.py", *rooms) if path.is_file() and "__pycache__" not in path.parts]
    return sorted(files)


# ---- nbgrader -------------------------------------------------------------------------------------------------


def _build_config(scratch: Course) -> Config:
    config = nbgrader_config(scratch)
    config.CourseDirectory.root = str(scratch.root)
    config.CourseDirectory.db_url = scratch_database(scratch)
    config.Execute.timeout = _SECONDS_A_CELL
    config.Execute.extra_arguments = ["--log-level=ERROR"]  # ipykernel warns about TCP at every start
    return config


def convert(scratch: Course, lesson: str, step: str) -> None:
    """Run nbgrader's converter for `step`. Its return code says nothing, so look at what it made."""
    config = _build_config(scratch)
    api = NbGraderAPI(coursedir=CourseDirectory(config=config), config=config)
    with quiet(api.log), _as_a_reader():
        if step == "release":
            result = api.generate_assignment(lesson, force=True, create=True)
        else:
            with temp_attrs(api.coursedir, assignment_id=lesson):
                converter = GenerateSolution(coursedir=api.coursedir, parent=api)
                converter.force = True
                result = capture_log(converter)
    stop_if_interrupted(result)
    if not result["success"] or not scratch.notebook(step, lesson).is_file():
        log = result.get("log") or result.get("error", "")
        # The exception itself stands at the end of an indented traceback; what follows only points at it.
        said = (re.findall(r"^ +([\w.]+(?:Error|Exception|Exit): .+)", log, re.MULTILINE) or [log.strip()])[0]
        raise Refused(lesson, Problem(None, f"nbgrader could not make {step}/{lesson}", f"It says: {said}"))


def _execute(scratch: Course, notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run a notebook in `folder` with nbgrader's executor, going on after errors."""
    executor = Execute(config=_build_config(scratch))
    with _as_a_reader():
        executor.preprocess(notebook, {"metadata": {"path": str(folder)}})
    return notebook


@contextlib.contextmanager
def _as_a_reader() -> Iterator[None]:
    """Without NBGRADER_EXECUTION: demonstrations show themselves."""
    find_tools()
    kept = os.environ.pop("NBGRADER_EXECUTION", None)
    try:
        yield
    finally:
        if kept is not None:
            os.environ["NBGRADER_EXECUTION"] = kept


# ---- files ----------------------------------------------------------------------------------------------------


def _write(notebook: NotebookNode, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


@contextlib.contextmanager
def _one_at_a_time(course: Course) -> Iterator[None]:
    """Wait until no other build swaps its notebooks into this course."""
    with open(course.root / "nbgrader_config.py", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # given up when the file is closed, also by a crash
        yield


def _swap_in(made: Path, place: Path) -> None:
    """Put the folder `made` at `place`: written beside it, then renamed, so no half-written notebook is ever seen."""
    new, old = place.parent / f".{place.name}.new", place.parent / f".{place.name}.old"
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(made, new, ignore=_IGNORED)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _differences(course: Course, scratch: Course, step: str, lesson: str) -> list[Stale]:
    committed, fresh = course.folder(step, lesson), scratch.folder(step, lesson)
    have, want = helper_hashes(committed), helper_hashes(fresh)
    stale = []
    for name in sorted(have.keys() | want.keys()):
        if have.get(name) != want.get(name):
            why = "missing" if name not in have else "not made by the build" if name not in want else "differs"
            stale.append(Stale(f"{step}/{lesson}/{name}", why))
    return stale


def _stale_solution(course: Course, scratch: Course, lesson: str) -> list[Stale]:
    path, name = course.notebook("solutions", lesson), f"solutions/{lesson}/{lesson}.ipynb"
    if not path.is_file():
        return [Stale(name, "missing")]
    try:
        solution = read_notebook(path, lesson)
    except Refused:
        return [Stale(name, "no notebook")]
    source_path = scratch.notebook("source", lesson)
    source = nbformat.read(source_path, as_version=4)
    if [cell.source for cell in solution.cells] != [cell.source for cell in source.cells]:
        return [Stale(name, "its cells are not those of the source")]
    if solution.metadata.get("manyheads", {}).get("solution") != solution_hash(course, source_path):
        return [Stale(name, "the source, the package or the lock changed since it ran")]
    return []
