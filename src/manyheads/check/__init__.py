"""Judging one student object: expectations with clear messages, known mistakes, visible checks.

Names are loaded on first use, so that ``from manyheads import check`` does not import torch.
"""

import importlib

from .notebook import tell_stubs_in_one_line

_HOME = {
    "NotAttempted": "errors",
    "NotRight": "errors",
    "answered": "expect",
    "returned": "expect",
    "shape": "expect",
    "close": "expect",
    "rows_sum_to_one": "expect",
    "exact_answer": "expect",
    "numbers": "expect",
    "choice": "expect",
    "raises": "expect",
    "unchanged": "expect",
    "gradient": "expect",
    "parameter_gradients": "expect",
    "on_non_contiguous": "expect",
    "shares_parameters": "expect",
    "points": "scoring",
    "Parts": "scoring",
    "judge": "catalogue",
    "known": "catalogue",
    "visible": "exercises",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"manyheads.check has no {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


tell_stubs_in_one_line()
