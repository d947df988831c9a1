"""Lesson 02: its numbers are right, its visible checks say what they should, its hidden tests catch what these miss."""

import re

import pytest
import test_banks as banks
import torch
from lesson_runs import bank, say, solved

from manyheads import learn
from manyheads.check import catalogue, exercises
from manyheads.learn import cells
from manyheads.learn.content import lesson_texts


@pytest.fixture(scope="module")
def ran():
    """The names of the solved lesson, and what its cells printed."""
    return solved("02")


LESSON = "02_head_split"
EXERCISES = {entry.name: entry for entry in exercises.exercises(LESSON)}


# ------------------------------------------------------------------ numbers


def test_the_named_shapes_are_what_torch_makes(ran):
    names, _ = ran
    for seq, answer in ((50, names["shape_q_heads"]), (70, names["shape_k_heads"])):
        assert answer == torch.empty(32, seq, 512).unflatten(-1, (8, -1)).movedim(-2, 1).shape
    assert names["answer_d_k"] * 4 == 16


def test_the_visible_checks_use_the_numbers_of_the_running_example(ran):
    """The split and the merge of lesson 01's head outputs, by index arithmetic, pass the visible checks."""
    names, printed = ran
    V, heads = names["V"], names["heads"].round(decimals=2)
    for n, word in enumerate(names["tokens"]):
        row = V[0, n].int().tolist()
        assert re.search(rf"{word}\s+{re.escape(str(row))}\s+{re.escape(str(row[:3]))}\s+{re.escape(str(row[3:]))}", printed)
        merged = [*heads[0, 0, n].tolist(), *heads[0, 1, n].tolist()]
        assert f"merged {[round(value, 2) for value in merged]}" in printed

    seen = []
    exercises.outcome("split_heads", lambda x, num_heads: seen.append(x) or names["split_heads"](x, num_heads))
    assert torch.equal(seen[-1], V)
    exercises.outcome("merge_heads", lambda x: seen.append(x) or names["merge_heads"](x))
    assert torch.allclose(seen[-1], names["heads"], atol=0.01)


def test_printed_costs(ran):
    _, printed = ran
    for heads in (1, 2, 4, 8, 16):
        d_k, weights = 512 // heads, torch.empty(32, heads, 50, 50, device="meta").numel()
        assert re.search(rf"{heads} +{d_k} +262,144 +{weights:,} +{4 * weights / 1e6:.2f} MB", printed)
    assert "GPT-3 175B (2020)                  d_model  12288  heads  96  d_k 128" in printed


def test_the_picture_shows_what_view_and_transpose_do():
    seq, num_heads, d_k = 5, 2, 3
    labels = torch.tensor([[(t, f) for f in range(num_heads * d_k)] for t in range(seq)])
    right = labels.view(seq, num_heads, d_k, 2).transpose(0, 1)
    view_only = labels.view(num_heads, seq, d_k, 2)
    assert torch.equal(torch.tensor(cells.right_heads(seq, num_heads, d_k)), right)
    assert torch.equal(torch.tensor(cells.view_only_heads(seq, num_heads, d_k)), view_only)
    stays = int((right[0] == view_only[0]).all(-1).sum())
    assert f"Only {stays} of its 15 cells" in cells.split_words(seq, num_heads, d_k)
    struck = cells.split_cells_svg(seq, num_heads, d_k).count("<path")
    assert struck == int((right != view_only).any(-1).sum())


def test_the_picture_is_shown_to_people_only(monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    learn.split_cells()
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------ visible checks


@pytest.mark.parametrize("slug", [
    "fuse_heads__rows", "fuse_heads__reversed", "fuse_heads__stacked_and_reshaped",
    "split_heads__view_only", "split_heads__interleaved", "split_heads__reversed", "split_heads__not_moved",
    "merge_heads__no_transpose", "merge_heads__interleaved", "merge_heads__averaged",
    "catches_wrong_split__shape_only", "catches_wrong_split__one_head", "catches_wrong_split__round_trip",
    "catches_wrong_split__inverted", "catches_wrong_split__first_token", "catches_wrong_split__tensor",
    "catches_wrong_split__lets_errors_through", "catches_wrong_split__always", "shapes_02__batch_lost",
])
def test_the_visible_check_names_the_mistake(slug):
    exercise, claim = slug.split("__")[0], banks.of_bank(banks.HERE / "mistakes" / f"02_{slug}.py")[2]
    said = say(exercise, bank("mistakes", "02", slug))
    assert (said.status, said.mistake) == (exercises.NOT_RIGHT, claim)


def test_a_view_after_a_transpose_raises_and_shows_the_line():
    said = say("merge_heads", bank("mistakes", "02", "merge_heads__view"))
    assert said.status == exercises.RAISED and "view size is not compatible" in said.message


def test_a_lost_number_shows_in_the_product():
    said = say("shapes_02", bank("mistakes", "02", "shapes_02__d_model"))
    assert said.status == exercises.NOT_RIGHT and "holds 6,553,600 numbers, and Q before the split holds 819,200" in said.message


@pytest.mark.parametrize("slug", [
    "split_heads__truncates", "split_heads__no_check", "split_heads__no_gradient", "split_heads__strides_by_hand",
    "merge_heads__detached", "catches_wrong_split__first_feature",
    "catches_wrong_split__any_order", "catches_wrong_split__ignores_shape", "shapes_02__swapped",
    "choices_02__x_cut", "choices_02__parameters",
])
def test_hidden_tests_catch_what_the_visible_check_does_not(slug):
    assert say(slug.split("__")[0], bank("mistakes", "02", slug)).passed
    found = banks.verdict(banks.HERE / "mistakes" / f"02_{slug}.py")
    assert found.points < found.of


# ------------------------------------------------------------------ what students read


def test_sentences_and_feedback_tell_no_answer():
    """No sentence holds a shape that is asked for, and a wrong answer's feedback shows no tensor."""
    for entry in catalogue.mistakes("shapes_02"):
        assert not re.search(r"\b(50|70|64)\b", entry.sentence)
    for path in banks.WRONG:
        if path.name.startswith("02_"):
            for message in banks.verdict(path).messages:
                assert "tensor([" not in message and "BEGIN" not in message


def test_every_exercise_has_help_and_the_quiz_asks_the_two_questions():
    texts = lesson_texts(LESSON)
    assert set(texts.hints) == set(texts.symptoms) == set(EXERCISES)
    assert all(len(hints) <= 3 for hints in texts.hints.values())
    asked = [question.question for question in texts.quiz]
    assert "Is X split across the heads?" in asked
    assert "What is d_k for d_model = 16 and num_heads = 4?" in asked
    for question in texts.quiz:
        assert sum(choice.right for choice in question.choices) == 1 and all(choice.why for choice in question.choices)
