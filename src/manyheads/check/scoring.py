"""Partial points, in the one form that nbgrader reads correctly."""

from contextlib import contextmanager

from .errors import NotAttempted, NotRight


def points(got: float, of: float) -> float:
    """The last expression of a test cell that gives partial points.

    nbgrader reads a plain number as points, and takes a numpy float, a tensor, a boolean or a
    negative number for *full* points; so anything but a plain number from 0 to ``of`` is refused.
    """
    if type(got) not in (int, float) or not 0 <= got <= of:
        raise ValueError(f"points({got!r}, {of!r}): got must be a plain number from 0 to {of!r}")
    return float(got)


class Parts:
    """Collects partial points: each part is judged by itself, and a failed one says why.

    >>> parts = Parts()
    >>> with parts.part(1, "the sum"):
    ...     pass
    >>> points(parts.got, 2)
    1.0
    """

    def __init__(self):
        self.got = 0.0

    @contextmanager
    def part(self, worth: float, claim: str):
        try:
            yield
        except (NotImplementedError, NotAttempted):
            raise
        except NotRight as problem:
            print(f"{claim}: not right yet: {problem}")
        except Exception as problem:
            print(f"{claim}: raised {type(problem).__name__}: {problem}")
        else:
            self.got += worth
