"""Lesson 05: its numbers, its four patients, what its comparison with PyTorch needs, and what its visible checks say."""

import math
import re

import pytest
import test_banks as banks
import torch
from lesson_runs import bank, say, solved
from torch import nn

from manyheads import check, learn
from manyheads.check import exercises, lesson05
from manyheads.check.errors import NotRight


@pytest.fixture(scope="module")
def ran():
    """The names of the solved lesson, and what its cells printed."""
    return solved("05")


LESSON = "05_full_module"
EXERCISES = {entry.name: entry for entry in exercises.exercises(LESSON)}


@pytest.fixture(scope="module")
def solution(ran):
    return ran[0]["MultiHeadAttention"]


# ------------------------------------------------------------------ numbers


def test_the_visible_check_expects_what_pytorch_computes():
    X, state, budgets, output = lesson05._running_example()
    mha = nn.MultiheadAttention(6, 2, batch_first=True, bias=False).eval()
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.cat([state[f"W_{x}.weight"] for x in "qkv"]))
        mha.out_proj.weight.copy_(state["W_o.weight"])
    out, each = mha(X, X, X, average_attn_weights=False)
    assert torch.allclose(each, budgets, atol=1e-6) and torch.allclose(out, output, atol=1e-5)
    assert torch.allclose(output[0, 1], torch.tensor([4.5, 4.5, 2, 2.5, -2.5, 0]), atol=0.01)


def test_printed_numbers(ran):
    names, printed = ran
    count = sum(p.numel() for p in names["MultiHeadAttention"](512, 8).parameters())
    text = banks.Course.find(banks.HERE).text(LESSON).read_text(encoding="utf-8")
    assert f"that is {count:,}, whatever" in text
    assert re.search(r"divided by √d_model +off by 0\.6", printed)
    assert re.search(r"split without transpose +off by (0\.9|1\.0)", printed)
    assert re.search(r"right +off by 0\.0000", printed)
    assert re.search(r"heads exchanged +: mean off by 0\.00, single heads off by 0\.[0-9]*[1-9]", printed)
    assert names["trained"].attention_weights.shape == (1, 12, 11, 11)


def test_need_weights_is_shown_as_no_cure(ran):
    """Which path gives nan is PyTorch's business and may change; the lesson only needs to be true today."""
    rows = dict(re.findall(r"need_weights=(\w+ +gradients=\w+) +row 2: \[([^,]+),", ran[1]))
    assert [value for row, value in rows.items() if row.startswith("True")] == ["nan", "nan"]
    assert sorted(value for row, value in rows.items() if row.startswith("False")) == ["0.0", "nan"]


def test_the_shape_and_the_choice_are_what_torch_does(ran):
    names, _ = ran
    module = names["MultiHeadAttention"](512, 8)
    module(torch.randn(16, 25, 512), *[torch.randn(16, 30, 512)] * 2)
    assert tuple(module.attention_weights.shape) == names["shape_cross_weights"]
    x = torch.randn(32, 50, 512)
    output, weights = nn.MultiheadAttention(512, 8)(x, x, x)
    assert (tuple(output.shape), tuple(weights.shape)) == ((32, 50, 512), (50, 32, 32))
    assert names["answer_defaults"] == "C"


# ------------------------------------------------------------------ the comparison with PyTorch: each setting matters


@pytest.mark.parametrize("dropped", ["nothing", "batch_first", "eval", "per-head weights", "polarity"])
def test_the_comparison_fails_without_any_one_setting(ran, dropped):
    names, _ = ran
    mine = names["MultiHeadAttention"](12, 3).eval()
    lesson05.draw_weights(mine, 12)
    theirs = names["to_torch_mha"](mine)
    causal = torch.ones(5, 5).tril()
    mask = names["to_torch_mask"](causal)
    kwargs = {"average_attn_weights": False}
    if dropped == "batch_first":
        theirs.batch_first = False
    if dropped == "eval":
        theirs.dropout = 0.1
        theirs.train()
    if dropped == "per-head weights":
        kwargs = {}
    if dropped == "polarity":
        mask = causal.bool()
    x = torch.randn(5 if dropped == "batch_first" else 2, 5, 12)  # so that the mask fits either way
    output = mine(x, x, x, causal)
    out, each = theirs(x, x, x, attn_mask=mask, **kwargs)

    def compare():
        check.close(out, output, "output", atol=1e-5)
        check.close(each, mine.attention_weights, "weights", atol=1e-5)

    if dropped == "nothing":
        compare()
    else:
        with pytest.raises(NotRight):
            compare()


# ------------------------------------------------------------------ the patients


def patient_and_right(solution, letter):
    right = solution(384, 12)
    right.load_state_dict(learn.trained_layer(0).weights)
    return learn.patient(letter), right.eval()


def differences(patient, right, *inputs):
    output, expected = patient(*inputs), right(*inputs)
    return (output - expected).abs().max().item(), (patient.attention_weights - right.attention_weights).abs().max().item()


@pytest.mark.parametrize("letter", "ABCD")
def test_a_patient_has_its_own_fault_and_no_other(ran, solution, letter):
    cause = ran[0]["causes"][letter]
    patient, right = patient_and_right(solution, letter)
    x, look_back = torch.randn(2, 5, 384) / 4, torch.ones(5, 5).tril(1)
    plain, masked = differences(patient, right, x, x, x), differences(patient, right, x, x, x, look_back)
    repeats = torch.equal(patient(x, x, x), patient(x, x, x))
    turned_round = torch.allclose(patient(*[x.flip(1)] * 3).flip(1), patient(x, x, x), atol=1e-5)
    assert cause in lesson05.CAUSES
    assert repeats == turned_round == (cause != "dropout always on") or cause == "view-only split"
    if cause == "dropout always on":
        assert plain[1] < 1e-5 < plain[0]
    elif cause == "mask turned round":
        patient(x, x, x, 1 - look_back)
        assert max(plain) < 1e-5 and masked[0] != masked[0]
    elif cause == "scaled by the root of d_model":
        right(x, x, x)
        steps = [module.attention_weights.log().diff(dim=-1) for module in (patient, right)]
        assert torch.allclose(steps[0] * math.sqrt(12), steps[1], atol=1e-3)
    else:
        assert cause == "view-only split" and repeats and not turned_round and min(plain) > 1e-3


def test_an_unknown_patient_is_refused():
    with pytest.raises(ValueError, match="A, B, C, D"):
        learn.patient("E")


# ------------------------------------------------------------------ the visible checks


class Stub(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        raise NotImplementedError


def test_a_class_whose_constructor_is_a_stub_is_not_attempted():
    assert say("MultiHeadAttention", {"MultiHeadAttention": Stub}).status == exercises.NOT_ATTEMPTED


@pytest.mark.parametrize("path", [path for path in banks.RIGHT if path.name.startswith("05_MultiHeadAttention")],
                         ids=lambda path: path.stem)
def test_the_visible_check_accepts_every_style(ran, path):
    names = dict(ran[0])
    exec(path.read_text(encoding="utf-8"), names)
    assert say("MultiHeadAttention", names).passed


def test_the_visible_check_says_what_the_hidden_tests_say():
    """Of the mistakes that the hidden tests name, the visible check finds most, in the same words."""
    all_named, named, silent = 0, 0, []
    for path in banks.WRONG:
        number, exercise, claim = banks.of_bank(path)
        if number != "05" or exercise != "MultiHeadAttention" or claim == "-":
            continue
        outcome = say(exercise, bank("mistakes", "05", path.stem.removeprefix("05_")))
        all_named += 1
        named += outcome.mistake == claim
        if outcome.passed:
            silent.append(path.stem)
    assert named > 0.6 * all_named
    assert len(silent) < 0.3 * all_named, silent


def test_the_form_of_the_answers():
    right = ("view-only split", "dropout always on", "scaled by the root of d_model", "mask turned round")
    assert say("find_the_bug", {"causes": dict(zip("ABCD", [right[0]] * 4, strict=True))}).status == exercises.NOT_RIGHT
    assert say("find_the_bug", {"causes": dict(zip("ABCD", right[::-1], strict=True))}).passed
    answers = {"shape_cross_weights": (1, 2, 3, 4), "answer_defaults": "A"}
    assert say("shape_and_choice", answers).passed  # by form: the values are for the hidden tests
    assert say("shape_and_choice", {**answers, "shape_cross_weights": [1, 2, 3, 4]}).status == exercises.NOT_RIGHT


# ------------------------------------------------------------------ what students read


def test_feedback_tells_no_answer():
    for path in banks.WRONG:
        if path.name.startswith("05_"):
            for message in banks.verdict(path).messages:
                assert "tensor([" not in message and "BEGIN" not in message
                assert not re.search(r"\b(16|25|30)\b.*\b(25|30)\b", message), message


# ------------------------------------------------------------------ probes and training


def test_right_dropout_is_never_refused(solution):
    for _ in range(40):
        lesson05.dropped_blocks(solution, 12, 3, 0.5)
        lesson05.dropped_blocks(solution, 15, 5, None)


def test_parameter_gradients_are_those_of_backward(solution):
    module, x, weights = solution(12, 3, dropout=0.0), torch.randn(2, 5, 12), torch.randn(2, 5, 12)
    found = check.parameter_gradients(module, x, x, x, weights=weights)
    (module(x, x, x) * weights).sum().backward()
    assert set(found) == set(lesson05.STATE)
    for name, parameter in module.named_parameters():
        assert torch.allclose(found[name], parameter.grad, atol=1e-5), name


def test_training_somebodys_module(solution, capsys, monkeypatch):
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    learn.train_module(Stub)
    assert "not written yet" in capsys.readouterr().out
    learn.train_module(lambda *args, **kwargs: nn.Linear(2, 2))
    assert "Your module stopped" in capsys.readouterr().out
    learn.train_module(solution, 4, steps=20)
    assert re.search(r"your module, 4 heads, 20 steps: 0\.\d\d", capsys.readouterr().out)
    assert torch.equal(torch.get_rng_state(), before) and torch.get_num_threads() == threads


@pytest.mark.slow
def test_four_heads_of_the_solution_learn_the_relations(solution, capsys, monkeypatch):
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    for num_heads, low, high in ((1, 0.2, 0.4), (4, 0.9, 1.0)):
        learn.train_module(solution, num_heads)
        assert low <= float(re.search(r"steps: ([\d.]+)", capsys.readouterr().out)[1]) <= high
