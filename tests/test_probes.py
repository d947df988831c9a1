"""The nearest true statement about a wrong tensor: each one is said where it is true, in few words and without a number."""

import re

import pytest
import torch

from manyheads import check
from manyheads.check import probes
from manyheads.check.document import document

AXES = ("batch", "head", "token", "feature")
X = torch.randn(2, 3, 5, 4) + 0.1
SQUARE = torch.randn(2, 4, 4)
PATTERN = ("batch", "query", "key")
SCORES = 2 * torch.randn(2, 3, 5, 4)
WEIGHTS = SCORES.softmax(-1)
MAP = ("batch", "head", "query", "key")
ALLOWED = torch.tensor([[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 1]]).bool()
MASKED = SCORES.masked_fill(~ALLOWED, -torch.inf).softmax(-1)
CAUSAL = torch.ones(5, 5).tril().bool()


def changed(x, where, value):
    x = x.clone()
    x[where] = value
    return x


def windows(x):
    """Head i takes the features from i on: what stands in one head stands in the next one too."""
    joined = x.transpose(1, 2).flatten(2)
    return torch.stack([joined[..., i:i + 4] for i in range(3)], 1)


EXAMPLES = {  # name: got, expected, axes
    "nothing returned": (None, X, AXES),
    "a list of tensors": (list(X), X, AXES),
    "a list of numbers": ([1.0, 2.0], X, AXES),
    "not a tensor": (X.numpy(), X, AXES),
    "another dtype": (X.int(), X, AXES),
    "NaN": (changed(X, (1, 2), torch.nan), X, AXES),
    "infinite": (changed(X, (1, 2), torch.inf), X, AXES),
    "shape: axes in another order": (X.transpose(1, 2), X, AXES),
    "shape: axes exchanged": (torch.randn(2, 5, 3, 4), X, AXES),
    "shape: axis averaged": (X.mean(1), X, AXES),
    "shape: axis added up": (X.sum(1), X, AXES),
    "shape: largest of an axis": (X.amax(1), X, AXES),
    "shape: one of an axis": (X[:, 1], X, AXES),
    "shape: axis of size 1 too many": (X[None], X, AXES),
    "shape: axis of size 1 missing": (X[:, 0], X[:, :1], AXES),
    "shape: repeated": (X[:, :1].expand(2, 3, 5, 4), X[:, :1], AXES),
    "shape: numbers in another shape": (X.reshape(2, 3, 20), X, AXES),
    "shape: joined along another axis": (torch.cat(X.unbind(1), 1), X.transpose(1, 2).flatten(2), None),
    "shape: blocks added up": (X.sum(1), X.transpose(1, 2).flatten(2), None),
    "shape: blocks averaged": (X.mean(1), X.transpose(1, 2).flatten(2), None),
    "shape: largest of blocks": (X.amax(1), X.transpose(1, 2).flatten(2), None),
    "shape: one block": (X[:, 2], X.transpose(1, 2).flatten(2), None),
    "shape: blocks not added": (torch.cat(X.unbind(1), -1), X.sum(1), AXES[:1] + AXES[2:]),
    "shape: part missing": (X[:, :, 1:4], X, AXES),
    "shape: axes joined": (torch.randn(2, 5, 12), X, AXES),
    "shape: more besides": (torch.cat([X[:, :1], X], 1), X, AXES),
    "shape: axis missing": (torch.randn(2, 5, 4), X, AXES),
    "shape: axis too many": (torch.randn(2, 3, 5, 4, 2), X, AXES),
    "shape: one size differs": (torch.randn(2, 3, 7, 4), X, AXES),
    "shape": (torch.randn(7, 6, 9, 8), X, AXES),
    "all zero": (0 * X, X, AXES),
    "wrong sign": (-X, X, AXES),
    "absolute values": (X.abs(), X, AXES),
    "negative numbers cut": (X.relu(), X, AXES),
    "rounded": (X.round(decimals=2), X, AXES),
    "logarithm": (WEIGHTS.log(), WEIGHTS, MAP),
    "exponential": (X.exp(), X, AXES),
    "constant factor": (X / 3, X, AXES),
    "constant offset": (X + 0.5, X, AXES),
    "same row added": (X + torch.randn(4), X, AXES),
    "too sharp": ((2 * SCORES).softmax(-1), WEIGHTS, MAP),
    "too even": ((SCORES / 2).softmax(-1), WEIGHTS, MAP),
    "another function of the scores": (SCORES.tanh().softmax(-1), WEIGHTS, MAP),
    "turned round": ((-SCORES).softmax(-1), WEIGHTS, MAP),
    "columns sum to one": (SCORES.softmax(-2), WEIGHTS, MAP),
    "one budget for several rows": (SCORES.flatten(2).softmax(-1).reshape(SCORES.shape), WEIGHTS, MAP),
    "one hot": (torch.nn.functional.one_hot(SCORES.argmax(-1), 4).float(), WEIGHTS, MAP),
    "negative weights": (SCORES, WEIGHTS, MAP),
    "blocked row keeps weight": (torch.full((5, 4), 0.25), changed(torch.full((5, 4), 0.25), 3, 0), ("query", "key")),
    "blocked keeps weight": (WEIGHTS, MASKED, MAP),
    "later keys hidden": (SCORES[:, :, :4].masked_fill(~CAUSAL[:4, :4], -torch.inf).softmax(-1), WEIGHTS[:, :, :4], MAP),
    "open place gets nothing": (MASKED, WEIGHTS, MAP),
    "rows do not sum to one": (SCORES.sigmoid(), WEIGHTS, MAP),
    "polarity": (~CAUSAL, CAUSAL, ("query", "key")),
    "says one thing": (CAUSAL | True, CAUSAL, ("query", "key")),
    "allows too much": (torch.ones(5, 5).tril(1).bool(), CAUSAL, ("query", "key")),
    "allows too little": (CAUSAL & torch.ones(5, 5).triu(-1).bool(), CAUSAL, ("query", "key")),
    "axes transposed": (SQUARE.mT, SQUARE, PATTERN),
    "reversed": (X.flip(1), X, AXES),
    "shifted": (X.roll(1, 1), X, AXES),
    "permuted": (X[:, :, [1, 0, 2, 4, 3]], X, AXES),
    "one for all": (X[:, 1:2].expand(X.shape), X, AXES),
    "repeated and lost": (X[:, [0, 1, 1]], X, AXES),
    "same for all": (X.mean(1, keepdim=True).expand(X.shape), X, AXES),
    "moved": (X.reshape(2, 5, 3, 4).transpose(1, 2), X, AXES),
    "moved within a row": (X.sort(-1).values, X, AXES),
    "taken from elsewhere": (windows(X), X, AXES),
    "empty in part": (changed(X, (slice(None), 2), 0.0), X, AXES),
    "right in part": (changed(X, (slice(None), 2), 9.0), X, AXES),
    "normalised": (torch.nn.functional.layer_norm(X, (4,)), X, AXES),
    "row factor": (X / X.norm(dim=-1, keepdim=True), X, AXES),
    "row offset": (X - X.mean(-1, keepdim=True), X, AXES),
    "nearly": (X + 3e-4 * torch.randn(X.shape).sign(), X, AXES),
    "values differ": (torch.randn(X.shape), X, AXES),
}

ELSEWHERE = {  # said by other expectations, in test_check.py
    "two calls differ", "changed in place", "form", "another type", "another length", "wrong at an index", "number off",
    "another value", "another error", "no error", "no gradient", "gradient does not reach", "input handed back",
}


def said(got, expected, axes=None) -> check.NotRight:
    with pytest.raises(check.NotRight) as caught:
        check.close(got, expected, "your(x)", axes)
    return caught.value


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_statement_is_made_where_it_is_true(name):
    got, expected, axes = EXAMPLES[name]
    problem = said(got, expected, axes)
    assert problem.mistake == f"probe: {name}", problem


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_statement_holds_no_number_of_the_tensors(name):
    assert not re.search(r"\d\.\d", str(said(*EXAMPLES[name])))


def test_every_statement_has_an_example_and_says_where_to_look():
    assert set(EXAMPLES) | ELSEWHERE == set(probes.SAYS)
    for name, sentence in probes.SAYS.items():
        last = re.split(r"(?<=[.:;]) ", sentence)
        assert re.search(r"[Ll]ook|Print|Work|ask|read", " ".join(last[-3:])), name


def test_a_place_is_named_by_its_axes():
    assert "first at batch 0, head 3 (index 2), token 0, feature 0" in str(said(*EXAMPLES["right in part"]))
    assert "right for the heads up to index 1 and wrong for head 3 (index 2)" in str(said(*EXAMPLES["right in part"]))
    assert "where head 1 (index 0) belongs stands head 3 (index 2)" in str(said(*EXAMPLES["shifted"]))
    assert "its axes are (batch, token, head, feature)" in str(said(*EXAMPLES["shape: axes in another order"]))
    assert ": heads and tokens are mixed" in str(said(*EXAMPLES["moved"]))
    assert "the same head and" not in str(said(*EXAMPLES["one budget for several rows"]))
    assert "Missing: the tokens with index 0, 4." in str(said(*EXAMPLES["shape: part missing"]))
    assert "all weights of the same batch and head sum to 1" in str(said(*EXAMPLES["one budget for several rows"]))


def test_a_factor_is_said_in_words_where_it_is_a_size():
    assert "one over the number of heads" in str(said(X / 3, X, AXES))
    assert "one over the root of the number of tokens" in str(said(X / 5**0.5, X, AXES))
    assert "everywhere. Look" in str(said(X / 7, X, AXES))


def test_wrong_from_the_second_sentence_on():
    assert "right for batch 0 and wrong for batch 1" in str(said(changed(X, 1, 7.0), X, AXES))
    assert "everywhere stands what batch 0 should hold" in str(said(X[:1].expand(X.shape), X, AXES))


def test_what_the_check_allows_counts_as_right():
    """A coarse check (atol) does not blame a place that it would have let through."""
    with pytest.raises(check.NotRight) as caught:
        check.close(changed(X + 0.001, (slice(None), 2), 9.0), X, "your(x)", AXES, atol=0.01)
    assert "right for the heads up to index 1" in str(caught.value)


def test_the_page_for_instructors_is_made_from_the_catalogue(request):
    page = request.config.rootpath / "docs" / "mistakes.md"
    assert page.read_text(encoding="utf-8") == document(), "python -m manyheads.check.document > docs/mistakes.md"


@pytest.mark.parametrize(("mine", "right"), [([0., 0, 1], [1., 0, 0]), ([1., 1, 1], [1., 0, 1]), ([0.7, 0.7, 0.5], [0.2, 0.5, 0.7])])
def test_one_number_for_each_head_is_neither_a_row_of_weights_nor_a_head_held_twice(mine, right):
    message = str(said(torch.tensor(mine), torch.tensor(right), ("head",)))
    assert not any(words in message for words in ("weight", "softmax", "twice", "everywhere", "same for all"))
