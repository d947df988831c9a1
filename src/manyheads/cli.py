"""The command line. Each command lives in its own room and is imported when it is called."""

import importlib

import click

from manyheads import __version__

_HOME = {
    "lab": "manyheads.course.working_copy:lab",
    "start": "manyheads.course.working_copy:start",
    "check": "manyheads.grade.commands:check",
    "flashcards": "manyheads.learn.export:flashcards",
    "demo": "manyheads.grade.commands:demo",
    "grade": "manyheads.grade.grade_command:grade",
    "report": "manyheads.grade.report:report",
    "doctor": "manyheads.grade.doctor:doctor",
    "build": "manyheads.course.commands:build",
    "adopt": "manyheads.course.commands:adopt",
    "gradebook": "manyheads.course.commands:gradebook",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_HOME)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _HOME:
            return None
        module, attribute = _HOME[name].split(":")
        return getattr(importlib.import_module(module), attribute)

    def invoke(self, ctx: click.Context) -> object:
        """A folder that cannot be written, a full disk: one line, not a traceback."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            said = f"{error.strerror}: {error.filename}" if error.filename else str(error)
            raise click.ClickException(said) from error


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="manyheads")
def main() -> None:
    """Many Heads: a course on multi-head attention in five notebooks.

    \b
    To learn:    manyheads lab      open your copies of the notebooks
                 manyheads check    ask what the visible checks say
    To teach:    manyheads demo     see a sample class graded
                 manyheads doctor   see whether this machine can grade safely
                 manyheads grade    grade the class
                 manyheads report   who struggles where
                 manyheads gradebook sync
    To write:    manyheads build    lessons/ -> source/ -> release/, solutions/
                 manyheads adopt    a source notebook edited in JupyterLab -> lessons/

    Every command is run in the course folder. 'manyheads COMMAND --help' shows an example.
    """
