"""How long a check of one exercise takes, once torch is loaded.      python benchmarks/checks.py

Prints, for each lesson, medians over its exercises in milliseconds, each the median of five runs:

  visible    the visible check of a right answer
  hidden     all graded test cells of an exercise, hidden tests included, on a right answer
  wrong      the same on the wrong answers of tests/mistakes, where mistakes are looked for
  slowest    the slowest exercise among `visible` and `hidden`

Goal: below 150 ms for checking one exercise. Wall-clock times depend on the machine.
"""

import contextlib
import io
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
os.environ["NBGRADER_EXECUTION"] = "autograde"  # demonstrations stay silent

import test_banks as banks  # noqa: E402
import torch  # noqa: E402

from manyheads.check import exercises  # noqa: E402
from manyheads.course.lesson import python_of  # noqa: E402

RUNS = 5


def milliseconds(work: Callable, *args: object, runs: int = RUNS) -> float:
    """The median of some runs of ``work(*args)``, after one that only warms up."""
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            work(*args)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[1:])


def solved(number: str) -> dict:
    """The names of a lesson's set-up and solution cells."""
    names = {}
    for cell in banks.notebook(number).cells:
        if cell.cell_type == "code" and cell.metadata.manyheads.role in ("setup", "student"):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(python_of(cell), names)
    return names


def hidden_tests(number: str, exercise: str, names: dict) -> None:
    """Run all graded test cells of an exercise."""
    for cell in banks.cells_of(number, exercise):
        banks.last_value(python_of(cell), names)


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'':24}{'visible':>9}{'hidden':>9}{'wrong':>9}   slowest")
    for lesson in dict.fromkeys(entry.lesson for entry in exercises.exercises()):
        number, names = lesson[:2], solved(lesson[:2])
        visible, hidden = {}, {}
        for entry in exercises.exercises(lesson):
            answers = [names[name] for name in entry.names]
            assert exercises.outcome(entry.name, *answers).passed, entry.name
            visible[entry.name] = milliseconds(exercises.outcome, entry.name, *answers)
            hidden[entry.name] = milliseconds(hidden_tests, number, entry.name, names)
        wrong = [milliseconds(banks.verdict.__wrapped__, path, runs=1)
                 for path in banks.WRONG if path.name.startswith(number)]
        both = [(time_of, name, kind) for kind, times in (("visible", visible), ("hidden", hidden))
                for name, time_of in times.items()]
        slowest, name, kind = max(both)
        print(f"{lesson:24}{statistics.median(visible.values()):9.2f}{statistics.median(hidden.values()):9.1f}"
              f"{statistics.median(wrong):9.1f}   {name} ({kind}) {slowest:.0f}")


if __name__ == "__main__":
    main()
