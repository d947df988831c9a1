"""The commands of this room: ``manyheads demo`` and ``manyheads check``."""

import tempfile
from pathlib import Path

import click
from rich.console import Console


@click.command()
@click.option("--keep", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
              help="Make the course folder here (a new or empty folder) instead of in a temporary place.")
def demo(keep: Path | None) -> None:
    """Grade a sample class: hand-in, grading, feedback and a table of grades.

    Nothing of your own course is touched: the class lives in a folder of its own, which stays for you to look at.

    \b
    Example:
      manyheads demo --keep /tmp/sample-class
    """
    from manyheads.course.lesson import Course, Refused

    from . import demo as room
    from .engine import Stop
    from .nbgrading import Failed

    console = Console()
    try:
        origin = Course.find()
    except FileNotFoundError as problem:
        raise click.ClickException(str(problem)) from None
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise click.ClickException(f"{keep} is not empty")
    folder = (keep or Path(tempfile.mkdtemp(prefix="manyheads-demo-"))).resolve()
    try:
        made = room.run(folder, origin=origin, console=console)
    except (Failed, Refused, Stop) as problem:
        raise click.ClickException(f"the demo stopped: {problem}") from None
    room.show(made, console)
    if made.problems:
        raise click.ClickException("not everything worked: " + "; ".join(made.problems))


@click.command()
@click.argument("notebooks", nargs=-1, required=True, metavar="LESSON_OR_NOTEBOOK...")
def check(notebooks: tuple[str, ...]) -> None:
    """Run your notebook afresh and say what the visible checks think of each exercise.

    The notebook is read, never changed. A lesson name is looked for here, in my-work/ and in release/.
    Exit code 0 only if every exercise passes its visible check.

    \b
    Example:
      manyheads check 02_head_split
      manyheads check my-work/02_head_split/02_head_split.ipynb
    """
    from . import studentrun

    passed, unusable = True, []
    for name in notebooks:
        try:
            checked = studentrun.check(studentrun.find(name, Path.cwd()))
        except studentrun.Unusable as problem:
            unusable.append(str(problem))
            continue
        click.echo("\n".join(studentrun.report(checked)) + "\n")
        passed = passed and checked.passed
    if unusable:
        raise click.ClickException("\n".join(unusable))
    if not passed:
        raise click.exceptions.Exit(1)
