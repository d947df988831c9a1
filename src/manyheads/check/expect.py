"""Expectations: each returns None, or raises with one message that never holds the expected value.

Tolerance of :func:`close` by dtype of the coarser side, relative and absolute alike: float32 1e-5, anything coarser
(float16, bfloat16) 1e-2. float64 is judged as float32: inputs are float32, so a float64 answer to them is no more exact.
:func:`numbers` allows 0.01 unless a test says otherwise.
"""

import copy
import functools
from collections.abc import Callable, Mapping, Sequence

import torch

from . import probes
from .errors import NotAttempted, NotRight

_TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-5}
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
        raise probes.not_a_tensor(value, what, "None")


def shape(got: object, expected: Sequence[int], what: str) -> None:
    """Raise NotRight unless ``got`` is a tensor of this shape. The message may tell the shape: exercise texts do."""
    _tensor(got, what)
    if tuple(got.shape) != tuple(expected):
        raise probes.about_shape(got.shape, expected, what)


def close(got: object, expected: torch.Tensor, what: str, axes: Sequence[str] | None = None,
          atol: float | None = None) -> None:
    """Raise NotRight unless ``got`` is a tensor with the shape, the kind and (nearly) the values of ``expected``.

    ``axes`` names the axes for the message, e.g. ``("batch", "head", "token", "feature")``; ``atol`` replaces
    the tolerance.
    """
    _tensor(got, what)
    if got.shape != expected.shape:
        raise probes.nearest_shape(got, expected, what, axes)
    if got.dtype.is_floating_point != expected.dtype.is_floating_point or (got.dtype == torch.bool) != (
            expected.dtype == torch.bool):
        raise probes.not_right("another dtype", what=what, mine=_short(got.dtype), right=_short(expected.dtype))
    tolerance = _tolerance(got.dtype, expected.dtype) if atol is None else atol
    wrong = ~torch.isclose(got.detach().cpu().double(), expected.detach().cpu().double(),
                           rtol=tolerance if atol is None else 0.0, atol=tolerance)
    if wrong.any():
        raise probes.nearest(got, expected, wrong, what, axes)


def rows_sum_to_one(weights: object, what: str) -> None:
    """Raise NotRight unless each row (last axis) of the weights, shape (..., seq_q, seq_k), is a budget: >= 0, sum 1."""
    _tensor(weights, what)
    values = weights.detach().double()
    tolerance = 10 * _tolerance(weights.dtype, torch.float64)
    if (values < -tolerance).any():
        raise probes.not_right("negative weights", what=what, place=probes.place(values < -tolerance))
    if not (values.sum(-1) - 1).abs().le(tolerance).all():
        columns = values.dim() > 1 and (values.sum(-2) - 1).abs().le(tolerance).all()
        if columns:
            raise probes.not_right("columns sum to one", what=what)
        off = (values.sum(-1) - 1).abs() > tolerance
        raise probes.not_right("rows do not sum to one", what=what, place=f", first at {probes.place(off)}" if off.dim() else "",
                               side="too little" if values.sum(-1)[off][0] < 1 else "too much")


def exact_answer(got: object, expected: object, what: str, wrong: Mapping[object, str | NotRight] | None = None) -> None:
    """Raise NotRight unless ``got`` has exactly the type and the value of ``expected`` (tuples: item by item).

    ``wrong`` maps a tempting wrong value to what explains it: a sentence, or ``known(exercise, name)``.
    """
    answered(**{what: got})
    _same_type(got, expected, what)
    if got != expected:
        for value, sentence in (wrong or {}).items():
            if type(value) is type(got) and value == got:
                raise _explained(sentence)
        if not isinstance(expected, tuple | list):
            raise probes.not_right("another value", what=what)
        first = next(i for i, (mine, right) in enumerate(zip(got, expected, strict=True)) if mine != right)
        raise probes.not_right("wrong at an index", what=what, place=first)


def numbers(got: object, expected: Sequence[float], what: str, atol: float = 0.01,
            wrong: Mapping[tuple[float, ...], str | NotRight] | None = None) -> None:
    """Raise NotRight unless ``got`` is a list or tuple of plain numbers within ``atol`` of ``expected``.

    ``wrong`` as in :func:`exact_answer`.
    """
    answered(**{what: got})
    if type(got) not in (list, tuple) or not all(type(item) in (int, float) for item in got):
        held = [] if type(got) not in (list, tuple) else [item for item in got if type(item) not in (int, float)]
        found = f"holds {_kind(held[0])}" if held else f"is {_kind(got)}"
        raise form(what, f"a list of plain numbers, such as [1.5, 2.0]; it {found}")
    if len(got) != len(expected):
        raise probes.not_right("another length", what=what, mine=len(got), right=len(expected), items="numbers")

    def near(one: Sequence[float], other: Sequence[float]) -> list[bool]:
        return [abs(a - b) <= atol + 1e-9 for a, b in zip(one, other, strict=True)]

    if all(near(got, expected)):
        return
    for value, sentence in (wrong or {}).items():
        if len(value) == len(got) and all(near(got, value)):
            raise _explained(sentence)
    place = near(got, expected).index(False)
    raise probes.not_right("number off", what=what, number=place + 1, place=place)


def choice(got: object, expected: str, what: str, why: Mapping[str, str | NotRight] | None = None) -> None:
    """Raise NotRight unless ``got`` is the letter ``expected``; ``why`` tells for each wrong letter why it is wrong.

    A reason is a sentence, or ``known(exercise, name)``.
    """
    answered(**{what: got})
    if type(got) is not str or len(got.strip()) != 1:
        found = repr(got) if type(got) is str and len(got) <= 20 else _kind(got)
        raise form(what, f'one letter in quotes, such as "A"; it is {found}')
    letter = got.strip().upper()
    if letter != expected:
        raise _explained((why or {}).get(letter, f"{what}: {letter} is not one of the choices. Look at them again."))


def letter(got: object, what: str) -> None:
    """Raise NotRight unless ``got`` is one of the four letters; says nothing about which."""
    answered(**{what: got})
    if type(got) is not str or got.strip().upper() not in ("A", "B", "C", "D"):
        raise form(what, 'one letter in quotes, "A", "B", "C" or "D"')


def form(what: str, wanted: str) -> NotRight:
    """What to raise where an answer has another form than the exercise asks for, whatever its value."""
    return probes.not_right("form", what=what, wanted=wanted)


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
        raise probes.not_right("another error", what=what, mine=type(problem).__name__, right=names) from None
    raise probes.not_right("no error", what=what, right=names)


def unchanged(fn: Callable, *args: object, what: str) -> None:
    """Raise NotRight if ``fn(*args)`` changes a tensor argument in place, or gives something else when called again.

    The caller's tensors stay as they are.
    """
    used = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    first = fn(*used)
    for place, (before, after) in enumerate(zip(args, used, strict=True)):
        if isinstance(before, torch.Tensor) and not _equal(before, after):
            raise probes.not_right("changed in place", what=what, number=place + 1)
    again = fn(*(arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args))
    results = [result if isinstance(result, tuple | list) else [result] for result in (first, again)]
    if not all(_equal(one, other) for one, other in zip(*results, strict=False)
               if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
        raise probes.not_right("two calls differ", what=what)


def _beside(helper: Callable) -> Callable:
    """Let a helper run where its first argument lives: a grader may keep the student's code in another process.

    What such a grader hands to a test in the student's place says how, in ``on_their_side``.
    """

    @functools.wraps(helper)
    def run(fn: Callable, *args: object, **named: object) -> object:
        if hasattr(type(fn), "on_their_side"):
            return fn.on_their_side(helper.__name__, *args, **named)
        return helper(fn, *args, **named)

    return run


@_beside
def gradient(fn: Callable, *args: object, weights: torch.Tensor, wrt: int = 0) -> torch.Tensor:
    """The gradient of ``(fn(*args) * weights).sum()`` with respect to ``args[wrt]``.

    ``weights`` has the shape of the output; of a pair or tuple the first item is the output. Raises NotRight if no
    gradient arrives. Tests ask for gradients here, not with ``backward``, because a student's function may live in
    another process than the test.
    """
    used = [arg.detach().clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    used[wrt].requires_grad_()
    output = fn(*used)
    output = output[0] if isinstance(output, tuple | list) and output else output
    if not isinstance(output, torch.Tensor) or output.grad_fn is None:
        raise probes.not_right("no gradient")
    shape(output, weights.shape, "the output whose gradient is asked for")
    (found,) = torch.autograd.grad((output * weights).sum(), used[wrt], allow_unused=True)
    if found is None:
        raise probes.not_right("gradient does not reach")
    return found


@_beside
def parameter_gradients(module: Callable, *args: object, weights: torch.Tensor) -> dict[str, torch.Tensor]:
    """The gradient of ``(module(*args) * weights).sum()`` for each parameter by name; zeros where none arrives.

    ``weights`` has the shape of the output. Like :func:`gradient`, for the parameters of a module.
    """
    gradients = {name: torch.zeros_like(parameter) for name, parameter in module.named_parameters()}
    trained = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
    output = module(*args)
    output = output[0] if isinstance(output, tuple | list) and output else output
    if not isinstance(output, torch.Tensor) or output.grad_fn is None or not trained:
        return gradients
    shape(output, weights.shape, "the output whose gradients are asked for")
    found = torch.autograd.grad((output * weights).sum(), list(trained.values()), allow_unused=True)
    return gradients | {name: one for name, one in zip(trained, found, strict=True) if one is not None}


@_beside
def on_non_contiguous(fn: Callable, x: torch.Tensor, *args: object) -> object:
    """``fn(x, *args)`` with the values of ``x`` in a tensor that lies in memory in another order, and with gaps."""
    turned = x.permute(*reversed(range(x.dim()))).contiguous()
    return fn(torch.stack([turned, turned], dim=-1)[..., 0].permute(*reversed(range(x.dim()))), *args)


@_beside
def shares_parameters(fn: Callable, module: torch.nn.Module) -> bool:
    """Whether the module that ``fn(module)`` makes has a parameter in the same memory as one of ``module``."""
    theirs = {parameter.data_ptr() for parameter in module.parameters()}
    return any(parameter.data_ptr() in theirs for parameter in fn(module).parameters())


def _explained(reason: str | NotRight) -> NotRight:
    """The reason why an answer is wrong as an exception, with its name in the catalogue if the sentence is there."""
    if isinstance(reason, NotRight):
        return reason
    from .catalogue import named_in

    entry = named_in(reason)
    return NotRight(reason, mistake=entry.name if entry else None)


def _tensor(got: object, what: str) -> None:
    returned(what, got)
    # A subclass could answer every comparison with "equal".
    if type(got) not in (torch.Tensor, torch.nn.Parameter):
        raise probes.not_a_tensor(got, what, _kind(got))


def _same_type(got: object, expected: object, what: str) -> None:
    if type(got) is not type(expected):
        raise probes.not_right("another type", what=what, right=_kind(expected), mine=_kind(got))
    if isinstance(expected, tuple | list):
        if len(got) != len(expected):
            raise probes.not_right("another length", what=what, mine=len(got), right=len(expected), items="items")
        for place, (mine, right) in enumerate(zip(got, expected, strict=True)):
            _same_type(mine, right, f"item {place} of {what}")


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
