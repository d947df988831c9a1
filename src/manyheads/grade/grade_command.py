"""The command ``manyheads grade``."""

import contextlib
import os
import threading
import time
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PARTLY, INTERRUPTED = 3, 130  # exit codes
MOST_CHANGES = 40  # that are printed; all of them are in the gradebook


@click.command()
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
@click.option("--student", "students", multiple=True, metavar="ID", help="Only this student; may be given repeatedly.")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Submissions at a time. [default: the cores]")
@click.option("--force", is_flag=True, help="Grade also what is up to date.")
@click.option("--reduced-sandbox", "level", flag_value="reduced",
              help="Grade also where only the reduced sandbox is to be had; `manyheads doctor` says what it lacks.")
@click.option("--no-sandbox", "level", flag_value="none",
              help="Student code may do all that you may. Only for code that you trust.")
@click.option("--restore", metavar="FILE|latest",
              help="Grade nothing: put a copy of the gradebook back, from gradebook-backups/.")
def grade(lessons: tuple[str, ...], students: tuple[str, ...], workers: int | None, force: bool, level: str | None,
          restore: str | None) -> None:
    """Grade what was handed in: submitted/STUDENT/LESSON/ -> autograded/ and the gradebook.

    Only what is new or changed is graded: a hand-in, a lesson (run `manyheads build` first), or the grader. If a test
    was changed, only the questions it touches are graded again. Marks and comments given by hand stay. The gradebook is
    brought up to source/ and copied to gradebook-backups/ before. A run can be stopped with Ctrl-C, or be killed, at
    any moment: the next one goes on where it ended.

    Exit code: 0 if everything is graded, 3 if some hand-ins could not be (they are named, with the reason),
    1 if the run failed, 130 if it was stopped.

    \b
    Example:
      manyheads grade
      manyheads grade 02_head_split --student ada --student bob
      manyheads grade --restore latest
    """
    from manyheads.course.lesson import Course

    console = Console(soft_wrap=True, highlight=False)
    try:
        course = Course.find()
    except FileNotFoundError as problem:
        raise click.ClickException(str(problem)) from None
    try:
        if restore is not None:
            _restore(course, restore)
            return
        named = [Path(lesson).stem for lesson in lessons]  # also lessons/02_head_split.md
        outcome = _grade(course, named, students, workers or _cores(), force, level, console)
    except KeyboardInterrupt:
        click.echo("stopped; what was graded is kept; run again to go on", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    if outcome.stopped:
        click.echo(f"stopped; {outcome.graded} graded are kept; run again to go on", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if outcome.troubles:
        raise click.exceptions.Exit(PARTLY)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _restore(course, wanted: str) -> None:
    from manyheads.course.backups import FOLDER, restore

    from .engine import Stop, only_one
    from .record import database, file_of

    file = file_of(database(course))
    if file is None:
        raise click.ClickException("this gradebook is held by a database server: use the server's own backups")
    try:
        with only_one(course):
            copy, kept = restore(file, course.root / FOLDER, wanted)
    except Stop as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(f"put back: {copy}")
    if kept is not None:
        click.echo(f"what it replaces is kept as {kept}")
    click.echo("autograded/ was left as it is: the next `manyheads grade` grades what this gradebook does not know")


def _grade(course, lessons, students, workers: int, force: bool, level: str | None, console: Console):
    from manyheads.course.lesson import Refused

    from . import engine
    from .isolation import Unsafe

    with watching(console) as watch:
        try:
            settings = engine.settings_of(course, level)
            outcome = engine.grade(course, lessons, students, workers=workers, force=force, settings=settings,
                                   watch=watch)
        except Refused as problem:
            raise click.ClickException(f"refused\n{problem}") from problem
        except (engine.Stop, Unsafe) as problem:
            raise click.ClickException(str(problem)) from None
    summary(outcome, workers, console)
    return outcome


@contextlib.contextmanager
def watching(console: Console):
    """A display for the length of a run."""
    display = _Display(console)
    try:
        yield display
    finally:
        display.close()


class _Display:
    """What is going on (an engine.Watch): a bar with names on a terminal, else a line for each submission."""

    def __init__(self, console: Console):
        self.console = console
        self.lock = threading.Lock()
        self.now: dict[tuple[str, str], None] = {}  # in the order in which they were begun
        self.done = self.total = 0
        self.started = time.monotonic()
        self.bar: Progress | None = None

    def say(self, line: str) -> None:
        self.console.print(line, markup=False)

    def plan(self, to_do: int, up_to_date: int) -> None:
        self.total, self.started = to_do, time.monotonic()
        if to_do and self.console.is_terminal:
            self.bar = Progress(MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(), TextColumn("left"),
                                TextColumn("{task.description}"), console=self.console, transient=True)
            self.bar.add_task("", total=to_do)
            self.bar.start()
        elif to_do:
            self.say(f"{to_do} to grade, {up_to_date} up to date")

    def begin(self, lesson: str, student: str) -> None:
        with self.lock:
            self.now[lesson, student] = None
        self._show()

    def end(self, lesson: str, student: str) -> None:
        with self.lock:
            self.now.pop((lesson, student), None)
        self._show()

    def written(self, lesson: str, student: str, status: str, what: str) -> None:
        self.done += 1
        line = f"{_shown(student)} {_shown(lesson)}: " + (what if status == "graded" else f"{status}: {what}")
        if self.bar is None:
            left = (time.monotonic() - self.started) / self.done * (self.total - self.done)
            self.say(f"[{self.done}/{self.total}, {_length(left)} left] {line}")
            return
        self.bar.advance(self.bar.task_ids[0])
        if status != "graded":
            self.say(line)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def _show(self) -> None:
        if (bar := self.bar) is not None:
            with self.lock:
                names = [f"{_shown(student)} {_shown(lesson)}" for lesson, student in self.now]
            room = max(1, (self.console.width - 60) // 30)
            more = f" and {len(names) - room} more" if len(names) > room else ""
            bar.update(bar.task_ids[0], description=escape(", ".join(names[:room]) + more))


def summary(outcome, workers: int, console: Console) -> None:
    """Say at the end what a run did."""
    def say(line: str) -> None:
        console.print(line, markup=False)

    if outcome.changes:
        say(f"points changed: {len(outcome.changes)} (all are kept in the gradebook's table manyheads_changes)")
    for change in outcome.changes[:MOST_CHANGES]:
        new = "to be marked by hand" if change.new is None else f"{change.new:g}"
        say(f"  {_shown(change.student)} {change.lesson} {change.grade_id}: {change.old:g} -> {new} ({change.why})")
    if len(outcome.changes) > MOST_CHANGES:
        say(f"  and {len(outcome.changes) - MOST_CHANGES} more")
    if outcome.troubles:
        say(f"not graded: {len(outcome.troubles)}")
    for trouble in sorted(outcome.troubles, key=lambda trouble: (trouble.student, trouble.lesson)):
        say(f"  {_shown(trouble.student)} {_shown(trouble.lesson)}: {trouble.status}: {trouble.why}")
    say(f"graded {outcome.graded} in {_length(outcome.seconds)} ({workers} at a time), "
        f"skipped {outcome.up_to_date} up to date")


def _shown(name: str) -> str:
    """A folder's name, whatever is in it."""
    return name if name.isprintable() else ascii(name)[1:-1]


def _length(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
