"""The visible check of each exercise, and what it can say."""

import linecache
import sysconfig
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from .catalogue import load_lessons
from .errors import NotAttempted, NotRight

NOT_ATTEMPTED = "not attempted"
RAISED = "raised an error"
NOT_RIGHT = "not right yet"
PASSED = "visible checks passed"

OUTCOME_MIME = "application/vnd.manyheads.outcome+json"


@dataclass(frozen=True)
class Exercise:
    """One exercise: its visible check, its points and how many hidden checks (graded test cells) wait for it."""

    name: str
    lesson: str
    points: float
    hidden: int
    names: tuple[str, ...]
    check: Callable


@dataclass(frozen=True)
class Outcome:
    """What a visible check says of one exercise."""

    exercise: str
    status: str
    message: str = ""
    mistake: str | None = None

    @property
    def passed(self) -> bool:
        return self.status == PASSED

    def __str__(self) -> str:
        separator = " " if self.passed else ": "
        return f"{self.exercise}: {self.status}" + (f"{separator}{self.message}" if self.message else "")

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": str(self), OUTCOME_MIME: asdict(self)}


# Frames in these folders are never the student's: this package, Python's own library, installed packages.
_NOT_THEIRS = (str(Path(__file__).resolve().parents[1]),
               *(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")))

_EXERCISES: dict[str, Exercise] = {}


def exercise(name: str, lesson: str, points: float, hidden: int, names: tuple[str, ...]) -> Callable:
    """Register the decorated function as the visible check of an exercise.

    It takes the student's objects in the order of ``names``, and raises NotRight or NotAttempted, or passes.
    """

    def register(check: Callable) -> Callable:
        if name in _EXERCISES:
            raise ValueError(f"the exercise {name!r} is registered twice")
        _EXERCISES[name] = Exercise(name, lesson, points, hidden, names, check)
        return check

    return register


def exercises(lesson: str | None = None) -> list[Exercise]:
    """All exercises, or those of one lesson, in the order of the lesson."""
    load_lessons()
    chosen = [entry for entry in _EXERCISES.values() if lesson in (None, entry.lesson)]
    return sorted(chosen, key=lambda entry: entry.lesson)  # whichever lesson was imported first


def outcome(name: str, *answers: object) -> Outcome:
    """Run the visible check of an exercise on the student's objects. Raises KeyError for an unknown exercise."""
    load_lessons()
    if name not in _EXERCISES:
        raise KeyError(f"no exercise is called {name!r}; there are: {', '.join(_EXERCISES)}")
    entry = _EXERCISES[name]
    try:
        entry.check(*answers)
    except (NotImplementedError, NotAttempted) as problem:
        return Outcome(name, NOT_ATTEMPTED, str(problem) if isinstance(problem, NotAttempted) else "")
    except NotRight as problem:
        return Outcome(name, NOT_RIGHT, str(problem), problem.mistake)
    except Exception as problem:
        return Outcome(name, RAISED, f"{type(problem).__name__}: {problem}{_student_line(problem)}")
    many = f"{entry.hidden} hidden check{'' if entry.hidden == 1 else 's'}"
    return Outcome(name, PASSED, f"({many} run when this is graded)")


def visible(name: str, *answers: object) -> None:
    """Show what the visible check of an exercise says of the student's objects, in the order of its names."""
    result = outcome(name, *answers)
    from IPython import get_ipython

    if get_ipython() is None:
        print(result)
        return
    from IPython.display import display

    display(result)


def _student_line(problem: BaseException) -> str:
    """Where in the student's own code it happened: the deepest frame that is neither ours nor a library's."""
    found = ""
    step = problem.__traceback__
    while step is not None:
        filename = step.tb_frame.f_code.co_filename
        if not filename.startswith(_NOT_THEIRS):
            text = linecache.getline(filename, step.tb_lineno).strip()
            found = f"\n  in your {step.tb_frame.f_code.co_name}, line {step.tb_lineno}" + (f": {text}" if text else "")
        step = step.tb_next
    return found
