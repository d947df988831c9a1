"""The expectations, the catalogue and the outcomes: what a student reads when an answer is wrong."""

import nbformat
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from nbclient import NotebookClient

from manyheads import check
from manyheads.check import catalogue, exercises


def refusal(call, *args, **kwargs) -> str:
    with pytest.raises(check.NotRight) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.fixture
def registries(monkeypatch):
    """Throw-away registries, so that a test can register its own mistakes and exercises."""
    catalogue.load_lessons()
    monkeypatch.setattr(catalogue, "_MISTAKES", {})
    monkeypatch.setattr(exercises, "_EXERCISES", {})


class EqualsAll(tuple):
    def __eq__(self, other):
        return True

    __hash__ = tuple.__hash__


class EqualTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return torch.ones(2, 3)


def test_answered_names_what_is_missing():
    check.answered(answer_d_k=4)
    with pytest.raises(check.NotAttempted, match="answer_d_k is still None"):
        check.answered(answer_d_k=None, answer_shape=(2, 3))
    with pytest.raises(check.NotAttempted, match="a and b are still None"):
        check.answered(a=None, b=None)


def test_close_accepts_what_a_right_answer_may_be():
    expected = torch.randn(2, 3, 4)
    check.close(expected.clone(), expected, "x")
    check.close(expected + 1e-6, expected, "x")
    check.close(expected.double(), expected, "x")
    check.close(torch.nn.Parameter(expected.clone()), expected, "x")
    check.close(expected.permute(2, 0, 1).contiguous().permute(1, 2, 0), expected, "x")


@pytest.mark.parametrize(("got", "says"), [
    (None, "did you forget a return"),
    (np.zeros((2, 3)), "should be a torch tensor; it is a ndarray"),
    (torch.zeros(3, 2), "has shape \\(3, 2\\); it should have shape \\(2, 3\\)"),
    (torch.zeros(2, 3, dtype=torch.int64), "dtype int64"),
    (torch.full((2, 3), float("nan")), "holds NaN"),
    (torch.Tensor._make_subclass(EqualTensor, torch.zeros(2, 3)), "should be a torch tensor"),
])
def test_close_refuses(got, says):
    with pytest.raises(check.NotRight, match=says):
        check.close(got, torch.ones(2, 3), "x")


@given(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3))
def test_close_names_the_first_wrong_place_and_never_the_value(batch, head, token):
    expected = torch.randn(2, 3, 4) + 40
    got = expected.clone()
    got[batch, head, token] += 0.5
    said = refusal(check.close, got, expected, "x", axes=("batch", "head", "token"))
    assert f"batch {batch}, head {head + 1} (index {head}), token {token}" in said
    assert f"{expected[batch, head, token].item():.2f}"[:4] not in said


def test_tolerance_by_dtype():
    """float64 answers to float32 inputs are no more exact than these; half precision is coarse."""
    expected = torch.randn(2, 3) + 4
    check.close(expected.double() * (1 + 3e-6), expected.double(), "x")
    check.close((expected * 1.001).bfloat16(), expected, "x")
    check.close(expected.half(), expected, "x")
    for got in (expected * 1.001, expected.double() * 1.001, (expected * 1.1).bfloat16()):
        refusal(check.close, got, expected, "x")


def test_rows_sum_to_one_tells_rows_from_columns():
    weights = torch.randn(2, 4, 3).softmax(-1)
    check.rows_sum_to_one(weights, "weights")
    assert "the columns sum to 1" in refusal(check.rows_sum_to_one, torch.randn(2, 4, 3).softmax(-2), "weights")
    assert "do not sum to 1" in refusal(check.rows_sum_to_one, weights * 2, "weights")
    assert "negative" in refusal(check.rows_sum_to_one, torch.tensor([[1.5, -0.5]]), "weights")


@pytest.mark.parametrize("got", [[32, 8, 50, 64], (32.0, 8.0, 50.0, 64.0), (32, 8, 64, 50), (32, 8, 50),
                                 torch.Size([32, 8, 50, 64]), EqualsAll((1, 2)), "(32, 8, 50, 64)", 4])
def test_exact_answer_wants_exact_type_then_value(got):
    said = refusal(check.exact_answer, got, (32, 8, 50, 64), "answer_shape")
    assert "64" not in said


def test_exact_answer_does_not_take_true_for_one():
    check.exact_answer((32, 8), (32, 8), "answer")
    assert "a bool" in refusal(check.exact_answer, True, 1, "answer")


def test_a_tempting_wrong_value_gets_its_own_sentence():
    assert refusal(check.exact_answer, 16, 4, "d_k", wrong={16: "That is d_model."}) == "That is d_model."
    assert refusal(check.numbers, [4, 4], [7, 2], "blend", wrong={(4, 4): "A plain average."}) == "A plain average."
    assert refusal(check.choice, "a", "B", "choice", why={"A": "Because."}) == "Because."


def test_a_tempting_wrong_value_has_its_name_in_the_catalogue(registries):
    catalogue.declare("blend", "plain average", "A plain average.")
    named = check.known("blend", "plain average")
    for call, *args in ((check.exact_answer, 16, 4, "x", {16: named}), (check.numbers, [4, 4], [7, 2], "x", 0.01, {(4, 4): named}),
                        (check.choice, "a", "B", "x", {"A": named}), (check.choice, "a", "B", "x", {"A": "A plain average."})):
        with pytest.raises(check.NotRight) as caught:
            call(*args)
        assert (str(caught.value), caught.value.mistake) == ("A plain average.", "plain average")


def test_numbers_has_a_tolerance_and_names_the_first_wrong_one():
    check.numbers((7.004, 2), [7, 2], "blend")
    assert "number 2 (index 1)" in refusal(check.numbers, [7, 2.02], [7, 2], "blend")
    assert "has 1 numbers" in refusal(check.numbers, [7], [7, 2], "blend")
    for got in (torch.tensor([7.0, 2.0]), [True, 2], 7, np.array([7, 2])):
        assert "plain numbers" in refusal(check.numbers, got, [7, 2], "blend")


def test_choice_takes_one_letter():
    check.choice(" b ", "B", "choice")
    assert "one letter" in refusal(check.choice, 2, "B", "choice")
    assert "it is 'B)'" in refusal(check.choice, "B)", "B", "choice")
    assert "not one of the choices" in refusal(check.choice, "Z", "B", "choice", why={"A": "no"})


def test_raises_wants_the_right_error():
    def picky(n):
        assert n > 2
        raise TypeError

    check.raises(picky, 1, what="picky(1)")
    assert "raised TypeError; it should raise ValueError or AssertionError" in refusal(
        check.raises, picky, 3, what="picky(3)")
    assert "went through" in refusal(check.raises, abs, 3, what="abs(3)")


def test_unchanged_sees_a_change_in_place_and_leaves_our_tensor_alone():
    x = torch.randn(3, 4)
    before = x.clone()
    check.unchanged(torch.exp, x, what="exp(x)")
    assert "argument 1 in place" in refusal(check.unchanged, torch.exp_, x, what="exp(x)")
    assert torch.equal(x, before)


def test_gradient_is_the_gradient_or_says_where_it_was_lost():
    x, weights = torch.randn(2, 3), torch.randn(2, 3)
    assert torch.allclose(check.gradient(torch.exp, x, weights=weights), x.exp() * weights)
    assert "No gradient" in refusal(check.gradient, lambda x: x.detach().exp(), x, weights=weights)
    unused = torch.randn(2, 3, requires_grad=True)
    assert "none of it reaches" in refusal(check.gradient, lambda x: unused * 2, x, weights=weights)


def test_on_non_contiguous_passes_equal_values():
    x = torch.randn(2, 3, 4)
    assert check.on_non_contiguous(lambda t: (t.is_contiguous(), torch.equal(t, x)), x) == (False, True)


@pytest.mark.parametrize("got", [np.float64(1.0), torch.tensor(1.0), True, -0.5, 2.5, None, "1"])
def test_points_refuses_what_nbgrader_would_misread(got):
    with pytest.raises(ValueError, match="plain number"):
        check.points(got, 2)


@pytest.mark.parametrize(("results", "got"), [((True, True), 2.0), ((True, False), 1.0), ((False, False), 0.0)])
def test_parts_add_up(results, got, capsys):
    parts = check.Parts()
    for place, fine in enumerate(results):
        with parts.part(1, f"part {place}"):
            check.exact_answer(1, 1 if fine else 2, "it")
    assert check.points(parts.got, 2) == got and type(parts.got) is float
    assert capsys.readouterr().out.count("not right yet") == results.count(False)


def test_parts_let_a_missing_answer_through():
    parts = check.Parts()
    with pytest.raises(NotImplementedError), parts.part(1, "a"):
        raise NotImplementedError


def test_judge_names_the_mistake_it_recognises(registries):
    @check_mistake("halve", "doubled", "You doubled it.")
    def _(x):
        return x * 2

    @check_mistake("halve", "crashes", "Never said.")
    def _(x):
        raise RuntimeError

    x = torch.randn(2, 3)
    check.judge("halve", x / 2, x / 2, x, what="halve(x)")
    with pytest.raises(check.NotRight) as caught:
        check.judge("halve", x * 2, x / 2, x, what="halve(x)")
    assert (str(caught.value), caught.value.mistake) == ("You doubled it.", "doubled")
    assert catalogue.named_in("NotRight: You doubled it.").name == "doubled"
    assert "the same factor" in refusal(check.judge, "halve", x * 3, x / 2, x, what="halve(x)")


def test_judge_asks_again_before_it_names_a_mistake(registries):
    """On made-up inputs two mistakes may look alike: with ``fn`` a mistake must also fit fresh ones."""
    @check_mistake("halve", "squared", "You squared it.")
    def _(x):
        return x**2

    @check_mistake("halve", "one of several", "You added.")
    def _(x):
        yield x + 1
        yield x + 2

    def judged(fn, x):
        with pytest.raises(check.NotRight) as caught:
            check.judge("halve", fn(x), x / 2, x, what="halve(x)", fn=fn)
        return caught.value.mistake

    x = torch.tensor([2.0, 2.0, 0.0])
    assert judged(lambda x: x**2, x) == "squared"
    assert judged(lambda x: x * 2, x) == "probe: constant factor"
    assert judged(lambda x: x + 2, torch.tensor([1.0, 5.0, 7.0])) == "one of several"


def test_judge_sees_what_two_calls_tell(registries):
    calls = []

    def counts(x):
        calls.append(1)
        return x + 10 * len(calls) * torch.arange(3.0) ** 2

    def in_place(x):
        return x.mul_(7).sin()

    def judged(fn):
        x = torch.randn(2, 3)
        with pytest.raises(check.NotRight) as caught:
            check.judge("halve", fn(x.clone()), x / 2, x, what="halve(x)", fn=fn)
        return caught.value.mistake

    assert judged(counts) == "probe: two calls differ"
    assert judged(in_place) == "probe: changed in place"
    assert "Two equal calls" in refusal(check.unchanged, counts, torch.randn(2, 3), what="halve(x)")


def test_judge_looks_at_an_output_in_another_way(registries, monkeypatch):
    monkeypatch.setattr(catalogue, "_VIEWS", {})
    mix = torch.randn(4, 4)

    @catalogue.view("mixed")
    def _(got, expected, x):
        inverse = torch.linalg.inv(mix.double())
        return got.double() @ inverse, expected.double() @ inverse, "what you mix", ("token", "feature")

    x = torch.randn(5, 4)
    assert "what you mix has its tokens" not in refusal(check.judge, "mixed", x @ mix + torch.randn(5, 4), x @ mix, x, what="y")
    assert "what you mix has its features in reversed order" in refusal(
        check.judge, "mixed", x.flip(1) @ mix, x @ mix, x, what="y")


def test_judge_compares_each_part_of_a_tuple(registries):
    x = torch.randn(2, 3)
    check.judge("pair", (x, x + 1), (x, x + 1), x, what="pair(x)", parts=("output", "weights"))
    assert "the weights matrix of pair(x)" in refusal(
        check.judge, "pair", (x, x), (x, x + 1), x, what="pair(x)", parts=("output", "weights"))
    assert "should return 2 things: output, weights" in refusal(
        check.judge, "pair", x, (x, x + 1), x, what="pair(x)", parts=("output", "weights"))


def check_mistake(*args):
    return catalogue.mistake(*args)


def their_error(x):
    return [1, 2][x]


def test_the_four_outcomes(registries):
    @exercises.exercise("index", lesson="99_toy", points=1, hidden=3, names=("index",))
    def _(index):
        check.exact_answer(index(2), 7, "index(2)")

    def stub(x):
        raise NotImplementedError

    assert str(exercises.outcome("index", stub)) == "index: not attempted"
    assert str(exercises.outcome("index", lambda x: 7)) == (
        "index: visible checks passed (3 hidden checks run when this is graded)")
    wrong = exercises.outcome("index", lambda x: 8)
    assert str(wrong).startswith("index: not right yet: index(2)") and not wrong.passed
    raised = str(exercises.outcome("index", their_error))
    assert raised.startswith("index: raised an error: IndexError") and "return [1, 2][x]" in raised


def test_every_registered_exercise_belongs_to_a_lesson():
    for entry in exercises.exercises():
        assert entry.points > 0 and entry.hidden > 0 and entry.names, entry.name


@pytest.mark.slow
def test_a_stub_is_told_in_one_line_in_a_notebook():
    cells = ["from manyheads import check",
             "def split_heads(x):\n    raise NotImplementedError", "split_heads(2)", "1 / 0"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, allow_errors=True).execute()
    (stub,), (other,) = notebook.cells[2].outputs, notebook.cells[3].outputs
    assert stub.ename == "NotImplementedError"
    assert stub.traceback == ["NotImplementedError: split_heads is still to be written"]
    assert other.ename == "ZeroDivisionError" and len(other.traceback) > 1
