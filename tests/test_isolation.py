"""One notebook in two processes: what a crash, a hang or a lie costs, and what the student hears."""

import os
import socket
import sys

import nbformat
import pytest
import test_banks as banks

from manyheads.course import sample
from manyheads.course.lesson import Course
from manyheads.grade import isolation
from manyheads.grade.isolation import Job, Settings, Workshop
from manyheads.grade.sandbox import Limits

COURSE = Course.find(banks.HERE)
LESSON = "01_motivation"
SOURCE = COURSE.notebook("source", LESSON).read_bytes()
ROW = ["test_softmax_row_values", "test_softmax_row_budget"]
SHAPES = ["test_shapes_01"]


@pytest.fixture(scope="module")
def workshop():
    with Workshop(Settings(limits=Limits(memory_mb=700), seconds_a_cell=4, seconds_a_call=2)) as made:
        yield made


def answered(**cells):
    """The lesson with every answer right but these: grade id of the answer -> its text."""
    nb = sample.hand_in(COURSE, LESSON, "all-right")
    for cell in nb.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = cells.get(name, cell.source)
    return nb


def graded(workshop, nb, **more):
    return workshop.grade(Job(LESSON, SOURCE, nbformat.writes(nb).encode(), **more))


def points(result, names=None):
    return {name: one.points for name, one in result.questions.items() if name in (names or result.questions)}


def statuses(result, names):
    return {result.questions[name].status for name in names}


def others(result, but):
    """Points lost in the other automatic questions."""
    return sum(one.of - one.points for name, one in result.questions.items() if name not in but and one.points is not None)


RIGHT_ROW = "import torch\ndef softmax_row(scores):\n    e = (scores - scores.max()).exp()\n    return e / e.sum()\n"


def test_a_user_without_an_entry_has_a_home(monkeypatch):
    assert "HOME" not in isolation._environment()
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)  # as in containers
    monkeypatch.setenv("HOME", "/somewhere")
    assert isolation._environment()["HOME"] == "/somewhere"
    monkeypatch.delenv("HOME")
    assert isolation._environment()["HOME"]


@pytest.mark.skipif(sys.platform != "linux", reason="the others have only streams")
def test_orders_arrive_by_a_stream_too(monkeypatch):
    """macOS has no packets."""
    monkeypatch.setattr(isolation.frames, "PACKETS", socket.SOCK_STREAM)
    with Workshop(Settings()) as made:
        assert others(graded(made, answered()), []) == 0


def test_right_answers_get_all_automatic_points(workshop):
    result = graded(workshop, answered())
    assert result.status == "graded" and result.sandbox == "full"
    assert others(result, []) == 0
    assert result.questions["written"].points is None and result.questions["written"].status == "by hand"


def test_a_call_that_hangs_costs_its_question(workshop):
    result = graded(workshop, answered(softmax_row="def softmax_row(scores):\n    while True: pass"))
    assert points(result, ROW) == dict.fromkeys(ROW, 0)
    assert statuses(result, ROW) == {"timed out"}
    assert others(result, ROW) == 0


def test_a_cell_that_hangs_and_ignores_interrupts_costs_its_question(workshop):
    stubborn = ("import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException: pass\n"
                "shape_scores = shape_weights = shape_output = 1")
    result = graded(workshop, answered(shapes_01=stubborn))
    assert statuses(result, SHAPES) == {"timed out"} and points(result, SHAPES) == {"test_shapes_01": 0}
    assert others(result, SHAPES) == 0


@pytest.mark.parametrize("end", ["import os; os._exit(0)", "import ctypes; ctypes.string_at(0)", "import os; os.kill(os.getpid(), 9); os._exit(1)"])
def test_a_process_that_ends_costs_its_question(workshop, end):
    result = graded(workshop, answered(softmax_row=f"def softmax_row(scores):\n    {end}"))
    assert statuses(result, ROW) == {"crashed"} and sum(points(result, ROW).values()) == 0
    assert "ended the Python process" in result.questions[ROW[0]].message
    assert others(result, ROW) == 0


def test_a_cell_that_ends_the_process_is_not_run_again(workshop):
    """The process is replaced, and the cells before it are run anew: their names are still there."""
    result = graded(workshop, answered(shapes_01="import os\nos._exit(0)"))
    assert statuses(result, SHAPES) == {"crashed"}
    assert others(result, SHAPES) == 0


def test_too_much_memory_is_told(workshop):
    result = graded(workshop, answered(softmax_row="def softmax_row(scores): return bytearray(10**9)"))
    assert sum(points(result, ROW).values()) == 0 and others(result, ROW) == 0
    assert "MemoryError" in result.questions[ROW[0]].message


def test_an_object_that_equals_everything_earns_nothing(workshop):
    liar = ("class Liar:\n    shape = property(lambda self: (3,))\n    def __eq__(self, other): return True\n"
            "    def __getattr__(self, name): return lambda *a, **k: self\n    def __gt__(self, other): return True\n"
            "def softmax_row(scores): return Liar()")
    result = graded(workshop, answered(softmax_row=liar, shapes_01="shape_scores = shape_weights = shape_output = Liar()"))
    wrong = [*ROW, "test_shapes_01"]
    assert points(result, wrong) == dict.fromkeys(wrong, 0)
    assert "a Liar" in result.questions[ROW[0]].message
    assert others(result, wrong) == 0


def test_what_the_student_breaks_at_home_stays_there(workshop):
    """Judges, comparisons and the border's own code are patched in the student process only."""
    vandal = ("import torch, sys\nfrom manyheads import check\nfrom manyheads.grade import wire\n"
              "check.judge = check.close = check.returned = lambda *a, **k: None\n"
              "torch.allclose = torch.isclose = torch.equal = lambda *a, **k: True\n"
              "torch.Tensor.__eq__ = lambda *a: True\n"
              "def softmax_row(scores): return scores")
    result = graded(workshop, answered(softmax_row=vandal))
    assert points(result, ROW) == dict.fromkeys(ROW, 0)


@pytest.mark.parametrize("answer", [
    "b'not a message at all' * 100", "b'MHw1' + bytes(8)", "b'MHw1' + (2**31).to_bytes(4) + (2**31).to_bytes(4)",
    "frame({'value': {'h': {'number': 0, 'kind': 'x' * 999, 'callable': True}}, 'own': 0})",
    "frame({'raised': {'kinds': ['SystemExit'], 'said': 'x'}})", "frame({'value': 1.0, 'own': -1})",
    "frame([1, 2])", "frame({'callback': 10**6, 'args': [], 'named': {}})"])
def test_a_forged_answer_earns_nothing(workshop, answer):
    forger = ("import os, json, struct, socket\ndef frame(m):\n    b = json.dumps(m).encode()\n"
              "    return b'MHw1' + struct.pack('!II', len(b), 0) + b\n"
              f"def softmax_row(scores):\n    for fd in range(3, 60):\n        try: os.write(fd, {answer})\n"
              "        except OSError: pass\n    return scores")
    result = graded(workshop, answered(softmax_row=forger))
    assert points(result, ROW) == dict.fromkeys(ROW, 0)
    assert others(result, ROW) == 0


def test_the_students_own_exception_comes_with_its_line(workshop):
    text = "class MyError(ValueError): pass\ndef softmax_row(scores):\n    x = 1\n    raise MyError('seven')"
    result = graded(workshop, answered(softmax_row=text))
    said = result.questions[ROW[0]].message
    assert "MyError: seven" in said and "softmax_row, line 4" in said and "raise MyError" in said


@pytest.mark.parametrize("leave", ["raise SystemExit(0)", "raise KeyboardInterrupt", "raise GeneratorExit", "exit()",
                                   "raise type('CellTimeoutError', (BaseException,), {})()"])
def test_leaving_a_call_is_no_pass(workshop, leave):
    result = graded(workshop, answered(softmax_row=f"def softmax_row(scores):\n    {leave}"))
    assert points(result, ROW) == dict.fromkeys(ROW, 0)


def test_a_correct_function_that_warns_gets_its_points(workshop):
    result = graded(workshop, answered(softmax_row="import warnings, sys\n" + RIGHT_ROW.replace(
        "    e =", "    warnings.warn('careful'); print('!', file=sys.stderr)\n    e =")))
    assert others(result, []) == 0


def test_a_blank_notebook_is_not_attempted(workshop):
    result = graded(workshop, sample.hand_in(COURSE, LESSON, "blank"))
    assert statuses(result, result.questions) == {"not attempted"}
    assert set(points(result).values()) == {0}


def test_files_of_the_hand_in_can_be_read_and_nothing_else(workshop, monkeypatch, tmp_path):
    monkeypatch.setenv("CANARY", "canary-in-the-environment")
    (tmp_path / "canary.txt").write_text("canary-in-a-file")
    spy = (RIGHT_ROW + "import os\nprint(open('data/own.txt').read(), sorted(os.listdir('.')), dict(os.environ))\n"
           f"print(os.path.exists({str(tmp_path)!r}), os.path.exists({str(COURSE.root)!r} + '/source'))\n"
           "from pathlib import Path; import manyheads\n"
           "print([sorted(os.listdir(Path(manyheads.__file__).parent / room)) for room in ('course', 'grade')])")
    result = graded(workshop, answered(softmax_row=spy), files={"data/own.txt": b"my own numbers"})
    text = result.notebook.decode()
    assert "my own numbers" in text and "canary" not in text
    assert "False False" in text and "[[], []]" in text
    assert others(result, []) == 0


def test_a_kept_question_is_not_asked_again(workshop):
    first = graded(workshop, answered(softmax_row="def softmax_row(scores):\n    return scores"))
    cell = next(cell for cell in nbformat.reads(first.notebook.decode(), 4).cells
                if cell.metadata.get("nbgrader", {}).get("grade_id") == ROW[0])
    again = graded(workshop, answered(), keep={ROW[0]: cell})
    assert again.questions[ROW[0]] == first.questions[ROW[0]]
    assert again.questions[ROW[1]].points == 1


def test_the_same_hand_in_gets_the_same_grade_twice(workshop):
    nb = answered(softmax_row="import torch\ndef softmax_row(scores):\n    return torch.rand(len(scores))")
    one, other = (graded(workshop, nb) for _ in range(2))
    assert one.questions == other.questions


def test_no_process_is_left(workshop):
    marker = f"left-over-{os.getpid()}"
    escape = (RIGHT_ROW + f"import os, sys, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
              f"        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(60)', {marker!r}])\n    os._exit(0)")
    graded(workshop, answered(softmax_row=escape))
    alive = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            alive.append(open(f"/proc/{pid}/cmdline").read())
        except OSError:
            pass
    assert not [line for line in alive if marker in line]
