"""Expectations: each returns None, or raises with one message that never holds the expected value.

Tolerances of :func:`close` and :func:`numbers` by dtype of the coarser side, relative and absolute alike:
float64 1e-9, float32 1e-5, anything coarser 1e-2.
"""

import copy
from collections.abc import Callable, Mapping, Sequence

import torch

from .errors import NotAttempted, NotRight

_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
_COARSE = 1e-2


def answered(**answers: object) -> None:
    """Raise NotAttempted, naming every answer that is still None."""
    missing = [name for name, value in answers.items() if value is None]
    if missing:
        names = " and ".join([", ".join(missing[:-1])] * (len(missing) > 1) + missing[-1:])
        raise NotAttempted(f"{names} {'is' if len(missing) == 1 else 'are'} still None")


def returned(what: str, value: object) -> None:
    """Raise NotRight if a call gave None."""
    if value is None:
        raise NotRight(f"{what} gave None: did you forget a return?")


def shape(got: object, expected: Sequence[int], what: str) -> None:
    """Raise NotRight unless ``got`` is a tensor of this shape. The message may tell the shape: exercise texts do."""
    _tensor(got, what)
    if tuple(got.shape) != tuple(expected):
        raise NotRight(f"{what} has shape {tuple(got.shape)}; it should have shape {tuple(expected)}.")


def close(got: object, expected: torch.Tensor, what: str, axes: Sequence[str] | None = None,
          atol: float | None = None) -> None:
    """Raise NotRight unless ``got`` is a tensor with the shape, the kind and (nearly) the values of ``expected``.

    ``axes`` names the axes for the message, e.g. ``("batch", "head", "token", "feature")``; ``atol`` replaces
    the tolerance.
    """
    shape(got, expected.shape, what)
    if got.dtype.is_floating_point != expected.dtype.is_floating_point or (got.dtype == torch.bool) != (
            expected.dtype == torch.bool):
        raise NotRight(f"{what} has dtype {_short(got.dtype)}; it should have dtype {_short(expected.dtype)}.")
    mine, right = got.detach().cpu().double(), expected.detach().cpu().double()
    if mine.isnan().any() and not right.isnan().any():
        raise NotRight(f"{what} holds NaN, first at {_place(mine.isnan(), axes)}. "
                       "Look for 0/0, the root of a negative number or a softmax over nothing.")
    tolerance = _tolerance(got.dtype, expected.dtype) if atol is None else atol
    wrong = ~torch.isclose(mine, right, rtol=tolerance if atol is None else 0.0, atol=tolerance)
    if wrong.any():
        count = int(wrong.sum())
        raise NotRight(f"{what} has the right shape, but {count} of {wrong.numel()} values differ, "
                       f"first at {_place(wrong, axes)}.")


def rows_sum_to_one(weights: object, what: str) -> None:
    """Raise NotRight unless each row (last axis) of the weights, shape (..., seq_q, seq_k), is a budget: >= 0, sum 1."""
    _tensor(weights, what)
    values = weights.detach().double()
    tolerance = 10 * _tolerance(weights.dtype, torch.float64)
    if (values < -tolerance).any():
        raise NotRight(f"{what} holds negative weights. A softmax never gives one: look at the exponential.")
    if not (values.sum(-1) - 1).abs().le(tolerance).all():
        columns = values.dim() > 1 and (values.sum(-2) - 1).abs().le(tolerance).all()
        raise NotRight(f"{what}: the columns sum to 1, but each row should. The softmax must run over the keys, "
                       "the last axis." if columns else
                       f"{what}: the rows do not sum to 1. Each row is one budget, shared out by a softmax over "
                       "the last axis.")


def exact_answer(got: object, expected: object, what: str, wrong: Mapping[object, str] | None = None) -> None:
    """Raise NotRight unless ``got`` has exactly the type and the value of ``expected`` (tuples: item by item).

    ``wrong`` maps a tempting wrong value to the sentence that explains it.
    """
    answered(**{what: got})
    _same_type(got, expected, what)
    if got != expected:
        for value, sentence in (wrong or {}).items():
            if type(value) is type(got) and value == got:
                raise NotRight(sentence)
        raise NotRight(_first_item(got, expected, what))


def numbers(got: object, expected: Sequence[float], what: str, atol: float = 0.01,
            wrong: Mapping[tuple[float, ...], str] | None = None) -> None:
    """Raise NotRight unless ``got`` is a list or tuple of plain numbers within ``atol`` of ``expected``."""
    answered(**{what: got})
    if type(got) not in (list, tuple) or not all(type(item) in (int, float) for item in got):
        held = [] if type(got) not in (list, tuple) else [item for item in got if type(item) not in (int, float)]
        raise NotRight(f"{what} should be a list of plain numbers, such as [1.5, 2.0]; "
                       f"it {f'holds {_kind(held[0])}' if held else f'is {_kind(got)}'}.")
    if len(got) != len(expected):
        raise NotRight(f"{what} has {len(got)} numbers; it should have {len(expected)}.")

    def near(one: Sequence[float], other: Sequence[float]) -> list[bool]:
        return [abs(a - b) <= atol + 1e-9 for a, b in zip(one, other, strict=True)]

    if all(near(got, expected)):
        return
    for value, sentence in (wrong or {}).items():
        if len(value) == len(got) and all(near(got, value)):
            raise NotRight(sentence)
    place = near(got, expected).index(False)
    raise NotRight(f"{what}: number {place + 1} (index {place}) is off. Work that one out again by hand.")


def choice(got: object, expected: str, what: str, why: Mapping[str, str] | None = None) -> None:
    """Raise NotRight unless ``got`` is the letter ``expected``; ``why`` says for each wrong letter why it is wrong."""
    answered(**{what: got})
    if type(got) is not str or len(got.strip()) != 1:
        found = repr(got) if type(got) is str and len(got) <= 20 else _kind(got)
        raise NotRight(f'{what} should be one letter in quotes, such as "A"; it is {found}.')
    letter = got.strip().upper()
    if letter != expected:
        raise NotRight((why or {}).get(letter, f"{what}: {letter} is not one of the choices."))


def raises(fn: Callable, *args: object, what: str,
           errors: tuple[type[Exception], ...] = (ValueError, AssertionError)) -> None:
    """Raise NotRight unless ``fn(*args)`` raises one of ``errors``."""
    names = " or ".join(error.__name__ for error in errors)
    try:
        fn(*copy.deepcopy(args))
    except errors:
        return
    except (NotImplementedError, NotAttempted):
        raise
    except Exception as problem:
        raise NotRight(f"{what} raised {type(problem).__name__}; it should raise {names}: "
                       "check the sizes before you use them.") from None
    raise NotRight(f"{what} went through; it should raise {names}.")


def unchanged(fn: Callable, *args: object, what: str) -> None:
    """Raise NotRight if ``fn(*args)`` changes a tensor argument in place. The caller's tensors stay as they are."""
    used = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    fn(*used)
    for place, (before, after) in enumerate(zip(args, used, strict=True)):
        if isinstance(before, torch.Tensor) and not _equal(before, after):
            raise NotRight(f"{what} changed its argument {place + 1} in place. "
                           "Make a new tensor: whoever called you still needs the old one.")


def gradient(fn: Callable, *args: object, weights: torch.Tensor, wrt: int = 0) -> torch.Tensor:
    """The gradient of ``(fn(*args) * weights).sum()`` with respect to ``args[wrt]``.

    ``weights`` has the shape of the output. Raises NotRight if no gradient arrives. Tests ask for gradients here, not
    with ``backward``, because a student's function may live in another process than the test.
    """
    used = [arg.detach().clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    used[wrt].requires_grad_()
    output = fn(*used)
    if not isinstance(output, torch.Tensor) or output.grad_fn is None:
        raise NotRight("No gradient flows back from the output to the input: look for .detach(), .data, .item(), "
                       "numpy or torch.tensor(...) on the way.")
    (found,) = torch.autograd.grad((output * weights).sum(), used[wrt], allow_unused=True)
    if found is None:
        raise NotRight("The output has a gradient, but none of it reaches the input: is the input used at all?")
    return found


def on_non_contiguous(fn: Callable, x: torch.Tensor, *args: object) -> object:
    """``fn(x, *args)`` with the values of ``x`` in a tensor that is not contiguous in memory."""
    return fn(torch.stack([x, x], dim=-1)[..., 0], *args)


def _tensor(got: object, what: str) -> None:
    returned(what, got)
    # A subclass could answer every comparison with "equal".
    if type(got) not in (torch.Tensor, torch.nn.Parameter):
        raise NotRight(f"{what} should be a torch tensor; it is {_kind(got)}.")


def _same_type(got: object, expected: object, what: str) -> None:
    if type(got) is not type(expected):
        raise NotRight(f"{what} should be {_kind(expected)}; it is {_kind(got)}.")
    if isinstance(expected, tuple | list):
        if len(got) != len(expected):
            raise NotRight(f"{what} has {len(got)} items; it should have {len(expected)}.")
        for place, (mine, right) in enumerate(zip(got, expected, strict=True)):
            _same_type(mine, right, f"item {place} of {what}")


def _first_item(got: object, expected: object, what: str) -> str:
    if isinstance(expected, tuple | list):
        place = next(i for i, (mine, right) in enumerate(zip(got, expected, strict=True)) if mine != right)
        return f"{what} is wrong first at index {place}: ask what that axis counts."
    return f"{what} should have another value: read once more what is asked."


def _place(wrong: torch.Tensor, axes: Sequence[str] | None) -> str:
    index = wrong.nonzero()[0].tolist() if wrong.dim() else []
    if not axes:
        return f"index {tuple(index)}"
    return ", ".join(f"head {i + 1} (index {i})" if axis == "head" else f"{axis} {i}"
                     for axis, i in zip(axes, index, strict=True))


def _tolerance(*dtypes: torch.dtype) -> float:
    return max(_TOLERANCE.get(dtype, _COARSE) if dtype.is_floating_point else 0.0 for dtype in dtypes)


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(
        one.detach().double(), other.detach().double(), rtol=0, atol=0, equal_nan=True)


def _kind(value: object) -> str:
    name = type(value).__name__
    if name == "NoneType":
        return "None"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
