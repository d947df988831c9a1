"""How long a learner and a grader wait, lesson by lesson.      python benchmarks/lessons.py [LESSON ...]

Prints, for each lesson in source/, as medians over three runs:

  read     seconds to run the solution notebook top to bottom, pictures and training included
  grade    seconds that its own cells take while nbgrader grades (NBGRADER_EXECUTION set): without kernel start and the
           import of torch, which every notebook pays alike, and without the messages between grader and kernel
  + talk   the same with those messages, about 4 ms a cell
  x        read / grade
  check    milliseconds for the slowest visible check of an exercise

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

WARM_UP = """
import time as _time
import torch, manyheads.check.exercises
_spent, _since = 0.0, None
def _begin(info):
    global _since
    _since = _time.perf_counter()
def _end(result):
    global _spent
    if _since is not None:
        _spent += _time.perf_counter() - _since
get_ipython().events.register("pre_run_cell", _begin)
get_ipython().events.register("post_run_cell", _end)
"""

TIME_CHECKS = """
print(_spent)
from manyheads.check import exercises as _exercises
_times = []
for _entry in _exercises.exercises({lesson!r}):
    _answers = [globals()[_name] for _name in _entry.names]
    _start = _time.perf_counter()
    _result = _exercises.outcome(_entry.name, *_answers)
    _times.append(_time.perf_counter() - _start)
    assert _result.passed, _result
print(max(_times))
"""


def run(lesson: str, grading: bool) -> tuple[float, float, float]:
    """Seconds until the notebook has run, seconds inside its cells, and seconds for the slowest visible check."""
    os.environ.pop("NBGRADER_EXECUTION", None)
    if grading:
        os.environ["NBGRADER_EXECUTION"] = "autograde"
    notebook = nbformat.read(ROOT / "source" / lesson / f"{lesson}.ipynb", as_version=4)
    cells = len(notebook.cells)
    notebook.cells += map(nbformat.v4.new_code_cell, (WARM_UP, TIME_CHECKS.format(lesson=lesson)))
    client = NotebookClient(notebook, timeout=120, extra_arguments=["--IPKernelApp.log_level=40"])
    with client.setup_kernel():
        client.execute_cell(notebook.cells[cells], cells)
        start = time.perf_counter()
        for place, cell in enumerate(notebook.cells[:cells]):
            client.execute_cell(cell, place)
        seconds = time.perf_counter() - start
        client.execute_cell(notebook.cells[cells + 1], cells + 1)
    printed = "".join(output.text for output in notebook.cells[cells + 1].outputs)  # may come in pieces
    inside, checking = map(float, printed.split())
    return seconds, inside, checking


def measure(lesson: str) -> tuple[float, float, float, float]:
    reading = [run(lesson, grading=False) for _ in range(RUNS)]
    grading = [run(lesson, grading=True) for _ in range(RUNS)]
    return (statistics.median(seconds for seconds, _, _ in reading),
            statistics.median(inside for _, inside, _ in grading),
            statistics.median(seconds for seconds, _, _ in grading),
            statistics.median(checking for _, _, checking in reading))


def import_milliseconds() -> float:
    def start_python(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    empty = statistics.median(start_python("pass") for _ in range(7))
    return 1000 * (statistics.median(start_python("import manyheads") for _ in range(7)) - empty)


if __name__ == "__main__":
    lessons = sys.argv[1:] or sorted(path.name for path in (ROOT / "source").iterdir() if path.is_dir())
    print(f"{'lesson':24} {'read s':>8} {'grade s':>8} {'+ talk s':>9} {'x':>6} {'check ms':>9}")
    for lesson in lessons:
        read, grade, talk, check = measure(lesson)
        print(f"{lesson:24} {read:8.2f} {grade:8.3f} {talk:9.3f} {read / grade:6.0f} {1000 * check:9.1f}", flush=True)
    print(f"import manyheads: {import_milliseconds():.0f} ms more than an empty Python")
