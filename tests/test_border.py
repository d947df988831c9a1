"""Attacks through what crosses the border by right: arguments that come back changed, and functions that are called back."""

import nbformat
import pytest
import test_banks as banks
import torch

from manyheads import check
from manyheads.check import lesson03, lesson05
from manyheads.course import sample
from manyheads.course.lesson import Course
from manyheads.grade import isolation, remote
from manyheads.grade.isolation import Job, Settings, Workshop

COURSE = Course.find(banks.HERE)


@pytest.fixture(scope="module")
def workshop():
    with Workshop(Settings()) as made:
        yield made


def graded(workshop, lesson, **cells):
    """The lesson with every answer right but these. Returns status and points by grade id, without the test's prefix."""
    nb = sample.hand_in(COURSE, lesson, "all-right")
    for cell in nb.cells:
        cell.source = cells.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    result = workshop.grade(Job(lesson, COURSE.notebook("source", lesson).read_bytes(), nbformat.writes(nb).encode()))
    return {name.removeprefix("test_"): (one.status, one.points) for name, one in result.questions.items()}


def lost(questions, but):
    """Questions with full marks no more, beside those whose name begins with ``but``."""
    return {name for name, (_, points) in questions.items() if points == 0 and not name.startswith(but)}


BLANKING_MODULE = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        self.num_heads = num_heads
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def load_state_dict(self, state):
        for value in state.values():
            value.zero_()

    def forward(self, query, key, value, mask=None):
        weights = torch.ones(query.shape[0], self.num_heads, query.shape[1], key.shape[1])
        weights = weights if mask is None else weights * mask
        self.attention_weights = weights / weights.sum(-1, keepdim=True)
        return torch.zeros_like(query)
"""
BLANKING_COPY = """
class Copy:
    training, in_proj_weight = False, torch.zeros(3)
    def eval(self): return self
    def state_dict(self): return {}
    def __call__(self, query, key, value, **named):
        query.zero_(), key.zero_()
        shape = query.shape[0], 2, query.shape[1], key.shape[1]
        return torch.zeros_like(query), torch.full(shape, 1 / key.shape[1])

def to_torch_mha(module): return Copy()
"""


def test_weights_that_a_module_changes_are_not_what_is_expected_of_it(workshop):
    questions = graded(workshop, "05_full_module", MultiHeadAttention=BLANKING_MODULE)
    for name in ("self_output", "self_weights", "cross", "masks", "dropout", "trained"):
        assert questions[f"MultiHeadAttention_{name}"][1] == 0, name


def test_inputs_that_a_module_changes_are_not_what_is_expected_of_it(workshop):
    questions = graded(workshop, "05_full_module", to_torch_mha=BLANKING_COPY)
    assert questions["to_torch_mha_copies"][1] == questions["to_torch_mha_settings"][1] == 0
    assert not lost(questions, but="to_torch_mha")


def test_a_value_changed_in_the_last_call_does_not_excuse_a_dropout_that_is_ignored():
    calls = []

    def attention(query, key, value, mask=None, dropout=None):
        weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)
        output = weights @ value
        if dropout is None:
            return output, weights
        dropout(weights)
        calls.append(1)
        if len(calls) == 1:
            return 2 * output, weights
        value.zero_()
        return torch.zeros_like(output), weights

    with pytest.raises(check.NotRight):
        lesson03.probe_dropout(attention, torch.randn(2, 3, 5, 7), torch.randn(2, 3, 4, 7), torch.randn(2, 3, 4, 6))


def test_a_module_that_loses_its_layers_was_not_left_alone():
    def strip(module):
        made = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
        module._modules.clear()
        return made

    with pytest.raises(check.NotRight, match="took layers away"):
        lesson05.copied_not_shared(strip, lesson05.layers_only(8, 2))


@pytest.mark.parametrize("call", ["split_fn(torch.zeros(1, 1, 2), 10**9)", "split_fn(torch.zeros(3, 2, 6), -10**18)"])
def test_a_function_of_the_tests_called_with_a_number_without_end_costs_its_question(workshop, call):
    loop = f"def catches_wrong_split(split_fn):\n    try: {call}\n    except Exception: pass\n    return True"
    questions = graded(workshop, "02_head_split", catches_wrong_split=loop)
    assert all(questions[f"catches_wrong_split_{name}"][1] == 0 for name in ("values", "order", "errors"))
    assert not lost(questions, but="catches_wrong_split")


def test_what_a_function_of_the_tests_may_keep_has_an_end(workshop):
    flood = ("def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):\n"
             "    weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)\n"
             "    while dropout is not None:\n        dropout(torch.zeros(15_000_000, dtype=torch.uint8))\n"
             "    return weights @ value, weights")
    questions = graded(workshop, "03_head_patterns", scaled_dot_product_attention=flood)
    assert questions["scaled_dot_product_attention_dropout"] == ("crashed", 0)
    assert not lost(questions, but="scaled_dot_product_attention")


def test_a_row_of_millions_is_looked_at_quickly(workshop):
    questions = graded(workshop, "01_motivation", softmax_row="def softmax_row(scores): return torch.rand(3_900_000)")
    assert questions["softmax_row_values"] == ("graded", 0)
    assert not lost(questions, but="softmax_row")


def test_what_an_exception_says_does_nothing_to_a_terminal_and_its_name_is_no_status(workshop):
    forger = ("class CellTimeoutError(Exception): pass\ndef softmax_row(scores):\n"
              "    raise CellTimeoutError('\\x1b]0;title\\x07 \\x00 \\u202e \\x9b31m fine\\tand\\nwell')")
    nb = sample.hand_in(COURSE, "01_motivation", "all-right")
    next(cell for cell in nb.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == "softmax_row").source = forger
    source = COURSE.notebook("source", "01_motivation").read_bytes()
    told = workshop.grade(Job("01_motivation", source, nbformat.writes(nb).encode())).questions["test_softmax_row_values"]
    assert told.status == "graded" and told.points == 0
    assert not set(told.message) & set("\x1b\x07\x00\u202e\x9b") and "fine\tand\nwell" in told.message


def test_a_user_without_a_name_can_grade(monkeypatch):
    """In a container with a user id of its own, only HOME says where home is; otherwise the students need not know."""
    pwd = pytest.importorskip("pwd")
    monkeypatch.setenv("HOME", "/somewhere")
    if pwd.getpwall():
        monkeypatch.setattr(pwd, "getpwuid", lambda user: pwd.getpwall()[0])
        assert "HOME" not in isolation._environment()

    def nobody(user):
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert isolation._environment()["HOME"] == "/somewhere"


@pytest.mark.parametrize(("processes", "status"), [(1, "graded"), (2, "crashed")])
def test_sockets_are_counted_over_all_processes(workshop, processes, status):
    hoard = ("import os, socket, time\ndef softmax_row(scores): return scores.softmax(0)\n"
             f"if {processes} == 2: os.fork()\n"
             "held = [end for _ in range(110) for end in socket.socketpair()]\ntime.sleep(1)\n")
    questions = graded(workshop, "01_motivation", softmax_row=hoard)
    assert questions["softmax_row_values"][0] == status
    assert not lost(questions, but="softmax_row")


def test_the_buffer_of_a_socket_stays_small_and_everything_else_of_it_can_be_set(workshop):
    tries = ("import socket\none, other = socket.socketpair()\nfailed = []\n"
             "for name in ('SO_SNDBUF', 'SO_RCVBUF', 'SO_PASSCRED', 'SO_REUSEADDR'):\n"
             "    try: one.setsockopt(socket.SOL_SOCKET, getattr(socket, name), 1)\n"
             "    except PermissionError: failed.append(name)\n"
             "socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
             "def softmax_row(scores):\n    assert failed == ['SO_SNDBUF', 'SO_RCVBUF'], failed\n    return scores.softmax(0)")
    assert not lost(graded(workshop, "01_motivation", softmax_row=tries), but=())


def test_names_of_classes_come_to_an_end():
    process = remote.Process.__new__(remote.Process)
    process.kinds = {}
    made = [process._stand_in({"number": 1, "kind": f"K{i}", "callable": False}) for i in range(3 * remote.MOST_KINDS)]
    assert type(made[0]).__name__ == "K0" and type(made[-1]).__name__ == "object"
    assert len(process.kinds) <= remote.MOST_KINDS + 2
