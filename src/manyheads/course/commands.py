"""The instructor's commands around lessons: build, adopt, gradebook."""

from pathlib import Path

import click


def _course():
    from .lesson import Course

    try:
        return Course.find()
    except FileNotFoundError as error:
        raise click.ClickException(str(error)) from error


def _named(lessons: tuple[str, ...]) -> list[str]:
    """Lesson names, each once, from names or from paths such as lessons/02_head_split.md."""
    return list(dict.fromkeys(Path(lesson).stem for lesson in lessons))


def _with_sample(course, lessons: list[str] | None) -> list[str]:
    """The built lessons that the sample class takes part in."""
    from .sample import ANSWERS

    built = [lesson for lesson in lessons or course.lessons() if course.notebook("source", lesson).is_file()]
    return [lesson for lesson in built if (ANSWERS / f"{lesson}.toml").is_file()]


@click.command()
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
@click.option("--check", is_flag=True, help="Change nothing: name what a build would change, and exit 1 if anything.")
@click.option("--solutions/--no-solutions", default=True, help="Whether to run the notebooks (slow) for solutions/.")
def build(lessons: tuple[str, ...], check: bool, solutions: bool) -> None:
    """Make source/, release/ and solutions/ from the lesson texts.

    Without LESSON all lessons are built. A lesson with a fault is refused, and its notebooks stay as they were.
    With solutions the graded sample under autograded/ is refreshed too.

    \b
    Example:
        manyheads build 02_head_split
        manyheads build 02_head_split --no-solutions
        manyheads build --check
    """
    from manyheads.grade.committed import refresh_sample, stale_sample
    from manyheads.grade.nbgrading import Failed

    from . import build as rooms
    from .lesson import Refused

    course = _course()
    wanted = _named(lessons) or None
    try:
        if check:
            stale = rooms.check(course, wanted)
            if sampled := _with_sample(course, wanted):
                stale += stale_sample(course, sampled)
            for item in stale:
                click.echo(f"stale: {item.path} ({item.why})")
            if stale:
                raise click.ClickException("Run `manyheads build` and commit what it makes.")
            click.echo("source/, release/, solutions/ and the graded sample are what the lesson texts make.")
            return
        rooms.build(course, wanted, solutions=solutions, say=click.echo)
        if solutions and (sampled := _with_sample(course, wanted)):
            for path in refresh_sample(course, sampled):
                click.echo(f"{path.relative_to(course.root)}: graded anew")
    except Refused as error:
        raise click.ClickException(f"refused\n{error}") from error
    except Failed as error:
        raise click.ClickException(f"the sample was not graded: {error}") from error


@click.command()
@click.argument("lesson")
@click.option("--force", is_flag=True, help="Write the lesson text even if it changed since the notebook was built.")
def adopt(lesson: str, force: bool) -> None:
    """Take a source notebook edited in JupyterLab back into its lesson text.

    Use it after editing source/LESSON/LESSON.ipynb with nbgrader's Create Assignment bar.

    \b
    Example:
        manyheads adopt 02_head_split
        manyheads build 02_head_split
    """
    from .adopt import adopt as take_back
    from .lesson import Refused

    try:
        for line in take_back(_course(), *_named((lesson,)), force=force):
            click.echo(line)
    except Refused as error:
        raise click.ClickException(f"refused\n{error}") from error


@click.group()
def gradebook() -> None:
    """Care for the class gradebook (gradebook.db in the course folder).

    \b
    Example:
        manyheads gradebook sync
    """


@gradebook.command()
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
def sync(lessons: tuple[str, ...]) -> None:
    """Bring the class gradebook up to source/, and keep all submissions, grades and comments.

    nbgrader restores test cells from the gradebook, not from source/: run this after a lesson was changed.
    A cell that left source/ is removed from the gradebook too, unless somebody marked or commented on it by hand.

    \b
    Example:
        manyheads gradebook sync
        manyheads gradebook sync 02_head_split
    """
    from sqlalchemy.exc import DatabaseError

    from .gradebook import sync as bring_up
    from .lesson import Refused

    try:
        for line in bring_up(_course(), _named(lessons) or None):
            click.echo(line)
    except Refused as error:
        raise click.ClickException(f"refused\n{error}") from error
    except DatabaseError as error:  # locked, not writable, no gradebook
        raise click.ClickException(f"the gradebook cannot be used: {error.orig}") from error
