"""The mistakes that people make, and how to recognise them.

Each lesson module (``lesson01`` …) registers its mistakes: a name, the sentence that the student reads, where the
mistake was seen, and, where it can be computed, the output that the mistake would give on the same inputs.
"""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from .errors import NotRight


@dataclass(frozen=True)
class Mistake:
    exercise: str
    name: str
    sentence: str
    source: str = ""
    wrong: Callable | None = None


_MISTAKES: dict[str, dict[str, Mistake]] = {}


def mistake(exercise: str, name: str, sentence: str, source: str = "") -> Callable[[Callable], Callable]:
    """Register the decorated function as the output that this mistake gives on an exercise's inputs."""

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
          axes: Sequence[str] | None = None, parts: Sequence[str] | None = None) -> None:
    """Raise NotRight unless ``got`` is ``expected``; if a known mistake gives ``got`` on ``inputs``, name it.

    ``expected`` is a tensor, or a tuple of tensors whose names ``parts`` gives, e.g. ``("output", "weights")``;
    ``axes`` names the axes of a single tensor for the message.
    """
    try:
        _compare(got, expected, what, axes, parts)
    except NotRight as problem:
        entry = _match(exercise, got, inputs)
        raise (NotRight(entry.sentence, mistake=entry.name) if entry else problem) from None


def _compare(got: object, expected: object, what: str, axes: Sequence[str] | None,
             parts: Sequence[str] | None) -> None:
    from . import expect

    if not isinstance(expected, tuple):
        expect.close(got, expected, what, axes)
        return
    expect.returned(what, got)
    names = parts or [f"item {place}" for place in range(len(expected))]
    if not isinstance(got, tuple | list) or len(got) != len(expected):
        raise NotRight(f"{what} should return {len(expected)} things: {', '.join(names)}.")
    for name, mine, right in zip(names, got, expected, strict=True):
        expect.close(mine, right, f"the {name} of {what}")


def _match(exercise: str, got: object, inputs: Sequence[object]) -> Mistake | None:
    for entry in mistakes(exercise):
        if entry.wrong is None:
            continue
        try:
            wrong = entry.wrong(*_copies(inputs))
        except Exception:  # this mistake cannot be made on these inputs
            continue
        if _looks_like(got, wrong):
            return entry
    return None


def _copies(inputs: Sequence[object]) -> list[object]:
    import torch

    return [item.detach().clone() if isinstance(item, torch.Tensor) else item for item in inputs]


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
