"""Lesson 04, concat and output: its known mistakes and its visible checks.

Source: Vaswani et al. 2017, section 3.2.2, MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O. Sentences name no
expected value: students can read this file.
"""

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from . import expect
from .catalogue import declare, judge, known, mistake
from .errors import NotRight
from .exercises import exercise

LESSON = "04_concat_and_output"

# What the two heads of the running example found, (batch, num_heads, seq, d_v) = (1, 2, 5, 3), and its W_O (6, 6).
_FOUND = ([[7., 4.5, 2], [7, 2, 2], [4, 4, 4], [4, 4, 4], [4, 4, 4]],
          [[4., 4, 4], [2, 7, 2], [2, 4.5, 7], [4, 4, 4], [4, 4, 4]])
_MIX = [[.5, 0, 0, .5, 0, 0], [0, .5, 0, 0, .5, 0], [0, 0, .5, 0, 0, .5],
        [0, 0, .5, 0, 0, -.5], [0, .5, 0, 0, -.5, 0], [.5, 0, 0, -.5, 0, 0]]


# ---------------------------------------------------------------- concat_and_project(heads, W_O)

_ROWS = "Head i (index i) meets rows i * d_v to (i + 1) * d_v - 1 of W_O."


@mistake("concat_and_project", "no transpose before the merge", source="jsbaan/transformer-from-scratch#6, opacus#825",
         sentence="You reshaped (batch, num_heads, seq, d_v) straight to (batch, seq, num_heads * d_v), so a row holds "
         "several tokens of one head. Bring num_heads behind seq first, then join the last two axes. The product with "
         "W_O comes after that.")
def _(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    return heads.reshape(batch, seq, num_heads * d_v) @ W_O


@mistake("concat_and_project", "heads in reversed order",
         "Your heads are joined in reversed order, so each one meets the rows of W_O that belong to another head. Head 1 "
         "(index 0) comes first: look at the order of your loop or your cat.")
def _(heads, W_O):
    return _side_by_side(heads.flip(1)) @ W_O


@mistake("concat_and_project", "W_O transposed",
         "You multiplied by W_O turned round. Here W_O has the shape (h * d_v, d_model), as in the formula: one row for "
         "each number of the concatenation. (`nn.Linear.weight` is stored the other way.) Look for a .T too many.")
def _(heads, W_O):
    return _side_by_side(heads) @ W_O.T


@mistake("concat_and_project", "features interleaved",
         "Your row alternates between the heads: feature 0 of each head, then feature 1 of each head. The d_v numbers "
         "of a head must stay together. Which of the two axes you join must come first?")
def _(heads, W_O):
    return heads.permute(0, 2, 3, 1).flatten(2) @ W_O


@mistake("concat_and_project", "mean instead of sum",
         "Your output is the right one divided by the number of heads: you averaged what the heads contribute. The "
         "formula adds it up and divides by nothing.")
def _(heads, W_O):
    return _side_by_side(heads) @ W_O / heads.shape[1]


@mistake("concat_and_project", "W_O not applied", source="Kyubyong/transformer#117", sentence=(
         "You return the concatenation itself. It is right, and the last step is missing: the product with W_O."))
def _(heads, W_O):
    return _side_by_side(heads)


@mistake("concat_and_project", "heads not added up",
         "You return one output for each head, with a head axis. The output of the layer has none: "
         "(batch, seq, d_model). What does the product with the whole concatenation do with the heads' parts?")
def _(heads, W_O):
    return _each_meets(heads, _blocks(heads, W_O))


@mistake("concat_and_project", "last head only",
         "Your output holds what the last head contributes, and nothing of the others. If you loop over the heads, "
         "does each round add to the result, or replace it?")
def _(heads, W_O):
    return _each_meets(heads, _blocks(heads, W_O))[:, -1]


@mistake("concat_and_project", "heads in another order",
         "Your heads are joined in another order, so they meet rows of W_O that belong to other heads. Head 1 (index 0) comes "
         "first: look at the order of your loop or your cat.")
def _(heads, W_O):
    for order in itertools.permutations(range(heads.shape[1])):
        yield _side_by_side(heads[:, order]) @ W_O


@mistake("concat_and_project", "heads left out",
         "Your output lacks what some of the heads contribute. If you loop over the heads, look at where the loop starts and "
         "ends.")
def _(heads, W_O):
    for some in _subsets(heads.shape[1]):
        yield _each_meets(heads, _blocks(heads, W_O))[:, some].sum(1)


@mistake("concat_and_project", "W_O reshaped",
         "Your W_O has been reshaped, so its rows are torn apart. Only a transpose keeps rows together, and none is needed "
         "here: look at what you do to W_O before the product.")
def _(heads, W_O):
    if W_O.shape[0] != W_O.shape[1]:
        yield _side_by_side(heads) @ W_O.reshape(W_O.shape[1], W_O.shape[0]).T
    yield _side_by_side(heads) @ W_O.reshape(heads.shape[3], heads.shape[1], -1).transpose(0, 1).reshape(W_O.shape)


@mistake("concat_and_project", "sentences mixed",
         "Your rows hold tokens of several sentences: the batch axis has moved. Only num_heads and seq change places before the "
         "merge: look at the two numbers in your transpose.")
def _(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    for order in ((2, 1, 0, 3), (2, 0, 1, 3), (1, 0, 2, 3), (1, 2, 0, 3)):
        yield heads.permute(order).reshape(batch, seq, num_heads * d_v) @ W_O


@mistake("concat_and_project", "heads mixed before W_O",
         "You added the heads up, or averaged them, before W_O. They stand side by side there, and each meets rows of its own: look "
         "at how you join them.")
def _(heads, W_O):
    for block in _blocks(heads, W_O):
        yield heads.sum(1) @ block
        yield heads.mean(1) @ block


@mistake("concat_and_project", "normalised before W_O",
         "Your concatenation is normalised before it meets W_O. Concat and W_O leave every number as it is: look for a layer_norm "
         "or a division by a norm.")
def _(heads, W_O):
    joined = _side_by_side(heads)
    yield nn.functional.layer_norm(joined, joined.shape[-1:]) @ W_O
    yield nn.functional.normalize(joined, dim=-1) @ W_O
    yield _side_by_side(nn.functional.normalize(heads, dim=-1)) @ W_O


@mistake("concat_and_project", "largest of the heads",
         "For each feature you kept the largest of what the heads contribute. The formula adds the contributions up: look at how "
         "you join them.")
def _(heads, W_O):
    return _each_meets(heads, _blocks(heads, W_O)).amax(1)


def _subsets(num_heads: int) -> Iterator[list[int]]:
    """Some of the heads, but not all."""
    for many in range(1, num_heads):
        yield from map(list, itertools.combinations(range(num_heads), many))


def _side_by_side(heads: Tensor) -> Tensor:
    return torch.cat(heads.unbind(1), dim=-1)


def _blocks(heads: Tensor, W: Tensor) -> Tensor:
    """The rows of W cut into blocks of neighbours, on the way to several mistakes: (num_heads, d_v, columns)."""
    return W.unflatten(0, (heads.shape[1], heads.shape[3]))


def _each_meets(heads: Tensor, blocks: Tensor) -> Tensor:
    """What each head makes with the block that a mistake gives it."""
    return torch.einsum("bhnd,hdf->bhnf", heads, blocks)


@exercise("concat_and_project", lesson=LESSON, points=3, hidden=2, names=("concat_and_project",))
def _(concat_and_project):
    # The running example, as the lesson prints it.
    heads, W_O = torch.tensor([_FOUND]), torch.tensor(_MIX)
    expected = torch.tensor([[[5.5, 4.25, 3, 1.5, .25, -1], [4.5, 4.5, 2, 2.5, -2.5, 0],
                              [5.5, 4.25, 3, -1.5, -.25, 1], [4, 4, 4, 0, 0, 0], [4, 4, 4, 0, 0, 0]]])
    got = concat_and_project(heads.clone(), W_O.clone())
    judge("concat_and_project", got, expected, heads, W_O, what="concat_and_project(heads, W_O)",
          axes=("batch", "token", "feature"), fn=concat_and_project)


# ---------------------------------------------------------------- numbers_04

_TEMPTING: dict[str, tuple[str, tuple[float, float]]] = {}


def _tempting(name: str, answer: str, numbers: tuple[float, float], sentence: str) -> None:
    declare("numbers_04", name, sentence)
    _TEMPTING[name] = answer, numbers


_tempting("heads in reversed order", "toy_output", (5.5, 7.0),
          "You put head 2 first. Head 1 (index 0) meets rows 0 to 2 of W_O, head 2 (index 1) meets rows 3 to 5.")
_tempting("features interleaved", "toy_output", (8.5, 0.5),
          "You dealt the numbers of the heads out in turn. The concatenation is all of head 1, then all of head 2.")
_tempting("mean instead of sum", "toy_output", (1.75, 3.0),
          "You averaged what the two heads contribute. The formula adds it up.")
_tempting("other head for the output", "toy_output", (3.0, 4.0),
          "That is what head 2 (index 1) contributes. The output has the part of head 1 in it too.")
_tempting("share for the output", "toy_output", (0.5, 2.0),
          "That is what head 1 contributes. Asked here is the output, both heads together.")
_tempting("columns exchanged", "toy_output", (6.0, 3.5),
          "Your two numbers are in the wrong order. Column 0 of W_O gives the first number of the output.")
_tempting("columns of the share exchanged", "toy_share_1", (2.0, 0.5),
          "Your two numbers are in the wrong order. Column 0 of W_O gives the first number of the share.")
_tempting("other head", "toy_share_1", (3.0, 4.0),
          "That is the part of head 2, worked out above the exercise. Asked is head 1 (index 0), with rows 0 to 2.")
_tempting("block of the other head", "toy_share_1", (1.0, 5.5),
          "You took the numbers of head 1 and the rows of head 2. Head 1 (index 0) meets rows 0 to 2 of W_O.")
_tempting("output for the share", "toy_share_1", (3.5, 6.0),
          "That is the output, both heads together. Asked here is the part that comes from head 1 alone.")


def tempting(answer: str) -> dict[tuple[float, ...], NotRight]:
    """Wrong numbers that people give for ``answer`` (a name of numbers_04), with what explains each."""
    return {numbers: known("numbers_04", name) for name, (of, numbers) in _TEMPTING.items() if of == answer}


@exercise("numbers_04", lesson=LESSON, points=1, hidden=1, names=("toy_output", "toy_share_1"))
def _(toy_output, toy_share_1):
    # By form, and by the law that shares add up to the output; the share of head 2 is printed in the lesson.
    expect.answered(toy_output=toy_output, toy_share_1=toy_share_1)
    for name, got in (("toy_output", toy_output), ("toy_share_1", toy_share_1)):
        expect.numbers(got, [0, 0], name, atol=1000)
        for mistaken, (answer, numbers) in _TEMPTING.items():
            if answer == name and all(abs(mine - wrong) <= 0.02 for mine, wrong in zip(got, numbers, strict=True)):
                raise known("numbers_04", mistaken)
    if any(abs(whole - one - two) > 0.02 for whole, one, two in zip(toy_output, toy_share_1, (3, 4), strict=True)):
        raise NotRight("Your two answers do not fit: the share of head 1 and the share of head 2, [3, 4], should add up "
                       "to the output. Work out one of the two again.")


# ---------------------------------------------------------------- head_contributions(heads, W_O)


@mistake("head_contributions", "block of the wrong head",
         f"Your heads meet the blocks of W_O in reversed order. {_ROWS} Look at how you count.")
def _(heads, W_O):
    return _each_meets(heads, _blocks(heads, W_O).flip(0))


@mistake("head_contributions", "block of the next head",
         f"Each head meets the block of its neighbour: your blocks are one place off. {_ROWS} Heads are counted from 0 "
         "in code.")
def _(heads, W_O):
    return _each_meets(heads, _blocks(heads, W_O).roll(-1, 0))


@mistake("head_contributions", "column blocks",
         "You cut W_O into blocks of columns, as one does with `nn.Linear.weight`. Here W_O is that of the formula, "
         "(h * d_v, d_model): a head owns a block of rows. The columns are the features of the output, and all heads "
         "share them.")
def _(heads, W_O):
    return _each_meets(heads, _blocks(heads, W_O.T))


@mistake("head_contributions", "whole W_O, output cut",
         "You multiplied the whole concatenation by the whole W_O and cut the output into pieces. Each feature of the "
         "output is a mixture of all heads already. Multiply each head by its own rows of W_O; the result has all d_model "
         "features.")
def _(heads, W_O):
    output = _side_by_side(heads) @ W_O
    return output.unflatten(-1, (heads.shape[1], -1)).transpose(1, 2)


@mistake("head_contributions", "whole output for each head",
         "Every head gets the whole output. Asked is the part that comes from this head alone: its own numbers times "
         "its own rows of W_O.")
def _(heads, W_O):
    return (_side_by_side(heads) @ W_O)[:, None].expand(-1, heads.shape[1], -1, -1)


@mistake("head_contributions", "output shared out equally",
         "You divided the output by the number of heads and gave each the same. They add up as they should, but heads "
         "contribute different things: multiply each by its own rows of W_O.")
def _(heads, W_O):
    whole = (_side_by_side(heads) @ W_O)[:, None].expand(-1, heads.shape[1], -1, -1)
    return whole / heads.shape[1]


@mistake("head_contributions", "rows interleaved",
         "Head i takes every num_heads-th row of W_O. Its rows must be d_v neighbours. "
         f"{_ROWS} Look at the order of the two axes you made of the rows.")
def _(heads, W_O):
    return _each_meets(heads, W_O.unflatten(0, (heads.shape[3], heads.shape[1])).transpose(0, 1))


@mistake("head_contributions", "mean instead of sum",
         "Your parts are the right ones divided by the number of heads, so they add up to an average. The output is "
         "their sum: divide by nothing.")
def _(heads, W_O):
    return _each_meets(heads, _blocks(heads, W_O)) / heads.shape[1]


@mistake("head_contributions", "added up already",
         "You added the parts up, which gives the output of the layer. Asked are the parts, with a head axis: "
         "(batch, num_heads, seq, d_model).")
def _(heads, W_O):
    return _side_by_side(heads) @ W_O


@mistake("head_contributions", "running total",
         "The second part holds the first one too, the third holds both, and so on: you kept a running total. Start "
         "afresh for each head.")
def _(heads, W_O):
    return _each_meets(heads, _blocks(heads, W_O)).cumsum(1)


@mistake("head_contributions", "head axis behind the tokens",
         "Your parts are right, but the axes are (batch, seq, num_heads, d_model). The course writes num_heads in front "
         "of seq: look at the dim you stack on, or at the letters of your einsum.")
def _(heads, W_O):
    return _each_meets(heads, _blocks(heads, W_O)).transpose(1, 2)


@mistake("head_contributions", "the other heads instead",
         "Your parts hold what all other heads contribute: the output without head i. Asked is what head i itself contributes: "
         "look at which one you set to zero.")
def _(heads, W_O):
    parts = _each_meets(heads, _blocks(heads, W_O))
    return parts.sum(1, keepdim=True) - parts


@mistake("head_contributions", "W_O reshaped across rows",
         "Your blocks hold pieces of several rows of W_O: a reshape with d_model in front of d_v tears rows apart. The last axis "
         f"of W_O stays as it is. {_ROWS} Look at your reshape.")
def _(heads, W_O):
    num_heads, d_v, d_model = heads.shape[1], heads.shape[3], W_O.shape[1]
    yield heads @ W_O.reshape(num_heads, d_model, d_v).mT
    yield heads @ W_O.T.reshape(num_heads, d_v, d_model)


@mistake("head_contributions", "one block for all heads",
         f"All heads meet the same block of W_O. {_ROWS} Look at the index of your block.")
def _(heads, W_O):
    for block in _blocks(heads, W_O):
        yield heads @ block


@mistake("head_contributions", "one head for all blocks",
         "All parts are made from the numbers of the same head. Part i takes head i: look at the index of your heads.")
def _(heads, W_O):
    for head in heads.unbind(1):
        yield head[:, None] @ _blocks(heads, W_O)


@mistake("head_contributions", "blocks in another order",
         f"Your heads meet the blocks of W_O in another order. {_ROWS} Look at how you count.")
def _(heads, W_O):
    for order in itertools.permutations(range(heads.shape[1])):
        yield _each_meets(heads, _blocks(heads, W_O)[list(order)])


@exercise("head_contributions", lesson=LESSON, points=4, hidden=3, names=("head_contributions",))
def _(head_contributions):
    # The running example again: head 1 is copied twice, head 2 comes turned round, once with a minus.
    heads, W_O = torch.tensor([_FOUND]), torch.tensor(_MIX)
    even, odd = [2., 2, 2, 2, 2, 2], [2., 2, 2, -2, -2, -2]
    expected = torch.tensor([[[[3.5, 2.25, 1, 3.5, 2.25, 1], [3.5, 1, 1, 3.5, 1, 1], even, even, even],
                              [odd, [1, 3.5, 1, -1, -3.5, -1], [3.5, 2.25, 1, -3.5, -2.25, -1], odd, odd]]])
    got = head_contributions(heads.clone(), W_O.clone())
    judge("head_contributions", got, expected, heads, W_O, what="head_contributions(heads, W_O)",
          axes=("batch", "head", "token", "feature"), fn=head_contributions)


# ---------------------------------------------------------------- shapes_04

declare("shapes_04", "orientation exchanged",
        "You have the two shapes the wrong way round. In the formula the concatenation stands to the left of W_O, so "
        "its numbers meet the rows. nn.Linear stores (out, in).")
declare("shapes_04", "both as in the formula",
        "That is the shape in the formula. nn.Linear stores its weight turned round, as (out, in).")
declare("shapes_04", "both as in nn.Linear",
        "That is the shape of nn.Linear.weight. In the formula the concatenation stands to the left of W_O, so W_O has "
        "one row for each of its numbers.")
declare("shapes_04", "one head only",
        "That is the block of one head. W_O holds the blocks of all heads.")
declare("shapes_04", "square by habit",
        "W_O is square only if h * d_v equals d_model. Multiply: how long is the concatenation here?")


def tempting_shapes(width: int, d_model: int, d_v: int, stored: bool) -> dict[tuple[int, int], NotRight]:
    """Tempting wrong shapes for W_O as the formula has it, or (``stored``) as nn.Linear does."""
    wrong = {
        (width, d_model) if stored else (d_model, width):
            "both as in the formula" if stored else "both as in nn.Linear",
        (d_model, d_v) if stored else (d_v, d_model): "one head only",
        (d_model, d_model): "square by habit",
        (width, width): "square by habit",
    }
    return {shape: known("shapes_04", name) for shape, name in wrong.items()}


@exercise("shapes_04", lesson=LESSON, points=1, hidden=1, names=("shape_W_O", "shape_weight"))
def _(shape_W_O, shape_weight):
    # By form, and by the law that one is the other turned round; which is which is for the hidden test.
    expect.answered(shape_W_O=shape_W_O, shape_weight=shape_weight)
    for name, got in (("shape_W_O", shape_W_O), ("shape_weight", shape_weight)):
        if type(got) is not tuple or len(got) != 2 or any(type(size) is not int for size in got):
            raise expect.form(name, "a tuple of two whole numbers, such as (2, 3)")
    if shape_weight != shape_W_O[::-1]:
        raise NotRight("Your two shapes do not fit. They belong to the same matrix, once as the formula writes it and "
                       "once turned round: look at both.")


# ---------------------------------------------------------------- ablate_head(heads, W_o, i)


@mistake("ablate_head", "bias lost",
         "The head is cut, and the bias went with it. The bias belongs to the layer and not to a head: cutting a head "
         "takes away its block only, so the bias is still added, once.")
def _(heads, W_o, i):
    return _rest(heads, W_o, i)


@mistake("ablate_head", "bias added for each head",
         "The bias is in your output several times: you called the layer once for each head and added up. Each call adds "
         "the bias. It belongs to the layer and is added once.")
def _(heads, W_o, i):
    return _rest(heads, W_o, i) + (heads.shape[1] - 1) * W_o.bias.detach()


@mistake("ablate_head", "rows cut instead of columns",
         "You set rows of `W_o.weight` to zero. `nn.Linear` stores (out, in): its rows are features of the output, and "
         "its columns meet the concatenation. A head owns a block of columns there.")
def _(heads, W_o, i):
    weight = W_o.weight.detach().clone()
    weight[_block(heads, i)] = 0
    return _side_by_side(heads) @ weight.T + W_o.bias.detach()


@mistake("ablate_head", "output features cut",
         "You set features of the output to zero. Each of them is a mixture of all heads, so this cuts a little of "
         "every head. Cut before W_o mixes, or cut the head's columns of `W_o.weight`.")
def _(heads, W_o, i):
    output = _whole(heads, W_o)
    output[..., _block(heads, i)] = 0
    return output


@mistake("ablate_head", "rescaled",
         "You scaled up what the other heads contribute, as dropout would do. To cut a head is to set its output to "
         "zero and leave everything else as it is.")
def _(heads, W_o, i):
    num_heads = heads.shape[1]
    return _rest(heads, W_o, i) * num_heads / (num_heads - 1) + W_o.bias.detach()


@mistake("ablate_head", "rescaled with the bias",
         "You scaled up the whole output, the bias too, as dropout would do. To cut a head is to set its output to zero "
         "and leave everything else as it is.")
def _(heads, W_o, i):
    num_heads = heads.shape[1]
    return (_rest(heads, W_o, i) + W_o.bias.detach()) * num_heads / (num_heads - 1)


@mistake("ablate_head", "mean instead of sum",
         "You averaged what the other heads contribute. The layer adds it up and divides by nothing.")
def _(heads, W_o, i):
    return _rest(heads, W_o, i) / (heads.shape[1] - 1) + W_o.bias.detach()


@mistake("ablate_head", "heads counted from the end",
         "You cut the head with the same number counted from the other end. Look at the order in which your heads are "
         "joined, and at your index.")
def _(heads, W_o, i):
    return _rest(heads, W_o, heads.shape[1] - 1 - i) + W_o.bias.detach()


@mistake("ablate_head", "index counted from 1",
         "You cut the neighbour, one head too early: your index is off by one. `i` is a Python index, so i = 0 is head "
         "1: no subtraction is needed.")
def _(heads, W_o, i):
    _demand_apart(i - 1, -i, heads)
    return _rest(heads, W_o, i - 1) + W_o.bias.detach()


@mistake("ablate_head", "index with a minus",
         "You cut the head that has your index with a minus, counted from the end. `i` is a Python index as it is: look at how "
         "you use it.")
def _(heads, W_o, i):
    _demand_apart(i - 1, -i, heads)
    return _rest(heads, W_o, -i) + W_o.bias.detach()


@mistake("ablate_head", "other heads cut",
         "Your output lacks other heads than head i alone. Look at the index or the columns that you set to zero: where do they "
         "start and end?")
def _(heads, W_o, i):
    for some in _subsets(heads.shape[1]):
        if some != [i] and i in some or len(some) < heads.shape[1] - 1:  # all but head i has a name of its own
            yield _whole(heads, W_o) - _parts(heads, W_o)[:, some].sum(1)


@mistake("ablate_head", "rest closed up",
         "You left head i out, and the heads behind it moved up: they meet columns of `W_o.weight` that belong to other heads. "
         "Put zeros where head i was, so that every other head stays in its place.")
def _(heads, W_o, i):
    rest = [head for place, head in enumerate(heads.unbind(1)) if place != i]
    yield _whole(torch.stack([*rest, torch.zeros_like(rest[0])], 1), W_o)
    yield _whole(torch.stack([torch.zeros_like(rest[0]), *rest], 1), W_o)


@mistake("ablate_head", "added once more",
         "You added what head i contributes instead of taking it away, so it is in your output twice. Look at the sign.")
def _(heads, W_o, i):
    return _whole(heads, W_o) + _parts(heads, W_o)[:, i]


@mistake("ablate_head", "W_o not applied",
         "You return the concatenation, with head i cut. The last step is missing: the layer W_o.")
def _(heads, W_o, i):
    heads[:, i] = 0
    return _side_by_side(heads)


@mistake("ablate_head", "feature cut",
         "You set one feature to zero, in all heads. The axes are (batch, num_heads, seq, d_v): heads are the second one.")
def _(heads, W_o, i):
    heads[..., i] = 0
    return _whole(heads, W_o)


@mistake("ablate_head", "made smaller, not cut",
         "Something of head i is still there: it is made smaller, not set to zero. Look at what you multiply it with.")
def _(heads, W_o, i):
    for part in (0.5, 0.1, 0.01, 0.25, 0.75, 0.9, 1 / heads.shape[1]):
        smaller = heads.clone()
        smaller[:, i] *= part
        yield _whole(smaller, W_o)


@mistake("ablate_head", "replaced, not cut",
         "Your head i is not set to zero but replaced by something else: by ones, or by a mean. To cut a head, zero is what it "
         "hands over: look at what you fill in.")
def _(heads, W_o, i):
    own = heads[:, i]
    for other in (torch.ones_like(own), own.mean(-2, keepdim=True), own.mean(0, keepdim=True), own.mean(-1, keepdim=True),
                  own.mean(), own.mean((0, 1)), heads.mean(1)):
        replaced = heads.clone()
        replaced[:, i] = other
        yield _whole(replaced, W_o)


@mistake("ablate_head", "kept instead of cut",
         "Your output holds head i and nothing of the others. It is the other way round: head i goes, the others stay. "
         "Look at your condition or your mask.")
def _(heads, W_o, i):
    return _whole(heads, W_o) - _rest(heads, W_o, i)


@mistake("ablate_head", "contribution returned",
         "That is what head i contributes. Asked is the output of the layer without it.")
def _(heads, W_o, i):
    return _whole(heads, W_o) - _rest(heads, W_o, i) - W_o.bias.detach()


@mistake("ablate_head", "nothing cut",
         "Your output is that of the whole layer: no head is missing. If you made a copy with zeros, is it the copy that "
         "you use afterwards?")
def _(heads, W_o, i):
    return _whole(heads, W_o)


@mistake("ablate_head", "token cut",
         "You set a token to zero, in all heads. The axes are (batch, num_heads, seq, d_v): heads are the second one.")
def _(heads, W_o, i):
    heads[:, :, i] = 0
    return _whole(heads, W_o)


@mistake("ablate_head", "sentence cut",
         "You set a sentence of the batch to zero. The axes are (batch, num_heads, seq, d_v): heads are the second one.")
def _(heads, W_o, i):
    heads[i] = 0
    return _whole(heads, W_o)


@mistake("ablate_head", "one column cut",
         "You cut one column of `W_o.weight`, which is one feature of one head. A head has d_v of them: columns "
         "i * d_v to (i + 1) * d_v - 1.")
def _(heads, W_o, i):
    weight = W_o.weight.detach().clone()
    weight[:, i] = 0
    return _side_by_side(heads) @ weight.T + W_o.bias.detach()


@mistake("ablate_head", "columns interleaved",
         "You cut every num_heads-th column. The columns of a head are d_v neighbours: i * d_v to (i + 1) * d_v - 1.")
def _(heads, W_o, i):
    weight = W_o.weight.detach().clone()
    weight[:, i::heads.shape[1]] = 0
    return _side_by_side(heads) @ weight.T + W_o.bias.detach()


@mistake("ablate_head", "no transpose before the merge", source="jsbaan/transformer-from-scratch#6, opacus#825",
         sentence="The head is cut, but then you reshaped (batch, num_heads, seq, d_v) straight to (batch, seq, "
         "num_heads * d_v). Bring num_heads behind seq first, then join the last two axes.")
def _(heads, W_o, i):
    heads[:, i] = 0
    batch, num_heads, seq, d_v = heads.shape
    return heads.reshape(batch, seq, num_heads * d_v) @ W_o.weight.detach().T + W_o.bias.detach()


declare("ablate_head", "zeroed in place",
        "Your output is right, but the layer is not the same afterwards: you changed its weights. Whoever owns it would "
        "lose the head for good. Work on a copy, or cut the head's output instead.")
declare("ablate_head", "layer left changed",
        "Your output is right, but the layer is not the same afterwards: its training mode or its requires_grad has changed. "
        "Leave the layer as it is: look for train(), eval() and requires_grad_().")
declare("ablate_head", "heads changed in place",
        "Your output is right, but you set numbers of the caller's `heads` to zero. Work on a copy: `heads.clone()`.")


def _block(heads: Tensor, i: int) -> slice:
    d_v = heads.shape[3]
    return slice(i * d_v, (i + 1) * d_v)


def _whole(heads: Tensor, W_o: nn.Linear) -> Tensor:
    return _side_by_side(heads) @ W_o.weight.detach().T + W_o.bias.detach()


def _rest(heads: Tensor, W_o: nn.Linear, i: int) -> Tensor:
    """On the way to several mistakes: the other heads, without the bias."""
    parts = _parts(heads, W_o)
    return parts.sum(1) - parts[:, i]


def _parts(heads: Tensor, W_o: nn.Linear) -> Tensor:
    return _each_meets(heads, _blocks(heads, W_o.weight.detach().T))


def _demand_apart(one: int, other: int, heads: Tensor) -> None:
    """Two mistakes that cut the same head cannot be told apart."""
    if (one - other) % heads.shape[1] == 0:
        raise ValueError("both cut the same head")


def demand_untouched(W_o: nn.Linear, before: dict[str, Tensor], training: bool) -> None:
    """Raise NotRight, by name, if the layer is not as it was: its weights, and whether it is in training mode."""
    after = W_o.state_dict()
    if after.keys() != before.keys() or any(not torch.equal(after[name], before[name]) for name in before):
        raise known("ablate_head", "zeroed in place")
    if W_o.training != training or not all(p.requires_grad for p in W_o.parameters()):
        raise known("ablate_head", "layer left changed")


@exercise("ablate_head", lesson=LESSON, points=3, hidden=2, names=("ablate_head",))
def _(ablate_head):
    # Three heads whose parts can be read off as digits: head 1 in the units, head 2 in the tens, head 3 in the
    # hundreds, and the bias in the thousands.
    digits = torch.tensor([[[1., 2], [3, 4]], [[5, 6], [7, 8]], [[2, 3], [4, 1]]])
    weight = torch.tensor([[1., 0, 10, 0, 100, 0], [0, 1, 0, 10, 0, 100], [1, 1, 10, 10, 100, 100], [0] * 6])
    bias = torch.tensor([1000., 2000, 3000, 4000])
    without = {1: [[1201., 2302, 3503, 4000], [1403, 2104, 3507, 4000]],
               0: [[1250., 2360, 3610, 4000], [1470, 2180, 3650, 4000]]}
    heads = torch.stack([digits, 2 * digits])
    for i, rows in without.items():
        W_o = nn.Linear(6, 4)
        before = {"weight": weight.clone(), "bias": bias.clone()}
        W_o.load_state_dict(before)
        once = torch.tensor(rows)
        expected = torch.stack([once, 2 * (once - bias) + bias])
        used = heads.clone()
        got = ablate_head(used, W_o, i)
        judge("ablate_head", got, expected, heads, _fresh(before), i, what="ablate_head(heads, W_o, i)",
              axes=("batch", "token", "feature"))
        demand_untouched(W_o, before, training=True)
        if not torch.equal(used, heads):
            raise known("ablate_head", "heads changed in place")


def _fresh(state: dict[str, Tensor]) -> nn.Linear:
    layer = nn.Linear(*reversed(state["weight"].shape))
    layer.load_state_dict(state)
    return layer


# ---------------------------------------------------------------- choices_04

declare("choices_04", "heads never mix again",
        "Too strong. The next layer, a feed-forward layer or a linear read-out sees the concatenation and can mix the "
        "heads there. What is lost is lost inside this layer.")
declare("choices_04", "a change of size only",
        "W_O does change the size where h * d_v differs from d_model, but often the two are equal, and W_O is there all "
        "the same. Look at what one feature of the output is made of, with and without it.")
declare("choices_04", "weights change",
        "The attention weights are made of queries and keys, before W_O. Whether W_O follows or not, they stay as they "
        "are.")
declare("choices_04", "concat mixes",
        "Concat only puts the heads side by side. Each of its numbers is still a number of one head.")
declare("choices_04", "values take over",
        "Each head's W_V works on that head alone, before anything is joined. No choice of value matrices brings two "
        "heads together in one number.")
declare("choices_04", "heads too alike",
        "The four heads of the toy do four different things: cutting one loses one role. Look at the ablation.")


@exercise("choices_04", lesson=LESSON, points=2, hidden=2, names=("answer_without_W_O", "answer_toy"))
def _(answer_without_W_O, answer_toy):
    expect.letter(answer_without_W_O, "answer_without_W_O")
    expect.letter(answer_toy, "answer_toy")
