"""Lesson 02, splitting into heads: its known mistakes and its visible checks.

Sources: Vaswani et al. 2017, section 3.2.2; a ``source`` such as ``hyunwoongko/transformer#15`` is the public
thread where a mistake was seen. Sentences name no expected value: students can read this file.
"""

import itertools
import math
from collections.abc import Callable

import torch

from . import expect
from .catalogue import declare, judge, known, mistake
from .errors import NotRight
from .exercises import exercise

LESSON = "02_head_split"
PICTURE = "Look at the picture of view alone."

# ---------------------------------------------------------------- fuse_heads(per_head)


@mistake("fuse_heads", "concatenated on rows",
         "You put the matrices below one another, so there are h * d_model rows. X has d_model features and meets "
         "d_model rows: the matrices must stand side by side. Look at the dim you concatenate on.")
def _(per_head):
    return torch.cat(list(per_head), dim=0)


@mistake("fuse_heads", "transposed",
         "Your matrix is turned round: heads lie along its rows. This lesson writes X @ W, so rows are features of X "
         "and columns are features of the heads. (`nn.Linear.weight` is stored the other way.) Look for a .T too many.")
def _(per_head):
    return torch.cat(list(per_head), dim=1).T


@mistake("fuse_heads", "stacked, not concatenated",
         "You stacked the matrices along a new axis and got three axes. The fused matrix has two: the heads share the "
         "column axis, one block of d_k columns after the other. Compare torch.stack with torch.cat.")
def _(per_head):
    return torch.stack(list(per_head))


@mistake("fuse_heads", "heads in reversed order",
         "Your blocks come in reversed order: the last head's matrix stands first. Head 1 (index 0) owns the first "
         "d_k columns. Look at the order in which you join.")
def _(per_head):
    return torch.cat(list(per_head)[::-1], dim=1)


@mistake("fuse_heads", "stacked and reshaped",
         "You stacked the matrices and reshaped the stack at once. A reshape only counts through memory, so your first "
         "row holds several rows of head 1 (index 0). Columns of all heads must stand beside one another in each row: "
         "concatenate on the column axis.")
def _(per_head):
    return torch.stack(list(per_head)).reshape(per_head[0].shape[0], -1)


@mistake("fuse_heads", "columns interleaved",
         "Your columns alternate: a column of head 1 (index 0), one of head 2 (index 1), and so on. Each head's d_k "
         "columns must stay together as one block. Look at the axis that you join on.")
def _(per_head):
    return torch.stack(list(per_head), dim=-1).reshape(per_head[0].shape[0], -1)


@exercise("fuse_heads", lesson=LESSON, points=3, hidden=2, names=("fuse_heads",))
def _(fuse_heads):
    first = torch.tensor([[1., 2.], [3., 4.]])
    per_head = [first, 10 * first, 100 * first]
    expected = torch.tensor([[1., 2., 10., 20., 100., 200.], [3., 4., 30., 40., 300., 400.]])
    judge("fuse_heads", fuse_heads([W.clone() for W in per_head]), expected, per_head, what="fuse_heads(per_head)",
          axes=("row", "column"), fn=fuse_heads)


# ---------------------------------------------------------------- choices_02

declare("choices_02", "X is cut",
        "X is not cut. Every head reads all d_model features of each token, through its own columns of the fused "
        "matrix; what is divided is the result of the projection.")
declare("choices_02", "tokens are shared out",
        "Tokens are not shared out. Every head sees every token; a head that saw only some tokens could not relate "
        "the rest. That is what a view-only split does by accident.")
declare("choices_02", "every head is full width",
        "A head does not keep d_model numbers for each token: with h heads that would cost h times the parameters. "
        "It keeps d_k = d_model / h of them.")
declare("choices_02", "parameters grow with h",
        "The parameter count does not change: h matrices of (d_model, d_model / h) hold d_model * d_model numbers for "
        "every h.")
declare("choices_02", "d_k grows with h",
        "d_k shrinks when h grows: d_k = d_model / h. Twice the heads, half the width of each.")
declare("choices_02", "Q grows with h",
        "Q holds batch * seq * d_model numbers before and after the split. Splitting names them in another way; it "
        "adds none.")


@exercise("choices_02", lesson=LESSON, points=2, hidden=2, names=("answer_x_split", "answer_doubles"))
def _(answer_x_split, answer_doubles):
    expect.answered(answer_x_split=answer_x_split, answer_doubles=answer_doubles)
    expect.letter(answer_x_split, "answer_x_split")
    expect.letter(answer_doubles, "answer_doubles")


# ---------------------------------------------------------------- split_heads(x, num_heads)


@mistake("split_heads", "view-only split", source="hyunwoongko/transformer#15, FuxiCTR#30", sentence=(
         "Your head 1 (index 0) holds the first part of the sequence, not the first d_k features of every token: you "
         "reshaped straight to (batch, num_heads, seq, d_k). Split the last axis, then move num_heads in front of seq. "
         f"{PICTURE}"))
def _(x, num_heads):
    batch, seq, d_model = x.shape
    return x.reshape(batch, num_heads, seq, d_model // num_heads)


@mistake("split_heads", "view-only split, then transposed",
         "Your heads mix tokens: you reshaped straight to (batch, num_heads, d_k, seq) and swapped the last two axes. A "
         f"reshape never moves a number. Split the last axis only, then move num_heads in front of seq. {PICTURE}")
def _(x, num_heads):
    batch, seq, d_model = x.shape
    return x.reshape(batch, num_heads, d_model // num_heads, seq).transpose(-2, -1)


@mistake("split_heads", "interleaved split",
         "Your head 1 (index 0) takes every num_heads-th feature instead of one block of d_k neighbours: you split the "
         "last axis into (d_k, num_heads). Legal with the matching merge, but other people's weights do not fit. Which "
         "of the two new axes must come first?")
def _(x, num_heads):
    batch, seq, d_model = x.shape
    return x.reshape(batch, seq, d_model // num_heads, num_heads).permute(0, 3, 1, 2)


@mistake("split_heads", "heads in reversed order",
         "Your heads are right, but in reversed order: head 1 (index 0) must hold the first d_k features, not the "
         "last. Look at the order of your loop or your stack.")
def _(x, num_heads):
    return _blocks(x, num_heads).flip(2).transpose(1, 2)


@mistake("split_heads", "head axis not moved",
         "You return (batch, seq, num_heads, d_k). The last axis is split as it should be, but num_heads must stand in "
         "front of seq, so that each head sees a whole sequence. One step is missing: which axes change places?")
def _(x, num_heads):
    return _blocks(x, num_heads)


@mistake("split_heads", "last axes transposed",
         "You return (batch, num_heads, d_k, seq): tokens lie along the last axis. That is the shape K takes later, "
         "inside Q Kᵀ; a split ends in (seq, d_k). Look at which two axes you swap.")
def _(x, num_heads):
    return _blocks(x, num_heads).permute(0, 2, 3, 1)


@mistake("split_heads", "heads before batch",
         "Your first axis counts heads and your second the batch. The order is (batch, num_heads, seq, d_k). If you "
         "stack the heads, look at the dim you stack on.")
def _(x, num_heads):
    return _blocks(x, num_heads).permute(2, 0, 1, 3)


declare("split_heads", "silent truncation", source="LLMs-from-scratch#444", sentence=(
        "A head count that does not divide d_model went through: features are lost or heads differ in size, and "
        "nobody is told. Raise ValueError (or use assert) before you split. What does d_model % num_heads tell you?"))
declare("split_heads", "bad count gives None",
        "For a head count that does not divide d_model your function gives back None, and nothing stops the caller. A print or "
        "a return is no error: use raise ValueError(...), or assert.")
declare("split_heads", "no check of a bad count", source="LLMs-from-scratch#444", sentence=(
        "A head count that does not divide d_model ends in another error than a ValueError or AssertionError of yours. "
        "Check d_model % num_heads first, and say in the message which two numbers do not fit."))


def _blocks(x, num_heads):
    """The feature axis cut into blocks, on the way to several mistakes: (batch, seq, num_heads, d_k)."""
    return torch.stack(x.split(x.shape[-1] // num_heads, dim=-1)[:num_heads], dim=2)


def _labelled() -> tuple[torch.Tensor, torch.Tensor]:
    """The same labels with features joined (2, 5, 12) and in three heads (2, 3, 5, 4): 247 is sentence 1, token 2, feature 7."""
    sentence, head, token, feature = (torch.arange(size).reshape([-1 if axis == place else 1 for axis in range(4)])
                                      for place, size in enumerate((2, 3, 5, 4)))
    label = 200. * sentence + 20 * token
    return (label[:, 0] + torch.arange(12)), label + 4 * head + feature


@exercise("split_heads", lesson=LESSON, points=5, hidden=4, names=("split_heads",))
def _(split_heads):
    # V of the running example, as the lesson prints it.
    V = torch.tensor([[[10., 0, 0, 0, 0, 10], [10, 5, 0, 0, 5, 10], [0, 10, 0, 0, 10, 0],
                       [0, 0, 10, 10, 0, 0], [0, 5, 10, 10, 5, 0]]])
    expected = torch.tensor([[[[10., 0, 0], [10, 5, 0], [0, 10, 0], [0, 0, 10], [0, 5, 10]],
                              [[0, 0, 10], [0, 5, 10], [0, 10, 0], [10, 0, 0], [10, 5, 0]]]])
    x, labelled = _labelled()
    for given, num_heads, right, name in ((x, 3, labelled, "x"), (V, 2, expected, "V")):
        judge("split_heads", split_heads(given.clone(), num_heads), right, given, num_heads,
              what=f"split_heads({name}, {num_heads})", axes=("batch", "head", "token", "feature"), fn=split_heads)


# ---------------------------------------------------------------- shapes_02

declare("shapes_02", "d_model for d_k",
        "Your last axis is still d_model. Each head holds only its share of the features: divide by the head count.")
declare("shapes_02", "batch lost",
        "Your shape has no batch axis. The sentences of a batch are still apart after the split: count them first.")
declare("shapes_02", "heads lost",
        "Your shape has no head axis. The split makes four axes out of three: (batch, num_heads, seq, d_k).")
declare("shapes_02", "axes swapped",
        "Your four numbers are the right ones in another order. The course writes (batch, num_heads, seq, d_k).")
declare("shapes_02", "the query's length for K",
        "You used the length of the query's sequence. K is made from the tokens that are looked at, so its seq axis "
        "counts those.")
declare("shapes_02", "product for d_k",
        "That is the product of the two numbers. The heads share the features: which operation shares?")
declare("shapes_02", "the head count for d_k",
        "That is the number of heads. d_k is the number of features that one head holds.")


def four(got: object, name: str) -> tuple[int, int, int, int]:
    """The answer itself, if it is a tuple of four ints; raises NotRight, by name where the heads are missing."""
    if type(got) is tuple and len(got) == 3 and all(type(size) is int for size in got):
        raise known("shapes_02", "batch lost" if got[0] < 32 else "heads lost")  # 32 sentences, fewer heads
    if type(got) is not tuple or len(got) != 4 or not all(type(size) is int for size in got):
        raise expect.form(name, "a tuple of four whole numbers, such as (2, 3, 4, 5)")
    return got


def tempting_shapes(batch: int, num_heads: int, seq: int, d_k: int) -> dict[tuple[int, ...], NotRight]:
    """Tempting wrong answers for the shape (batch, num_heads, seq, d_k), and what explains each."""
    wrong = {sizes: "axes swapped" for sizes in itertools.permutations((batch, num_heads, seq, d_k))}
    wrong[batch, num_heads, seq, num_heads * d_k] = "d_model for d_k"
    wrong[batch, num_heads, seq, num_heads] = "the head count for d_k"
    wrong[1, num_heads, seq, d_k] = "batch lost"
    wrong[batch, 1, seq, num_heads * d_k] = "heads lost"
    return {sizes: known("shapes_02", name) for sizes, name in wrong.items()}


@exercise("shapes_02", lesson=LESSON, points=3, hidden=3, names=("shape_q_heads", "answer_d_k", "shape_k_heads"))
def _(shape_q_heads, answer_d_k, shape_k_heads):
    # By form, and by the law that a split loses no number; the values are for the hidden tests.
    expect.answered(shape_q_heads=shape_q_heads, answer_d_k=answer_d_k, shape_k_heads=shape_k_heads)
    for name, got, letter, seq in (("shape_q_heads", shape_q_heads, "Q", 50),
                                   ("shape_k_heads", shape_k_heads, "K", 70)):
        numbers, whole = math.prod(four(got, name)), 32 * seq * 512
        if numbers != whole:
            raise NotRight(f"{name} holds {numbers:,} numbers, and {letter} before the split holds {whole:,}. "
                           "A split loses no number and adds none: look at each of the four.")
    if type(answer_d_k) is not int:
        raise expect.form("answer_d_k", "one whole number, such as 7 (7.0 is a float)")


# ---------------------------------------------------------------- merge_heads(x)


@mistake("merge_heads", "merged without moving the head axis", source="jsbaan/transformer-from-scratch#6, opacus#825",
         sentence="Your first row holds several tokens of head 1 (index 0), one after the other: you reshaped "
         "(batch, num_heads, seq, d_v) at once. Move num_heads back behind seq first, then join the last two axes. "
         "It is the split's mistake once more, backwards.")
def _(x):
    batch, num_heads, seq, d_v = x.shape
    return x.reshape(batch, seq, num_heads * d_v)


@mistake("merge_heads", "other axes exchanged",
         "You exchanged seq and d_v, and num_heads still stands in front of both. The reshape joins the last two axes, so "
         "these must be num_heads and d_v, in this order: which two axes change places?")
def _(x):
    batch, num_heads, seq, d_v = x.shape
    return x.transpose(2, 3).reshape(batch, seq, num_heads * d_v)


@mistake("merge_heads", "tokens joined, not heads",
         "You joined seq with d_v, so each row holds all tokens of one head. A row should hold all heads of one token: move num_heads "
         "behind seq first, then join the last two axes.")
def _(x):
    return x.flatten(2)


@mistake("merge_heads", "heads and d_v exchanged",
         "You exchanged num_heads and d_v, so your second axis counts features. It should count tokens: which two axes "
         "change places?")
def _(x):
    yield x.transpose(1, 3).flatten(2)
    yield x.transpose(1, 3).reshape(x.shape[0], x.shape[2], -1)


@mistake("merge_heads", "interleaved merge",
         "Your features alternate between the heads: feature 0 of each head, then feature 1 of each head. Each head's "
         "d_v numbers must stay together. Which of the two axes you join must come first?")
def _(x):
    batch, num_heads, seq, d_v = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, seq, num_heads * d_v)


@mistake("merge_heads", "heads in reversed order",
         "The heads are joined in reversed order: head 1 (index 0) must fill the first d_v features of each row. Look "
         "at the order of your loop or your cat.")
def _(x):
    return torch.cat([x[:, i] for i in reversed(range(x.shape[1]))], dim=-1)


@mistake("merge_heads", "not joined",
         "You moved num_heads behind seq, which is right, and stopped: there are still four axes. Join the last two "
         "into one of num_heads * d_v.")
def _(x):
    return x.transpose(1, 2)


@mistake("merge_heads", "heads added up",
         "You added the heads up, so their numbers are mixed for good and the row is only d_v long. The merge only "
         "puts them side by side; mixing is the work of W_O, in lesson 04.")
def _(x):
    return x.sum(dim=1)


@mistake("merge_heads", "heads averaged",
         "You averaged the heads, so their numbers are mixed for good and the row is only d_v long. The merge only "
         "puts them side by side; mixing is the work of W_O, in lesson 04.")
def _(x):
    return x.mean(dim=1)


@exercise("merge_heads", lesson=LESSON, points=4, hidden=3, names=("merge_heads",))
def _(merge_heads):
    # What the two heads of the running example found, as the lesson prints it.
    heads = torch.tensor([[[[7., 4.5, 2], [7, 2, 2], [4, 4, 4], [4, 4, 4], [4, 4, 4]],
                           [[4, 4, 4], [2, 7, 2], [2, 4.5, 7], [4, 4, 4], [4, 4, 4]]]])
    expected = torch.tensor([[[7., 4.5, 2, 4, 4, 4], [7, 2, 2, 2, 7, 2], [4, 4, 4, 2, 4.5, 7],
                              [4, 4, 4, 4, 4, 4], [4, 4, 4, 4, 4, 4]]])
    labelled, x = _labelled()
    for given, right, name in ((x, labelled, "x"), (heads, expected, "heads")):
        judge("merge_heads", merge_heads(given.clone()), right, given, what=f"merge_heads({name})",
              axes=("batch", "token", "feature"), fn=merge_heads)


# ---------------------------------------------------------------- catches_wrong_split(split_fn)

declare("catches_wrong_split", "inverted",
        "Your answers are turned round: True must mean that the split is wrong. Say it aloud: "
        "catches_wrong_split(bad) is True.")
declare("catches_wrong_split", "shape only",
        "Wrong splits get past you. Their output has the right shape; only the numbers stand in the wrong places. "
        "Compare values: which features of x should head 2 (index 1) hold?")
declare("catches_wrong_split", "h = 1",
        "You call split_fn with one head only. With one head there is nothing to mix up, and wrong splits look "
        "right. Use at least two heads, two tokens and two features a head, all different.")
declare("catches_wrong_split", "equal numbers",
        "Your x holds the same number everywhere, so no split can be seen to move anything. Use numbers that are all "
        "different, such as torch.randn(...) or torch.arange(...).")
declare("catches_wrong_split", "round trip only",
        "You flatten the output and compare it with x in memory order. A view-only split leaves that order as it is, "
        "so it passes; a right split changes it, so you call it wrong. Compare each head with its slice of x.")
declare("catches_wrong_split", "calls a right split wrong",
        "You call a right split wrong. Head i (index i) of a right split is x[:, :, i * d_k : (i + 1) * d_k]. Run your "
        "function on your own split_heads and print what you compare.")
declare("catches_wrong_split", "misses the view-only split",
        "A split that only reshapes gets past you: its head 1 (index 0) starts with the right numbers. Compare all "
        "tokens, not the first one.")
declare("catches_wrong_split", "misses the interleaved split",
        "A split that deals the features out in turn (every num_heads-th feature to one head) gets past you. Compare "
        "all d_k features of a head, with d_k of at least 2.")
declare("catches_wrong_split", "misses reversed heads",
        "A split with its heads in reversed order gets past you. Each head must be where its number says: compare "
        "head 1 (index 0) with the first d_k features.")
declare("catches_wrong_split", "lets the error through",
        "A split that raises is a wrong split, so the answer is True. Your function let the error pass, or called that "
        "split right: catch the error and return True.")
declare("catches_wrong_split", "misses another shape",
        "A split that returns another shape gets past you. Compare the shape too, before or together with the values.")
declare("catches_wrong_split", "not a plain bool",
        "Return a plain True or False. torch.equal gives one; (a == b).all() is a tensor, which bool(...) turns "
        "into one.")


def verdicts(catches_wrong_split: Callable, *splits: Callable) -> tuple[tuple[bool, ...], bool]:
    """What the student's function says of each split, and whether it only ever tried one head.

    Raises NotRight, by name, where it says anything but True or False, or passes on the error of a split.
    """
    said, head_counts, told_apart = [], set(), False
    for split in splits:
        failed = []

        def watched(x, num_heads, split=split, failed=failed):
            nonlocal told_apart
            head_counts.add(num_heads)
            told_apart = told_apart or bool((x != x.flatten()[0]).any())
            try:
                return split(x, num_heads)
            except Exception as problem:
                failed.append(problem)
                raise

        try:
            one = catches_wrong_split(watched)
        except Exception as problem:
            if failed and type(problem) is type(failed[-1]):
                raise known("catches_wrong_split", "lets the error through") from None
            raise
        expect.returned("catches_wrong_split(split_fn)", one)
        if type(one) is not bool:
            raise known("catches_wrong_split", "not a plain bool")
        said.append(one)
    if head_counts and not told_apart and not any(said):
        raise known("catches_wrong_split", "equal numbers")
    return tuple(said), head_counts == {1}


@exercise("catches_wrong_split", lesson=LESSON, points=3, hidden=3, names=("catches_wrong_split",))
def _(catches_wrong_split):
    def right(x, num_heads):
        d_k = x.shape[-1] // num_heads
        return torch.stack([x[:, :, i * d_k:(i + 1) * d_k] for i in range(num_heads)], dim=1)

    def view_only(x, num_heads):
        batch, seq, d_model = x.shape
        return x.reshape(batch, num_heads, seq, d_model // num_heads)

    def dealt_out(x, num_heads):  # only to tell two mistakes apart: the hidden tests ask for it
        return torch.stack([x[:, :, i::num_heads] for i in range(num_heads)], dim=1)

    def broken(x, num_heads):
        raise RuntimeError("this split always raises")

    (of_right, of_view_only), one_head_only = verdicts(catches_wrong_split, right, view_only)
    if of_right and of_view_only:
        raise known("catches_wrong_split", "calls a right split wrong")
    if of_right:
        (of_dealt_out,), _ = verdicts(catches_wrong_split, dealt_out)
        raise known("catches_wrong_split", "round trip only" if of_dealt_out else "inverted")
    if not of_view_only:
        (of_dealt_out,), _ = verdicts(catches_wrong_split, dealt_out)
        wrong = "misses the view-only split" if of_dealt_out else "h = 1" if one_head_only else "shape only"
        raise known("catches_wrong_split", wrong)
    (of_broken,), _ = verdicts(catches_wrong_split, broken)
    if not of_broken:
        raise NotRight("A split that raises is a wrong split: your function should return True for it.")
