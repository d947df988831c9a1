"""Whether a running Jupyter server has loaded the course's configuration: a small note beside the server's own.

A Formgrader whose server has not loaded it grades with stock nbgrader, without a word. So `configure` leaves a note
when it runs in a Jupyter server, and `manyheads doctor` looks for the note of every server that runs.
"""

import atexit
import contextlib
import json
import os
import sys
import time
from pathlib import Path

from jupyter_core.paths import jupyter_runtime_dir

from manyheads import __version__


def note_loaded(root: str | Path) -> None:
    """Note that this process, if it is a Jupyter server, has loaded the configuration of the course at ``root``."""
    server = sys.modules.get("jupyter_server.serverapp")
    if server is None or not server.ServerApp.initialized():
        return
    with contextlib.suppress(OSError):  # a note that cannot be written must not keep a server from starting
        path, before = _path(os.getpid()), loaded_by(os.getpid())
        courses = {**(before or {}).get("courses", {}), str(Path(root).resolve()): time.time()}
        path.parent.mkdir(parents=True, exist_ok=True)
        waiting = path.with_suffix(".new")
        waiting.write_text(json.dumps({"started": _started(os.getpid()), "version": __version__, "courses": courses}))
        waiting.replace(path)
        if before is None:  # nbgrader reads its configuration again for every page of Formgrader
            atexit.register(path.unlink, missing_ok=True)


def loaded_by(pid: int) -> dict | None:
    """The note of a running server: {"version", "courses": {root: seconds since 1970}}; None without one."""
    try:
        note = json.loads(_path(pid).read_text())
    except (OSError, ValueError):
        return None
    return note if note.get("started") == _started(pid) else None  # else another process had this number before


def _path(pid: int) -> Path:
    return Path(jupyter_runtime_dir()) / f"manyheads-{pid}.json"


def _started(pid: int) -> str:
    """When a process started, in the kernel's own counting; empty where the system does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
