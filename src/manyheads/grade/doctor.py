"""`manyheads doctor`: can this machine grade safely, and is the course in order?"""

import contextlib
import importlib.metadata
import os
import platform
import re
import shutil
import sqlite3
import ssl
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from manyheads import __version__

GOOD, NOTE, WRONG = "good", "note", "WRONG"
_ROOM = 2**30  # bytes that a class run should find free


@dataclass(frozen=True)
class Finding:
    """One line of the diagnosis."""

    state: str
    text: str

    def __str__(self) -> str:
        return f"{self.state:<6} {self.text}"


@click.command()
def doctor() -> None:
    """See whether this machine can grade safely, and whether the course is set up for it.

    Looks at the sandbox for student code, the course's configuration here and in running Jupyter servers (Formgrader
    grades inside its server), the gradebook and the disk. Nothing is changed. Exit code 0 if the sandbox is full and
    nothing is wrong.

    \b
    Example:
      manyheads doctor
    """
    from manyheads.course.lesson import Course

    findings = [*_versions(), *_sandbox(), *_tools()]
    try:
        course = Course.find()
    except FileNotFoundError:
        findings.append(Finding(NOTE, "course: not in a course folder; run this there to have the course looked at too"))
    else:
        findings += [*_config(course), *_servers(course.root), *_gradebook(course), *_disk(course.root)]
    for finding in findings:
        click.echo(str(finding))
    if any(finding.state == WRONG for finding in findings):
        raise click.exceptions.Exit(1)


def _versions() -> Iterator[Finding]:
    said = [f"Python {platform.python_version()}", f"manyheads {__version__}"]
    for name in ("nbgrader", "torch"):
        try:
            said.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            yield Finding(WRONG, f"{name}: not installed for {sys.executable}: install the course's requirements there")
    yield Finding(GOOD, ", ".join(said))


def _sandbox() -> Iterator[Finding]:
    from .sandbox import FULL, NONE, probe

    report = probe()
    if report.level == FULL:
        yield Finding(GOOD, "sandbox: full")
    elif report.level == NONE:
        yield Finding(WRONG, "sandbox: none. Grading refuses to start, unless it is told --no-sandbox")
    else:
        yield Finding(WRONG, f"sandbox: {report.level}. Grading refuses to start, unless it is told --reduced-sandbox")
    for line in report.missing:
        yield Finding(NOTE, f"sandbox: missing: {line}")


def _tools() -> Iterator[Finding]:
    found = shutil.which("nbgrader")
    if found is None:
        yield Finding(NOTE, f"nbgrader: not on PATH. To call it by name, activate the environment in {sys.prefix}")
    elif Path(found).parent != Path(sys.executable).parent:
        yield Finding(NOTE, f"nbgrader: the one on PATH is {found}, of another environment than {sys.executable}")
    else:
        yield Finding(GOOD, "nbgrader: on PATH")


def _config(course) -> Iterator[Finding]:
    """Is the isolated grader in force for commands run in the course folder?"""
    from manyheads.course.stock import nbgrader_config

    from .execute import IsolatedExecute

    file = course.root / "nbgrader_config.py"
    try:
        config = nbgrader_config(course)
    except Exception as error:  # the file is Python: anything
        yield Finding(WRONG, f"configuration: {file} cannot be read: {type(error).__name__}: {error}")
        return
    steps = config.Autograde.get("autograde_preprocessors", [])
    if not any("IsolatedExecute" in str(step) for step in steps):
        yield Finding(WRONG, f"configuration: {file} does not switch the course's grader on, so that nbgrader would run "
                             "student code without a sandbox: end the file with manyheads.grade.plugin.configure(c)")
        return
    level = config.IsolatedExecute.get("sandbox", "full")
    if level != "full":
        yield Finding(WRONG, f"configuration: {file} asks for the sandbox {level!r}: take IsolatedExecute.sandbox out")
        return
    try:
        IsolatedExecute(config=config).settings()
    except Exception as error:  # a limit that does not exist, a text in place of a number
        yield Finding(WRONG, f"configuration: a setting of IsolatedExecute in {file} is wrong: {error}")
        return
    yield Finding(GOOD, "configuration: nbgrader commands in the course folder use the course's grader")


# ---- Jupyter servers


def _servers(root: Path) -> Iterator[Finding]:
    from jupyter_server.serverapp import list_running_servers

    servers = list(list_running_servers())
    if not servers:
        yield Finding(GOOD, "Formgrader: no Jupyter server of yours is running")
    for server in servers:
        yield _server(server, root)


def _server(server: dict, root: Path) -> Finding:
    """Would this server's Formgrader grade the course with the course's grader?"""
    from .loaded import loaded_by

    name = f"Formgrader: Jupyter server {server['pid']} ({server['url']})"
    again = f"start it again from the course folder {root}"
    folder = Path(server.get("root_dir") or server.get("notebook_dir") or "/").resolve()
    if not root.is_relative_to(folder):
        return Finding(GOOD, f"{name} does not reach this course; it serves {folder}")
    page = _formgrader_page(server)
    if page is None:
        return Finding(GOOD, f"{name} has no Formgrader")
    served = re.search(r'^var url_prefix = "(.*)";$', page, re.MULTILINE)
    if served and (folder / served[1]).resolve() != root:
        return Finding(GOOD, f"{name} serves another course folder, {(folder / served[1]).resolve()}")
    note = loaded_by(server["pid"])  # after the page: asked for it, nbgrader reads its configuration again
    if note is None or str(root) not in note["courses"]:
        return Finding(WRONG, f"{name} was not started with this course's configuration, or could not load it (see its log). "
                              f"Its Formgrader would run student code without a sandbox: {again}")
    if note["version"] != __version__:
        return Finding(WRONG, f"{name} runs manyheads {note['version']}, {__version__} is installed: {again}")
    if (root / "nbgrader_config.py").stat().st_mtime > note["courses"][str(root)]:
        return Finding(WRONG, f"{name} was started before nbgrader_config.py was changed: {again}")
    return Finding(GOOD, f"{name} has loaded this course's configuration")


def _formgrader_page(server: dict) -> str | None:
    """Formgrader's first page; None if the server says it has none, empty if it says nothing or wants a password.

    Not /formgrader, which would put a Formgrader that was opened for one folder back to the server's own.
    """
    request = urllib.request.Request(f"{server['url'].rstrip('/')}/formgrader/manage_assignments",
                                     headers={"Authorization": f"token {server.get('token', '')}"})
    trusting = ssl.create_default_context()  # it is our own server; its certificate may be home-made
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusting))
    try:
        with direct.open(request, timeout=10) as answer:
            return answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return None if error.code == 404 else ""
    except (OSError, ValueError):  # it does not answer, or listens on something that urllib does not speak
        return ""


# ---- gradebook and disk


def _gradebook(course) -> Iterator[Finding]:
    from nbgrader.coursedir import CourseDirectory

    from manyheads.course.stock import nbgrader_config

    try:
        config = nbgrader_config(course)
    except Exception:
        return  # said already
    directory = CourseDirectory(config=config)
    if "root" not in config.CourseDirectory:
        directory.root = str(course.root)
    if directory.db_url.startswith("sqlite:///"):
        file = Path(directory.db_url.removeprefix("sqlite:///"))
        if not file.exists():
            yield Finding(GOOD, "gradebook: none yet; `manyheads grade` makes it")
            return
        problem = _cannot_write(file)
        if problem:
            yield Finding(WRONG, f"gradebook: {file} {problem}")
            return
    holder = _grading_now(course.root)
    if holder:
        yield Finding(NOTE, f"gradebook: `manyheads grade` is at work ({holder})")
    try:
        behind = _behind(course, directory.db_url)
    except Exception as error:  # of nbgrader's database layer: another schema, no such server
        yield Finding(WRONG, f"gradebook: nbgrader cannot read it: {str(error).splitlines()[0]}")
        return
    if behind:
        yield Finding(WRONG, f"gradebook: not in step with source/ for {', '.join(behind)}: run `manyheads gradebook sync`"
                             " before nbgrader's own commands; `manyheads grade` does it by itself")
    else:
        yield Finding(GOOD, "gradebook: writable and in step with source/")


def _cannot_write(file: Path) -> str:
    """Ask the database itself for a turn to write, and give it back."""
    if not os.access(file.parent, os.W_OK):
        return f"lies in a folder that you may not write: sudo chown {os.getuid()} {file.parent}"
    try:
        with contextlib.closing(sqlite3.connect(file, timeout=2, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return "is held by another program: close the database browser or end the nbgrader command that has it open"
        return f"cannot be written ({error}): make the file yours, or mount its disk writable"
    except sqlite3.DatabaseError as error:
        return f"is damaged ({error}): put a copy from gradebook-backups/ in its place"
    return ""


def _grading_now(root: Path) -> str:
    """Who holds the course; the lock goes with its process, so that none is ever left behind."""
    import fcntl

    from .engine import LOCK

    try:
        with open(root / LOCK) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read().strip() or "an unknown process"
    except OSError:
        pass
    return ""


def _behind(course, db_url: str) -> list[str]:
    """Lessons of source/ at which grading would stop, because the gradebook does not hold their cells as they are."""
    from .intake import gradebook_differs, parse

    behind = []
    for path in sorted((course.root / "source").glob("*/*.ipynb")):
        if gradebook_differs(db_url, path.parent.name, path.stem, parse(path.read_bytes())):
            behind.append(path.parent.name)
    return behind


def _disk(root: Path) -> Iterator[Finding]:
    short = [folder for folder in dict.fromkeys((str(root), tempfile.gettempdir()))
             if shutil.disk_usage(folder).free < _ROOM]
    for folder in short:
        yield Finding(WRONG, f"disk: less than 1 GB is free for {folder}: make room before grading a class")
    if not short:
        yield Finding(GOOD, f"disk: {shutil.disk_usage(root).free / 2**30:.0f} GB free")
