"""A learner's own copies of the release notebooks. The released ones stay as they are."""

import os
import shutil
import sys
from pathlib import Path

import click

FOLDER = "my-work"


def copy_missing(root: Path) -> tuple[Path, list[str]]:
    """Copy each lesson of ``root/release`` that is not yet in ``root/my-work``; never touch one that is.

    Returns the folder and the names of the lessons copied. Raises FileNotFoundError where there is no release.
    """
    released = sorted((root / "release").glob("*/*.ipynb"))
    if not released:
        raise FileNotFoundError(f"no notebooks in {root / 'release'}: run this in the course folder")
    folder, copied = root / FOLDER, []
    for notebook in released:
        target = folder / notebook.parent.name / notebook.name
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        half = target.with_suffix(".part")
        shutil.copyfile(notebook, half)
        half.rename(target)
        copied.append(notebook.parent.name)
    return folder, copied


def _copy_and_tell() -> Path:
    try:
        folder, copied = copy_missing(Path.cwd())
    except FileNotFoundError as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(f"Your notebooks are in {folder.name}/" + (f" (new: {', '.join(copied)})" if copied else ""))
    return folder


@click.command()
def start() -> None:
    """Copy the notebooks into my-work/, where you may write.

    A copy that exists is left alone. To begin a lesson anew, move or rename your copy first.

    \b
    Example:  manyheads start
    """
    _copy_and_tell()


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("jupyter_options", nargs=-1, type=click.UNPROCESSED)
def lab(jupyter_options: tuple[str, ...]) -> None:
    """Open JupyterLab on your own copies of the notebooks.

    Options after -- go to JupyterLab.

    \b
    Example:  manyheads lab
              manyheads lab -- --no-browser --port 8899
    """
    folder = _copy_and_tell()
    command = [sys.executable, "-m", "jupyterlab", f"--LabApp.default_url=/lab/tree/{folder.name}", *jupyter_options]
    os.execv(sys.executable, command)
