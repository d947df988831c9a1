"""Lesson 01, Why one head is not enough: its visible checks and the mistakes it knows.

Visible checks use numbers that are known by construction or printed in the lesson; of an answer they judge the form.
The hidden tests, in the lesson text, bring fresh numbers.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from . import expect
from .catalogue import declare, judge, known, mistake
from .errors import NotRight
from .exercises import exercise

_LESSON = "01_motivation"


# --- softmax_row: scores (M,) -> weights (M,) --------------------------------------------------------------------


@mistake("softmax_row", "divided without exp",
         "You divided the scores by their sum. Scores can be negative and weights cannot, so the exponential comes "
         "first: look at the two steps of the softmax in section 1.")
def _(scores):
    return scores / scores.sum()


@mistake("softmax_row", "exp without dividing",
         "These are the exponentials, not yet weights: they do not sum to 1. Look at the second step of the softmax, "
         "the division.")
def _(scores):
    return scores.exp()


@mistake("softmax_row", "divided by the largest",
         "Your largest weight is 1, so the row sums to more than 1. Subtracting the largest score is fine; what is "
         "missing is the division by the sum of the exponentials.")
def _(scores):
    return (scores - scores.max()).exp()


@mistake("softmax_row", "divided by the count",
         "You divided the exponentials by how many there are. Look at the formula: below the line stands their sum.")
def _(scores):
    return scores.exp() / len(scores)


@mistake("softmax_row", "logarithm of the weights",
         "These are the logarithms of the weights: none is above 0. Look at the last step, and leave the log out.")
def _(scores):
    return scores - scores.exp().sum().log()


@mistake("softmax_row", "another function for exp",
         "You share out by the sum, as you should, but what you share out are not the exponentials of the scores. Look at the "
         "first of the two steps in section 1.")
def _(scores):
    for shares in (scores**2, scores.abs(), scores.relu(), scores.sigmoid(), scores - scores.min(), scores.exp() + 1,
                   torch.nn.functional.softplus(scores)):
        yield shares / shares.sum()


@exercise("softmax_row", lesson=_LESSON, points=2, hidden=2, names=("softmax_row",))
def _(softmax_row):
    parts = torch.tensor([1.0, 2.0, 5.0, 8.0])  # the exponentials, by construction, so the weights are sixteenths
    scores = parts.log()
    judge("softmax_row", softmax_row(scores.clone()), parts / 16, scores, what="softmax_row(scores)", axes=("word",),
          fn=softmax_row)


# --- one_head: Q (N, d_k), K (M, d_k), V (M, d_v) -> output (N, d_v), weights (N, M) ------------------------------


def _wrong_weights(name: str, sentence: str, source: str = "") -> Callable:
    """Register weights that a mistake gives: once alone, once with the output that follows from them."""

    def register(weights_of: Callable) -> Callable:
        mistake("one_head_weights", name, sentence, source)(weights_of)

        @mistake("one_head", name, sentence, source)
        def _(Q, K, V):
            several = weights_of(Q, K, V)
            for weights in [several] if isinstance(several, Tensor) else several:
                yield weights @ V, weights

        return weights_of

    return register


def _scaled_by(factor: float, Q: Tensor, K: Tensor) -> Tensor:
    return (Q @ K.T * factor).softmax(-1)


@_wrong_weights("not scaled",
                "Your weights are too sharp: the scores were not divided by the root of d_k. Look at the formula of "
                "one head, between the dot product and the softmax.", source="vit-pytorch#65")
def _(Q, K, V):
    return _scaled_by(1, Q, K)


@_wrong_weights("root missing",
                "You divided the scores by d_k itself, which makes the weights too even. Look at the formula: it "
                "divides by the square root.")
def _(Q, K, V):
    return _scaled_by(1 / Q.shape[1], Q, K)


@_wrong_weights("scaled by three",
                "You divided the scores by the root of 3, the d_k of the running example. Other queries have other "
                "lengths: take d_k from the last axis of Q.")
def _(Q, K, V):
    return _scaled_by(3 ** -0.5, Q, K)


@_wrong_weights("scaled after the softmax",
                "You divided the weights instead of the scores, so your rows do not sum to 1. The division belongs "
                "inside the softmax: look at the brackets of the formula.")
def _(Q, K, V):
    return _scaled_by(1, Q, K) / Q.shape[1] ** 0.5


@_wrong_weights("scaled by the number of words",
                "You divided the scores by the root of the number of words. What counts is the length of one query: "
                "look at the last axis of Q.")
def _(Q, K, V):
    return _scaled_by(len(K) ** -0.5, Q, K)


@_wrong_weights("scaled by d_v",
                "You divided the scores by the root of d_v. Scores are made of queries and keys, so their length "
                "counts: look at the last axis of Q.")
def _(Q, K, V):
    return _scaled_by(V.shape[1] ** -0.5, Q, K)


@_wrong_weights("multiplied by the root",
                "You multiplied the scores by the root of d_k, so the weights are far too sharp. Look at the formula: "
                "it divides.")
def _(Q, K, V):
    return _scaled_by(Q.shape[1] ** 0.5, Q, K)


@_wrong_weights("softmax over the queries",
                "In your weights the columns sum to 1. Each row is the budget of one word, so the softmax must run "
                "over the keys: look at its dim.", source="detr#247")
def _(Q, K, V):
    return (Q @ K.T / Q.shape[1] ** 0.5).softmax(0)


@_wrong_weights("softmax over everything",
                "All your weights together sum to 1, as if the sentence had one budget. Each row has its own: look at "
                "the axis over which you sum.")
def _(Q, K, V):
    return (Q @ K.T / Q.shape[1] ** 0.5).flatten().softmax(0).view(len(Q), len(K))


@_wrong_weights("no softmax",
                "Your weights are still scores: some are negative, and rows do not sum to 1. Look at the step between "
                "the scaled scores and the average.")
def _(Q, K, V):
    return Q @ K.T / Q.shape[1] ** 0.5


@_wrong_weights("Q and K swapped",
                "Rows and columns have changed places: in your weights, row n says how word n is looked at. The "
                "queries ask, so they come first in the product: look at Q and K there.")
def _(Q, K, V):
    return (K @ Q.T / Q.shape[1] ** 0.5).softmax(-1)


@_wrong_weights("queries and keys normalised",
                "Your queries and keys were brought to length 1 first. The formula takes them as they are: look at the "
                "step before the product.")
def _(Q, K, V):
    unit_q, unit_k = Q / Q.norm(dim=1, keepdim=True), K / K.norm(dim=1, keepdim=True)
    yield _scaled_by(1, unit_q, unit_k)
    yield _scaled_by(Q.shape[1] ** -0.5, unit_q, unit_k)


def _right_weights_wrong_end(end: Callable[[Tensor, Tensor, Tensor], object]) -> Callable:
    return lambda Q, K, V: end(_scaled_by(Q.shape[1] ** -0.5, Q, K), K, V)


mistake("one_head", "averaged the keys",
        "You averaged the keys. A key is only what a word is found by; what it hands over is its value: look at the "
        "last product.")(_right_weights_wrong_end(lambda weights, K, V: (weights @ K, weights)))
mistake("one_head", "weights from the wrong side",
        "In your output the values are averaged over the wrong axis of the weights. Row n of the weights belongs to "
        "output n: look at which factor comes first, and leave out the transpose."
        )(_right_weights_wrong_end(lambda weights, K, V: (weights.T @ V, weights)))
declare("one_head", "weights not returned",
        "one_head(Q, K, V) returned one tensor. It should return two things, the output and the weights: look at your "
        "return line.")
declare("one_head", "pair in the wrong order",
        "one_head(Q, K, V) returned the pair in the wrong order. The output comes first, then the weights: look at "
        "your return line.")


def pair(got: object, N: int, M: int, d_v: int) -> tuple[Tensor, Tensor]:
    """The pair (output (N, d_v), weights (N, M)) that ``one_head`` gave; raises NotRight if it is no such pair."""
    expect.returned("one_head(Q, K, V)", got)
    if isinstance(got, Tensor):
        raise known("one_head", "weights not returned")
    if type(got) not in (tuple, list) or len(got) != 2:
        raise NotRight("one_head(Q, K, V) should return two things, the output and the weights: look at your return.")
    shapes = [tuple(item.shape) if isinstance(item, Tensor) else None for item in got]
    if shapes == [(N, M), (N, d_v)]:
        raise known("one_head", "pair in the wrong order")
    expect.shape(got[0], (N, d_v), "the output of one_head(Q, K, V)")
    expect.shape(got[1], (N, M), "the weights matrix of one_head(Q, K, V)")
    return got[0], got[1]


@exercise("one_head", lesson=_LESSON, points=3, hidden=3, names=("one_head",))
def _(one_head):
    # K is twice the unit vectors and the root of d_k is 2, so scaled scores are the first features of Q: logarithms
    # of known shares. Equal N and M come first: there a swapped Q and K gives numbers that can be named. No size is 3,
    # the d_k of the running example: so a 3 written by hand shows.
    shares = torch.tensor([[1.0, 3.0], [5.0, 3.0], [1.0, 7.0], [6.0, 2.0], [1.0, 15.0]])
    V = torch.tensor([[8.0, 0, 16, 1, 0, 4], [0, 8, 0, 2, 16, 0]])
    K = 2 * torch.eye(2, 4)
    for rows in (shares[:2], shares):
        Q = torch.cat([rows.log(), torch.full((len(rows), 2), 0.7)], dim=1)
        weights = rows / rows.sum(1, keepdim=True)
        output, found = pair(one_head(Q.clone(), K.clone(), V.clone()), len(rows), 2, 6)
        judge("one_head", (output, found), (weights @ V, weights), Q, K, V, what="one_head(Q, K, V)",
              parts=("output", "weights"), fn=one_head)


# --- shapes -------------------------------------------------------------------------------------------------------


declare("shapes_01", "N and M swapped",
        "You have N and M the wrong way round. Rows belong to the words that ask: look at who asks here.")
declare("shapes_01", "features instead of pairs",
        "Scores and weights have one number for each pair of words. Look at what the two axes count.")
declare("shapes_01", "one output for each word looked at", "Each word that asks gets one output. Look at how many ask.")
declare("shapes_01", "output as wide as the weights",
        "The output is made of values, no longer of scores. Look at how long a value is.")
declare("shapes_01", "output as long as a query", "An output is as long as a value, not as long as a query. Look at d_v.")


@exercise("shapes_01", lesson=_LESSON, points=1, hidden=1, names=("shape_scores", "shape_weights", "shape_output"))
def _(shape_scores, shape_weights, shape_output):
    answers = {"shape_scores": shape_scores, "shape_weights": shape_weights, "shape_output": shape_output}
    expect.answered(**answers)
    for name, shape in answers.items():
        if type(shape) is not tuple or len(shape) != 2 or any(type(size) is not int for size in shape):
            raise expect.form(name, "a tuple of two ints, such as (2, 6)")
        if not set(shape) <= {3, 4, 5, 7}:
            raise NotRight(f"{name} holds a size that is not in the question. Look at N, M, d_k and d_v there.")


# --- swap_test: six numbers each ----------------------------------------------------------------------------------

_TEMPTING: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = {}


def _tempting(name: str, answers: tuple[str, ...], numbers: Sequence[float], sentence: str) -> None:
    declare("swap_test", name, sentence)
    _TEMPTING[name] = answers, tuple(numbers)


_tempting("plain average", ("one_blend", "one_blend_swapped", "two_heads"), [4.0] * 6,
          "All six numbers are the plain average of the values, as for a word without a wish. The word delivered has "
          "wishes: look at its budget.")
_tempting("wrong row", ("one_blend",), [6.02, 4.34, 2.65, 2.65, 4.34, 6.02],
          "These are the numbers of student, the first row. The word delivered is row 2 (index 1): look at which row "
          "you picked.")
_tempting("scaled by three", ("one_blend", "one_blend_swapped"), [4.67, 4.67, 1.33, 1.33, 4.67, 4.67],
          "You scaled by the root of 3. One head takes all six columns, so look at how long its queries are.")
_tempting("original sentence", ("two_heads",), [7.0, 2.0, 2.0, 2.0, 7.0, 2.0],
          "These are the numbers of the original sentence. Exchange the content c1 to c3 only, and leave the role "
          "marks: look at X_swapped.")
_tempting("heads in the wrong order", ("two_heads",), [2.0, 2.0, 7.0, 2.0, 7.0, 2.0],
          "The two heads have changed places. Head 1 (index 0) comes first: look at the order in which you joined "
          "them.")
_tempting("one blend for two heads", ("two_heads",), [4.5, 4.5, 2.0, 2.0, 4.5, 4.5],
          "This is what one head of width six gives. Two heads have two budgets: look at how you sliced the columns.")


def tempting(answer: str) -> dict[tuple[float, ...], NotRight]:
    """Wrong numbers that people give for ``answer`` ("one_blend", …), with what explains each."""
    return {numbers: known("swap_test", name) for name, (answers, numbers) in _TEMPTING.items() if answer in answers}


@exercise("swap_test", lesson=_LESSON, points=2, hidden=2, names=("one_blend", "one_blend_swapped", "two_heads"))
def _(one_blend, one_blend_swapped, two_heads):
    answers = {"one_blend": one_blend, "one_blend_swapped": one_blend_swapped, "two_heads": two_heads}
    expect.answered(**answers)
    for answer, got in answers.items():
        # An average stays between its smallest and its largest value, here 0 and 10.
        expect.numbers(got, [5.0] * 6, answer, atol=5)
        for name, (of, numbers) in _TEMPTING.items():
            if answer in of and all(abs(mine - wrong) <= 0.03 for mine, wrong in zip(got, numbers, strict=True)):
                raise known("swap_test", name)


# --- choices ------------------------------------------------------------------------------------------------------


declare("choice_blend", "one word lost",
        "Both words are in the blend, with 0.35 each. Look at what changes when they change places.")
declare("choice_blend", "weights beyond one",
        "The weights are a softmax, so they sum to 1. Look at the values and at what their average keeps.")
declare("choice_blend", "a later matrix mends it",
        "A later matrix gets the blend as its only input. Look at the blends of the two sentences: what could it tell apart?")
declare("choice_evidence", "BLEU proves it",
        "BLEU says that one head translates a little worse, not why. Look at what Table 3 measures.")
declare("choice_evidence", "each head is a grammar rule",
        "A head here learnt one role of a puzzle whose roles are marked. Look at what was given and what was learnt.")
declare("choice_evidence", "the more heads the better",
        "Look at the right end of the curve: with 32 heads, accuracy is as low as with one.")


@exercise("choice_blend", lesson=_LESSON, points=1, hidden=1, names=("answer_blend",))
def _(answer_blend):
    expect.letter(answer_blend, "answer_blend")


@exercise("choice_evidence", lesson=_LESSON, points=1, hidden=1, names=("answer_evidence",))
def _(answer_evidence):
    expect.letter(answer_evidence, "answer_evidence")
