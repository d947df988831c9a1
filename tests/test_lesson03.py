"""Lesson 03: its numbers are right, its visible checks say what they should, its hidden tests catch what these miss."""

import re

import pytest
import test_banks as banks
import torch
from lesson_runs import bank, run, say, solved

from manyheads.check import catalogue, exercises, lesson03
from manyheads.course.lesson import asked_names, python_of


@pytest.fixture(scope="module")
def ran():
    """The names of the solved lesson, and what its cells printed."""
    return solved("03")


LESSON = "03_head_patterns"
EXERCISES = {entry.name: entry for entry in exercises.exercises(LESSON)}


# ------------------------------------------------------------------ numbers


def test_the_numbers_of_the_running_example(ran):
    """Against torch's own attention: the plain, the causal and the padded weights that the lesson writes down."""
    names, printed = ran
    Q, K = names["Q"], names["K"]
    plain, causal = (torch.nn.functional.scaled_dot_product_attention(
        Q, K, torch.eye(5).expand(1, 2, 5, 5), is_causal=is_causal)[0] for is_causal in (False, True))
    assert torch.allclose(names["A"], plain, atol=1e-6)
    assert torch.allclose(names["A_causal"][0], causal, atol=1e-6)
    assert causal[0, 1, :2].tolist() == pytest.approx([0.857, 0.143], abs=5e-4)
    assert causal[1, 1, :2].tolist() == pytest.approx([0.5, 0.5])
    assert causal[1, 2, :3].tolist() == pytest.approx([0.125, 0.75, 0.125], abs=5e-4)
    assert "right       [0.67, 0.11, 0.11, 0.11, 0.0]" in printed
    assert "turned round [0.0, 0.0, 0.0, 0.0, 1.0]" in printed
    assert "dim=-2, row delivered: [0.6, 0.1, 0.2, 0.2, 0.2] sum 1.3" in printed
    for divisor, target, other in ((3**0.5, 0.60, 0.10), (1, 0.85, 0.04), (6**0.5, 0.47, 0.13)):
        row = (torch.tensor([3.1, 0, 0, 0, 0]) / divisor).softmax(0)
        assert (row[0].item(), row[1].item()) == pytest.approx((target, other), abs=5e-3)


def test_variance_with_and_without_the_root(ran):
    _, printed = ran
    for d_k in (4, 64, 512):
        raw, scaled = map(float, re.search(rf"^ *{d_k} +([\d.]+) +([\d.]+)$", printed, re.M).groups())
        assert raw == pytest.approx(d_k, rel=0.2) and scaled == pytest.approx(1, rel=0.2)


def test_what_the_lesson_says_of_a_blocked_row(ran):
    _, printed = ran
    assert "-1e9      [0.33, 0.33, 0.33]" in printed and "-infinity [nan, nan, nan]" in printed
    assert re.search(r"gradient \[\[-?[\d.e-]+, [^\]]*\], \[nan, nan, nan\]\]", printed)
    said = dict(re.findall(r"need_weights=(\w+ +gradients \w+) *: the output of sentence 2 is (\w+)", printed))
    assert len(said) == 4 and set(said.values()) == {"NaN", "finite"}


def test_the_scores_find_the_named_heads(ran):
    _, printed = ran
    for pattern, head, place, score in (("word before", "L1H3", "layer 0, head 2", 1.00), ("word after", "L2H9", "layer 1, head 8", 0.60),
                                        ("first token", "L3H10", "layer 2, head 9", 0.83), ("same word", "L1H9", "layer 0, head 8", 0.56)):
        found = re.search(rf"{pattern} +{head} \({place} in code\), score ([\d.]+)", printed)
        assert found and float(found[1]) == pytest.approx(score, abs=0.011)


def test_shuffled_words_give_shuffled_outputs(ran):
    _, printed = ran
    assert "same outputs, shuffled: True" in printed and "with positions added:   False" in printed


def test_the_model_answer_of_the_trap_is_true():
    from manyheads.learn.trained import read_sentence

    for text, looks, at in (("The student delivered the book to the library yesterday.", "delivered", "student"),
                            ("The student quickly delivered the book.", "delivered", "quickly"),
                            ("The student quickly delivered the book.", "book", "the")):
        reading = read_sentence(text)
        row = reading.attention[0, 2, reading.tokens.index(looks)]
        assert reading.tokens[int(row.argmax())] == at and row.max() > 0.99


def test_the_named_shapes_are_what_torch_makes(ran):
    names, _ = ran
    scores = torch.empty(16, 8, 40, 64, device="meta") @ torch.empty(16, 8, 64, 60, device="meta")
    assert names["shape_cross_scores"] == tuple(scores.shape)
    assert torch.broadcast_shapes(scores.shape, names["shape_padding"]) == scores.shape


def test_an_unanswered_lesson_runs_to_its_end():
    """Demo, check and student cells never need an answer."""
    def unanswered(cell):
        names = asked_names(python_of(cell))
        stub = "def {}(*args, **kwargs): raise NotImplementedError" if "def " in cell.source else "{} = None"
        return "\n".join(stub.format(name) for name in names)

    _, printed = run("03", unanswered)
    assert printed.count("not yet (NotImplementedError)") == 4
    assert printed.count("not attempted") == len(EXERCISES)


# ------------------------------------------------------------------ visible checks


@pytest.mark.parametrize("slug", [
    "causal_mask__one_too_many", "causal_mask__diagonal_lost", "padding_mask__turned_round", "padding_mask__two_axes",
    "scaled_dot_product_attention__not_scaled", "scaled_dot_product_attention__d_model",
    "scaled_dot_product_attention__over_queries", "scaled_dot_product_attention__polarity",
    "scaled_dot_product_attention__filled_with_0", "scaled_dot_product_attention__mask_after_softmax",
    "scaled_dot_product_attention__mask_ignored", "scaled_dot_product_attention__order",
    "scaled_dot_product_attention__only_output", "scaled_dot_product_attention__q_and_k_swapped",
    "scaled_dot_product_attention__one_minus_bool", "masked_softmax__nan", "masked_softmax__uniform",
    "masked_softmax__after", "previous_word_score__transposed", "previous_word_score__row_0", "first_token_score__row_0",
    "same_word_score__self_counted", "same_word_score__all_rows", "find_head__from_1", "find_head__flat",
    "shapes_03__mask_two_axes",
])
def test_the_visible_check_names_the_mistake(slug):
    exercise, claim = slug.split("__")[0], banks.of_bank(banks.HERE / "mistakes" / f"03_{slug}.py")[2]
    said = say(exercise, bank("mistakes", "03", slug))
    assert (said.status, said.mistake) == (exercises.NOT_RIGHT, claim)


@pytest.mark.parametrize("slug", ["one_too_many", "diagonal_lost"])
def test_a_causal_mask_off_by_one_is_told_its_first_wrong_pair(slug):
    """The pair in the sentence is the first one that differs, for every n."""
    entry = next(one for one in catalogue.mistakes("causal_mask")
                 if one.name == banks.of_bank(banks.HERE / "mistakes" / f"03_causal_mask__{slug}.py")[2])
    for n in (3, 7):
        query, key = (entry.wrong(n) != torch.ones(n, n).tril().bool()).nonzero()[0].tolist()
        assert re.search(rf"Query {query} may (not )?look at key {key}", entry.sentence)


@pytest.mark.parametrize("slug", [
    "scaled_dot_product_attention__dropout_ignored",
    "scaled_dot_product_attention__transpose_2_3", "scaled_dot_product_attention__first_sentence_mask",
    "scaled_dot_product_attention__tilde_on_ints", "scaled_dot_product_attention__detached",
    "masked_softmax__nan_gradient", "same_word_score__mean_within_row", "shapes_03__swapped", "choices_03__as_it_is",
])
def test_hidden_tests_catch_what_the_visible_check_does_not(slug):
    assert say(slug.split("__")[0], bank("mistakes", "03", slug)).passed
    found = banks.verdict(banks.HERE / "mistakes" / f"03_{slug}.py")
    assert found.points < found.of


# ------------------------------------------------------------------ one fault costs one part


@pytest.mark.parametrize("slug, points", [("not_scaled", 6), ("d_model", 6), ("dropout_ignored", 6), ("tilde_on_ints", 5),
                                          ("mask_ignored", 5), ("over_queries", 1)])
def test_a_fault_in_attention_costs_its_own_part_only(slug, points):
    """Kinds and shapes of masks are two points; a softmax over the wrong axis leaves nothing right but dropout."""
    assert banks.verdict(banks.HERE / "mistakes" / f"03_scaled_dot_product_attention__{slug}.py").points == points


@pytest.mark.parametrize("style", ["additive", "infinity"])
def test_the_usual_solutions_of_attention_keep_their_points_whatever_they_do_on_a_blocked_row(style):
    attention = bank("correct", "03", f"scaled_dot_product_attention__{style}")["scaled_dot_product_attention"]
    _, weights = attention(torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6), torch.zeros(3, 5))
    assert (weights != 0).all(), "it breaks the convention of masked_softmax"
    found = banks.verdict(banks.HERE / "correct" / f"03_scaled_dot_product_attention__{style}.py")
    assert found.points == found.of


def test_hidden_attention_for_find_head_has_one_best_head_away_from_the_edges():
    for _ in range(20):
        attention = lesson03.shuffled(5, 4, 6)
        assert torch.allclose(attention.sum(-1), torch.ones(5, 4, 6))
        layer, head = divmod(int(attention[:, :, 2, 1].argmax()), 4)
        assert 0 < layer < 3 and 0 < head != layer


# ------------------------------------------------------------------ what students read


def test_sentences_and_feedback_tell_no_answer():
    """No sentence holds a shape that is asked for, and a wrong answer's feedback shows no tensor."""
    for entry in catalogue.mistakes("shapes_03"):
        assert not re.search(r"\b(16|40|60)\b", entry.sentence)
    for path in banks.WRONG:
        if path.name.startswith("03_"):
            for message in banks.verdict(path).messages:
                assert "tensor([" not in message and "BEGIN" not in message


def test_the_polarity_is_said_wherever_a_mask_is_used():
    """Every section and exercise that hands out or asks for a mask says what True means."""
    text = "\n".join(cell.source for cell in banks.notebook("03").cells if cell.cell_type == "markdown")
    for start, end in (("**Worked example: causal", "**Worked example: padding"), ("**Worked example: padding", "**In code**"),
                       ("### Exercise 3.1", "### Exercise 3.2"), ("### Exercise 3.2", "### Exercise 3.3"),
                       ("### Exercise 3.4", "## 4"), ("### Exercise 3.5", "## 5"), ("## 5", "**A cure"),
                       ("### Exercise 3.6", "## 6")):
        part = text.split(start)[1].split(end)[0]
        assert re.search(r"True.{0,12}(means )?\*?(: )?(may|blocked)", part), start
