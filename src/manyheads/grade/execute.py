"""Isolated grading as a step of nbgrader's own: for `nbgrader autograde` and Formgrader's button."""

import atexit
import os
import threading
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Dict, Float, Unicode

from .hand_in import other_files
from .intake import folder_of
from .isolation import Job, Settings, Workshop
from .sandbox import FULL, Limits

_lock = threading.Lock()
_open: dict[Settings, Workshop] = {}


class IsolatedExecute(NbGraderPreprocessor):
    """Stands in for nbgrader's Execute: student code runs in a sandbox, test cells where it cannot reach them."""

    sandbox = Unicode(
        FULL, help='"full", "reduced" or "none"; grading refuses where the machine has less').tag(config=True)
    seconds_a_cell = Float(30.0, help="what a cell of the student's may take").tag(config=True)
    seconds_a_call = Float(10.0, help="what one call from a test may take").tag(config=True)
    seconds_in_all = Float(180.0, help="what a notebook may take").tag(config=True)
    limits = Dict(
        help="of the sandbox, such as {'memory_mb': 4096}; see manyheads.grade.sandbox.Limits").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        try:
            return self._graded(nb, resources["nbgrader"]), resources
        except BaseException:
            # nbgrader sets it around this step, and after a failure leaves it to every kernel of a Jupyter server.
            os.environ.pop("NBGRADER_EXECUTION", None)
            raise

    def _graded(self, nb: NotebookNode, who: dict) -> NotebookNode:
        job = Job(who["assignment"], self._source(who).read_bytes(), nbformat.v4.writes(nb).encode(), intake=False,
                  files=self._files(who))
        graded = self._workshop().grade(job)
        if graded.status != "graded":
            raise NbGraderException(f"{who['student']}, {who['notebook']}: {graded.reason}")
        for note in graded.notes:
            self.log.warning("%s, %s: %s", who["student"], who["notebook"], note)
        return nbformat.reads(graded.notebook.decode(), as_version=4)

    def settings(self) -> Settings:
        return Settings(self.sandbox, Limits(**self.limits), self.seconds_a_cell, self.seconds_a_call,
                        self.seconds_in_all)

    def _workshop(self) -> Workshop:
        """One for the process: Formgrader grades inside the Jupyter server, a notebook at a time."""
        with _lock:
            settings = self.settings()
            if settings not in _open:
                workshop = _open[settings] = Workshop(settings)
                atexit.register(workshop.close)
            return _open[settings]

    def _source(self, who: dict) -> Path:
        return folder_of(self, "source_directory", ".", who) / f"{who['notebook']}.ipynb"

    def _files(self, who: dict) -> dict[str, bytes]:
        """What lies beside the notebook. Not as nbgrader has copied it: that follows a student's links to anywhere."""
        theirs = other_files(folder_of(self, "submitted_directory", who["student"], who))
        return {**theirs, **other_files(folder_of(self, "source_directory", ".", who))}
