"""A fresh clone sets itself up: the lock, conda's file, the Makefile's messages, lazy imports."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]


def lock() -> dict[str, list[Requirement]]:
    pins: dict[str, list[Requirement]] = {}
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            pins.setdefault(pin.name, []).append(pin)
    return pins


def asked_for() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [Requirement(text) for text in project["dependencies"] + project["optional-dependencies"]["test"]]


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_satisfies_the_project_on_every_python(python):
    pins = lock()
    where = {"python_version": python, "python_full_version": f"{python}.5", "sys_platform": "linux"}
    for wish in asked_for():
        (version,) = [re.sub("^==", "", str(pin.specifier)) for pin in pins[wish.name]
                      if pin.marker is None or pin.marker.evaluate(where)]
        assert wish.specifier.contains(version), f"{wish} is not satisfied by {wish.name}=={version}"


def test_the_lock_pins_exactly_and_installs_everywhere():
    for pins in lock().values():
        for pin in pins:
            assert re.fullmatch(r"==[^+*]+", str(pin.specifier)), f"{pin}: one exact version, no local suffix"
    assert not [name for name in lock() if name.startswith(("nvidia", "cuda", "triton"))]


def test_conda_takes_python_from_its_channel_and_the_rest_from_the_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, from_pip = environment["dependencies"]
    assert pip == "pip" and from_pip == {"pip": ["-r requirements.txt", "-e ."]}
    version = python.removeprefix("python=") + ".0"
    supported = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert Requirement(f"python{supported}").specifier.contains(version)


def make_with(tmp_path: Path, python_script: str) -> subprocess.CompletedProcess:
    """Run `make setup` on a copy of the set-up files with a stand-in for Python."""
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    stand_in = tmp_path / "python-stand-in"
    stand_in.write_text(f"#!/bin/sh\n{python_script}\n")
    stand_in.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", "setup", f"PYTHON={stand_in}"], cwd=tmp_path, capture_output=True, text=True,
                          env=environment)


def test_an_old_python_is_told_in_one_line(tmp_path):
    ran = make_with(tmp_path, '[ "$1" = --version ] && echo "Python 3.9.2" && exit 0; exit 1')
    assert ran.returncode != 0
    said = [line for line in ran.stderr.splitlines() if not line.startswith("make")]
    assert len(said) == 1 and "needs Python 3.11, 3.12 or 3.13" in said[0] and "is Python 3.9.2" in said[0]
    assert not (tmp_path / ".venv").exists()


def test_a_missing_venv_module_is_told_in_one_line(tmp_path):
    ran = make_with(tmp_path, 'case "$2" in *ensurepip*) exit 1;; esac; exit 0')
    assert ran.returncode != 0
    said = [line for line in ran.stderr.splitlines() if not line.startswith("make")]
    assert len(said) == 1 and "apt install python3-venv" in said[0]


@pytest.mark.parametrize("statement", ["import manyheads", "from manyheads import check, learn", "import manyheads.cli"])
def test_importing_stays_light(statement):
    heavy = "{'torch', 'matplotlib', 'numpy', 'IPython', 'nbgrader', 'ipywidgets'}"
    code = f"{statement}; import sys; print(*({heavy} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_every_command_has_help_with_an_example():
    from click.testing import CliRunner

    from manyheads.cli import main

    run = CliRunner().invoke
    overview = run(main, ["--help"])
    assert overview.exit_code == 0, overview.output
    for name in main.list_commands(None):
        assert re.search(rf"^  {name} ", overview.output, re.M), f"{name} is missing in the overview"
        assert "Example" in run(main, [name, "--help"]).output, f"manyheads {name} --help shows no example"
