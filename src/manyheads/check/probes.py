"""The nearest true statement about a wrong tensor, where no listed mistake explains it.

Each probe compares what came with what was expected, both float64 and of one shape, and yields a name of :data:`SAYS`
with its fields if its statement is true. :func:`nearest` takes the first one, from the special to the general. A
statement says where to look next and holds no number of the expected tensor.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations

import torch
from torch import Tensor

from .errors import NotRight

Finding = tuple[str, dict[str, object]]

# name: what the student reads. {what} is the call, {axis} one axis, {many} what lies along it, {place} a place by axes.
SAYS = {
    # what two calls tell
    "two calls differ": "Two equal calls of {what} gave different results. Look for something that is kept from one call to the "
                        "next, or for random numbers.",
    "changed in place": "{what} changed its argument {number} in place. Make a new tensor: whoever called you still needs the old "
                        "one. Look for an operation that ends in _, or for an assignment to x[...].",
    # answers that are no tensors
    "form": "{what} should be {wanted}. Look at how you wrote it.",
    "another type": "{what} should be {right}; it is {mine}. Look at how you wrote it.",
    "another length": "{what} has {mine} {items}; it should have {right}. Look at what each of them counts.",
    "wrong at an index": "{what} is wrong first at index {place}: ask what that axis counts.",
    "number off": "{what}: number {number} (index {place}) is off. Work that one out again by hand.",
    "another value": "{what} should have another value: read once more what is asked.",
    # errors and gradients
    "another error": "{what} raised {mine}; it should raise {right}. Look at the sizes before you use them.",
    "no error": "{what} went through; it should raise {right}. Look at the sizes before you use them.",
    "no gradient": "No gradient flows back from the output to the input. Look for .detach(), .data, .item(), torch.no_grad(), "
                   "numpy or torch.tensor(...) on the way.",
    "gradient does not reach": "The output has a gradient, but none of it reaches the input. Look at whether the input itself is "
                               "used.",
    # the kind of thing
    "nothing returned": "{what} gave None: did you forget a return? Look at the last line.",
    "a list of tensors": "{what} should be a torch tensor; it is {kind}. Join its items into one tensor: look at torch.stack "
                         "and torch.cat.",
    "a list of numbers": "{what} should be a torch tensor; it is {kind}. Look at torch.tensor(...).",
    "not a tensor": "{what} should be a torch tensor; it is {kind}. Look at where it stops being one.",
    "another dtype": "{what} has dtype {mine}; it should have dtype {right}. Look at the operation that makes it.",
    "NaN": "{what} holds NaN, first at {place}. Look for 0/0, the root of a negative number or a softmax over nothing.",
    "infinite": "{what} holds infinite numbers, first at {place}. Look for a division by 0, or a -inf that is left in.",
    # the shape
    "shape: axes in another order": "{what} has the right numbers, but its axes are {mine}; they should be {right}. Look at "
                                    "your last transpose or permute, or at the dim of your stack.",
    "shape: axes exchanged": "{what} has shape {mine}; it should have shape {right}: the sizes are right and stand in another "
                             "order. Look at what each of your axes counts.",
    "shape: axis averaged": "{what} has shape {mine}; it should have shape {right}. You averaged over the {many}: keep them "
                            "apart, and look at the dim of your mean.",
    "shape: axis added up": "{what} has shape {mine}; it should have shape {right}. You added the {many} up: keep them apart, "
                            "and look at the dim of your sum.",
    "shape: largest of an axis": "{what} has shape {mine}; it should have shape {right}. You kept the largest of the {many}: "
                                 "keep them all, and look at the dim of your max.",
    "shape: one of an axis": "{what} has shape {mine}; it should have shape {right}. You kept {one} alone: look at your index.",
    "shape: axis of size 1 too many": "{what} has shape {mine}; it should have shape {right}. The numbers are right and one "
                                      "axis of size 1 is too many: look for an unsqueeze or a None.",
    "shape: axis of size 1 missing": "{what} has shape {mine}; it should have shape {right}. The numbers are right and axes of "
                                     "size 1 are missing: look at unsqueeze, or at [:, None].",
    "shape: repeated": "{what} has shape {mine}; it should have shape {right}. You repeated it along {axis}, where a size of 1 "
                       "is wanted: look at your expand or repeat.",
    "shape: numbers in another shape": "{what} has shape {mine}; it should have shape {right}. The numbers are right and in the "
                                       "right order: look at your last reshape.",
    "shape: joined along another axis": "{what} has shape {mine}; it should have shape {right}: {many} and {others} share out the "
                                        "numbers in another way. Look at the dim on which you join or split, "
                                        "and at which axes your transpose exchanges.",
    "shape: blocks added up": "{what} has shape {mine}; it should have shape {right}. You added blocks up that should stand side "
                              "by side: look at how you join them.",
    "shape: blocks averaged": "{what} has shape {mine}; it should have shape {right}. You averaged blocks that should stand side by "
                              "side: look at how you join them.",
    "shape: largest of blocks": "{what} has shape {mine}; it should have shape {right}. You kept the largest of blocks that should "
                                "stand side by side: look at how you join them.",
    "shape: blocks not added": "{what} has shape {mine}; it should have shape {right}. You put blocks side by side that should be added "
                               "up: look at how you join them.",
    "shape: part missing": "{what} has shape {mine}; it should have shape {right}. Missing: {part}. Look at where your loop or your "
                           "slice starts and ends.",
    "shape: more besides": "{what} has shape {mine}; it should have shape {right}. The right numbers are there, and more {many} "
                           "beside them. Look at what you start with, and at how often you join.",
    "shape: one block": "{what} has shape {mine}; it should have shape {right}. It holds one block of those that should stand side "
                        "by side: look at your loop or your index.",
    "shape: axes joined": "{what} has shape {mine}; it should have shape {right}: as many numbers in fewer axes. Look at what you "
                          "flatten, reshape or join.",
    "shape: axis missing": "{what} has shape {mine}; it should have shape {right}. The axis of the {many} is missing: look at "
                           "what you sum over, index or flatten.",
    "shape: axis too many": "{what} has shape {mine}; it should have shape {right}. Look at which axis should be joined with "
                            "another, or summed over.",
    "shape: one size differs": "{what} has shape {mine}; it should have shape {right}: another number of {many}. Look at where "
                               "that size comes from.",
    "shape": "{what} has shape {mine}; it should have shape {right}. Print the shape after each of your steps.",
    # one law for all numbers
    "all zero": "{what} is 0 everywhere. Look at whether what you work out is written to the tensor that you return.",
    "wrong sign": "{what} has the wrong sign everywhere. Look for a minus, or a difference taken the wrong way round.",
    "absolute values": "{what} has lost its minus signs. Look for an abs or a square.",
    "negative numbers cut": "{what} is right where it is positive, and 0 elsewhere. Look for a relu or a clamp.",
    "rounded": "{what} is rounded. Leave the numbers as they are: look for a round, an int or an integer division.",
    "logarithm": "{what} is the logarithm of what it should be. Look for a log or a log_softmax too many.",
    "exponential": "{what} is the exponential of what it should be. Look for an exp too many.",
    "constant factor": "{what} is the right one times the same factor everywhere{guess}. Look at what you divide or multiply by.",
    "constant offset": "{what} is off by the same amount everywhere. Look for something that is added to all numbers.",
    "same row added": "{what} is off by the same row of numbers for all {many}. Look for a bias, or another vector, that is added "
                      "once too often or left out.",
    "too sharp": "{what} has the right order and is too sharp, as if all scores were multiplied by one factor. Look at what the "
                 "scores are divided by, and at the base of the exponential.",
    "too even": "{what} has the right order and is too even, as if all scores were divided by one factor. Look at what the "
                "scores are divided by, and at the base of the exponential.",
    "another function of the scores": "{what} has the right order in every row and other numbers, not by one factor. Look at what "
                                      "stands between the scores and the result: another function, or a softmax too many?",
    "turned round": "{what} is turned round: the lowest score gets the most weight. Look for a minus too many before the softmax.",
    # weights, and what a budget is
    "columns sum to one": "{what}: the columns sum to 1, but each row should. The softmax must run over the last axis: look at "
                          "its dim.",
    "one budget for several rows": "{what}: all weights of the same {shared} sum to 1 together. Each row is a budget of its own: "
                                   "look at the axes your softmax runs over.",
    "one hot": "{what}: each row gives everything to one place. A softmax gives every open place a share: look for an argmax or "
               "a threshold in its place.",
    "negative weights": "{what} holds negative numbers, first at {place}. Weights are never negative: look at whether the softmax "
                        "is there, and whether its result is what you return.",
    "blocked row keeps weight": "{what}: a row without an open place should be 0, and it holds weight, first at {place}. Look at "
                                "what your softmax does with such a row.",
    "blocked keeps weight": "{what}: a place that should get no weight has some, first at {place}. Look at its score before "
                            "the softmax: is it blocked there?",
    "later keys hidden": "{what}: keys after the query get no weight although nothing hides them, first at {place}. Look for a "
                         "causal mask that nobody asked for.",
    "open place gets nothing": "{what}: a place that is open gets no weight, first at {place}. Look at which places you block.",
    "rows do not sum to one": "{what}: the rows do not sum to 1{place} ({side}). Each row is one budget: look at the axis of "
                              "your softmax, and at what you divide by.",
    # masks
    "polarity": "{what} is turned round: True where it should be False. Look at what True means here: may look.",
    "says one thing": "{what} is {value} everywhere. Look at your comparison.",
    "allows too much": "{what} is True where it should be False, first at {place}, and right elsewhere. Look at the edges of "
                       "your comparison.",
    "allows too little": "{what} is False where it should be True, first at {place}, and right elsewhere. Look at the edges of "
                         "your comparison.",
    # where things are
    "axes transposed": "{what} is right but for two axes that have changed places: {axis} and {other}. Look for a transpose too "
                       "many, or one too few.",
    "reversed": "{what} has its {many} in reversed order. Look at the order of your loop, your stack or your index.",
    "shifted": "{what} has its {many} moved on by {steps}: where {one} belongs stands {other}. Look at where you start to count.",
    "permuted": "{what} has its {many} in another order: where {one} belongs stands {other}. Look at the order in which you join "
                "or index them.",
    "one for all": "{what} is the same for all {many}: everywhere stands what {one} should hold. Look at the index in your loop.",
    "repeated and lost": "{what} holds some {many} twice and others not at all: where {one} belongs stands {other}. Look at your "
                         "indices.",
    "same for all": "{what} is the same for all {many}, and it should not be. Look at where they lose what tells them apart.",
    "moved": "{what}: {many} are mixed. At {place} stands what belongs to {home}. Look at "
             "the order of the axes before your reshape.",
    "moved within a row": "{what} has the right numbers in another order within rows: at {place} stands what belongs to {home}. "
                          "Look at the order in which you sort, stack or index.",
    "taken from elsewhere": "{what} holds some numbers twice and lacks others: at {place} stands what belongs to {home}. Look at "
                            "where each of your slices starts and ends.",
    "input handed back": "{what} is the argument {number} as it came. Look at whether you return what you worked out.",
    "empty in part": "{what} is right for {fine} and 0 for {bad}, first at {place}. Look at where your loop ends, or whether it returns too early.",
    "right in part": "{what} is right for {fine} and wrong for {bad}, first at {place}. Look at what your code does "
                     "differently there.",
    # the rest
    "normalised": "{what}: each row has mean 0 and spread 1. Look for a normalisation that nobody asked for.",
    "row factor": "{what}: each row is the right one times a factor of its own. Look for a division by a sum, a length or a "
                  "norm.",
    "row offset": "{what}: each row is off by a number of its own. Look for a mean or a maximum that is subtracted.",
    "nearly": "{what} is nearly right, and not as exact as its dtype allows, first at {place}. Look for a small number that is "
              "added, or a detour through another dtype.",
    "values differ": "{what} has the right shape, but {count} of {whole} values differ, first at {place}. Print that row, and "
                     "work it out by hand for one small example.",
}

_MANY = {"batch": "sentences", "sentence": "sentences", "query": "queries"}
PREFIX = "probe: "
VAGUE = (PREFIX + "values differ", PREFIX + "nearly", PREFIX + "same row added")


def not_right(name: str, **fields: object) -> NotRight:
    """The exception for one statement of :data:`SAYS`; its mistake is called ``probe: NAME``."""
    return NotRight(SAYS[name].format(**fields), mistake=PREFIX + name)


def nearest(got: Tensor, right: Tensor, wrong: Tensor, what: str, axes: Sequence[str] | None = None) -> NotRight:
    """What to say of a tensor that has the shape and the kind of ``right`` and, where ``wrong``, other values."""
    mine, theirs, names = got.detach().cpu().double(), right.detach().cpu().double(), _names(axes, right.dim())
    if mine.isnan().any() and not theirs.isnan().any():
        return not_right("NaN", what=what, place=_place(mine.isnan(), names))
    if mine.isinf().any() and not theirs.isinf().any():
        return not_right("infinite", what=what, place=_place(mine.isinf(), names))
    allowed = torch.where(wrong, mine, theirs)  # a check may be more generous than the probes are: what it allows is right
    probes = _OF_MASKS if right.dtype == torch.bool else _OF_VALUES
    if names[-1:] == ("head",):  # one number for each head is no row of weights, even if they happen to sum to 1
        probes = tuple(probe for probe in probes if probe not in _OF_WEIGHTS)
    for probe in probes:
        for name, fields in probe(mine if probe in _LAWS else allowed, theirs, names):
            return not_right(name, what=what, **fields)
    return not_right("values differ", what=what, count=int(wrong.sum()), whole=wrong.numel(), place=_place(wrong, names))


def nearest_shape(got: Tensor, right: Tensor, what: str, axes: Sequence[str] | None = None) -> NotRight:
    """What to say of a tensor whose shape is not that of ``right``."""
    mine, theirs, names = got.detach().cpu().double(), right.detach().cpu().double(), _names(axes, right.dim())
    sizes = {"what": what, "mine": tuple(got.shape), "right": tuple(right.shape)}
    for name, fields in _shapes(mine, theirs, names):
        return not_right(name, **(sizes | fields))
    return not_right("shape", **sizes)


def about_shape(mine: Sequence[int], right: Sequence[int], what: str) -> NotRight:
    """The same where only the shape is known, not the values."""
    empty = torch.zeros(()).expand(tuple(mine)), torch.full((), math.nan).expand(tuple(right))
    return nearest_shape(*empty, what)


def not_a_tensor(got: object, what: str, kind: str) -> NotRight:
    """What to say of something that should be a tensor."""
    if got is None:
        return not_right("nothing returned", what=what)
    items = list(got) if isinstance(got, list | tuple) else []
    name = ("a list of tensors" if items and all(isinstance(item, Tensor) for item in items) else
            "a list of numbers" if items and all(isinstance(item, int | float | list) for item in items) else "not a tensor")
    return not_right(name, what=what, kind=kind)


def place(wrong: Tensor) -> str:
    """Where the first marked place is, by index."""
    return _place(wrong, _names(None, wrong.dim()))


# ---------------------------------------------------------------- shape


def _shapes(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    mine, theirs = tuple(got.shape), tuple(right.shape)
    squeezed = got.squeeze(), right.squeeze()
    if got.dim() > right.dim() and squeezed[0].shape == squeezed[1].shape and _same(*squeezed):
        yield "shape: axis of size 1 too many", {}
    if got.dim() < right.dim() and squeezed[0].shape == squeezed[1].shape and _same(*squeezed):
        yield "shape: axis of size 1 missing", {}
    if got.dim() == right.dim() <= 5 and sorted(mine) == sorted(theirs):
        for order in permutations(range(got.dim())):
            if _same(got, right.permute(order)):
                yield "shape: axes in another order", {"mine": _tuple(axes[i] for i in order), "right": _tuple(axes)}
        yield "shape: axes exchanged", {}
    if got.dim() == right.dim():
        repeated = [i for i in range(got.dim()) if theirs[i] == 1 < mine[i]]
        if repeated and _same(got, right.expand([m if t == 1 else t for m, t in zip(mine, theirs, strict=True)])):
            yield "shape: repeated", {"axis": f"the {axes[repeated[0]]} axis"}
    for i in range(right.dim()):
        if mine in (theirs[:i] + theirs[i + 1:], (*theirs[:i], 1, *theirs[i + 1:])):
            rest = got.reshape(theirs[:i] + theirs[i + 1:])
            for name, reduced in (("averaged", right.mean(i)), ("added up", right.sum(i))):
                if _same(rest, reduced):
                    yield f"shape: axis {name}", {"many": _many(axes[i])}
            if theirs[i] and _same(rest, right.amax(i)):
                yield "shape: largest of an axis", {"many": _many(axes[i])}
            for place in range(theirs[i]):
                if _same(rest, right.select(i, place)):
                    yield "shape: one of an axis", {"one": _one(axes[i], place)}
    if got.numel() == right.numel() and _same(got.flatten(), right.flatten()):
        yield "shape: numbers in another shape", {}
    if got.numel() == right.numel() and got.dim() < right.dim():
        yield "shape: axes joined", {}
    missing = [i for i in range(right.dim()) if mine == theirs[:i] + theirs[i + 1:]]
    if len(missing) == 1:
        yield "shape: axis missing", {"many": _many(axes[missing[0]])}
    if got.dim() > right.dim():
        yield "shape: axis too many", {}
    differ = [i for i in range(right.dim()) if got.dim() == right.dim() and mine[i] != theirs[i]]
    if len(differ) == 1 and mine[differ[0]] and theirs[differ[0]] % mine[differ[0]] == 0:
        axis, size = differ[0], mine[differ[0]]
        blocks = right.unflatten(axis, (theirs[axis] // size, size))
        for name, joined in (("blocks added up", blocks.sum(axis)), ("blocks averaged", blocks.mean(axis)),
                             ("largest of blocks", blocks.amax(axis))):
            if _same(got, joined):
                yield f"shape: {name}", {}
        if any(_same(got, block) for block in blocks.unbind(axis)):
            yield "shape: one block", {}
    if len(differ) == 1 and theirs[differ[0]] > 1 and mine[differ[0]] % theirs[differ[0]] == 0 != mine[differ[0]]:
        axis, size = differ[0], theirs[differ[0]]
        if _same(got.unflatten(axis, (mine[axis] // size, size)).sum(axis), right):
            yield "shape: blocks not added", {}
    if len(differ) == 1 and 1000 >= mine[differ[0]] > theirs[differ[0]] > 1:  # nobody waits for millions of places
        axis, size = differ[0], theirs[differ[0]]
        if any(_same(got.narrow(axis, start, size), right) for start in range(mine[axis] - size + 1)):
            yield "shape: more besides", {"many": _many(axes[axis])}
    if len(differ) == 1 and 0 < mine[differ[0]] < theirs[differ[0]]:
        axis, size = differ[0], mine[differ[0]]
        for start in range(theirs[axis] - size + 1):
            if _same(got, right.narrow(axis, start, size)):
                absent = torch.ones(theirs[axis], dtype=torch.bool)
                absent[start:start + size] = False
                yield "shape: part missing", {"part": _some(axes[axis], absent)}
    if len(differ) == 2 and got.numel() == right.numel():
        yield "shape: joined along another axis", {"many": _many(axes[differ[0]]), "others": _many(axes[differ[1]])}
    if len(differ) == 1:
        yield "shape: one size differs", {"many": _many(axes[differ[0]])}


# ---------------------------------------------------------------- one law for all numbers


def _one_law(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    if not got.any():
        yield "all zero", {}
    if _same(got, -right):
        yield "wrong sign", {}
    if _same(got, right.abs()):
        yield "absolute values", {}
    if _same(got, right.clamp(min=0)):
        yield "negative numbers cut", {}
    whole = 1 if right.dim() and _budgets(right, empty_rows=True) else 0  # weights rounded to 0 and 1 are another matter
    if any(_same(got, right.round(decimals=digits)) for digits in range(whole, 4)):
        yield "rounded", {}
    if (right > 0).all() and _same(got, right.log()):
        yield "logarithm", {}
    if _same(got, right.exp()):
        yield "exponential", {}


def _factor(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    if not right.any() or not got.any():
        return
    factor = ((got * right).sum() / (right * right).sum()).item()
    if _same(got, factor * right):
        yield "constant factor", {"guess": _guess(factor, right.shape, axes)}


def _guess(factor: float, sizes: Sequence[int], axes: Sequence[str]) -> str:
    """The factor in words, where it is the number of heads, say, or its root."""
    found = set()
    for axis, size in zip(axes, sizes, strict=True):
        if size > 1 and not axis.startswith("axis "):
            for value, words in ((size, "the number of"), (math.sqrt(size), "the root of the number of")):
                if math.isclose(factor, value, rel_tol=1e-4):
                    found.add(f", {words} {_many(axis)}")
                if math.isclose(factor, 1 / value, rel_tol=1e-4):
                    found.add(f", one over {words} {_many(axis)}")
    return found.pop() if len(found) == 1 else ""


def _offset(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    difference = got - right
    if got.numel() > 1 and _same(difference, difference.mean().expand_as(difference)):
        yield "constant offset", {}


def _same_row(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    difference = got - right
    if got.dim() > 1 and got[..., 0].numel() > 2:
        row = difference.reshape(-1, got.shape[-1])[0]
        if _same(difference, row.expand_as(difference)):
            yield "same row added", {"many": _many(axes[-2])}


def _sharpness(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    """Weights whose logarithms are the right ones times a factor, row by row, up to a constant."""
    if not (_budgets(got) and _budgets(right) and torch.equal(got > 0, right > 0)):
        return
    mine, theirs = (_centred_logs(x) for x in (got, right))
    whole = (theirs * theirs).sum().item()
    if whole < 1e-9:
        return
    factor = (mine * theirs).sum().item() / whole
    if (mine - factor * theirs).abs().max() < 1e-3 * max(1.0, theirs.abs().max().item()) and abs(factor) > 1e-6:
        yield "turned round" if factor < 0 else "too sharp" if factor > 1 else "too even", {}
    elif got.shape[-1] > 2 and torch.equal(got.argsort(-1), right.argsort(-1)) and len(got.flatten().unique()) > 3:
        yield "another function of the scores", {}


def _centred_logs(weights: Tensor) -> Tensor:
    open_places = weights > 0
    logs = torch.where(open_places, weights.clamp(min=1e-300).log(), 0)
    return torch.where(open_places, logs - logs.sum(-1, keepdim=True) / open_places.sum(-1, keepdim=True).clamp(min=1), 0)


# ---------------------------------------------------------------- weights


def _weights(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    """Where the right rows are budgets, or 0 because all is blocked: what the wrong ones break."""
    if not right.dim() or right.shape[-1] < 2 or not _budgets(right, empty_rows=True):
        return
    if (got < -1e-6).any():
        yield "negative weights", {"place": _place(got < -1e-6, axes)}
        return
    rows = right.any(-1)
    too_many = (got > 1e-6) & (right == 0)
    if too_many[~rows].any() and _same(got[rows], right[rows]):
        yield "blocked row keeps weight", {"place": _place(too_many, axes)}
    if right.dim() > 1 and not _budgets(got, empty_rows=True):
        if _ones(got.sum(-2)):
            yield "columns sum to one", {}
        for shared in _summed_together(got):
            yield "one budget for several rows", {"shared": " and ".join(axes[i] for i in shared) or "call"}
    if rows.all() and ((got < 1e-6) | ((got - 1).abs() < 1e-6)).all() and _budgets(got) and not _same(right, right.round()):
        yield "one hot", {}
    if too_many.any():
        yield "blocked keeps weight", {"place": _place(too_many, axes)}
    nothing = (got == 0) & (right > 1e-6)
    if nothing.any() and _budgets(got, empty_rows=True) and got.any(-1)[rows].all():
        later = torch.ones(got.shape[-2:] if got.dim() > 1 else (1, *got.shape), dtype=torch.bool).triu(1)
        causal = got.dim() > 1 and torch.equal(nothing, later & (right > 1e-6))
        yield "later keys hidden" if causal else "open place gets nothing", {"place": _place(nothing, axes)}


def _row_sums(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    if right.dim() and right.shape[-1] > 1 and _budgets(right, empty_rows=True):
        sums, rows = got.sum(-1), right.any(-1)
        off = ((sums - 1).abs() > 1e-4) & rows
        if off.any() and sums[off].any():  # rows that are empty are another matter
            first = sums[off][0].item()
            where = f", first at {_place(off, axes[:-1])}" if off.dim() else ""
            yield "rows do not sum to one", {"place": where, "side": "too little" if first < 1 else "too much"}


def _summed_together(got: Tensor) -> Iterator[tuple[int, ...]]:
    """The axes that are left when all others together sum to 1; the last axis is always summed over."""
    leading = range(got.dim() - 1)
    for many in range(1, got.dim()):
        for more in combinations(leading, many):
            if _ones(got.sum((*more, got.dim() - 1))):
                yield tuple(i for i in leading if i not in more)
    for axis in leading:
        if axis != got.dim() - 2 and _ones(got.sum(axis)):
            yield tuple(i for i in range(got.dim()) if i != axis)


def _budgets(x: Tensor, empty_rows: bool = False) -> bool:
    if not x.dim() or (x < -1e-6).any():
        return False
    sums = x.sum(-1)
    return bool((((sums - 1).abs() < 1e-4) | (empty_rows & (sums == 0))).all()) and bool(sums.any())


def _ones(sums: Tensor) -> bool:
    return bool(((sums - 1).abs() < 1e-4).all())


# ---------------------------------------------------------------- masks


def _mask(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    if _same(got, 1 - right):
        yield "polarity", {}
    if _same(got, got.flatten()[0].expand_as(got)):
        yield "says one thing", {"value": bool(got.flatten()[0])}


def _mask_edges(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    if (got >= right).all():
        yield "allows too much", {"place": _place(got > right, axes)}
    if (got <= right).all():
        yield "allows too little", {"place": _place(got < right, axes)}


# ---------------------------------------------------------------- where things are


def _transposed(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    for i, j in combinations(range(right.dim()), 2):
        if right.shape[i] == right.shape[j] and _same(got, right.transpose(i, j)):
            yield "axes transposed", {"axis": axes[i], "other": axes[j]}


def _order(got: Tensor, right: Tensor, axes: Sequence[str], twice: bool = False) -> Iterator[Finding]:
    """The slices along one axis, each right and in another place; with ``twice``, also some of them twice."""
    for axis in _heads_first(axes):
        mine, theirs = _slices(got, axis), _slices(right, axis)
        size = len(theirs)
        if size < 2 or size > 400:
            continue
        # Single numbers such as 0 and 1 are equal by chance: there only another order says something.
        single = theirs.shape[1] == 1
        alike = single and bool(((theirs == 0) | (theirs == 1)).any() or len(theirs.unique()) < size)
        found = _which(mine, theirs)
        if found is None:
            continue
        place = next(i for i in range(size) if found[i] != i)
        fields = {"many": _many(axes[axis]), "one": _one(axes[axis], place), "other": _one(axes[axis], found[place])}
        if sorted(found) == list(range(size)):
            steps = found[0]
            if found == list(range(size))[::-1]:
                yield "reversed", fields
            if found == [(i + steps) % size for i in range(size)]:
                yield "shifted", fields | {"steps": f"{size - steps} places" if size - steps > 1 else "one place"}
            yield "permuted", fields
        elif alike:
            continue
        elif len(set(found)) == 1:
            yield "one for all", fields | {"one": fields["other"]}
        elif twice and not single:
            yield "repeated and lost", fields


def _repeated(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    yield from _order(got, right, axes, twice=True)


def _which(mine: Tensor, theirs: Tensor) -> list[int] | None:
    """For each row of ``mine`` the row of ``theirs`` that it equals, its own if possible; None if one equals no row."""
    found = []
    for i, row in enumerate(mine):
        if _same(row, theirs[i]):
            found.append(i)
            continue
        hits = _near(row.expand_as(theirs), theirs).all(-1).nonzero().flatten().tolist()
        if not hits:
            return None
        # Of equal rows, one that is still free.
        found.append(next((hit for hit in hits if hit not in found), hits[0]))
    return found


def _constant(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    for axis in _heads_first(axes):
        def level(x, axis=axis):
            return x.shape[axis] > 1 and _same(x, x.select(axis, 0).unsqueeze(axis).expand_as(x))
        if level(got) and not level(right):
            yield "same for all", {"many": _many(axes[axis])}


def _moved(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    """The same numbers in other places, or some twice and others not at all; needs numbers that all differ."""
    values, order = right.flatten().sort()
    if len(values) < 4 or len(values) > 20_000 or (values.diff() == 0).any():
        return
    near = torch.searchsorted(values, got.flatten().contiguous()).clamp(max=len(values) - 1)
    lower = (near - 1).clamp(min=0)
    near = torch.where((values[lower] - got.flatten()).abs() < (values[near] - got.flatten()).abs(), lower, near)
    if not torch.allclose(values[near], got.flatten(), rtol=1e-6, atol=1e-6):
        return
    source = order[near]
    home = torch.stack(torch.unravel_index(source, right.shape), -1)
    here = torch.stack(torch.unravel_index(torch.arange(len(values)), right.shape), -1)
    wrong = (home != here).any(-1)
    crossed = [axis for axis in range(right.dim()) if (home != here)[:, axis].any()]
    first = int(wrong.nonzero()[0])
    apart = (home != here)[first].nonzero().flatten().tolist()
    fields = {"place": _words(here[first].tolist(), axes),
              "home": ", ".join(_one(axes[axis], int(home[first, axis])) for axis in apart),
              "many": " and ".join(", ".join(_many(axes[axis]) for axis in crossed).rsplit(", ", 1))}
    if source.unique().numel() < len(values):
        yield "taken from elsewhere", fields
    else:
        yield "moved within a row" if crossed == [right.dim() - 1] else "moved", fields


def _in_part(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    """Right in some slices of an axis: of all axes, the one with the smallest wrong part."""
    best = None
    for axis in _heads_first(axes):
        mine, theirs = _slices(got, axis), _slices(right, axis)
        fine = _near(mine, theirs).all(-1)
        if fine.any() and not fine.all():
            share = (~fine).double().mean().item()
            if best is None or share < best[0] - 1e-9:
                best = share, axis, fine, _same(mine[~fine], 0 * mine[~fine])
    if best is not None:
        _, axis, fine, empty = best
        yield "empty in part" if empty else "right in part", {
            "fine": _some(axes[axis], fine), "bad": _some(axes[axis], ~fine), "place": _place(~_near(got, right), axes)}


def _rows(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    if not right.dim() or right.shape[-1] < 3:
        return
    factor = (got * right).sum(-1, keepdim=True) / (right * right).sum(-1, keepdim=True).clamp(min=1e-12)
    if _same(got, factor * right):
        yield "row factor", {}
    offset = (got - right).mean(-1, keepdim=True)
    if _same(got, right + offset):
        yield "row offset", {}


def _normalised(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    def level(x):
        return bool((x.mean(-1).abs() < 1e-3).all() and ((x.var(-1, correction=0) - 1).abs() < 1e-2).all())
    if right.dim() > 1 and right.shape[-1] > 3 and level(got) and not level(right):
        yield "normalised", {}


def _nearly(got: Tensor, right: Tensor, axes: Sequence[str]) -> Iterator[Finding]:
    if (got - right).abs().max() <= 2e-3 * right.abs().max():
        yield "nearly", {"place": _place(~_near(got, right), axes)}


_OF_VALUES: tuple[Callable[[Tensor, Tensor, Sequence[str]], Iterator[Finding]], ...] = (
    _one_law, _sharpness, _order, _transposed, _factor, _weights, _offset, _repeated, _moved, _same_row, _row_sums, _in_part,
    _constant, _normalised, _rows, _nearly)
_LAWS = (_one_law, _sharpness, _factor, _offset, _same_row, _normalised, _row_sums, _rows)  # need the numbers as they came
_OF_WEIGHTS = (_sharpness, _weights, _row_sums)
_OF_MASKS = (_mask, _order, _transposed, _mask_edges, _repeated, _in_part, _constant)


# ---------------------------------------------------------------- words and numbers


def _near(one: Tensor, other: Tensor) -> Tensor:
    return torch.isclose(one, other, rtol=1e-4, atol=2e-5)


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool(_near(one, other).all())


def _names(axes: Sequence[str] | None, dims: int) -> tuple[str, ...]:
    return tuple(axes) if axes and len(axes) == dims else tuple(f"axis {i}" for i in range(dims))


def _slices(x: Tensor, axis: int) -> Tensor:
    return x.movedim(axis, 0).reshape(x.shape[axis], -1)


def _heads_first(axes: Sequence[str]) -> list[int]:
    return sorted(range(len(axes)), key=lambda i: axes[i] != "head")


def _many(axis: str) -> str:
    return f"slices along {axis}" if axis.startswith("axis ") else _MANY.get(axis, f"{axis}s")


def _one(axis: str, place: int) -> str:
    if axis == "head":
        return f"head {place + 1} (index {place})"
    return f"index {place} of {axis}" if axis.startswith("axis ") else f"{axis} {place}"


def _some(axis: str, chosen: Tensor) -> str:
    """The chosen places along an axis, in words: one by name, two or three by number, more as a range or as a count."""
    places = chosen.nonzero().flatten().tolist()
    if len(places) == 1:
        return _one(axis, places[0])
    if places == list(range(places[0], places[-1] + 1)) and places[-1] == len(chosen) - 1:
        return f"all {_many(axis)} from index {places[0]} on" if places[0] else f"all {_many(axis)}"
    if places == list(range(places[-1] + 1)):
        return f"the {_many(axis)} up to index {places[-1]}"
    if len(places) <= 3:
        return f"the {_many(axis)} with index {', '.join(map(str, places))}"
    return f"{len(places)} of {len(chosen)} {_many(axis)}, first index {places[0]}"


def _place(wrong: Tensor, axes: Sequence[str]) -> str:
    """Where the first marked place is, axis by axis."""
    return _words(wrong.nonzero()[0].tolist() if wrong.dim() else [], axes)


def _words(index: Sequence[int], axes: Sequence[str]) -> str:
    if any(axis.startswith("axis ") for axis in axes):
        return f"index {tuple(index)}"
    return ", ".join(_one(axis, place) for axis, place in zip(axes, index, strict=True))


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)})"
