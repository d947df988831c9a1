"""The mistakes that people make, and how to recognise them.

Each lesson module (``lesson01`` …) registers its mistakes: a name, the sentence that the student reads, where the
mistake was seen, and, where it can be computed, the output that the mistake would give on the same inputs.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import GeneratorType

from .errors import NotRight


@dataclass(frozen=True)
class Mistake:
    exercise: str
    name: str
    sentence: str
    source: str = ""
    wrong: Callable | None = None


_MISTAKES: dict[str, dict[str, Mistake]] = {}
_VIEWS: dict[str, Callable] = {}


def mistake(exercise: str, name: str, sentence: str, source: str = "") -> Callable[[Callable], Callable]:
    """Register the decorated function as the output that this mistake gives on an exercise's inputs.

    It may raise where the mistake cannot be made, and yield several outputs where the mistake comes in several kinds.
    """

    def register(wrong: Callable) -> Callable:
        declare(exercise, name, sentence, source, wrong)
        return wrong

    return register


def declare(exercise: str, name: str, sentence: str, source: str = "", wrong: Callable | None = None) -> None:
    """Register a mistake. Without ``wrong`` it is recognised by a check, which raises :func:`known`."""
    of_exercise = _MISTAKES.setdefault(exercise, {})
    if name in of_exercise:
        raise ValueError(f"the mistake {name!r} of {exercise} is registered twice")
    of_exercise[name] = Mistake(exercise, name, sentence, source, wrong)


@cache
def load_lessons() -> None:
    """Import every lesson's module once: importing registers."""
    for module in pkgutil.iter_modules(importlib.import_module(__package__).__path__):
        if module.name.startswith("lesson"):
            importlib.import_module(f"{__package__}.{module.name}")


def mistakes(exercise: str | None = None) -> list[Mistake]:
    """The known mistakes of one exercise, or of all."""
    load_lessons()
    chosen = _MISTAKES if exercise is None else {exercise: _MISTAKES.get(exercise, {})}
    return [entry for entries in chosen.values() for entry in entries.values()]


def known(exercise: str, name: str) -> NotRight:
    """The exception that tells a student about a known mistake: ``raise known("split_heads", "view-only split")``."""
    load_lessons()
    entry = _MISTAKES[exercise][name]
    return NotRight(entry.sentence, mistake=entry.name)


def named_in(message: str) -> Mistake | None:
    """The mistake whose sentence a message holds: for reports, which see only the message."""
    return next((entry for entry in mistakes() if entry.sentence in message), None)


def judge(exercise: str, got: object, expected: object, *inputs: object, what: str,
          axes: Sequence[str] | None = None, parts: Sequence[str] | None = None, fn: Callable | None = None) -> None:
    """Raise NotRight unless ``got`` is ``expected``; if a known mistake gives ``got`` on ``inputs``, name it.

    Where none does, the message is the nearest true statement of :mod:`.probes`. ``expected`` is a tensor, or a tuple of
    tensors whose names ``parts`` gives, e.g. ``("output", "weights")``; ``axes`` names the axes of a single tensor for
    the message. With ``fn``, which gave ``got`` on these inputs, a mistake must also match on fresh random ones, so that
    made-up inputs mislead nobody, and a wrong result is also looked at for what two equal calls tell.
    """
    try:
        _compare(got, expected, what, axes, parts)
    except NotRight as problem:
        # Where the right answer is one number throughout, say for equal scores, several mistakes may look alike.
        fits = [] if _all_alike(expected) else [entry for entry in _matches(exercise, got, inputs)
                                                if fn is None or _also_on_fresh(entry, fn, inputs)]
        raise (NotRight(fits[0].sentence, mistake=fits[0].name) if fits else
               (fn and _of_two_calls(fn, inputs, what)) or
               _seen_otherwise(problem, exercise, got, expected, inputs, what) or problem) from None


def view(exercise: str) -> Callable[[Callable], Callable]:
    """Register another way to look at a wrong output of an exercise: where its own numbers say nothing, this may.

    The decorated function takes ``(got, expected, *inputs)`` and returns ``(got, expected, what, axes)`` in a form that
    probes can read (before the last matrix, say), or what to raise, or None.
    """

    def register(look: Callable) -> Callable:
        _VIEWS[exercise] = look
        return look

    return register


def _seen_otherwise(problem: NotRight, exercise: str, got: object, expected: object, inputs: Sequence[object],
                    what: str) -> NotRight | None:
    """A more telling exception than ``problem``, if that one only says that values differ."""
    from . import expect, probes

    if problem.mistake not in probes.VAGUE:
        return None
    for place, item in enumerate(inputs):
        if _looks_like(got, item):
            return probes.not_right("input handed back", what=what, number=place + 1)
    if exercise in _VIEWS and (seen := _VIEWS[exercise](got, expected, *inputs)) is not None:
        if isinstance(seen, NotRight):
            return seen
        mine, right, named, axes = seen
        try:
            expect.close(mine, right, named, axes, atol=1e-3)
        except NotRight as clearer:
            return None if clearer.mistake in probes.VAGUE else clearer
    return None


def _compare(got: object, expected: object, what: str, axes: Sequence[str] | None,
             parts: Sequence[str] | None) -> None:
    from . import expect

    if not isinstance(expected, tuple):
        expect.close(got, expected, what, axes)
        return
    expect.returned(what, got)
    names = parts or [f"item {place}" for place in range(len(expected))]
    if not isinstance(got, tuple | list) or len(got) != len(expected):
        raise NotRight(f"{what} should return {len(expected)} things: {', '.join(names)}. Look at your return line.")
    # What comes first in the calculation first: a wrong weight makes a wrong output.
    for name, mine, right in sorted(zip(names, got, expected, strict=True), key=lambda part: part[0] != "weights"):
        noun = "weights matrix" if name == "weights" else name
        fine = "" if name != "output" or "weights" not in names else ", made from the right weights,"
        expect.close(mine, right, f"the {noun} of {what}{fine}", _axes(name, right))


def _axes(name: str, right: object) -> tuple[str, ...] | None:
    """The axes of attention weights (..., query, key) and of its output (..., query, feature)."""
    last = {"weights": ("query", "key"), "output": ("query", "feature")}.get(name)
    leading = {2: (), 3: ("batch",), 4: ("batch", "head")}.get(right.dim())
    return None if last is None or leading is None else leading + last


def _matches(exercise: str, got: object, inputs: Sequence[object]) -> Iterator[Mistake]:
    for entry in mistakes(exercise):
        if entry.wrong is not None and _explains(entry, got, inputs):
            yield entry


def _explains(entry: Mistake, got: object, inputs: Sequence[object]) -> bool:
    try:
        wrong = entry.wrong(*_copies(inputs))
        # A mistake that comes in several kinds yields one after the other.
        return any(_looks_like(got, one) for one in (wrong if isinstance(wrong, GeneratorType) else [wrong]))
    except Exception:  # this mistake cannot be made on these inputs
        return False


def _all_alike(expected: object) -> bool:
    """Whether a tensor holds one number throughout."""
    import torch

    items = expected if isinstance(expected, tuple) else [expected]
    return any(isinstance(item, torch.Tensor) and item.dtype.is_floating_point and item.numel() > 1
               and bool((item.detach() - item.detach().flatten()[0]).abs().max() < 1e-6) for item in items)


def _also_on_fresh(entry: Mistake, fn: Callable, inputs: Sequence[object]) -> bool:
    fresh = [_fresh(item) for item in inputs]
    try:
        return _explains(entry, fn(*_copies(fresh)), fresh)
    except Exception:
        return True  # nothing more to be seen


def _fresh(item: object) -> object:
    """Random numbers of the same shape for a tensor of floats, also in a list; anything else as it is."""
    import torch

    if isinstance(item, list):
        return [_fresh(one) for one in item]
    if isinstance(item, torch.Tensor) and item.dtype.is_floating_point and not ((item == 0) | (item == 1)).all():
        return torch.randn_like(item)
    return item


def _of_two_calls(fn: Callable, inputs: Sequence[object], what: str) -> NotRight | None:
    """What equal calls tell: whether an argument is changed, and whether the results differ."""
    from . import probes

    try:
        used = _copies(inputs)
        first, second = fn(*used), fn(*_copies(inputs))
    except Exception:
        return None
    for place, (before, after) in enumerate(zip(inputs, used, strict=True)):
        if not _looks_like(after, before) and hasattr(before, "shape"):
            return probes.not_right("changed in place", what=what, number=place + 1)
    return None if _looks_like(first, second) else probes.not_right("two calls differ", what=what)


def _copies(inputs: Sequence[object]) -> list[object]:
    import torch

    return [item.detach().clone() if isinstance(item, torch.Tensor) else _copies(item) if type(item) is list else item
            for item in inputs]


def _looks_like(got: object, wrong: object) -> bool:
    import torch

    if isinstance(wrong, torch.Tensor):
        return (isinstance(got, torch.Tensor) and got.shape == wrong.shape
                and got.dtype.is_floating_point == wrong.dtype.is_floating_point
                and torch.allclose(got.detach().double(), wrong.detach().double(), rtol=1e-4, atol=1e-5,
                                   equal_nan=True))
    if isinstance(wrong, tuple | list):
        return (isinstance(got, tuple | list) and len(got) == len(wrong)
                and all(_looks_like(mine, theirs) for mine, theirs in zip(got, wrong, strict=True)))
    return type(got) is type(wrong) and got == wrong
