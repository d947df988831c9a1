"""A solved lesson, run in one namespace; answers from the banks; what the visible checks say of them."""

import contextlib
import io
from functools import cache

import pytest
import test_banks as banks

from manyheads.check import exercises
from manyheads.course.lesson import python_of


def run(number: str, solution=python_of) -> tuple[dict, str]:
    """The names and the printed text after running every cell of a lesson but its tests, while nobody looks.

    ``solution`` says what to run for a solution cell.
    """
    names, printed = {}, io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("NBGRADER_EXECUTION", "autograde")
        for cell in banks.notebook(number).cells:
            if cell.cell_type == "code" and cell.metadata.manyheads.role != "test":
                exec(solution(cell) if cell.metadata.get("nbgrader", {}).get("solution") else python_of(cell), names)
    return names, printed.getvalue()


@cache
def solved(number: str) -> tuple[dict, str]:
    return run(number)


def bank(kind: str, number: str, slug: str) -> dict:
    """The names that a bank file defines."""
    names = {}
    exec((banks.HERE / kind / f"{number}_{slug}.py").read_text(encoding="utf-8"), names)
    return names


def say(exercise: str, names: dict) -> exercises.Outcome:
    """What the visible check of an exercise says."""
    (entry,) = [entry for entry in exercises.exercises() if entry.name == exercise]
    return exercises.outcome(exercise, *(names.get(name) for name in entry.names))
