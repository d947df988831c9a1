"""`manyheads doctor`: what it finds wrong, and what it says to do."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_course import TEST_DOUBLE, text, tiny_course

from manyheads.course.build import build
from manyheads.course.gradebook import sync
from manyheads.grade import doctor, engine, sandbox

FULL = sandbox.Report(sandbox.FULL)


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A built course as the current folder, on a good machine without Jupyter servers."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setattr(sandbox, "probe", lambda: FULL)
    course = tiny_course(tmp_path / "course")
    build(course, solutions=False)
    monkeypatch.chdir(course.root)
    return course


def consult() -> tuple[int, str]:
    result = CliRunner().invoke(doctor.doctor)
    return result.exit_code, result.output


def wrong(output: str) -> list[str]:
    return [line.removeprefix("WRONG").strip() for line in output.splitlines() if line.startswith("WRONG")]


def test_a_course_in_order(course):
    sync(course)
    code, output = consult()
    assert wrong(output) == []
    assert code == 0
    for expected in ("Python 3.", "nbgrader 0.9", "torch 2.", "sandbox: full", "in step with source/", "GB free"):
        assert expected in output


def test_outside_a_course_the_machine_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sandbox, "probe", lambda: FULL)
    code, output = consult()
    assert code == 0
    assert "not in a course folder" in output


@pytest.mark.parametrize("level", [sandbox.REDUCED, sandbox.NONE])
def test_a_machine_without_the_full_sandbox(course, monkeypatch, level):
    monkeypatch.setattr(sandbox, "probe", lambda: sandbox.Report(level, ("namespaces: sudo sysctl this=1",)))
    code, output = consult()
    assert code == 1
    assert wrong(output)[0].startswith(f"sandbox: {level}")
    assert "sudo sysctl this=1" in output


@pytest.mark.parametrize(("added", "said"), [
    ("c.Autograde.autograde_preprocessors = ['nbgrader.preprocessors.Execute']", "configure(c)"),
    ("c.IsolatedExecute.sandbox = 'none'", "take IsolatedExecute.sandbox out"),
    ("c.IsolatedExecute.limits = {'memory': 4096}", "a setting of IsolatedExecute"),
    ("import no_such_module", "no_such_module"),
])
def test_a_configuration_that_is_not_in_force(course, added, said):
    with open("nbgrader_config.py", "a") as file:
        file.write(f"\n{added}\n")
    code, output = consult()
    assert code == 1
    assert said in wrong(output)[0]


def test_a_gradebook_behind_its_source(course):
    sync(course)
    course.text(course.lessons()[0]).write_text(text(test_double=TEST_DOUBLE.replace("(3, 7.5)", "(3, 8.5)")))
    build(course, solutions=False)
    code, output = consult()
    assert code == 1
    assert "manyheads gradebook sync" in wrong(output)[0]
    sync(course)
    assert consult()[0] == 0


def test_a_gradebook_that_another_program_holds(course):
    sync(course)
    with sqlite3.connect("gradebook.db") as other:
        other.execute("BEGIN EXCLUSIVE")
        code, output = consult()
    assert code == 1
    assert "another program" in wrong(output)[0]


def test_a_gradebook_that_is_none(course):
    Path("gradebook.db").write_bytes(b"no database at all" * 100)
    code, output = consult()
    assert code == 1
    assert "gradebook-backups/" in wrong(output)[0]


def test_a_run_that_is_at_work_is_told(course):
    sync(course)
    with engine.only_one(course):
        code, output = consult()
    assert code == 0
    assert f"at work (process {os.getpid()}" in output
    assert "at work" not in consult()[1]


def test_a_full_disk(course, monkeypatch):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 10**6}))
    code, output = consult()
    assert code == 1
    assert wrong(output)[0].startswith("disk: ")


@contextmanager
def jupyter_server(folder: Path, runtime: Path, **environment: str):
    home = runtime / "home"
    home.mkdir(parents=True, exist_ok=True)
    before = set(runtime.glob("jpserver-*.json"))
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter_server", "--allow-root", "--no-browser", "--port", "0", "--ip", "127.0.0.1"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(home), "JUPYTER_CONFIG_DIR": str(home), **environment})
    try:
        while set(runtime.glob("jpserver-*.json")) == before:
            assert server.poll() is None
            time.sleep(0.1)
        yield server.pid
    finally:
        server.terminate()
        server.wait(30)


@pytest.mark.slow
def test_formgraders_that_would_grade_without_the_sandbox_are_found(course, tmp_path):
    runtime = tmp_path / "runtime"
    config = course.root / "nbgrader_config.py"
    config.write_text("import os\nif 'BROKEN' in os.environ:\n    import no_such_module\n" + config.read_text())
    with jupyter_server(course.root, runtime) as loaded, jupyter_server(tmp_path, runtime) as elsewhere, \
            jupyter_server(course.root, runtime, BROKEN="1") as stock:
        code, output = consult()
        lines = {pid: next(line for line in output.splitlines() if f"server {pid} " in line)
                 for pid in (loaded, elsewhere, stock)}
        assert lines[loaded].startswith("good") and "has loaded" in lines[loaded]
        assert lines[elsewhere].startswith("good") and "another course folder" in lines[elsewhere]
        assert lines[stock].startswith("WRONG") and "without a sandbox" in lines[stock]
        assert code == 1
    assert list(runtime.glob("manyheads-*")) == []
