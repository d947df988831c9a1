"""How long a learner and a grader wait, lesson by lesson.      python benchmarks/lessons.py [LESSON ...]

Prints, for each lesson in source/, as medians over three runs:

  read     seconds to run the solution notebook top to bottom, pictures and training included
  grade    seconds that its own cells take while nbgrader grades (NBGRADER_EXECUTION set), without kernel start and the
           import of torch, which every notebook pays alike
  x        read / grade
  check    milliseconds for the visible check of one exercise (median over the lesson's exercises)

and the milliseconds that `import manyheads` adds to an empty Python. Wall-clock times depend on the machine; run it on
the one you care about. Goals: read < 20 s, grade < 0.25 s, check < 150 ms, import < 50 ms.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
RUNS = 3

TIME_CHECKS = """
import time as _time
from manyheads.check import exercises as _exercises
_times = []
for _entry in _exercises.exercises({lesson!r}):
    _answers = [globals()[_name] for _name in _entry.names]
    _start = _time.perf_counter()
    _result = _exercises.outcome(_entry.name, *_answers)
    _times.append(_time.perf_counter() - _start)
    assert _result.passed, _result
print(sorted(_times)[len(_times) // 2])
"""


def run(notebook: nbformat.NotebookNode, grading: bool) -> tuple[float, float]:
    """Seconds spent in the notebook's cells, and in the visible check of one exercise."""
    os.environ.pop("NBGRADER_EXECUTION", None)
    if grading:
        os.environ["NBGRADER_EXECUTION"] = "autograde"
    client = NotebookClient(notebook, timeout=120)
    lesson = notebook.metadata["lesson"]
    with client.setup_kernel():
        index = len(notebook.cells)
        notebook.cells.append(nbformat.v4.new_code_cell("import torch, manyheads.check.exercises"))
        client.execute_cell(notebook.cells[index], index)
        start = time.perf_counter()
        for place, cell in enumerate(notebook.cells[:index]):
            client.execute_cell(cell, place)
        seconds = time.perf_counter() - start
        notebook.cells.append(nbformat.v4.new_code_cell(TIME_CHECKS.format(lesson=lesson)))
        client.execute_cell(notebook.cells[index + 1], index + 1)
        checking = float(notebook.cells[index + 1].outputs[0].text)
    return seconds, checking


def measure(lesson: str) -> tuple[float, float, float]:
    read, grade, check = [], [], []
    for _ in range(RUNS):
        for grading, seconds in ((False, read), (True, grade)):
            notebook = nbformat.read(ROOT / "source" / lesson / f"{lesson}.ipynb", as_version=4)
            notebook.metadata["lesson"] = lesson
            cells, checking = run(notebook, grading)
            seconds.append(cells)
            check.append(checking)
    return statistics.median(read), statistics.median(grade), statistics.median(check)


def import_milliseconds() -> float:
    def start_python(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    empty = statistics.median(start_python("pass") for _ in range(7))
    return 1000 * (statistics.median(start_python("import manyheads") for _ in range(7)) - empty)


if __name__ == "__main__":
    lessons = sys.argv[1:] or sorted(path.name for path in (ROOT / "source").iterdir() if path.is_dir())
    print(f"{'lesson':24} {'read s':>8} {'grade s':>8} {'x':>6} {'check ms':>9}")
    for lesson in lessons:
        read, grade, check = measure(lesson)
        print(f"{lesson:24} {read:8.2f} {grade:8.3f} {read / grade:6.0f} {1000 * check:9.1f}", flush=True)
    print(f"import manyheads: {import_milliseconds():.0f} ms more than an empty Python")
