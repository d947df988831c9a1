"""Calling nbgrader itself, the same way for the build and for grading."""

import contextlib
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from traitlets.config import Config, PyFileConfigLoader

from .lesson import Course


def nbgrader_config(course: Course) -> Config:
    """The configuration of a course, as nbgrader reads it from nbgrader_config.py."""
    return PyFileConfigLoader("nbgrader_config.py", path=str(course.root)).load_config()


def find_tools() -> None:
    """nbgrader calls `alembic` by name: make sure it is found when the environment was not activated."""
    if shutil.which("alembic") is None:
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


@contextlib.contextmanager
def quiet(log: logging.Logger) -> Iterator[None]:
    """Keep nbgrader's log off the screen: it is captured in the result of each step, and shown when one fails."""
    handlers, propagate = log.handlers[:], log.propagate
    log.handlers, log.propagate = [logging.NullHandler()], False
    try:
        yield
    finally:
        log.handlers, log.propagate = handlers, propagate


def stop_if_interrupted(result: dict) -> None:
    """Raise KeyboardInterrupt if the step that gave `result` was broken off: nbgrader calls that a failure."""
    if result.get("error", "").rstrip().endswith("KeyboardInterrupt"):
        raise KeyboardInterrupt
