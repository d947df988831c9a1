"""Heatmaps: what the summary says about constructed weights, what the picture leaves behind, what bad input is told."""

import base64
import html
import re
import sys

import numpy as np
import pytest
import torch

from manyheads import learn

WORDS = ["the", "student", "gave", "the", "book", "away"]
N = len(WORDS)


def mostly(target, weight=0.9):
    """Weights with ``weight`` on one key a query, the rest spread over the others."""
    A = torch.full((len(target), N), (1 - weight) / (N - 1))
    A[range(len(target)), target] = weight
    return A


@pytest.fixture
def shown(monkeypatch):
    """The mime bundles that were displayed."""
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    outputs = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw=False: outputs.append(bundle))
    return outputs


# The first (or last) row has no target and looks somewhere else: it must not count.
@pytest.mark.parametrize(
    ("A", "says"),
    [
        (mostly([5, 0, 1, 2, 3, 4]), "each word looks at the word before it, mean weight 0.90"),
        (mostly([1, 2, 3, 4, 5, 2]), "each word looks at the word after it, mean weight 0.90"),
        (mostly([0, 1, 2, 3, 4, 5]), "each word looks at itself, mean weight 0.90"),
        (mostly([3, 0, 0, 0, 0, 0]), "each word looks at the first token, the, mean weight 0.90"),
        (mostly([4, 4, 4, 4, 1, 4], 0.8), "each word looks at book, mean weight 0.80"),
        (mostly([3, 5, 4, 0, 2, 1]), "each repeated word (the) looks at its other copies, mean weight 0.90"),
        (mostly([5, 0, 1, 2, 3, 2], 0.8), "most words look at the word before them, mean weight 0.65"),
        (torch.full((N, N), 1 / N), "spread evenly, entropy 1.00 of the maximum"),
        (mostly([2, 5, 4, 1, 0, 3], 0.6) * 0.5 + mostly([4, 2, 4, 2, 1, 0], 0.6) * 0.5, "strongest: gave -> book 0.60"),
        (mostly([3, 5, 0, 4, 2, 1], 1.0).lerp(torch.full((N, N), 1 / N), torch.tensor(0.7)), None),
    ],
)
def test_summary_names_the_pattern(A, says):
    line = learn.summary(A, WORDS)
    if says is None:
        assert not any(word in line for word in ("each", "most", "evenly")), line
    else:
        assert line == f"head 1: {says}"


def test_summary_counts_heads_from_one():
    lines = learn.summary(torch.stack([mostly([0, 1, 2, 3, 4, 5]), mostly([5, 0, 1, 2, 3, 4])]), WORDS).splitlines()
    assert lines[0].startswith("head 1: each word looks at itself")
    assert lines[1].startswith("head 2: each word looks at the word before it")


def test_summary_of_masked_weights():
    even_past = torch.ones(N, N).tril()
    even_past = even_past / even_past.sum(1, keepdim=True)
    assert "evenly, entropy 1.00" in learn.summary(even_past, WORDS)

    padded = torch.zeros(N, N)
    padded[:, :4] = 0.25
    assert "evenly, entropy 1.00" in learn.summary(padded, WORDS)

    # Behind a causal mask the first word has no choice; its weight of 1 on itself is not a finding.
    causal = mostly([0, 0, 1, 2, 3, 4], 1.0)
    assert "each word looks at the word before it, mean weight 1.00" in learn.summary(causal, WORDS)

    blocked = even_past.clone()
    blocked[2] = 0
    assert learn.summary(blocked, WORDS).endswith("nothing allowed for gave")


def test_summary_tells_when_rows_do_not_sum_to_one():
    scores = torch.randn(N, N, generator=torch.Generator().manual_seed(3)) * 3
    assert "not to 1" in learn.summary(scores.softmax(0), WORDS)
    assert "not to 1" not in learn.summary(scores.softmax(1), WORDS)
    assert learn.summary(scores.softmax(1) * 0.97, WORDS).endswith("rows sum to 0.97, not to 1")


def test_summary_of_cross_attention():
    A = torch.tensor([[0.1, 0.1, 0.8], [0.1, 0.1, 0.8]])
    line = learn.summary(A, ["er", "gab"], key_tokens=["he", "gave", "up"])
    assert line == "head 1: each word looks at up, mean weight 0.80"


def test_summary_of_the_running_example():
    A = torch.full((2, 5, 5), 0.2)
    for head, query, key in ((0, 0, 1), (0, 1, 0), (1, 1, 2), (1, 2, 1)):
        A[head, query] = 0.1
        A[head, query, key] = 0.6
    one, two = learn.summary(A, learn.running_example().tokens).splitlines()
    assert one == "head 1: strongest: student -> delivered 0.60, delivered -> student 0.60"
    assert two == "head 2: strongest: delivered -> book 0.60, book -> delivered 0.60"


@pytest.mark.parametrize("kind", [torch.Tensor.tolist, torch.Tensor.numpy, lambda A: A.double().requires_grad_()])
def test_takes_tensors_arrays_and_lists(kind):
    assert "before it" in learn.summary(kind(mostly([5, 0, 1, 2, 3, 4])), WORDS)


def test_picture_comes_with_its_words_and_leaves_no_figure_open(shown, capsys):
    A = torch.randn(12, N, N).softmax(-1)
    assert learn.plot_heads(A, WORDS) is None
    assert learn.plot_head(A[0], WORDS, title="head 1 (index 0)") is None

    image = re.search(r'src="data:image/png;base64,(.*?)" alt="(.*?)" .*max-width: (\d+)px', shown[0]["text/html"], re.DOTALL)
    assert base64.b64decode(image[1])[:4] == b"\x89PNG"
    assert html.unescape(image[2]) == learn.summary(A, WORDS)
    assert int(image[3]) <= 930, "wider than a notebook"
    folded = shown[1]
    assert "<details>" in folded["text/html"], "many words are folded"
    assert all(f"head {i}:" in folded[kind] for i in range(1, 13) for kind in ("text/html", "text/plain"))
    assert "head 1 (index 0):" in capsys.readouterr().out, "few words are printed"
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_nothing_is_drawn_while_a_notebook_is_graded(shown, monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    learn.plot_heads("rubbish", None)
    learn.flow_map("rubbish")
    assert not shown and not capsys.readouterr().out


@pytest.mark.parametrize(
    ("A", "tokens", "says"),
    [
        (torch.ones(2, 3, N, N), WORDS, r"weights\[0\]"),
        (torch.ones(N, N), WORDS, "plot_head$"),
        (torch.ones(2, N, 4), WORDS, "4 key positions"),
        (torch.ones(2, 4, N), WORDS, "4 query positions"),
        (torch.ones(2, N, N), "the book", "not one string"),
        (torch.full((2, N, N), 2.0), WORDS, "before the softmax"),
        (
            torch.ones(2, N, N).index_fill(1, torch.tensor(2), torch.nan),
            WORDS,
            "head 1 has NaN or infinity in the row of 'gave'",
        ),
        (torch.ones(0, N, N), WORDS, "no number"),
        ("rubbish", WORDS, "tensor of numbers"),
    ],
)
def test_bad_input_is_told_in_one_line(A, tokens, says, shown):
    with pytest.raises(ValueError, match=says) as told:
        learn.plot_heads(A, tokens)
    assert "\n" not in str(told.value) and told.value._render_traceback_() == [f"Cannot draw this: {told.value}"]
    assert not shown


def test_titles_must_match_the_heads():
    with pytest.raises(ValueError, match="2 heads but 1 titles"):
        learn.plot_heads(torch.ones(2, N, N) / N, WORDS, titles=["one"])


def drawing(page: str) -> str:
    """The SVG inside an <img>."""
    return base64.b64decode(re.search(r"base64,([^\"]+)", page)[1]).decode()


def test_flow_map_lights_the_current_step_not_by_colour_alone(shown):
    learn.flow_map("split")
    learn.flow_map((4, "w_o"))
    split, last_two = (drawing(bundle["text/html"]) for bundle in shown[::2])
    assert 'role="img"' in split and "<title>" in split and "<desc>" in split
    assert split.count("you are here") == 1 and split.count('stroke-width="4"') == 1
    assert last_two.count("you are here") == 2
    said = shown[1]["text/plain"]
    assert "You are here: step 2, split" in said and "(batch, num_heads, seq, d_k)" in said
    with pytest.raises(ValueError, match="the steps are project, split"):
        learn.flow_map(6)


def test_weights_are_not_changed():
    A = np.full((2, N, N), 1 / N)
    A[0, 0, 0] = -1e-9
    before = A.copy()
    learn.summary(A, WORDS)
    assert (A == before).all()
