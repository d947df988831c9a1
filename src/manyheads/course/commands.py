"""The instructor's commands around lessons: build, adopt, gradebook."""

import click


def _course():
    from .lesson import Course

    try:
        return Course.find()
    except FileNotFoundError as error:
        raise click.ClickException(str(error)) from error


@click.command()
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
@click.option("--check", is_flag=True, help="Change nothing: name what a build would change, and exit 1 if anything.")
@click.option("--solutions/--no-solutions", default=True, help="Whether to run the notebooks (slow) for solutions/.")
def build(lessons: tuple[str, ...], check: bool, solutions: bool) -> None:
    """Make source/, release/ and solutions/ from the lesson texts.

    Without LESSON all lessons are built. A lesson with a fault is refused, and its notebooks stay as they were.

    \b
    Example:
        manyheads build 02_head_split
        manyheads build 02_head_split --no-solutions
        manyheads build --check
    """
    from . import build as rooms
    from .lesson import Refused

    course = _course()
    wanted = [name.removesuffix(".md").removeprefix("lessons/") for name in lessons] or None
    try:
        if check:
            stale = rooms.check(course, wanted)
            for item in stale:
                click.echo(f"stale: {item.path} ({item.why})")
            if stale:
                raise click.ClickException("Run `manyheads build` and commit what it makes.")
            click.echo("source/, release/ and solutions/ are what the lesson texts make.")
            return
        for name in rooms.build(course, wanted, solutions=solutions):
            made = "source, release, solutions" if solutions else "source, release (solutions not run)"
            click.echo(f"{name}: {made}")
    except Refused as error:
        raise click.ClickException(f"refused\n{error}") from error
