"""``manyheads report``: what the class did, as one page for a browser and as two CSV files.

What stands there is read in :mod:`.class_data` and computed in :mod:`.figures`; here it is written.
"""

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from .class_data import (
    CRASHED,
    MISSING,
    NOT_GRADED,
    NOT_MARKED,
    TIMED_OUT,
    UNREADABLE,
    Lesson,
    NoReport,
    Report,
    Row,
    number,
    read,
)
from .figures import FEWEST, class_histograms, figures, frequent, histograms, overall, plural

PAGE, GRADES, CANVAS = "report.html", "grades.csv", "canvas.csv"
MOST_MISTAKES = 6  # shown of one question
MOST_NAMES = 25  # shown in one list of students

AGAIN = "mark to look at again"
_LEVELS = ("full", "reduced", "none")  # of the sandbox
# What no page and no CSV file can hold, or what would turn the text around it round.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


# ---- the page -------------------------------------------------------------------------------------------------------


def write_page(report: Report, path: Path) -> None:
    """Write the page: one file that needs nothing else, and holds students' words as text only."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True, undefined=StrictUndefined, finalize=_clean)
    environment.filters.update(number=number, names=_shortened, plural=plural, late=late_words)
    totals = overall(report)
    most = sum(lesson.points for lesson in report.lessons)
    stream = environment.get_template("report.html.j2").stream(
        report=report, totals=totals, most=most, by_lesson=[_of_lesson(lesson) for lesson in report.lessons],
        class_histograms=class_histograms(report, totals),
        todo=to_do(report), sandboxes=_sandboxes(report), fewest=FEWEST, most_mistakes=MOST_MISTAKES)
    stream.enable_buffering(200)
    _write(path, lambda file: file.writelines(stream))


def _of_lesson(lesson: Lesson) -> dict:
    """What the page shows of a lesson beside its rows."""
    return {
        "lesson": lesson,
        "statuses": Counter(row.status for row in lesson.rows),
        "histograms": histograms(lesson),
        "figures": figures(lesson),
        "mistakes": [(question, found) for question in lesson.questions if (found := frequent(lesson, question))],
        "repaired": _by_sentence(lesson, lambda row: row.repaired),
        "notes": _by_sentence(lesson, lambda row: row.notes),
        "asked": [(place, row) for place, row in enumerate(lesson.rows) if row.question],
    }


def to_do(report: Report) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """What waits for a person: (what, what to do, [(anchor, label)])."""
    look = "Look at the question, then set its points in Formgrader (0 is fine): the row counts as graded then."
    remedies = {
        UNREADABLE: "Ask for the file again, then run manyheads grade.",
        NOT_GRADED: "Run manyheads grade; its messages say what is in the way.",
        TIMED_OUT: look,
        CRASHED: look,
        NOT_MARKED: "Mark the answers by hand in Formgrader.",
        AGAIN: "A mark was given by hand for something that has changed since: see whether it still fits.",
        MISSING: "Nothing was handed in. That is no 0: decide what it is.",
    }
    found: dict[str, list[tuple[str, str]]] = {status: [] for status in remedies}
    for place, lesson in enumerate(report.lessons):
        for number_, row in enumerate(lesson.rows):
            for what in (row.status, *([AGAIN] if row.again else [])):
                if what in found:
                    found[what].append((f"r{place}-{number_}", f"{row.student.name}, {lesson.name}"))
    return [(status, remedies[status], rows) for status, rows in found.items() if rows]


def _by_sentence(lesson: Lesson, of: Callable[[Row], list[str]]) -> list[tuple[str, list[str]]]:
    """The same sentence said of many students stands once, with their names."""
    found: dict[str, list[str]] = {}
    for row in lesson.rows:
        for sentence in dict.fromkeys(of(row)):
            found.setdefault(sentence, []).append(row.student.name)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def _sandboxes(report: Report) -> list[tuple[str, int]]:
    return Counter(row.sandbox if row.sandbox in _LEVELS else "not recorded"
                   for lesson in report.lessons for row in lesson.rows
                   if row.status not in (MISSING, UNREADABLE, NOT_GRADED)).most_common()


def _shortened(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return "; ".join(names[:MOST_NAMES]) + (f"; and {more} more" if more > 0 else "")


def late_words(seconds: float) -> str:
    """How late, in the two largest units."""
    days, hours, minutes = int(seconds // 86400), int(seconds % 86400 // 3600), int(seconds % 3600 // 60)
    parts = [f"{count} {unit}" for count, unit in ((days, "d"), (hours, "h"), (minutes, "min")) if count]
    return " ".join(parts[:2]) or "under a minute"


def _clean(value: object) -> object:
    """Text without what no page can hold; anything else as it is."""
    return _UNPRINTABLE.sub("\ufffd", value) if type(value) is str else value


# ---- CSV ------------------------------------------------------------------------------------------------------------

NBGRADER_COLUMNS = ["assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
                    "late_submission_penalty", "score", "max_score"]


def write_grades(report: Report, path: Path) -> None:
    """The columns of ``nbgrader export``, then the status and one column a question; no total where none is due."""
    asked = [(lesson, question) for lesson in report.lessons for question in lesson.questions]
    header = [*NBGRADER_COLUMNS, "status", "seconds_late", *(f"{lesson.name}/{asked.name}" for lesson, asked in asked)]

    def rows() -> Iterator[list]:
        yield header
        for lesson in report.lessons:
            for row in lesson.rows:
                student, graded = row.student, row.score is not None
                yield [lesson.name, lesson.duedate, row.timestamp, student.id, student.last_name, student.first_name,
                       student.email, row.raw if graded else None, row.penalty if graded else None, row.score,
                       lesson.points, row.says, row.late,
                       *(row.marks[question.name].got if of is lesson and question.name in row.marks else None
                         for of, question in asked)]

    _write_csv(path, rows())


def write_canvas(report: Report, path: Path) -> None:
    """A file that Canvas imports into its gradebook: one row a student, one column a lesson.

    Canvas finds a student by ID (nbgrader's lms_user_id), else by SIS Login ID (nbgrader's student id), else by name.
    An empty cell is no grade there.
    """
    def rows() -> Iterator[list]:
        yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(lesson.name for lesson in report.lessons)]
        yield ["Points Possible", "", "", "", "", *(lesson.points for lesson in report.lessons)]
        for place, student in enumerate(report.students):
            # Canvas takes any row whose name holds these words for the row of maximum points.
            name = student.name.replace("Points Possible", "Points possible")
            yield [name, student.lms_id, "", student.id, "", *(lesson.rows[place].score for lesson in report.lessons)]

    _write_csv(path, rows())


def _write_csv(path: Path, rows: Iterable[list]) -> None:
    made = io.StringIO(newline="")
    csv.writer(made).writerows([_csv_cell(value) for value in row] for row in rows)
    _write(path, lambda file: file.write(made.getvalue()))


def _csv_cell(value: object) -> str:
    """A spreadsheet runs text that begins like a formula: an apostrophe before it makes it text again."""
    if isinstance(value, str):
        text = str(_clean(value))
        return f"'{text}" if text.lstrip()[:1] in ("=", "+", "-", "@") or text[:1] in ("\t", "\r") else text
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)


def _write(path: Path, fill: Callable) -> None:
    """Write a file so that there is always the old one or the whole new one."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            fill(file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


# ---- the command ----------------------------------------------------------------------------------------------------


def write(report: Report, folder: Path) -> list[Path]:
    """Write the page and the CSV files into a folder; return where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, writer in ((PAGE, write_page), (GRADES, write_grades), (CANVAS, write_canvas)):
        writer(report, folder / name)
        made.append(folder / name)
    return made


@click.command()
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
@click.option("--to", "folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
              help="Write into this folder instead of report/ in the course folder.")
def report(lessons: tuple[str, ...], folder: Path | None) -> None:
    """Who struggles where: a page for your browser, and CSV files.

    \b
    report.html  the class, each lesson and each question: status, points, difficulty,
                 frequent mistakes by name, questions to you. One file, no network.
    grades.csv   the columns of nbgrader export, with status and points a question
    canvas.csv   for a grade import in Canvas

    Only graded work has a total: what is missing, unreadable, stopped or not marked yet is no 0.
    The files name students: keep them private.

    \b
    Example:
      manyheads report
      manyheads report 02_head_split --to ~/reports
    """
    from manyheads.course.lesson import Course

    try:
        course = Course.find()
        made = read(course, lessons)
    except (FileNotFoundError, NoReport) as problem:
        raise click.ClickException(str(problem)) from None
    paths = write(made, folder or course.root / "report")
    statuses = Counter(row.status for lesson in made.lessons for row in lesson.rows)
    click.echo(f"{plural(len(made.students), 'student')}, {plural(len(made.lessons), 'lesson')}: "
               + ", ".join(f"{count} {status}" for status, count in statuses.most_common()))
    for path in paths:
        click.echo(f"  {path}")
