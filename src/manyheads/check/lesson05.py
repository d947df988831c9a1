"""Lesson 05, the full module: its known mistakes, its visible checks, and the probes its hidden tests use.

Sources: Vaswani et al. 2017, section 3.2; a ``source`` such as ``vit-pytorch#65`` is the public thread where a mistake
was seen. A mistake of the class is judged on one tensor at a time: ``want`` is ``"weights"`` (attention_weights) or
``"output"``, ``state`` the state_dict that was loaded.
"""

import itertools
import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from . import expect, probes
from .catalogue import declare, judge, known, mistake, view
from .errors import NotAttempted, NotRight
from .exercises import exercise

LESSON = "05_full_module"
CLASS = "MultiHeadAttention"
LAYERS = ("W_q", "W_k", "W_v", "W_o")
STATE = tuple(f"{layer}.{part}" for layer in LAYERS for part in ("weight", "bias"))
AXES = {"weights": ("batch", "head", "query", "key"), "output": ("batch", "token", "feature")}

# ---------------------------------------------------------------- the class: what can be wrong in its numbers


def _blocks(x: Tensor, h: int) -> Tensor:
    batch, seq, d_model = x.shape
    return x.reshape(batch, seq, h, d_model // h).transpose(1, 2)


def _view_only(x: Tensor, h: int) -> Tensor:
    batch, seq, d_model = x.shape
    return x.reshape(batch, h, seq, d_model // h)


def _dealt_out(x: Tensor, h: int) -> Tensor:
    batch, seq, d_model = x.shape
    return x.reshape(batch, seq, d_model // h, h).permute(0, 3, 1, 2)


def _block_minus_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(mask == 0, -torch.inf)


def _wrong(want, state, h, query, key, value, mask=None, *, split=_blocks, root=None, axis=-1, biases=1.0,
           last_bias=1.0, turned=False, splits=None, skip="", twice="", bare="", before=_block_minus_infinity, after=None, join=None, last=True, extra=None,
           told=None):
    """What a module with one slip gives. Each option is one slip; a slip that does not touch ``want`` is no match."""

    def layer(name, x):
        weight, bias = state[f"{name}.weight"], state[f"{name}.bias"]
        for _ in range(0 if name in skip else 2 if name in twice else 1):
            x = x @ (weight if turned else weight.T) + (
                0.0 if name in bare else biases * (last_bias if name == "W_o" else 1.0)) * bias
        return x

    q, k, v = ((splits or {}).get(name, split)(layer(name, x), h) for name, x in (("W_q", query), ("W_k", key), ("W_v", value)))
    scores = q @ k.mT / math.sqrt(q.shape[-1] if root is None else root(q, query))
    if mask is not None:
        scores = before(scores, mask)
    weights = scores.softmax(axis)
    if mask is not None and after:
        weights = after(weights, mask)
    if want == "weights":
        return weights if told is None else told(weights, scores)
    if told is not None:
        raise ValueError("only what is stored is wrong")
    heads = weights @ v
    batch, _, seq, _ = heads.shape
    joined = heads.transpose(1, 2).reshape(batch, seq, -1) if join is None else join(heads)
    output = layer("W_o", joined) if last else joined
    return output if extra is None else output + extra(query)


def _slip(name: str, sentence: str, source: str = "", **slip) -> None:
    """Register a mistake of the class that one option of :func:`_wrong` makes."""
    mistake(CLASS, name, sentence, source)(
        lambda want, state, h, query, key, value, mask=None:
        _wrong(want, state, h, query, key, value, mask, **slip))


_slip("view-only split", source="FuxiCTR#30, hyunwoongko/transformer#15", split=_view_only, sentence=(
    "Your heads mix tokens: Q, K or V went straight to (batch, num_heads, seq, d_k) with one view or reshape. Split the "
    "last axis into (num_heads, d_k) first, then move num_heads in front of seq, as the given split_heads does."))
_slip("interleaved split", split=_dealt_out, sentence=(
    "Your head 1 (index 0) takes every num_heads-th feature instead of the first d_k: the last axis was split into "
    "(d_k, num_heads). That is a legal network of its own, but other people's weights do not fit it. Which of the two new "
    "axes comes first?"))
_slip("not scaled", source="vit-pytorch#65", root=lambda q, query: 1, sentence=(
    "Your weights are too sharp: the scores were not divided by the root of d_k. Look between the dot product and the "
    "softmax."))
_slip("scaled by the root of d_model", source="ng-video-lecture#6", root=lambda q, query: query.shape[-1], sentence=(
    "Your weights are too flat: the scores were divided by the root of d_model. Each head compares queries and keys of "
    "d_k features, so that is the size that counts."))
_slip("divided by d_k", root=lambda q, query: q.shape[-1] ** 2, sentence=(
    "Your weights are too flat: the scores were divided by d_k itself. Look at the formula once more: it takes the root."))
_slip("softmax over the queries", source="detr#247", axis=-2, sentence=(
    "Your columns sum to 1, not your rows: the softmax ran over the queries. Every query shares its budget over the keys, "
    "which are the last axis."))
_slip("softmax over the heads", axis=1, sentence=(
    "Your weights sum to 1 over the heads. Every head has a budget of its own: the softmax runs over the keys, the last "
    "axis."))
_slip("biases left out", biases=0.0, sentence=(
    "Your layers multiply with their weight and leave out their bias. Call the layer, self.W_q(query): it does both."))
_slip("output bias left out", last_bias=0.0, sentence=(
    "Everything is right up to the concat; the last layer multiplies with its weight and leaves out its bias. Call it: "
    "self.W_o(...) does both."))
_slip("bias of W_q left out", bare="W_q", sentence=(
    "Your queries lack the bias of W_q. Call the layer, self.W_q(query): it multiplies and adds its bias."))
_slip("bias of W_v left out", bare="W_v", sentence=(
    "Your values lack the bias of W_v. Call the layer, self.W_v(value): it multiplies and adds its bias."))
_slip("query not projected", skip="W_q", sentence=(
    "Your queries are the argument query as it came. They go through W_q first: look at the first of the five steps."))
_slip("key not projected", skip="W_k", sentence=(
    "Your keys are the argument key as it came. They go through W_k first: look at the first of the five steps."))
_slip("value not projected", skip="W_v", sentence=(
    "Your values are the argument value as it came. They go through W_v first: look at the first of the five steps."))
_slip("a layer applied twice", twice="W_o", sentence=(
    "Your concat goes through W_o twice. Once is enough: look at your return line and the line before it."))
_slip("scaled by the root of num_heads", root=lambda q, query: q.shape[1], sentence=(
    "The scores were divided by the root of num_heads. Each head compares queries and keys of d_k features, so d_k is the "
    "size that counts: look at what you hand to the root."))
_slip("scaled by the number of words", root=lambda q, query: query.shape[1], sentence=(
    "The scores were divided by the root of the number of words. d_k is the size that counts: look at the last axis of the "
    "queries after the split."))
_slip("layers turned round", turned=True, sentence=(
    "Your layers compute x @ weight. nn.Linear stores (out, in) and computes x @ weight.T. Call the layer, "
    "self.W_q(query), and it does the right thing."))
_slip("mask turned round", source="LLMs-from-scratch#1061",
      before=lambda scores, mask: scores.masked_fill(mask != 0, -torch.inf), sentence=(
          "Your mask is turned round: blocked keys get all the weight. In this course True or 1 means 'may attend', so "
          "the keys to block are those where mask == 0."))
def _numbers_only(scores: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype == torch.bool:
        raise ValueError("this mask is no mask of numbers")
    return scores


_slip("mask of numbers ignored", before=_numbers_only, sentence=(  # every check asks with booleans first
    "A mask of booleans works, and the same mask as numbers 0 and 1 changes nothing. Look at the condition under which you use "
    "it. Which comparison finds the blocked places in both?"))
_slip("mask ignored", source="ParlAI#3068", before=lambda scores, mask: scores, sentence=(
    "A mask has no effect: the weights are the same as without one. Is it handed on from forward to the attention, whatever "
    "its shape and the mode?"))
_slip("mask filled with 0", source="gluonts#1401", before=lambda scores, mask: scores.masked_fill(mask == 0, 0.0),
      sentence=(
          "Blocked keys still get weight: their scores became 0 or nearly 0 (filled, or multiplied with the mask), and e⁰ "
          "is 1. A blocked key needs a score of minus infinity, or a very large negative one, before the softmax."))
_slip("mask after the softmax", before=lambda scores, mask: scores, after=lambda weights, mask: weights * (mask != 0),
      sentence=(
          "Your rows do not sum to 1 under a mask: blocked weights were set to 0 after the softmax, and the others kept "
          "what they had. Block the scores before the softmax, so that the budget goes to the allowed keys."))
_slip("mask added to the scores", before=lambda scores, mask: scores + mask.to(scores.dtype), sentence=(
    "Your mask was added to the scores as it is, so a blocked key only lost 1. The mask holds 0 and 1 and says who may be "
    "looked at; turn the zeros into minus infinity before you add anything."))
_slip("always causal",
      before=lambda scores, mask: _block_minus_infinity(scores, mask).masked_fill(_later(scores), -torch.inf),
      sentence=(
          "Your module hides later keys although nobody asked it to. Which keys are hidden is the mask's business alone; "
          "in cross-attention there is no 'later'."))
_slip("merged without moving the head axis", source="jsbaan/transformer-from-scratch#6, opacus#825",
      join=lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1), sentence=(
          "Your weights are right, but the heads are joined wrongly: a row of your concat holds several tokens of one "
          "head. Move num_heads back behind seq before you join the last two axes."))
_slip("interleaved merge", join=lambda heads: heads.permute(0, 2, 3, 1).flatten(2), sentence=(
    "Your weights are right, but in the concat the features of the heads alternate. The d_k numbers of one head stay "
    "together: head 1 (index 0) first, then head 2."))
_slip("heads in reversed order", join=lambda heads: heads.flip(1).transpose(1, 2).flatten(2), sentence=(
    "Your weights are right, but the heads are joined in reversed order. Head 1 (index 0) fills the first d_k features "
    "of the concat."))
_slip("W_o unused", source="Kyubyong/transformer#117", last=False, sentence=(
    "Your output is the bare concat of the heads: W_o is missing, or its result was not returned. It is the last of the "
    "five steps."))
_slip("query added to the output", extra=lambda query: query, sentence=(
    "You added the query to the output. That residual connection belongs to the encoder block around this layer, not to "
    "the layer."))
_slip("weights averaged over the heads", told=lambda weights, scores: weights.mean(1), sentence=(
    "attention_weights is the average over the heads. Keep every head apart: (batch, num_heads, seq_q, seq_k)."))
_slip("scores stored", told=lambda weights, scores: scores, sentence=(
    "attention_weights holds the scores from before the softmax. Store what multiplies the values."))
_slip("weights transposed", told=lambda weights, scores: weights.mT, sentence=(
    "attention_weights is turned round: rows belong to the queries, columns to the keys."))


@mistake(CLASS, "always causal without a mask", (
    "Without a mask, your module still hides later keys. Only a mask may hide a key: with mask=None every query may look "
    "at every key."))
def _(want, state, h, query, key, value, mask=None):
    if mask is not None:
        raise ValueError("the other entry is for masks")
    seq_q, seq_k = query.shape[1], key.shape[1]
    return _wrong(want, state, h, query, key, value, torch.ones(seq_q, seq_k).tril())


def _split_apart(layer: str, noun: str) -> None:
    """Register a mistake in the split of the queries, the keys or the values alone."""

    @mistake(CLASS, f"{noun} split in another way", (
        f"Your {noun} are split in another way than the rest: their heads do not hold d_k neighbours of each token. Split "
        "all three in the same way: look at the lines of your three splits."))
    def _(want, state, h, query, key, value, mask=None):
        for split in (_dealt_out, _view_only, lambda x, h: _blocks(x, h).flip(1)):
            yield _wrong(want, state, h, query, key, value, mask, splits={layer: split})


_split_apart("W_q", "queries")
_split_apart("W_k", "keys")
_split_apart("W_v", "values")


def _later(scores: Tensor) -> Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)


def _rewired(name: str, sentence: str, inputs: Callable | None = None, layers: Mapping[str, str] | None = None) -> None:
    """Register a mistake that feeds the wrong input to a layer, or takes one layer for another."""

    @mistake(CLASS, name, sentence)
    def _(want, state, h, query, key, value, mask=None):
        taken = {f"{name}.{part}": state[f"{(layers or {}).get(name, name)}.{part}"]
                 for name in LAYERS for part in ("weight", "bias")}
        return _wrong(want, taken, h, *(inputs(query, key, value) if inputs else (query, key, value)), mask)


@mistake(CLASS, "view-only split, then transposed", (
    "Your heads mix tokens: one view went straight to (batch, num_heads, d_k, seq), and a transpose followed. Split the last "
    "axis into (num_heads, d_k) first, then move num_heads in front of seq: look at the given split_heads."))
def _(want, state, h, query, key, value, mask=None):
    return _wrong(want, state, h, query, key, value, mask, split=lambda x, h: x.reshape(
        x.shape[0], h, x.shape[2] // h, x.shape[1]).mT)


@mistake(CLASS, "scores changed before the softmax", (
    "Your scores go through a function that the formula does not have, such as relu, abs or a square. Look at what stands "
    "between the product and the softmax."))
def _(want, state, h, query, key, value, mask=None):
    for other in (torch.relu, torch.abs, torch.square, torch.tanh, torch.sigmoid, torch.exp, lambda x: x.softmax(-1)):
        yield _wrong(want, state, h, query, key, value, torch.ones(()) if mask is None else mask,
                     before=lambda scores, mask, other=other: _block_minus_infinity(other(scores), mask))


@mistake(CLASS, "blocked scores not low enough", source="gluonts#1401", sentence=(
    "Blocked keys keep weight: their scores are lowered, but not by enough. A score can be -30 by itself. Look at the number "
    "that you fill in or take away: minus infinity, or one like -1e9."))
def _(want, state, h, query, key, value, mask=None):
    for low in (-1, -2, -5, -10, -20, -50, -100):
        yield _wrong(want, state, h, query, key, value, mask,
                     before=lambda scores, mask, low=low: scores.masked_fill(mask == 0, low))
        yield _wrong(want, state, h, query, key, value, mask,
                     before=lambda scores, mask, low=low: scores + low * (mask == 0))


_rewired("values made from the key", inputs=lambda q, k, v: (q, k, k), sentence=(
    "Your values are made from the argument key. They come from value: the two may differ, so each goes through its own "
    "layer."))
_rewired("keys made from the value", inputs=lambda q, k, v: (q, v, v), sentence=(
    "Your keys are made from the argument value. They come from key: the two may differ, so each goes through its own "
    "layer."))
_rewired("key and value exchanged", inputs=lambda q, k, v: (q, v, k), sentence=(
    "Key and value have changed places: W_k must get key, and W_v must get value."))
_rewired("key and value ignored", inputs=lambda q, k, v: (q, q, q), sentence=(
    "Your module looks at query only. In cross-attention the keys come from key and the values from value."))
_rewired("queries and keys exchanged", layers={"W_q": "W_k", "W_k": "W_q"}, sentence=(
    "W_q and W_k have changed places: the query must go through W_q and the key through W_k."))
_rewired("values through W_k", layers={"W_v": "W_k"}, sentence=(
    "Your values went through W_k. Each of the three has a layer of its own: value goes through W_v."))
_rewired("queries through W_k", layers={"W_q": "W_k"}, sentence=(
    "Your queries went through W_k. Each of the three has a layer of its own: query goes through W_q."))
_rewired("one layer for all three", layers={"W_k": "W_q", "W_v": "W_q"}, sentence=(
    "Your queries, keys and values all went through W_q. Each of the three has a layer of its own: look at the three calls."))
_rewired("keys through W_q", layers={"W_k": "W_q"}, sentence=(
    "Your keys went through W_q. Each of the three has a layer of its own: key goes through W_k."))

@view(CLASS)
def _(got, expected, want, state, h, query, key, value, mask=None):
    """The output before W_o: there heads, tokens and features can be told apart."""
    weight, bias = state["W_o.weight"].double(), state["W_o.bias"].double()
    if want != "output" or got.shape != expected.shape or torch.linalg.cond(weight) > 1e3:
        return None
    mine, right = (((x.detach().double() - bias) @ torch.linalg.inv(weight).T).unflatten(-1, (h, -1))
                   for x in (got, expected))
    return mine, right, "what your heads hand to W_o", ("batch", "token", "head", "feature")


# ---------------------------------------------------------------- the class: what a probe recognises

declare(CLASS, "layers not registered", (
    "Your module has no parameters: its layers are in a plain Python list, dict or tuple, where nn.Module does not see "
    "them. Make each one an attribute of its own: self.W_q = nn.Linear(...)."))
declare(CLASS, "other layer names", (
    "The four layers must be attributes called W_q, W_k, W_v and W_o, each an nn.Linear(d_model, d_model), so that weights "
    "can be loaded. Look at the names in your state_dict()."))
declare(CLASS, "no biases", (
    "Your layers have no bias. nn.Linear has one unless you say bias=False, and the exercise asks for it."))
declare(CLASS, "layers of another size", (
    "A layer has the wrong size. All four are nn.Linear(d_model, d_model): d_k comes in only when the result is split."))
declare(CLASS, "extra parameters", (
    "Your module has more parameters than the four layers need: 4·d_model² + 4·d_model. Which layer is not one of the "
    "four?"))
declare(CLASS, "no check of the head count", source="LLMs-from-scratch#444", sentence=(
    "A head count that does not divide d_model went through the constructor. Raise ValueError (or use assert) there, "
    "before anything is computed. What does d_model % num_heads tell you?"))
declare(CLASS, "another error for the head count", source="LLMs-from-scratch#444", sentence=(
    "A head count that does not divide d_model ends in another error than ValueError or AssertionError. Check "
    "d_model % num_heads first, and say in the message which two numbers do not fit."))
declare(CLASS, "another signature", (
    "forward cannot be called as the exercise says. Look at its first line: forward(self, query, key, value, mask=None), with "
    "these names, since a mask may be handed over by name."))
declare(CLASS, "returns a pair", (
    "forward returned a tuple. It returns the output alone; the weights are stored: self.attention_weights = weights."))
declare(CLASS, "weights not stored", (
    "After a call your module has no attention_weights. Store them in forward, self.attention_weights = weights, one "
    "tensor (batch, num_heads, seq_q, seq_k)."))
declare(CLASS, "the query's length for the keys", (
    "With as many keys as queries your module works, and with another number of keys it stops: somewhere the length of "
    "the query is used for the keys. seq_k comes from key, seq_q from query."))
declare(CLASS, "mask of one kind only", (
    "Your module works with a mask of True and False and stops with a mask of ones and zeros. `mask == 0` finds the "
    "blocked keys in either; ~mask works for booleans only."))
declare(CLASS, "mask gets another shape", (
    "With a mask of an allowed shape your module stops with an error about sizes, or its output has another number of axes. "
    "All four shapes broadcast against (batch, num_heads, seq_q, seq_k) by themselves: add no axis, no unsqueeze."))
declare(CLASS, "keeps state between calls", (
    "The same call gave another result after a different one: your module remembers something, or draws random "
    "numbers. Compute everything from the arguments; look for what is read from self."))
declare(CLASS, "changes its input", (
    "Your module changed a tensor that it was given. An operation ending in _ (add_, masked_fill_) or += on an argument "
    "does that: make a new tensor."))
declare(CLASS, "mixes the sentences", (
    "One sentence of the batch changed when another one was replaced. Sentences never see one another: look at the "
    "reshape that touches the batch axis."))
declare(CLASS, "dropout always on", source="pytorch#124464", sentence=(
    "In eval() two equal calls gave different outputs: something random is at work there. nn.Dropout listens to eval(); "
    "F.dropout needs training=self.training. Look at what draws random numbers."))
declare(CLASS, "dropout not judged yet", (
    "With a single key, every query should get the value of that key. Yours does not, even in eval mode, so dropout cannot be "
    "judged yet: look first at what the other checks say."))
declare(CLASS, "no dropout", (
    "In train() with dropout=0.5, dropout changed nothing. Is it applied, and with the rate that the constructor got?"))
declare(CLASS, "dropout in the wrong place", (
    "With a single key each head's part of the output must be all 0 or all doubled, because a whole weight is dropped. "
    "Yours has single numbers dropped: dropout is on the concat, the output or the projections. Put it on the weights."))
declare(CLASS, "dropout on the scores", (
    "With a single key its weight is 1 whatever its score, and in train() yours stayed 1: dropout acts before the "
    "softmax. Put it behind the softmax, on the weights."))
declare(CLASS, "dropout at another rate", (
    "In train() your weights are dropped or rescaled at another rate than the one given to the constructor. With rate p "
    "the kept weights are divided by 1 - p; nn.Dropout(p) does both."))
declare(CLASS, "dropout shared by the heads", (
    "In train() a weight is dropped in all heads at once, or in all sentences at once. Every weight (batch, head, query, "
    "key) is dropped or kept by itself."))
declare(CLASS, "gradients do not arrive", (
    "Look for .detach(), .data, torch.no_grad() or torch.tensor(...) on the way to the output, and for a layer that is not "
    "used."))
declare(CLASS, "output not merged", (
    "Your output still has an axis for the heads. Join them, num_heads behind seq and then the last two axes into one, before "
    "W_o: look at merge_heads."))
declare(CLASS, "far off on the trained layer", (
    "On the trained layer your attention is off by a large amount. Small made-up weights forgive such a slip, trained ones "
    "do not: mend what the other checks of this class say first."))


def draw_weights(module: object, d_model: int) -> dict[str, Tensor]:
    """Give the module fresh random weights, through load_state_dict, and return its state; raises NotRight by name."""
    state = checked_state(module, d_model)
    for name in STATE:
        spread = 0.5 if name.endswith("bias") else 1.5 / math.sqrt(d_model)
        state[name] = spread * torch.randn(state[name].shape)
    module.load_state_dict(_copy(state))
    return state


def _copy(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """For a load_state_dict that may be somebody's own: what is expected is worked out from the state itself."""
    return {name: value.clone() if isinstance(value, Tensor) else value for name, value in state.items()}


def checked_state(module: object, d_model: int) -> dict[str, Tensor]:
    """The module's state_dict, if it holds the four layers in their sizes; raises NotRight by name."""
    state = {name: value.detach().clone() for name, value in module.state_dict().items()}
    if not state:
        raise known(CLASS, "layers not registered")
    weights, biases = STATE[::2], STATE[1::2]
    if any(name not in state for name in weights):
        raise known(CLASS, "other layer names")
    if any(name not in state for name in biases):
        raise known(CLASS, "no biases")
    if any(tuple(state[name].shape) != (d_model, d_model)[:state[name].dim()] or state[name].dim() != 2 - place
           for place, names in enumerate((weights, biases)) for name in names):
        raise known(CLASS, "layers of another size")
    return state


def run(module: object, query: Tensor, key: Tensor, value: Tensor, *mask: Tensor, **named: Tensor) -> Tensor:
    """What forward returns, if it is one tensor; raises NotRight by name."""
    try:
        output = module(query, key, value, *mask, **named)
    except TypeError as problem:
        if "forward() " in str(problem) and "argument" in str(problem):
            raise known(CLASS, "another signature") from None
        raise
    if isinstance(output, tuple | list):
        raise known(CLASS, "returns a pair")
    expect.returned("forward(query, key, value)", output)
    if isinstance(output, Tensor) and output.dim() == 4 and query.dim() == 3:
        raise known(CLASS, "output not merged")
    return output


def stored(module: object) -> Tensor:
    """attention_weights, as the last call left them; raises NotRight by name."""
    weights = getattr(module, "attention_weights", None)
    if weights is None:
        raise known(CLASS, "weights not stored")
    if not isinstance(weights, Tensor):
        raise probes.not_a_tensor(weights, "attention_weights", f"a {type(weights).__name__}")
    return weights


def bad_head_count(make: Callable, d_model: int, num_heads: int) -> None:
    """Raise NotRight, by name, unless the constructor refuses a head count that does not divide d_model."""
    try:
        make(d_model, num_heads)
    except (ValueError, AssertionError):
        return
    except (NotImplementedError, NotAttempted):
        raise
    except Exception:
        raise known(CLASS, "another error for the head count") from None
    raise known(CLASS, "no check of the head count")


def run_masked(module: object, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """:func:`run` with a mask. An error is named if the module works without a mask, or with one of booleans."""
    try:
        output = run(module, query, key, value, mask=mask)
    except (NotImplementedError, NotRight):
        raise
    except Exception as problem:
        if mask.dtype != torch.bool and _works(module, query, key, value, mask != 0):
            raise known(CLASS, "mask of one kind only") from None
        if "size" in str(problem) and _works(module, query, key, value):
            raise known(CLASS, "mask gets another shape") from None
        raise
    if output.dim() != 3:
        raise known(CLASS, "mask gets another shape")
    return output


def no_gradient(name: str) -> NotRight:
    """What to raise where no gradient reaches a parameter or an argument."""
    return NotRight(f"No gradient reaches {name}. {known(CLASS, 'gradients do not arrive')}",
                    mistake="gradients do not arrive")


def run_cross(module: object, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """:func:`run` with more keys than queries, or fewer. An error is named if equal lengths go through."""
    try:
        return run(module, query, key, value)
    except (NotImplementedError, NotRight):
        raise
    except Exception:
        if _works(module, query, query, query):
            raise known(CLASS, "the query's length for the keys") from None
        raise


def _works(module: object, *inputs: Tensor) -> bool:
    try:
        return tuple(module(*inputs).shape) == tuple(inputs[0].shape)
    except Exception:
        return False


def dropped_blocks(make: Callable, d_model: int, num_heads: int, p: float | None) -> None:
    """Raise NotRight, by name, unless dropout acts on the weights, at rate ``p`` (None: the default 0.1), in train() only.

    With one key every weight is 1, and with W_v and W_o the identity a head's part of the output is its value times its
    weight: all 0 or all 1 / (1 - p) times the value.
    """
    module = make(d_model, num_heads) if p is None else make(d_model, num_heads, dropout=p)
    p = 0.1 if p is None else p
    state = checked_state(module, d_model)
    for name in STATE:
        state[name] = torch.zeros_like(state[name]) if name.endswith("bias") else torch.eye(d_model)
    module.load_state_dict(state)
    batch, seq_q = 7, 40
    query, source = torch.randn(batch, seq_q, d_model), 1 + torch.rand(batch, 1, d_model)
    module.eval()
    # Copies, here and elsewhere: the result is compared with the source, which the module must not get to change.
    if not torch.allclose(run(module, query, source.clone(), source.clone()), source.expand_as(query), atol=1e-4):
        raise known(CLASS, "dropout not judged yet")
    module.train()
    output = run(module, query, source.clone(), source.clone())
    expect.shape(output, (batch, seq_q, d_model), "the output with a single key, in train(),")
    times = (output / source).reshape(batch, seq_q, num_heads, -1)
    whole = (times - times[..., :1]).abs().amax(-1) < 1e-4
    if not whole.all():
        raise known(CLASS, "dropout in the wrong place")
    times = times[..., 0]
    if (times - 1).abs().max() < 1e-4:
        again = [run(module, query, query, query) for _ in range(2)]
        raise known(CLASS, "dropout on the scores" if not torch.equal(*again) else "no dropout")
    kept = times.abs() > 1e-4
    dropped = 1 - kept.double().mean().item()  # of 280 · num_heads weights
    if (times[kept] - 1 / (1 - p)).abs().max() > 1e-3 or abs(dropped - p) > 5 * math.sqrt(p * (1 - p) / kept.numel()):
        raise known(CLASS, "dropout at another rate")
    for axis in range(3):
        if (kept == kept.select(axis, 0).unsqueeze(axis)).all():
            raise known(CLASS, "dropout shared by the heads")


def repeats_in_eval(module: object, *inputs: Tensor) -> None:
    """Raise NotRight, by name, unless equal calls in eval() give equal outputs and leave the inputs alone."""
    module.eval()
    used = [one.clone() for one in inputs]
    first = run(module, *used)
    if not all(torch.equal(one, before) for one, before in zip(used, inputs, strict=True)):
        raise known(CLASS, "changes its input")
    for _ in range(3):
        if not torch.equal(first, run(module, *(one.clone() for one in inputs))):
            raise known(CLASS, "dropout always on")


def judge_call(module: object, got: Tensor, expected: Tensor, want: str, state: Mapping[str, Tensor], h: int, *inputs: Tensor,
               what: str) -> None:
    """Judge one result of a module in eval(); where no mistake explains it, see whether equal calls repeat themselves."""
    try:
        judge(CLASS, got, expected, want, state, h, *inputs, what=what, axes=AXES[want])
    except NotRight as problem:
        if problem.mistake is None or problem.mistake.startswith(probes.PREFIX):
            repeats_in_eval(module, *inputs)
        raise


@exercise(CLASS, lesson=LESSON, points=16, hidden=11, names=(CLASS,))
def _(make):
    X, state, budgets, output = _running_example()
    module = make(6, 2)
    checked_state(module, 6)
    bad_head_count(make, 6, 4)
    module.load_state_dict({**module.state_dict(), **state})
    repeats_in_eval(module, X, X, X)
    got = run(module, X, X, X)
    weights = stored(module)
    _judge(weights, budgets, "weights", state, X, None, "attention_weights of the running example")
    _judge(got, output, "output", state, X, None, "the output for the running example")
    causal = torch.ones(5, 5).tril()
    hidden = (budgets * causal) / (budgets * causal).sum(-1, keepdim=True)
    for mask in (causal.bool(), causal.int(), causal[None, None]):
        run_masked(module, X, X, X, mask)
        _judge(stored(module), hidden, "weights", state, X, mask, "attention_weights under a causal mask")
    cross = run_cross(module, X[:, :2], X, X)
    expect.shape(cross, (1, 2, 6), "the output for 2 queries and 5 keys")
    expect.shape(stored(module), (1, 2, 2, 5), "attention_weights for 2 queries and 5 keys")
    two = torch.cat([X, X.flip(1)])
    if not torch.allclose(run(module, two, two, two)[:1], output, atol=1e-4):
        raise known(CLASS, "mixes the sentences")
    dropped_blocks(make, 6, 2, 0.5)


def _judge(got, expected, want, state, X, mask, what):
    judge(CLASS, got, expected, want, state, 2, X, X, X, mask, what=what, axes=AXES[want])


def _running_example() -> tuple[Tensor, dict[str, Tensor], Tensor, Tensor]:
    """X, the weights as a state_dict, and attention_weights and output as the lessons work them out by hand."""
    from manyheads.learn import running_example

    example = running_example()
    matrices = (example.W_Q, example.W_K, example.W_V, example.W_O)
    state = {f"{layer}.weight": W.T.clone() for layer, W in zip(LAYERS, matrices, strict=True)}
    state |= {f"{layer}.bias": torch.zeros(6) for layer in LAYERS}
    wanted = math.exp(3.1 / math.sqrt(3))  # about 6: a word that is asked for; every other counts 1
    counts = torch.ones(1, 2, 5, 5)
    counts[0, 0, 0, 1] = counts[0, 0, 1, 0] = counts[0, 1, 1, 2] = counts[0, 1, 2, 1] = wanted
    budgets = counts / counts.sum(-1, keepdim=True)
    head_1 = torch.tensor([[10., 0, 0], [10, 5, 0], [0, 10, 0], [0, 0, 10], [0, 5, 10]])
    both = torch.cat([budgets[0, 0] @ head_1, budgets[0, 1] @ head_1.flip(1)], dim=1)
    return example.X[None], state, budgets, (both @ example.W_O)[None]


# ---------------------------------------------------------------- to_torch_mha(module)

_TORCH = "to_torch_mha"


def layers_only(d_model: int, num_heads: int) -> nn.Module:
    """A module with num_heads, W_q, W_k, W_v and W_o, random and biased, and no forward: something to copy from."""
    module = nn.Module()
    module.num_heads = num_heads
    for name in LAYERS:
        layer = nn.Linear(d_model, d_model)
        nn.init.normal_(layer.weight, std=1.5 / math.sqrt(d_model))
        nn.init.normal_(layer.bias, std=0.5)
        setattr(module, name, layer)
    return module


def _copied(name: str, sentence: str, swap: Mapping[str, str] | None = None, transposed: str = "", bare: str = "",
            batch_first: bool = True, source: str = "") -> None:
    """Register a mistake in copying: layers taken for another, turned round, without bias, or read seq first."""

    @mistake(_TORCH, name, sentence, source)
    def _(want, state, h, query, key, value):
        taken = {}
        for layer in LAYERS:
            weight, bias = (state[f"{(swap or {}).get(layer, layer)}.{part}"] for part in ("weight", "bias"))
            taken[f"{layer}.weight"] = weight.T if layer in transposed.split() else weight
            taken[f"{layer}.bias"] = torch.zeros_like(bias) if layer in bare.split() else bias
        if batch_first:
            return _wrong(want, taken, h, query, key, value)
        got = _wrong(want, taken, h, *(x.transpose(0, 1) for x in (query, key, value)))
        return got if want == "weights" else got.transpose(0, 1)


_copied("batch_first missing", batch_first=False, source="OmDet#19", sentence=(
    "Your nn.MultiheadAttention reads (seq, batch, d_model): it takes your sentences for tokens and your tokens for "
    "sentences, and raises no error. Which argument of its constructor puts the batch first?"))
_copied("q and k exchanged", swap={"W_q": "W_k", "W_k": "W_q"}, sentence=(
    "W_q and W_k have changed places in in_proj_weight or in_proj_bias. The rows come in the order q, k, v."))
_copied("k and v exchanged", swap={"W_k": "W_v", "W_v": "W_k"}, sentence=(
    "W_k and W_v have changed places in in_proj_weight or in_proj_bias. The rows come in the order q, k, v."))
_copied("q and v exchanged", swap={"W_q": "W_v", "W_v": "W_q"}, sentence=(
    "W_q and W_v have changed places in in_proj_weight or in_proj_bias. The rows come in the order q, k, v."))
_copied("in_proj transposed", transposed="W_q W_k W_v", sentence=(
    "The three input matrices are turned round. nn.Linear.weight, in_proj_weight and out_proj.weight are all stored as "
    "(out, in): there is nothing to transpose."))
_copied("out_proj transposed", transposed="W_o", sentence=(
    "The weights agree and the output does not: W_o is turned round. out_proj is an nn.Linear too, so its weight is "
    "copied as it is."))
_copied("in_proj_bias forgotten", bare="W_q W_k W_v", sentence=(
    "in_proj_bias was not copied: it holds the biases of W_q, W_k and W_v, in this order. (The bias of W_o has its place "
    "in out_proj.bias.)"))
_copied("out_proj.bias forgotten", bare="W_o", sentence=(
    "The weights agree and the output does not: the bias of W_o was not copied. Its place is out_proj.bias."))
@mistake(_TORCH, "q, k and v moved round", (
    "Matrices and biases are all there and each is in the place of another. The rows of in_proj_weight and in_proj_bias come in "
    "the order q, k, v: look at the order of your cat."))
def _(want, state, h, query, key, value):
    for order in itertools.permutations(LAYERS[:3]):
        yield _wrong(want, state | {f"{name}.{part}": state[f"{other}.{part}"] for name, other in
                                    zip(LAYERS[:3], order, strict=True) for part in ("weight", "bias")}, h, query, key, value)


@mistake(_TORCH, "a layer copied twice", (
    "in_proj_weight holds one of your layers more than once and lacks another. Its rows are W_q, then W_k, then W_v: look at the "
    "names in your cat or in your slices."))
def _(want, state, h, query, key, value):
    for taken in itertools.product(LAYERS[:3], repeat=3):
        for parts in (("weight",), ("weight", "bias")):
            yield _wrong(want, state | {f"{name}.{part}": state[f"{other}.{part}"] for name, other in
                                        zip(LAYERS[:3], taken, strict=True) for part in parts}, h, query, key, value)


@mistake(_TORCH, "biases in another order", (
    "The three matrices are in their places and the three biases are not: in in_proj_bias too the order is q, k, v."))
def _(want, state, h, query, key, value):
    for order in itertools.permutations(LAYERS[:3]):
        yield _wrong(want, state | {f"{name}.bias": state[f"{other}.bias"] for name, other in zip(LAYERS[:3], order, strict=True)}, h, query,
                     key, value)


declare(_TORCH, "nothing copied", (
    "Your nn.MultiheadAttention has its own random matrices. Copy the weights of the four layers into in_proj_weight and "
    "out_proj.weight."))
declare(_TORCH, "a layer not copied", (
    "Copy the weights of W_q, W_k and W_v into in_proj_weight, those of W_o into out_proj.weight, each as it is."))
declare(_TORCH, "a bias not copied", (
    "Its three parts are the biases of W_q, W_k and W_v, in this order; that of W_o has its place in out_proj.bias."))
declare(_TORCH, "shared, not copied", (
    "Your nn.MultiheadAttention shares a tensor with the module: whoever trains one changes the other. Copy the values instead, "
    "with copy_ or load_state_dict."))
declare(_TORCH, "another head count", (
    "Your nn.MultiheadAttention has another number of heads than the module. Hand module.num_heads on."))
declare(_TORCH, "left in train mode", source="pytorch#34537", sentence=(
    "Your nn.MultiheadAttention is in train mode, where dropout makes every call different. Call .eval() on it before you "
    "return it."))
declare(_TORCH, "the module itself", (
    "This is not an nn.MultiheadAttention: it has no in_proj_weight. Make a new one with nn.MultiheadAttention(...)."))


def ask_torch(mha: object, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None,
              ) -> tuple[Tensor, Tensor]:
    """Weights for each head and output of somebody's nn.MultiheadAttention; raises NotRight by name."""
    expect.returned("to_torch_mha(module)", mha)
    if not hasattr(mha, "in_proj_weight"):
        raise known(_TORCH, "the module itself")
    named = {} if mask is None else {"attn_mask": mask}
    copies = [x.clone() for x in (query, key, value)]  # tests work out from the originals what they expect
    output, weights = mha(*copies, need_weights=True, average_attn_weights=False, **named)
    return weights, output


def nothing_copied(mha: object, state: Mapping[str, Tensor]) -> None:
    """Raise NotRight, by name, if none of the three input matrices is in in_proj_weight, either way round."""
    rows = mha.state_dict().get("in_proj_weight")
    if rows is None:
        return
    for name in LAYERS[:3]:
        for matrix in (state[f"{name}.weight"], state[f"{name}.weight"].T):
            if any(torch.allclose(part, matrix) for part in rows.split(matrix.shape[0])):
                return
    raise known(_TORCH, "nothing copied")


def judge_copy(mha: object, state: Mapping[str, Tensor], got: Tensor, right: Tensor, want: str, h: int, *inputs: Tensor,
               what: str) -> None:
    """Judge what somebody's nn.MultiheadAttention gives; where no mistake explains it, name a layer that was not copied."""
    try:
        judge(_TORCH, got, right, want, state, h, *inputs, what=what, axes=AXES[want])
    except NotRight as problem:
        held = mha.state_dict()
        places = {"W_o": [held["out_proj.weight"]]} | dict.fromkeys(LAYERS[:3], held["in_proj_weight"].chunk(3))
        for name in LAYERS if problem.mistake in probes.VAGUE else ():
            matrix = state[f"{name}.weight"]
            if not any(torch.allclose(part, one) for part in places[name] for one in (matrix, matrix.T)):
                place = "out_proj.weight" if name == "W_o" else "in_proj_weight"
                raise NotRight(f"{place} does not hold the weight of {name}. {known(_TORCH, 'a layer not copied')}",
                               mistake="a layer not copied") from None
        for place, name in zip(range(3), LAYERS, strict=False):
            if problem.mistake in probes.VAGUE and not torch.allclose(held["in_proj_bias"].chunk(3)[place], state[f"{name}.bias"]):
                raise NotRight(f"in_proj_bias does not hold the bias of {name} where it should. {known(_TORCH, 'a bias not copied')}",
                               mistake="a bias not copied") from None
        raise


def copied_not_shared(to_torch_mha: Callable, module: nn.Module) -> None:
    """Raise NotRight, by name, if a parameter of the copy lies in the same memory as one of ``module``."""
    if expect.shares_parameters(to_torch_mha, module):
        raise known(_TORCH, "shared, not copied")
    if set(module.state_dict()) != set(STATE):
        raise NotRight("to_torch_mha took layers away from the module that it was given, or gave it new ones. Copy values, nothing else.")


@exercise(_TORCH, lesson=LESSON, points=3, hidden=2, names=(_TORCH,))
def _(to_torch_mha):
    X, state, budgets, output = _running_example()
    module = layers_only(6, 2)
    module.load_state_dict(state)
    mha = to_torch_mha(module)
    weights, got = ask_torch(mha, X, X, X)
    if mha.training:
        raise known(_TORCH, "left in train mode")
    if weights.dim() == 4 and tuple(weights.shape[2:]) == (5, 5) and weights.shape[1] != 2:
        raise known(_TORCH, "another head count")
    for mine, right, want in ((weights, budgets, "weights"), (got, output, "output")):
        judge_copy(mha, state, mine, right, want, 2, X, X, X,
                   what=f"the {want} of your nn.MultiheadAttention for the running example")
    copied_not_shared(to_torch_mha, module)


# ---------------------------------------------------------------- to_torch_mask(mask)

_MASK = "to_torch_mask"


@mistake(_MASK, "polarity not flipped", source="LLMs-from-scratch#1061", sentence=(
         "Your mask still says True = may attend. nn.MultiheadAttention reads True as 'blocked': every place must be "
         "turned round."))
def _(mask):
    return mask != 0


@mistake(_MASK, "not boolean", (
         "Your mask is turned round, but it holds numbers. nn.MultiheadAttention adds a mask of numbers to the scores, so "
         "only booleans block. A comparison gives booleans."))
def _(mask):
    return 1 - mask.int() if not mask.dtype.is_floating_point else 1 - mask


@mistake(_MASK, "not boolean, as numbers", (
         "Your mask is turned round, but it holds numbers. nn.MultiheadAttention adds a mask of numbers to the scores, so "
         "only booleans block. A comparison gives booleans."))
def _(mask):
    return 1.0 - mask.float()


@mistake(_MASK, "turned round bit by bit", (
         "~ turns True into False, but of whole numbers it turns every bit round: ~1 is -2, which counts as True. A "
         "comparison with 0 works for booleans and for numbers."))
def _(mask):
    return ~mask


@mistake(_MASK, "turned round bit by bit, then boolean", (
         "~ turns True into False, but of whole numbers it turns every bit round: ~1 is -2, so everything became True and "
         "every key is blocked. A comparison with 0 works for booleans and for numbers."))
def _(mask):
    return (~mask).bool()


@mistake(_MASK, "additive mask", (
         "You return 0 and minus infinity, to be added to the scores. nn.MultiheadAttention would take it, but the "
         "exercise asks for booleans, True = blocked."))
def _(mask):
    return torch.zeros(mask.shape).masked_fill(mask == 0, -torch.inf)


@mistake(_MASK, "a mask of its own", (
    "Your mask does not depend on the one that you are given: it is a causal mask of its own making. Look at where you use the "
    "argument."))
def _(mask):
    yield torch.ones(mask.shape[-1], mask.shape[-1]).triu(1).bool()
    yield torch.ones(mask.shape[-2], mask.shape[-1]).triu(1).bool()


declare(_MASK, "only for booleans", (
    "Your function works with booleans and stops with ones and zeros. Which comparison finds the blocked places in both?"))


def mask_of(to_torch_mask: Callable, mask: Tensor) -> Tensor:
    """What the student makes of a mask; an error is named where a boolean mask goes through."""
    try:
        return to_torch_mask(mask.clone())
    except (NotImplementedError, NotRight):
        raise
    except Exception:
        if mask.dtype == torch.bool:
            raise
        to_torch_mask(mask != 0)
        raise known(_MASK, "only for booleans") from None


@exercise(_MASK, lesson=LESSON, points=1, hidden=1, names=(_MASK,))
def _(to_torch_mask):
    causal = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    blocked = torch.tensor([[False, True, True], [False, False, True], [False, False, False]])
    for mask in (causal.bool(), causal, causal.float()):
        judge(_MASK, mask_of(to_torch_mask, mask), blocked, mask, what="to_torch_mask(causal mask)",
              axes=("query", "key"), fn=to_torch_mask)


# ---------------------------------------------------------------- find_the_bug, shape and choice

CAUSES = ("dropout always on", "mask ignored", "mask turned round", "merge without moving the head axis",
          "scaled by the root of d_model", "softmax over the queries", "view-only split", "W_o unused")

declare("find_the_bug", "a cause from outside the list", (
    "A cause is not on the list. Copy one of the eight names letter by letter."))
declare("find_the_bug", "a symptom that this cause cannot have", (
    "That cause does not fit what the module does. Try the experiment of the table that would show it, on this module and "
    "on a right one with the same weights."))
declare("find_the_bug", "split and merge confused", (
    "The heads are mixed up, but at the other end. If the split is wrong, the rows of attention_weights are wrong already; "
    "if only the merge is wrong, attention_weights is right and the output is not."))
declare("find_the_bug", "mask ignored or turned round", (
    "The mask is the right suspect. Look at attention_weights under a causal mask: are the blocked keys as before, or do "
    "they have all the weight?"))


def named_causes(causes: object) -> dict:
    """The answer itself, if it names one of the causes for each of the four letters; raises NotRight."""
    expect.answered(causes=causes)
    if type(causes) is not dict or set(causes) != set("ABCD"):
        raise expect.form("causes", 'a dict with the four keys "A", "B", "C" and "D"')
    missing = [letter for letter in "ABCD" if causes[letter] is None]
    if missing:
        raise NotAttempted(f"no cause yet for {' and '.join(missing)}")
    if any(type(cause) is not str or cause not in CAUSES for cause in causes.values()):
        raise known("find_the_bug", "a cause from outside the list")
    return causes


def one_cause(causes: object, letter: str, right: str) -> None:
    """Raise NotRight, by name, unless ``causes`` names the right cause for this letter."""
    said = named_causes(causes)[letter]
    if said == right:
        return
    pair = {said, right}
    name = ("split and merge confused" if pair == {"view-only split", "merge without moving the head axis"}
            else "mask ignored or turned round" if pair == {"mask ignored", "mask turned round"}
            else "a symptom that this cause cannot have")
    problem = known("find_the_bug", name)
    raise NotRight(f"Module {letter}: {problem}", mistake=problem.mistake)


@exercise("find_the_bug", lesson=LESSON, points=2, hidden=2, names=("causes",))
def _(causes):
    # By form only: the causes are for the hidden tests.
    if len(set(named_causes(causes).values())) < 4:
        raise NotRight("Two modules have the same cause in your answer. The four are broken in four ways: look at them again.")


declare("shape_and_choice", "averaged over the heads", (
    "Your shape has no head axis. This course keeps every head apart; a mean over heads is a default of "
    "nn.MultiheadAttention, not of your module."))
declare("shape_and_choice", "queries and keys exchanged", (
    "Rows are the ones who ask. Which of the two texts asks here, and which is looked at?"))
declare("shape_and_choice", "one length for both", (
    "You used the same length twice. In cross-attention the rows count one text and the columns the other."))
declare("shape_and_choice", "features in the weights", (
    "The weights have no feature axis: there is one number for every pair of tokens. What do the last two axes count?"))
declare("shape_and_choice", "axes in another order", (
    "Your four numbers are the right ones in another order. The course writes (batch, num_heads, seq_q, seq_k)."))


declare("shape_and_choice", "an error would tell", (
    "No error comes: every shape fits. Try it with a small tensor, and look at what the axes are taken for."))
declare("shape_and_choice", "batch first by default", (
    "That needs an argument that is off by default. Which axis comes first for nn.MultiheadAttention, if you say nothing?"))
declare("shape_and_choice", "heads apart by default", (
    "Weights of every head need an argument. What does nn.MultiheadAttention hand back, if you say nothing?"))


@exercise("shape_and_choice", lesson=LESSON, points=2, hidden=2, names=("shape_cross_weights", "answer_defaults"))
def _(shape_cross_weights, answer_defaults):
    # By form: the values are for the hidden tests.
    expect.answered(shape_cross_weights=shape_cross_weights, answer_defaults=answer_defaults)
    four_axes(shape_cross_weights)
    expect.letter(answer_defaults, "answer_defaults")


def four_axes(got: object) -> None:
    """Raise NotRight, by name where the heads are missing, unless ``got`` is a tuple of four ints."""
    if type(got) is tuple and len(got) == 3:
        raise known("shape_and_choice", "averaged over the heads")
    if type(got) is not tuple or len(got) != 4 or not all(type(size) is int for size in got):
        raise expect.form("shape_cross_weights", "a tuple of four whole numbers, such as (2, 3, 4, 5)")
