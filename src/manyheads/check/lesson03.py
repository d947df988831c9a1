"""Lesson 03, head patterns: its known mistakes and its visible checks.

Sources: Vaswani et al. 2017, sections 3.2.1 and 3.2.3; a ``source`` such as ``LLMs-from-scratch#1061`` is the public
thread where a mistake was seen. Sentences name no expected value: students can read this file.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from . import expect, probes
from .catalogue import declare, judge, known, mistake
from .errors import NotRight
from .exercises import exercise

LESSON = "03_head_patterns"
POLARITY = "In this course True (or 1) means: may look."

# ---------------------------------------------------------------- causal_mask(n)


@mistake("causal_mask", "one key too many", source="TransformerLens#284", sentence=(
         "Query 0 may look at key 1, which lies in its future: your mask is one step too generous. A word may look at "
         "itself and at earlier words. Look at the diagonal argument."))
def _(n):
    return torch.ones(n, n).tril(1).bool()


@mistake("causal_mask", "diagonal lost", source="TransformerLens#284", sentence=(
         "Query 0 may not look at key 0, so the first word has nothing to look at: your mask is one step too strict. A "
         "word may look at itself. Look at the diagonal argument."))
def _(n):
    return torch.ones(n, n).tril(-1).bool()


@mistake("causal_mask", "turned round", source="LLMs-from-scratch#1061", sentence=(
         "Your mask is True for the future: query 0 may look at key 1 and not at key 0. You marked what is blocked. "
         f"{POLARITY}"))
def _(n):
    return torch.ones(n, n).triu(1).bool()


@mistake("causal_mask", "future and self",
         "Query 0 may look at key 1, and query 1 not at key 0: your mask lets each word see itself and the future. Rows "
         "are the words that look, columns the words looked at. Which triangle is the past?")
def _(n):
    return torch.ones(n, n).triu().bool()


@mistake("causal_mask", "everything allowed",
         "Query 0 may look at key 1: your mask blocks nothing. Which triangle of the table is the future?")
def _(n):
    return torch.ones(n, n).bool()


@exercise("causal_mask", lesson=LESSON, points=1, hidden=1, names=("causal_mask",))
def _(causal_mask):
    expected = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()
    judge("causal_mask", causal_mask(3), expected, 3, what="causal_mask(3)", axes=("query", "key"))


# ---------------------------------------------------------------- padding_mask(lengths, seq_k)


def _places(seq_k: int) -> Tensor:
    return torch.arange(seq_k).reshape(1, 1, 1, seq_k)


def _column(lengths: Tensor) -> Tensor:
    return lengths.reshape(-1, 1, 1, 1)


@mistake("padding_mask", "turned round", source="LLMs-from-scratch#1061", sentence=(
         "Your mask is True for the padding and False for the words. You marked what is blocked. " + POLARITY))
def _(lengths, seq_k):
    return _places(seq_k) >= _column(lengths)


@mistake("padding_mask", "one key too many",
         "Each sentence may look at one token of padding: a sentence of length 3 has its words at the places 0, 1 and "
         "2. Look at how you compare, with < or with <=.")
def _(lengths, seq_k):
    return _places(seq_k) <= _column(lengths)


@mistake("padding_mask", "last word lost",
         "The last word of each sentence is blocked: a sentence of length 3 has its words at the places 0, 1 and 2. "
         "Look for a - 1 too many.")
def _(lengths, seq_k):
    return _places(seq_k) < _column(lengths) - 1


@mistake("padding_mask", "padding in front",
         "You blocked the first places. Here the padding comes after the words, so the first places are open.")
def _(lengths, seq_k):
    return _places(seq_k) >= seq_k - _column(lengths)


@mistake("padding_mask", "two axes only",
         "Your mask has the shape (batch, seq_k). Broadcasting reads shapes from the right, so batch would meet the axis "
         "of the queries. Two axes of size 1 are missing, for heads and queries.")
def _(lengths, seq_k):
    return (_places(seq_k) < _column(lengths))[:, 0, 0]


@mistake("padding_mask", "three axes",
         "Your mask has the shape (batch, 1, seq_k). Broadcasting reads shapes from the right, so batch would meet the "
         "axis of the heads. One more axis of size 1 is missing.")
def _(lengths, seq_k):
    return (_places(seq_k) < _column(lengths))[:, 0]


@mistake("padding_mask", "lengths counted as queries",
         "Your mask has the shape (batch, 1, seq_k, 1): it blocks words that look, and padding is about the words that "
         "are looked at. The keys are the last axis.")
def _(lengths, seq_k):
    return (_places(seq_k) < _column(lengths)).transpose(-2, -1)


@exercise("padding_mask", lesson=LESSON, points=2, hidden=2, names=("padding_mask",))
def _(padding_mask):
    lengths = torch.tensor([3, 1])
    expected = torch.tensor([[[[1, 1, 1, 0]]], [[[1, 0, 0, 0]]]]).bool()
    judge("padding_mask", padding_mask(lengths.clone(), 4), expected, lengths, 4,
          what="padding_mask(torch.tensor([3, 1]), 4)", axes=("sentence", "head", "query", "key"))


# ---------------------------------------------------------------- shapes_03

declare("shapes_03", "queries and keys swapped",
        "You have the query axis and the key axis the wrong way round. Ask who looks and who is looked at: the words "
        "that look are the rows.")
declare("shapes_03", "heads lost",
        "Your shape has no head axis. Every head has scores of its own: (batch, num_heads, seq_q, seq_k).")
declare("shapes_03", "features instead of keys",
        "Your last axis counts features. A score is one number for each pair of words; the features are summed away.")
declare("shapes_03", "mask over the queries",
        "Your mask counts the words that look. Padding is blocked as something to look at, so the last axis counts the "
        "tokens of the text that is looked at.")
declare("shapes_03", "mask without its ones",
        "Your mask lacks the axes of size 1 for heads and queries, so batch would meet a wrong axis. Four axes, as in "
        "the scores.")
declare("shapes_03", "full-size mask",
        "A mask of this shape would work, but it repeats the same row for every head and query. The question asks for "
        "the small one, with axes of size 1.")


def wrong_shape_sentences(wrong: dict[tuple[int, ...], str]) -> dict[tuple[int, ...], NotRight]:
    """Tempting wrong tuples with the name of the mistake, turned into tuples with what explains each."""
    return {sizes: known("shapes_03", name) for sizes, name in wrong.items()}


@exercise("shapes_03", lesson=LESSON, points=2, hidden=2, names=("shape_cross_scores", "shape_padding"))
def _(shape_cross_scores, shape_padding):
    # By form only; the values are for the hidden tests.
    answers = {"shape_cross_scores": shape_cross_scores, "shape_padding": shape_padding}
    expect.answered(**answers)
    for name, got in answers.items():
        if type(got) is not tuple or not all(type(size) is int for size in got):
            raise expect.form(name, "a tuple of whole numbers, such as (2, 3, 4, 5)")
        if len(got) == 3 and name == "shape_cross_scores":
            raise known("shapes_03", "heads lost")
        if len(got) in (2, 3):
            raise known("shapes_03", "mask without its ones")
        if len(got) != 4:
            raise expect.form(name, "a tuple of four sizes, as of all scores and masks in this question")


# ---------------------------------------------------------------- choices_03

declare("choices_03", "neither",
        "Two things are wrong with using it as it is: True means blocked there, and its first axis meets the heads. "
        "Look at the table of polarity and at the table of mask shapes.")
declare("choices_03", "shape forgotten",
        "The polarity is right now. But shapes are read from the right, so the first of three axes meets the heads: "
        "head 1 gets the mask of sentence 1, head 2 that of sentence 2. No error warns you when batch = num_heads.")
declare("choices_03", "polarity forgotten",
        "The shape is right now. But the mask says True for blocked, and here True means: may look. All weight would go "
        "where none should.")
declare("choices_03", "keeps the sum",
        "The softmax makes every row sum to 1, whatever the scores are, divided or not.")
declare("choices_03", "makes scores positive",
        "Dividing by a positive number changes no sign. Scores may be negative: the exponential sees to the rest.")
declare("choices_03", "longer sentences",
        "The root has nothing to do with how many words there are. It goes with the length of one query: count what is "
        "summed up in one dot product.")


@exercise("choices_03", lesson=LESSON, points=2, hidden=2, names=("answer_mask", "answer_root"))
def _(answer_mask, answer_root):
    expect.answered(answer_mask=answer_mask, answer_root=answer_root)
    expect.letter(answer_mask, "answer_mask")
    expect.letter(answer_root, "answer_root")


# ---------------------------------------------------------------- scaled_dot_product_attention(...)

_SDPA = "scaled_dot_product_attention"
_STOPS = (RuntimeError, TypeError, ValueError, IndexError)  # what torch raises for a shape or a kind it cannot use


def _scores(query: Tensor, key: Tensor, length: float) -> Tensor:
    return torch.einsum("...nf,...mf->...nm", query, key) / length**0.5


def _wrong_weights(name: str, sentence: str, source: str = "") -> Callable:
    """Register the output that follows from weights that a mistake gives."""

    def register(weights_of: Callable) -> Callable:
        @mistake(_SDPA, name, sentence, source)
        def _(query, key, value, mask=None):
            several = weights_of(query, key, value, mask)
            for weights in [several] if isinstance(several, Tensor) else several:
                yield weights @ value, weights

        return weights_of

    return register


def _scaled_by(length: float, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    scores = _scores(query, key, length)
    return (scores if mask is None else scores.masked_fill(mask == 0, -math.inf)).softmax(-1)


@_wrong_weights("not scaled", source="vit-pytorch#65", sentence=(
                "Your weights are too sharp: the scores were not divided by the root of d_k. Look between the dot "
                "product and the softmax."))
def _(query, key, value, mask):
    return _scaled_by(1, query, key, mask)


@_wrong_weights("root missing",
                "You divided the scores by d_k itself, which makes the weights too even. The formula has a root.")
def _(query, key, value, mask):
    return _scaled_by(query.shape[-1] ** 2, query, key, mask)


@_wrong_weights("scaled by d_model", source="ng-video-lecture#6", sentence=(
                "You divided by the root of d_model, the width of all heads together. A dot product in one head sums up "
                "d_k products: look at the last axis of query."))
def _(query, key, value, mask):
    return _scaled_by(query.shape[-3] * query.shape[-1], query, key, mask)


@_wrong_weights("scaled by d_v",
                "You divided by the root of d_v. Scores are made of queries and keys, so their length counts: look at "
                "the last axis of query.")
def _(query, key, value, mask):
    return _scaled_by(value.shape[-1], query, key, mask)


@_wrong_weights("scaled by the number of words",
                "You divided by the root of a number of words. What counts is the length of one query: look at the "
                "last axis of query, not the last but one.")
def _(query, key, value, mask):
    return _scaled_by(key.shape[-2], query, key, mask)


@_wrong_weights("multiplied by the root",
                "You multiplied the scores by the root of d_k, so the weights are far too sharp. The formula divides.")
def _(query, key, value, mask):
    return _scaled_by(1 / query.shape[-1], query, key, mask)


@_wrong_weights("softmax over the queries", source="detr#247", sentence=(
                "In your weights the columns sum to 1. Each row is the budget of one word that looks, so the softmax "
                "must run over the keys, the last axis: look at its dim."))
def _(query, key, value, mask):
    return _scores(query, key, query.shape[-1]).softmax(-2)


@_wrong_weights("softmax over the heads",
                "Your softmax runs over the heads: what one head gets, the others lose. Each head has budgets of its "
                "own, over the keys: look at dim, and count axes from the end.")
def _(query, key, value, mask):
    return _scores(query, key, query.shape[-1]).softmax(-3)


@_wrong_weights("softmax over the batch",
                "Your softmax runs over the batch: sentences share a budget. Each row has its own, over the keys: "
                "look at dim, and count axes from the end.")
def _(query, key, value, mask):
    return _scores(query, key, query.shape[-1]).softmax(0)


@_wrong_weights("softmax over queries and keys together",
                "All weights of a head together sum to 1. Each row is a budget of its own: look at the axis over which "
                "you sum.")
def _(query, key, value, mask):
    scores = _scores(query, key, query.shape[-1])
    return scores.flatten(-2).softmax(-1).reshape(scores.shape)


@_wrong_weights("no softmax",
                "Your weights are still scores: rows do not sum to 1. Look at the step between the scaled scores and "
                "the average.")
def _(query, key, value, mask):
    return _scores(query, key, query.shape[-1])


@_wrong_weights("query and key swapped",
                "Rows and columns have changed places: in your weights, row n says how word n is looked at. Queries "
                "look, so they come first in the product.")
def _(query, key, value, mask):
    return _scaled_by(key.shape[-1], key, query, mask)


@_wrong_weights("query and key normalised",
                "Your queries and keys were brought to length 1 first. The formula takes them as they are: look at the step "
                "before the product.")
def _(query, key, value, mask):
    unit_q, unit_k = (x / x.norm(dim=-1, keepdim=True) for x in (query, key))
    yield _scaled_by(1, unit_q, unit_k, mask)
    yield _scaled_by(query.shape[-1], unit_q, unit_k, mask)


@_wrong_weights("scores changed before the softmax",
                "Your scores go through a function that the formula does not have, such as relu, abs or a square. The softmax takes "
                "them as they are, divided by the root: look at what stands between the product and the softmax.")
def _(query, key, value, mask):
    scores = _scores(query, key, query.shape[-1])
    for other in (scores.relu(), scores.abs(), scores**2, scores.exp(), scores.sigmoid(), scores.softmax(-1)):
        yield (other if mask is None else other.masked_fill(mask == 0, -math.inf)).softmax(-1)


@mistake(_SDPA, "weights from before the mask",
         "Your output is right, and beside it you return the weights of a call without the mask. Return what you multiply the values "
         "with: look at your return line.")
def _(query, key, value, mask=None):
    if mask is None:
        raise ValueError("there is no mask")
    weights = _scaled_by(query.shape[-1], query, key, mask)
    return weights @ value, _scaled_by(query.shape[-1], query, key, None)


@mistake(_SDPA, "weights from the wrong side",
         "Your output averages over the wrong axis of the weights. Row n of the weights belongs to output n: leave out "
         "the transpose.")
def _(query, key, value, mask=None):
    weights = _scaled_by(query.shape[-1], query, key, mask)
    return weights.mT @ value, weights


@_wrong_weights("mask turned round", source="LLMs-from-scratch#1061", sentence=(
                "Blocked keys get all the weight and open ones get none: your mask is turned round, or what you fill in has the "
                f"wrong sign. {POLARITY} Which scores do you fill, and with what?"))
def _(query, key, value, mask):
    return _scaled_by(query.shape[-1], query, key, mask == 0)


@_wrong_weights("blocked scores set to 0", source="gluonts#1401", sentence=(
                "Blocked keys keep weight: you set their scores to 0, or multiplied the scores by the mask. A score of "
                "0 is an ordinary score, and its exponential is 1. What must a score be, so that its exponential is 0?"))
def _(query, key, value, mask):
    return (_scores(query, key, query.shape[-1]) * mask).softmax(-1)


@_wrong_weights("masked after the softmax",
                "Your rows no longer sum to 1: you took the blocked weights away after the softmax, and nobody got what "
                "they had. Mask the scores, before the softmax.")
def _(query, key, value, mask):
    return _scores(query, key, query.shape[-1]).softmax(-1) * mask


@_wrong_weights("mask of numbers ignored",  # every check asks with booleans first
                "A mask of booleans works, and the same mask as numbers 0 and 1 changes nothing. Look at the condition under "
                "which you use it. Which comparison finds the blocked places in both?")
def _(query, key, value, mask):
    if mask is None or mask.dtype == torch.bool:
        raise ValueError("there is no mask of numbers to ignore")
    return _scores(query, key, query.shape[-1]).softmax(-1)


@_wrong_weights("mask ignored", source="ParlAI#3068", sentence=(
                "A mask changes nothing: your function takes it and does not use it, or uses some shapes only. Look at the step "
                "before the softmax."))
def _(query, key, value, mask):
    if mask is None:
        raise ValueError("there is no mask to ignore")
    return _scores(query, key, query.shape[-1]).softmax(-1)


@_wrong_weights("mask added to the scores",
                "You added the mask to the scores, so an open key is 1 ahead of a blocked one, no more. This course's "
                "masks are 0 and 1, never numbers to add. What must a blocked score be, so that its exponential is 0?")
def _(query, key, value, mask):
    return (_scores(query, key, query.shape[-1]) + mask.float()).softmax(-1)


declare(_SDPA, "blocked keys keep weight", source="gluonts#1401", sentence=(
        "Blocked keys keep some weight: their scores are not low enough. An ordinary score can be -30. Take a number "
        "far below that, such as -1e9 or -math.inf."))
declare(_SDPA, "blocked key leaves a trace",
        "A blocked key should leave no trace: with the last key blocked, your output is not the one that you give without that key. "
        "Either it keeps weight, or something else depends on the mask or on the number of keys.")
declare(_SDPA, "mask of one kind only",
        "Your function stops on a mask that is not of the kind you had in mind. Masks may be bool, or 0 and 1 as int or "
        "float. `~mask` and `1 - mask` each fail for some of them; a comparison such as mask == 0 gives a bool for all.")
declare(_SDPA, "axes counted from the front",
        "Your function stops when there are more or fewer axes in front of (seq, features). Count axes from the end: "
        "-1 is the features, -2 the words. key.transpose(-2, -1) works for any number of axes.")
declare(_SDPA, "weights not returned",
        "Your function returned one tensor. It should return two things, the output and the weights: look at your "
        "return line.")
declare(_SDPA, "pair in the wrong order",
        "Your function returned the pair in the wrong order. The output comes first, then the weights.")
declare(_SDPA, "averaged the keys",
        "Your output is as wide as a key. A key is only what a word is found by; what it hands over is its value: look "
        "at the last product.")
declare(_SDPA, "dropout ignored",
        "Your function takes `dropout` and never calls it. Look at the step between the softmax and the values.")
declare(_SDPA, "dropout on the scores",
        "dropout got the scores. A score of 0 is an ordinary score, so nothing is dropped that way: call it on the "
        "weights, after the softmax.")
declare(_SDPA, "dropout on the output",
        "dropout got the output. It should get the weights, before they meet the values: then whole links between "
        "words are dropped.")
declare(_SDPA, "dropout on the values",
        "dropout got the values. It should get the weights, before they meet the values: look at what you hand to it.")
declare(_SDPA, "dropout on other weights",
        "What you hand to dropout are weights, but not those that you return without dropout. Look at which of your names goes where.")
declare(_SDPA, "dropout changes the weights twice",
        "With dropout, the weights you return are neither those before it nor those after it: look at how often it is called.")
declare(_SDPA, "dropout not used",
        "dropout is called on the weights, but what it returns does not reach the output. It changes nothing in place: "
        "use what it gives back.")


def pair(got: object, leading: Sequence[int], N: int, M: int, d_k: int, d_v: int) -> tuple[Tensor, Tensor]:
    """The pair (output (..., N, d_v), weights (..., N, M)) that the student's attention gave; else NotRight, by name."""
    what = f"{_SDPA}(query, key, value)"
    expect.returned(what, got)
    if isinstance(got, Tensor):
        raise known(_SDPA, "weights not returned")
    if type(got) not in (tuple, list) or len(got) != 2:
        raise NotRight(f"{what} should return two things, the output and the weights: look at your return line.")
    shapes = [tuple(item.shape) if isinstance(item, Tensor) else None for item in got]
    right = [(*leading, N, d_v), (*leading, N, M)]
    if shapes == right[::-1] and shapes != right:
        raise known(_SDPA, "pair in the wrong order")
    if shapes == [(*leading, N, d_k), right[1]] and d_k != d_v:
        raise known(_SDPA, "averaged the keys")
    expect.shape(got[0], right[0], f"the output of {what}")
    expect.shape(got[1], right[1], f"the weights of {what}")
    return got[0], got[1]


def attended(attention: Callable, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
             ) -> tuple[Tensor, Tensor]:
    """``attention(query, key, value, mask)`` as a pair of the right shapes; else NotRight, by name where possible."""
    leading, N, d_k = query.shape[:-2], query.shape[-2], query.shape[-1]
    M, d_v = value.shape[-2:]
    inputs = [x.clone() for x in (query, key, value)]
    try:
        got = attention(*inputs) if mask is None else attention(*inputs, mask.clone())
    except NotImplementedError:
        raise
    except _STOPS:
        if mask is not None and not _stops(attention, *inputs, mask.float() if mask.dtype == torch.bool else mask.bool()):
            raise known(_SDPA, "mask of one kind only") from None
        if mask is None and len(leading) != 2:
            raise known(_SDPA, "axes counted from the front") from None
        raise
    # Another floating dtype is as good; what follows may multiply with the inputs.
    return tuple(x.to(query.dtype) if x.dtype.is_floating_point else x for x in pair(got, leading, N, M, d_k, d_v))


def _stops(function: Callable, *inputs: Tensor) -> bool:
    try:
        function(*inputs)
    except _STOPS:
        return True
    return False


def judge_masked(got: tuple[Tensor, Tensor], expected: tuple[Tensor, Tensor], query: Tensor, key: Tensor,
                 value: Tensor, mask: Tensor) -> None:
    """Judge a masked result; a weight on a blocked key has a name of its own where no other mistake fits."""
    what = f"your attention with a {str(mask.dtype).removeprefix('torch.')} mask {tuple(mask.shape)}"
    try:
        judge(_SDPA, got, expected, query, key, value, mask, what=what, parts=("output", "weights"))
    except NotRight as problem:
        if problem.mistake in (*probes.VAGUE, f"{probes.PREFIX}blocked keeps weight") and (got[1].detach().abs() * (mask == 0)).max() > 1e-6:
            raise known(_SDPA, "blocked keys keep weight") from None
        raise


def probe_dropout(attention: Callable, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> None:
    """What a dropout that doubles, and one that drops a key, must do to the student's own result without dropout.

    Raises NotRight, by name where possible. The sizes N, M, d_k and d_v must all differ.
    """
    output, weights = attended(attention, query, key, value, mask)
    seen = []

    def call(dropout):  # with copies: what is expected is worked out from the originals
        return attention(query.clone(), key.clone(), value.clone(), mask=None if mask is None else mask.clone(), dropout=dropout)

    def doubles(x):
        seen.append(x.detach().to(query.dtype, copy=True))
        return 2 * x

    doubled = call(doubles)
    if not seen:
        raise known(_SDPA, "dropout ignored")
    given = seen[0]
    if given.shape[-2:] == output.shape[-2:]:
        raise known(_SDPA, "dropout on the output")
    if given.shape[-2:] == value.shape[-2:]:
        raise known(_SDPA, "dropout on the values")
    if given.shape[-2:] != weights.shape[-2:] or given.numel() != weights.numel():  # leading axes may be flattened
        expect.shape(given, weights.shape, "what your function gives to dropout")
    if not torch.allclose(given.reshape(weights.shape), weights, rtol=1e-4, atol=1e-5):
        budgets = (given.sum(-1) - 1).abs().max() < 1e-4
        raise known(_SDPA, "dropout on other weights" if budgets else "dropout on the scores")
    doubled, kept = (x.to(query.dtype) for x in pair(doubled, output.shape[:-2], *weights.shape[-2:], query.shape[-1],
                                                     value.shape[-1]))
    if torch.allclose(doubled, output):
        raise known(_SDPA, "dropout not used")
    expect.close(doubled, 2 * output, "the output with a dropout that doubles the weights")
    if not any(torch.allclose(kept, weights * factor, rtol=1e-4, atol=1e-5) for factor in (1, 2)):
        raise known(_SDPA, "dropout changes the weights twice")
    dropped = torch.ones(weights.shape[-1])
    dropped[1] = 0
    one_gone, _ = call(lambda x: x * dropped)
    expect.close(one_gone, (weights * dropped) @ value, "the output with a dropout that drops one key")


@exercise(_SDPA, lesson=LESSON, points=7, hidden=6, names=(_SDPA,))
def _(attention):
    # The keys are twice the unit vectors and the root of d_k is 2, so scaled scores are the logarithms of known shares.
    # As many queries as keys come first: there a swapped query and key give numbers that can be named.
    shares = torch.tensor([[[[1., 2, 5, 8], [4, 3, 1, 2], [2, 6, 8, 4], [9, 1, 1, 5]],
                            [[5., 1, 1, 3], [2, 2, 3, 3], [7, 1, 1, 1], [1, 4, 2, 9]]]])
    key = 2 * torch.eye(4).expand(1, 2, 4, 4)
    value = torch.arange(40.).reshape(1, 2, 4, 5)
    mask = torch.tensor([[1, 1, 0, 0], [1, 0, 1, 1], [0, 1, 1, 0]]).bool()
    for rows, allowed in ((shares, None), (shares[:, :, :3], None), (shares[:, :, :3], mask)):
        kept = rows if allowed is None else rows * allowed
        weights = kept / kept.sum(-1, keepdim=True)
        query = rows.log()
        got = attended(attention, query, key, value, allowed)
        expected = (weights @ value, weights)
        if allowed is None:
            judge(_SDPA, got, expected, query, key, value, what=f"{_SDPA}(query, key, value)",
                  parts=("output", "weights"))
        else:
            judge_masked(got, expected, query, key, value, allowed)


# ---------------------------------------------------------------- masked_softmax(scores, mask)


@mistake("masked_softmax", "NaN in the blocked row", source="pytorch#41508", sentence=(
         "A row in which all keys are blocked gives NaN: its exponentials are all 0, and 0/0 is not a number. Such a "
         "row should give weights 0. What could you do to that row before or after the softmax?"))
def _(scores, mask):
    _demand_blocked_row(mask)
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


@mistake("masked_softmax", "even weights in the blocked row",
         "A row in which all keys are blocked spreads its weight evenly over the blocked keys: with the same low number "
         "everywhere, the softmax sees equal scores. Such a row should give weights 0.")
def _(scores, mask):
    _demand_blocked_row(mask)
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def _demand_blocked_row(mask: Tensor) -> None:
    """Without a fully blocked row these two are no mistakes."""
    if mask.any(-1).all():
        raise ValueError("no row is fully blocked")


@mistake("masked_softmax", "masked after the softmax",
         "Rows with open keys no longer sum to 1: you took the blocked weights away after the softmax, and nobody got "
         "what they had. Mask the scores, before the softmax.")
def _(scores, mask):
    return scores.softmax(-1) * mask


@mistake("masked_softmax", "mask turned round", source="LLMs-from-scratch#1061", sentence=(
         f"The blocked keys get the weight. {POLARITY}"))
def _(scores, mask):
    return torch.nan_to_num(scores.masked_fill(mask.bool(), -math.inf).softmax(-1))


@mistake("masked_softmax", "blocked scores set to 0", source="gluonts#1401", sentence=(
         "Blocked keys keep weight: a score of 0 is an ordinary score. What must a score be, so that its exponential "
         "is 0?"))
def _(scores, mask):
    return (scores * mask).softmax(-1)


@mistake("masked_softmax", "mask ignored",
         "In rows with an open key the mask changes nothing: blocked keys keep their weight. Look at what you do to their scores "
         "before the softmax.")
def _(scores, mask):
    return scores.softmax(-1)


@mistake("masked_softmax", "softmax over the queries", source="detr#247", sentence=(
         "Your softmax runs over the queries. Each row is a budget, over the keys, the last axis: look at dim."))
def _(scores, mask):
    return torch.nan_to_num(scores.masked_fill(~mask, -math.inf).softmax(-2))


declare("masked_softmax", "NaN gradient", source="pytorch#41508", sentence=(
        "The weights are finite and the gradient is NaN. What mends the NaN after the softmax helps on the way forward only: on "
        "the way back a row full of -inf still gives NaN. Look at the scores of that row, before the softmax."))


@mistake("masked_softmax", "rows with a blocked key cleared",
         "You set rows to 0 in which only some keys are blocked. Only a row without any open key is 0: look at how you find these "
         "rows, with all or with any, and over which axis.")
def _(scores, mask):
    weights = scores.masked_fill(~mask, -1e9).softmax(-1)
    yield weights * mask.all(-1, keepdim=True)
    yield weights * mask.any(-1).all()


@mistake("masked_softmax", "blocked scores not low enough",
         "Blocked keys take weight from the others: their scores are lowered, but not by enough. Look at the number that you fill "
         "in: minus infinity, or one like -1e9.")
def _(scores, mask):
    for low in (-1, -2, -5, -10, -20, -50, -100):
        weights = scores.masked_fill(~mask, low).softmax(-1)
        yield weights
        yield weights * mask


@exercise("masked_softmax", lesson=LESSON, points=3, hidden=3, names=("masked_softmax",))
def _(masked_softmax):
    shares = torch.tensor([[1., 2, 5, 8], [4, 3, 1, 2], [2, 6, 8, 4]])
    mask = torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 1]]).bool()
    kept = shares * mask
    expected = kept / kept.sum(-1, keepdim=True).clamp(min=1)  # the shares are whole numbers
    judge("masked_softmax", masked_softmax(shares.log(), mask.clone()), expected, shares.log(), mask,
          what="masked_softmax(scores, mask)", axes=("query", "key"))


# ---------------------------------------------------------------- pattern scores: (num_heads, seq, seq) -> (num_heads,)


def _off_diagonal(A: Tensor, offset: int) -> Tensor:
    return A.diagonal(offset, -2, -1)


@mistake("previous_word_score", "transposed",
         "You measure the weight on the word after. Row i is the word that looks, column j the word looked at: the word "
         "before has j = i - 1.")
def _(A):
    return _off_diagonal(A, 1).mean(-1)


@mistake("previous_word_score", "the word itself",
         "You measure the weight on the word itself. The word before has j = i - 1.")
def _(A):
    return _off_diagonal(A, 0).mean(-1)


@mistake("previous_word_score", "two words back",
         "You measure the weight two words back. The word before has j = i - 1.")
def _(A):
    return _off_diagonal(A, -2).mean(-1)


@mistake("previous_word_score", "row 0 counted",
         "Your scores are too low by the same factor: the first word has no word before it, so row 0 does not count. "
         "How many rows do?")
def _(A):
    return _off_diagonal(A, -1).sum(-1) / A.shape[-1]


@mistake("previous_word_score", "row 0 looks at the end",
         "Row 0 is counted with the weight on the last word: an index of -1 means the last one. The first word has no "
         "word before it, so row 0 does not count.")
def _(A):
    return (_off_diagonal(A, -1).sum(-1) + A[:, 0, -1]) / A.shape[-1]


@mistake("previous_word_score", "mean over all cells",
         "You divided by the number of all cells. There is one cell to look at in each row: divide by the rows that "
         "count.")
def _(A):
    return _off_diagonal(A, -1).sum(-1) / A.shape[-1] ** 2


@mistake("previous_word_score", "summed",
         "You summed the weights. The score is their mean, so that it is 1 for a perfect head.")
def _(A):
    return _off_diagonal(A, -1).sum(-1)


@mistake("previous_word_score", "one number for all heads",
         "You averaged over the heads as well. The score has one number for each head: look at the axes of your mean.")
def _(A):
    return _off_diagonal(A, -1).mean()


@mistake("first_token_score", "transposed",
         "You measure where the first token looks. The score is about the others: how much each of them looks at "
         "column 0.")
def _(A):
    return A[:, 0, 1:].mean(-1)


@mistake("first_token_score", "row 0 counted",
         "Row 0 is counted too. There the first token looks at itself, so it says nothing about the others.")
def _(A):
    return A[:, :, 0].mean(-1)


@mistake("first_token_score", "mean over all cells",
         "You divided by too many cells. There is one cell to look at in each row that counts.")
def _(A):
    return A[:, 1:, 0].sum(-1) / A.shape[-1] ** 2


@mistake("first_token_score", "last token",
         "You measure the weight on the last token. The first one is column 0.")
def _(A):
    return A[:, :-1, -1].mean(-1)


@mistake("first_token_score", "summed",
         "You summed the weights. The score is their mean, so that it is 1 for a perfect head.")
def _(A):
    return A[:, 1:, 0].sum(-1)


@mistake("first_token_score", "one number for all heads",
         "You averaged over the heads as well. The score has one number for each head: look at the axes of your mean.")
def _(A):
    return A[:, 1:, 0].mean()


def _copies(tokens: Sequence[str], self_too: bool = False) -> Tensor:
    """(seq, seq), 1 where column j holds another copy of the word of row i."""
    same = torch.tensor([[float(one == other) for other in tokens] for one in tokens])
    return same if self_too else same - torch.eye(len(tokens))


@mistake("same_word_score", "self counted",
         "You count the weight of a word on itself. The score asks for other copies: leave out j = i.")
def _(A, tokens):
    same = _copies(tokens, self_too=True)
    repeats = same.sum(-1) > 1
    return (A * same).sum(-1)[:, repeats].mean(-1)


@mistake("same_word_score", "self counted, all rows",
         "You count the weight of a word on itself, and words that occur only once. The score asks for other copies, "
         "and for rows whose word has one.")
def _(A, tokens):
    return (A * _copies(tokens, self_too=True)).sum(-1).mean(-1)


@mistake("same_word_score", "all rows counted",
         "Words that occur only once are counted, with 0. They cannot look at a copy, so their rows do not count.")
def _(A, tokens):
    return (A * _copies(tokens)).sum(-1).mean(-1)


@mistake("same_word_score", "mean over the copies",
         "Where a word has several other copies you take the mean of their weights. A head may divide its weight among "
         "them, so they are added up within a row; the mean is over the rows.")
def _(A, tokens):
    same = _copies(tokens)
    return (A * same).sum((-2, -1)) / same.sum()


@mistake("same_word_score", "next copy only",
         "You count one copy in each row. A word may have several others: add up the weight on all of them.")
def _(A, tokens):
    last = {token: place for place, token in enumerate(tokens)}
    rows = [(i, last[token]) for i, token in enumerate(tokens) if last[token] != i]
    return torch.stack([A[:, i, j] for i, j in rows]).mean(0)


@mistake("same_word_score", "summed",
         "You summed over the rows. The score is the mean over the rows that count, so that it is 1 for a perfect head.")
def _(A, tokens):
    return (A * _copies(tokens)).sum((-2, -1))


@mistake("same_word_score", "one number for all heads",
         "You averaged over the heads as well. The score has one number for each head: look at the axes of your mean.")
def _(A, tokens):
    same = _copies(tokens)
    return (A * same).sum(-1)[:, same.sum(-1) > 0].mean()


def _maps(*rows: str) -> Tensor:
    """One map: row i is a word of 5 letters, and each x in it is an equal share of the weight."""
    marks = torch.tensor([[float(cell == "x") for cell in row] for row in rows])
    return marks / marks.sum(-1, keepdim=True)


_MEAN = "The score is their mean: look at how you sum up."


@mistake("previous_word_score", "another statistic", f"You take the median, the largest or the smallest of the weights. {_MEAN}")
@mistake("first_token_score", "another statistic", f"You take the median, the largest or the smallest of the weights. {_MEAN}")
@mistake("same_word_score", "another statistic", f"You take the median, the largest or the smallest of the weights. {_MEAN}")
def _(A, tokens=None):
    for values in _all_weights(A, tokens):
        yield from (values.median(-1).values, values.amax(-1), values.amin(-1))


_TOKENS = "You have one number for each token. The score has one for each head: look at the axis of your mean."


@mistake("previous_word_score", "one number for each token", _TOKENS)
@mistake("first_token_score", "one number for each token", _TOKENS)
@mistake("same_word_score", "one number for each token", _TOKENS)
def _(A, tokens=None):
    for values in _all_weights(A, tokens):
        yield values.mean(0)
        yield values.T


@mistake("previous_word_score", "rows left out", "Some rows are left out: all rows but row 0 count. Look at where your loop or "
         "your slice starts and ends.")
@mistake("first_token_score", "rows left out", "Some rows are left out: all rows but row 0 count. Look at where your loop or "
         "your slice starts and ends.")
@mistake("same_word_score", "rows left out", "Some rows are left out: each row whose word has another copy counts, earlier or "
         "later. Look at which rows you keep.")
def _(A, tokens=None):
    for values in _all_weights(A, tokens):
        rows = values.shape[1]
        for start, stop in itertools.combinations(range(rows + 1), 2):
            if stop - start < rows:
                yield values[:, start:stop].mean(-1)
    if tokens is not None:
        for half in (_copies(tokens).tril(), _copies(tokens).triu()):
            yield (A * half).sum(-1)[:, half.any(-1)].mean(-1)
            yield (A * half).sum(-1)[:, _copies(tokens).any(-1)].mean(-1)


@mistake("previous_word_score", "hits counted", "You count how often the word before has the largest weight. The score is the mean "
         "weight itself: look for an argmax.")
def _(A):
    return (A.argmax(-1)[:, 1:] == torch.arange(A.shape[1] - 1)).float().mean(-1)


@mistake("first_token_score", "another column", "You measure the weight on another token, or on several. The first token is column "
         "0, alone: look at your index.")
def _(A):
    for column in range(A.shape[-1]):
        yield A[:, 1:, column].mean(-1)
        yield A[:, 1:, :column + 1].sum(-1).mean(-1)
        yield A[:, 1:, :column + 1].mean((-2, -1))


@mistake("same_word_score", "other words counted", "You count weight on words that are not copies. A copy is the same word, letter "
         "by letter, in another place: look at your comparison.")
def _(A, tokens):
    same = _copies(tokens, self_too=True)
    letter = torch.tensor([[float(one[0] == other[0]) for other in tokens] for one in tokens]) - torch.eye(len(tokens))
    for marks in (1 - same, letter, torch.ones(same.shape) - torch.eye(len(tokens))):
        rows = (A * marks).sum(-1)
        yield rows.mean(-1)
        yield rows[:, marks.any(-1)].mean(-1)


@mistake("same_word_score", "mean within the row", "Where a word has several other copies you take the mean of their weights. They "
         "are added up within a row; the mean is over the rows: look at the two steps.")
def _(A, tokens):
    same = _copies(tokens)
    rows = same.any(-1)
    return ((A * same).sum(-1)[:, rows] / same.sum(-1)[rows]).mean(-1)


def _all_weights(A: Tensor, tokens: Sequence[str] | None) -> list[Tensor]:
    """The weights that a score is the mean of, (num_heads, rows)."""
    if tokens is None:
        return [_off_diagonal(A, -1), A[:, 1:, 0]]
    same = _copies(tokens)
    return [(A * same).sum(-1)[:, same.any(-1)]]


@exercise("previous_word_score", lesson=LESSON, points=1, hidden=1, names=("previous_word_score",))
def _(previous_word_score):
    A = torch.stack([_maps("x....", "x....", ".x...", "..x..", "...x."), _maps(*["xxxxx"] * 5),
                     _maps("x....", "x....", "x....", "x....", "x....")])
    judge("previous_word_score", previous_word_score(A.clone()), torch.tensor([1, 0.2, 0.25]), A,
          what="previous_word_score(A)", axes=("head",))


@exercise("first_token_score", lesson=LESSON, points=1, hidden=1, names=("first_token_score",))
def _(first_token_score):
    A = torch.stack([_maps("....x", "x....", "x....", "x....", "x...."), _maps(*["xxxxx"] * 5),
                     _maps(".x...", "..x..", "...x.", "....x", "x....")])
    judge("first_token_score", first_token_score(A.clone()), torch.tensor([1, 0.2, 0.25]), A,
          what="first_token_score(A)", axes=("head",))


@exercise("same_word_score", lesson=LESSON, points=2, hidden=2, names=("same_word_score",))
def _(same_word_score):
    tokens = ["the", "cat", "saw", "the", "dog"]
    A = torch.stack([_maps("...x.", ".x...", "..x..", "x....", "....x"), _maps(*["xxxxx"] * 5),
                     _maps("x..x.", "x....", "x....", "....x", "x....")])
    judge("same_word_score", same_word_score(A.clone(), list(tokens)), torch.tensor([1, 0.2, 0.25]), A, tokens,
          what="same_word_score(A, tokens)", axes=("head",))


# ---------------------------------------------------------------- find_head(attention, score)

declare("find_head", "counted from 1",
        "Both of your numbers are one too high: you counted from 1. This is code, so layer 1 has the index 0 and head 1 "
        "has the index 0.")
declare("find_head", "flat index",
        "You returned one number that counts all heads of all layers. The answer is a pair: the layer and the head "
        "within it. A layer has num_heads heads: how often do they fit into your number?")
declare("find_head", "head before layer",
        "Your pair is in the wrong order: first the layer, then the head within it.")
declare("find_head", "lowest score",
        "You found the head with the lowest score. The question asks for the highest.")
declare("find_head", "first layer only",
        "You found the best head of the first layer. Look at all layers.")
declare("find_head", "last layer",
        "You found the best head of the last layer. Keep the best over all layers, not the last one you saw.")
declare("find_head", "counted from the end",
        "Your layer or your head is counted from the end, with a minus. The answer counts from the front: look at how you make "
        "the index.")
declare("find_head", "head counted from 1",
        "Your layer is right and your head is one too high: head 1 has the index 0. Look at where you add 1, or start to count.")
declare("find_head", "layer counted from 1",
        "Your head is right and your layer is one too high: layer 1 has the index 0. Look at where you add 1, or start to count.")
declare("find_head", "layer and head sought apart",
        "You looked for the layer with the best mean and for the head with the best mean, each by itself. Asked is the one head with "
        "the highest score: search all layers and heads at once.")
declare("find_head", "second best", "You found the head with the second highest score. Look at how you sort.")
declare("find_head", "divided by the layers",
        "Your flat number is right, and you divided it by the number of layers. A layer has num_heads heads: how often do they fit?")
declare("find_head", "the score itself", "You returned the score. Asked is where it is: the layer and the head.")
declare("find_head", "not a pair",
        "find_head(attention, score) should return a tuple of two whole numbers, (layer, head): look at your return line.")
declare("find_head", "another head",
        "find_head(attention, score) found another head than the one with the highest score. score(attention[0]) gives one number "
        "for each head of the first layer: look at these numbers.")
declare("find_head", "tensors, not ints",
        "Your pair holds tensors. Return two plain whole numbers: int(...) or .item() makes them.")


def judge_finder(find_head: Callable, attention: Tensor, score: Callable) -> None:
    """Judge find_head on this attention; what is wrong must show on fresh ones too, or it is called by no special name."""
    got, scores = _found(find_head, attention, score)
    if got == divmod(int(scores.argmax()), scores.shape[1]):
        return
    fits = _tempting(got, scores)
    for _ in range(3):
        fits &= _tempting(*_found(find_head, torch.rand(len(attention) + 1, *attention.shape[1:]).softmax(-1), score))
    raise known("find_head", fits.pop() if len(fits) == 1 else "another head")


def _found(find_head: Callable, attention: Tensor, score: Callable) -> tuple[tuple[int, int], Tensor]:
    """The pair that find_head returned, and the scores (layers, heads) that it should have seen; else NotRight, by name."""
    got = find_head(attention.clone(), score)
    scores = torch.stack([score(layer) for layer in attention])
    expect.returned("find_head(attention, score)", got)
    if type(got) is tuple and len(got) == 2 and any(isinstance(item, Tensor) for item in got):
        raise known("find_head", "tensors, not ints")
    flat = int(got) if isinstance(got, Tensor) and got.numel() == 1 else got
    if type(flat) is int:
        raise known("find_head", "flat index")
    if isinstance(got, float):
        raise known("find_head", "the score itself")
    if type(got) is not tuple or len(got) != 2 or not all(type(item) is int for item in got):
        raise known("find_head", "not a pair")
    return got, scores


def _tempting(got: tuple[int, int], scores: Tensor) -> set[str]:
    """The mistakes that give this pair for these scores."""
    layers, heads = scores.shape
    layer, head = best = divmod(int(scores.argmax()), heads)
    wrong = {"layer and head sought apart": (int(scores.mean(1).argmax()), int(scores.mean(0).argmax())),
             "second best": divmod(int(scores.flatten().argsort()[-2]), heads),
             "lowest score": divmod(int(scores.argmin()), heads), "first layer only": (0, int(scores[0].argmax())),
             "last layer": (layers - 1, int(scores[-1].argmax())), "head before layer": best[::-1],
             "counted from 1": (layer + 1, head + 1), "head counted from 1": (layer, head + 1),
             "layer counted from 1": (layer + 1, head), "divided by the layers": divmod(int(scores.argmax()), layers)}
    names = {name for name, pair_of_it in wrong.items() if pair_of_it == got}
    if min(got) < 0 and (got[0] % layers, got[1] % heads) == best:
        names.add("counted from the end")
    return names


@exercise("find_head", lesson=LESSON, points=1, hidden=1, names=("find_head",))
def _(find_head):
    scores = torch.tensor([[0.2, 0.4, 0.1, 0.3], [0.1, 0.3, 0.2, 0.9], [0.5, 0.3, 0.0, 0.1]])
    attention = scores[:, :, None, None].expand(3, 4, 5, 5).clone()
    judge_finder(find_head, attention, lambda A: A[:, 0, 0])


def shuffled(layers: int, heads: int, seq: int) -> Tensor:
    """Attention (layers, heads, seq, seq) whose best head under ``A[:, 2, 1]`` lies in a fresh place.

    The place is such that the mistakes above cannot be taken for one another: ``layers`` of at least 5, ``heads`` of 3.
    """
    places = [(layer, head) for layer, head in itertools.product(range(1, layers - 2), range(1, heads))
              if head not in (layer, layers - 1)]
    attention = torch.rand(layers, heads, seq, seq).softmax(-1)
    layer, head = places[int(torch.randint(len(places), ()))]
    key_1 = torch.eye(seq)[1]
    attention[layer, head, 2] = key_1                   # the best head
    attention[0, head, 2] = (1 - key_1) / (seq - 1)     # the worst one
    return attention
