"""Whether a notebook is being read or being graded."""

import functools
import os
from collections.abc import Callable


def live() -> bool:
    """True when a person runs the notebook; False while nbgrader grades or validates it.

    nbgrader sets ``NBGRADER_EXECUTION`` (to ``autograde`` or ``validate``) in the kernel it starts.
    """
    return "NBGRADER_EXECUTION" not in os.environ


def demonstration(show: Callable) -> Callable:
    """Decorate a function that only shows something: it returns None at once when nobody looks.

    Grading a lesson must not pay for its pictures and widgets.
    """

    @functools.wraps(show)
    def shown(*args, **kwargs):
        return show(*args, **kwargs) if live() else None

    return shown
