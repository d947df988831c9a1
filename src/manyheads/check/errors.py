"""The two things a check can say instead of passing."""


class _Plain(Exception):
    """An exception that Jupyter shows as one message: an expected failure needs no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class NotAttempted(_Plain):
    """The answer is still missing."""


class NotRight(_Plain, AssertionError):
    """The answer is there and wrong. ``mistake`` is its name in the catalogue, or None."""

    def __init__(self, message: str, mistake: str | None = None):
        super().__init__(message)
        self.mistake = mistake
