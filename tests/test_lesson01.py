"""Lesson 01: its numbers are right, its visible checks say what they should; and the prose of every lesson is short."""

import json
import re
import statistics
from functools import cache
from pathlib import Path

import pytest
import torch

from manyheads import learn
from manyheads.check import exercises, lesson01
from manyheads.course.lesson import Course, read_lesson
from manyheads.learn import experiment

ROOT = Path(__file__).parents[1]
LESSONS = sorted((ROOT / "lessons").glob("*.md"))


@cache
def notebook(path: Path):
    return read_lesson(path.read_text(encoding="utf-8"), path.stem)


def lesson():
    return notebook(ROOT / "lessons" / "01_motivation.md")


def cells(role: str) -> list[str]:
    return [cell.source for cell in lesson().cells
            if cell.cell_type == "code" and cell.metadata.manyheads.role == role]


def prose() -> str:
    return "\n\n".join(cell.source for cell in lesson().cells if cell.cell_type == "markdown")


# --- numbers --------------------------------------------------------------------------------------------------------


def row(X, num_heads: int, word: int, head: int):
    """Weights and blend of one word in one head of the running example, from the definition."""
    example = learn.running_example()
    d_k = 6 // num_heads
    columns = slice(head * d_k, (head + 1) * d_k)
    Q, K, V = ((X @ W)[:, columns] for W in (example.W_Q, example.W_K, example.W_V))
    exps = [torch.exp(Q[word] @ key / d_k**0.5) for key in K]
    weights = torch.stack(exps) / sum(exps)
    return weights, sum(weight * value for weight, value in zip(weights, V, strict=True))


def near(tensor, *numbers: float) -> None:
    torch.testing.assert_close(tensor, torch.tensor(numbers, dtype=tensor.dtype), atol=0.0051, rtol=0)


def test_the_numbers_of_head_1_are_those_the_lesson_prints():
    weights, blend = row(learn.running_example().X, 2, word=1, head=0)
    near(weights, 0.6, 0.1, 0.1, 0.1, 0.1)
    near(blend, 7, 2, 2)
    near(row(learn.running_example().X, 2, word=1, head=1)[1], 2, 7, 2)
    assert "[7, 2, 2]" in prose()


def test_one_blend_cannot_tell_the_swapped_sentence_and_two_heads_can():
    X = learn.running_example().X
    swapped = X.clone()
    swapped[0, 3:], swapped[2, 3:] = X[2, 3:], X[0, 3:]
    weights, blend = row(X, 1, word=1, head=0)
    near(weights, 0.35, 0.10, 0.35, 0.10, 0.10)
    torch.testing.assert_close(row(swapped, 1, word=1, head=0)[1], blend)
    assert (torch.cat([row(swapped, 2, 1, head)[1] for head in (0, 1)])
            - torch.cat([row(X, 2, 1, head)[1] for head in (0, 1)])).abs().max() > 1
    assert "0.35" in prose() and "0.10" in prose()


def test_the_symptoms_of_one_head_show_the_numbers_of_that_mistake():
    X, example = learn.running_example().X, learn.running_example()
    scores = (X @ example.W_Q)[1, :3] @ (X @ example.W_K)[:, :3].T
    near(scores.softmax(0), 0.85, 0.04, 0.04, 0.04, 0.04)
    near((scores / 6**0.5).softmax(0), 0.47, 0.13, 0.13, 0.13, 0.13)


def test_tempting_wrong_numbers_are_what_these_mistakes_give():
    X = learn.running_example().X
    wrong = {name: torch.tensor(numbers) for name, (_, numbers) in lesson01._TEMPTING.items()}
    torch.testing.assert_close(row(X, 1, word=0, head=0)[1], wrong["wrong row"], atol=0.01, rtol=0)
    both = torch.cat([row(X, 2, word=1, head=head)[1] for head in (0, 1)])
    torch.testing.assert_close(both, wrong["original sentence"], atol=0.01, rtol=0)
    V = X @ learn.running_example().W_V
    torch.testing.assert_close(V.mean(0), wrong["plain average"])
    scores = (X @ learn.running_example().W_Q)[1] @ (X @ learn.running_example().W_K).T
    torch.testing.assert_close((scores / 3**0.5).softmax(0) @ V, wrong["scaled by three"], atol=0.01, rtol=0)


def test_the_printed_numbers_come_from_the_cells(capsys, monkeypatch):
    """Run the worked examples that need no training and no student, and read what they print."""
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")  # pictures are not needed here
    names = {}
    for source in cells("setup"):
        exec(source, names)
    names |= dict.fromkeys(("one_blend", "one_blend_swapped", "two_heads"))
    for source in cells("demo"):
        if "train_heads" in source:
            break
        exec(source, names)
    printed = capsys.readouterr().out
    for shown in ("[5.99, 1.0, 1.0, 1.0, 1.0]", "9.99", "[0.6, 0.1, 0.1, 0.1, 0.1]", "[0.40, 0.07, 0.40, 0.07, 0.07]",
                  "weights   0.60   0.10   0.10   0.10   0.10", "output    7.00   2.00   2.00", "river 0.25",
                  "runner 0.24", "water 0.06", "[3.55, 1.0, 3.55, 1.0, 1.0] sum 10.09", "[0.35, 0.1, 0.35, 0.1, 0.1]",
                  "[7.0, 2.0, 2.0, 2.0, 7.0, 2.0]", "original [0.7, 0.0, 0.0, 0.0, 0.7, 0.0]",
                  "swapped  [0.0, 0.7, 0.0, 0.7, 0.0, 0.0]"):
        assert shown in printed


def test_the_table_of_real_heads_holds_the_measured_numbers():
    report = json.loads((ROOT / "src/manyheads/learn/data/real_heads.json").read_text())
    rows = dict(re.findall(r"^\| [^|]+ \| (L\dH\d+) \| (.+) \|$", prose(), re.MULTILINE))
    assert len(rows) == 5
    measured = {}
    for relation in report["relations"]:
        halves = sorted(score for _, score in relation["chosen_on_one_half_tested_on_the_other"])[::-1]
        measured.setdefault(relation["head"], []).append(
            f"{relation['hit']:.2f} | {relation['best_offset']:.2f} | {halves[0]:.2f}, {halves[1]:.2f}")
    for head, shown in rows.items():
        assert shown in measured[head]


def test_what_the_lesson_says_of_the_experiment_holds_for_the_stored_runs():
    by_heads = {}
    for run in learn.stored_sweep():
        by_heads.setdefault(run.num_heads, []).append(run)
    assert {run.parameters for runs in by_heads.values() for run in runs} == {6336}
    for run in by_heads[1]:
        assert 0.25 < run.accuracy < 0.34
    shown = next(run for run in by_heads[1] if run.seed == 1)  # the run that the lesson repeats live
    assert shown.weights.max() > 0.5
    accuracy = sorted(shown.accuracy_by_role.values())
    assert accuracy[3] > 0.9 and accuracy[2] < 0.2  # one role is answered right, the others are nearly at chance
    for run in by_heads[4]:
        assert run.accuracy > 0.95
        assert len(set(run.role_of_head)) == 4
        for head, role in enumerate(run.weights.argmax(1).tolist(), start=1):
            assert run.ablation()[head, role] < 0.1  # a cut takes away exactly one role
            assert (run.ablation()[head] > 0.9).sum() == 3
    assert all(run.accuracy < 0.5 for run in by_heads[32])
    of_eight = next(run for run in by_heads[8] if run.seed == 1)
    assert (of_eight.ablation()[1:].min(dim=1).values - 0.5).abs().max() < 0.2  # a cut takes about half of a role


def test_what_the_lesson_says_of_ten_random_starts_holds():
    started = {heads: [run for run in experiment._stored() if (run.num_heads, run.steps) == (heads, experiment.STEPS)]
               for heads in (1, 4)}
    assert len(started[1]) == len(started[4]) == 10
    assert all(0.25 <= run.accuracy <= 0.34 for run in started[1])
    found = sorted(run.centred_r2 for run in started[1])
    assert f"{found[0]:.2f} to {found[-1]:.2f} over ten random starts" in prose()
    assert sum(run.accuracy < 0.9 for run in started[4]) == 1
    blending = next(run for run in started[1] if run.seed == 5)  # "try seed=5"
    assert blending.weights.max() < 0.5


# --- visible checks -------------------------------------------------------------------------------------------------


def softmax_row(scores):
    return scores.exp() / scores.exp().sum()


def one_head(Q, K, V):
    weights = (Q @ K.T / Q.shape[1] ** 0.5).softmax(-1)
    return weights @ V, weights


def blank(*inputs):
    raise NotImplementedError


def broken(*inputs):
    return inputs[0] @ torch.zeros(9, 9)


SIX = [4.5, 4.5, 2.0, 2.0, 4.5, 4.5]
RIGHT = {
    "softmax_row": (softmax_row,),
    "one_head": (one_head,),
    "shapes_01": ((4, 7), (4, 7), (4, 5)),
    "swap_test": (SIX, SIX, [2, 7, 2, 2, 2, 7]),
    "choice_blend": ("B",),
    "choice_evidence": ("d",),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_passes_and_hears_that_hidden_checks_wait(name):
    outcome = exercises.outcome(name, *RIGHT[name])
    assert outcome.status == exercises.PASSED, outcome
    assert "run when this is graded" in str(outcome) and "all" not in str(outcome)


@pytest.mark.parametrize("name", RIGHT)
def test_a_missing_answer_is_not_attempted(name):
    missing = [blank if callable(answer) else None for answer in RIGHT[name]]
    assert exercises.outcome(name, *missing).status == exercises.NOT_ATTEMPTED


@pytest.mark.parametrize("name", ["softmax_row", "one_head"])
def test_an_error_is_told_with_the_students_own_line(name):
    outcome = exercises.outcome(name, broken)
    assert outcome.status == exercises.RAISED
    assert "in your broken, line" in outcome.message


@pytest.mark.parametrize(("name", "answers", "says"), [
    ("softmax_row", (lambda scores: scores / scores.sum(),), "exponential comes first"),
    ("softmax_row", (lambda scores: None,), "did you forget a return"),
    ("one_head", (lambda Q, K, V: one_head(Q, K, V)[0],), "returned one tensor"),
    ("one_head", (lambda Q, K, V: one_head(Q, K, V)[::-1],), "wrong order"),
    ("one_head", (lambda Q, K, V: one_head(K, Q, V),), "changed places"),
    ("one_head", (lambda Q, K, V: one_head(2 * Q, K, V),), "not divided by the root of d_k"),
    ("shapes_01", ([4, 7], (4, 7), (4, 5)), "tuple of two ints"),
    ("shapes_01", ((4, 6), (4, 7), (4, 5)), "not in the question"),
    ("swap_test", (SIX, SIX, [7, 2, 2, 2, 7, 2]), "original sentence"),
    ("swap_test", (SIX[:3], SIX, SIX), "one_blend has 3 numbers"),
    ("choice_blend", ("who did what",), "one letter"),
])
def test_a_wrong_answer_is_not_right_yet_and_hears_why(name, answers, says):
    outcome = exercises.outcome(name, *answers)
    assert outcome.status == exercises.NOT_RIGHT
    assert says in outcome.message


def test_visible_checks_leave_the_hidden_ones_something_to_find():
    """What they say of a wrong value would give the answer away."""

    def in_place(scores):
        scores -= scores.max()
        return softmax_row(scores)

    def only_for_equal_sizes(Q, K, V):
        return one_head(Q, K, V) if K.shape[1] == 4 else one_head(Q, K, 2 * V)

    for name, answers in {"softmax_row": (in_place,), "one_head": (only_for_equal_sizes,), "choice_blend": ("A",),
                          "choice_evidence": ("C",), "shapes_01": ((7, 4), (4, 5), (7, 5)),
                          "swap_test": ([1.0] * 6, [2.0] * 6, [3.0] * 6)}.items():
        assert exercises.outcome(name, *answers).passed, name


def test_the_exercises_match_the_test_cells():
    graded = {cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points for cell in lesson().cells
              if cell.metadata.get("nbgrader", {}).get("grade")}
    assert graded.pop("written") == 2
    assert sum(graded.values()) == 10
    for entry in exercises.exercises("01_motivation"):
        mine = [points for grade_id, points in graded.items() if grade_id.startswith(f"test_{entry.name}")]
        assert (len(mine), sum(mine)) == (entry.hidden, entry.points), entry.name
    assert [entry.name for entry in exercises.exercises("01_motivation")] == list(RIGHT)


# --- the text of every lesson ---------------------------------------------------------------------------------------


def paragraphs(source: str) -> list[str]:
    """Running text only: no headings, lists, tables, formulas or HTML lines."""
    blocks = re.split(r"\n\s*\n", source)
    return [block for block in blocks if not re.match(r"\s*(#|[-*] |\d+\. |\||\$\$|<|>|```)", block)]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_paragraphs_are_short(path):
    prose_cells = [cell for cell in notebook(path).cells
                   if cell.cell_type == "markdown" and "nbgrader" not in cell.metadata]  # else a model answer
    words = [len(paragraph.split()) for cell in prose_cells
             for paragraph in paragraphs(cell.source)]
    assert statistics.median(words) < 70
    assert max(words) < 100


def visible_code(source: str) -> list[str]:
    """What a student reads: without solutions, hidden tests and blank lines."""
    source = re.sub(r"### BEGIN (SOLUTION|HIDDEN TESTS).*?### END \1", "", source, flags=re.DOTALL)
    return [line for line in source.splitlines() if line.strip()]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_code_cells_are_short(path):
    for cell in notebook(path).cells:
        if cell.cell_type == "code":
            assert len(visible_code(cell.source)) <= 15, cell.source


def test_there_are_lessons():
    assert Course.find(ROOT).lessons() == [path.stem for path in LESSONS]
