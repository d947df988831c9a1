"""The grades of a class as data and as a table: students x questions, and what each got wrong."""

from dataclasses import dataclass, field

import nbformat
from rich.table import Table
from rich.text import Text

from manyheads.check.catalogue import named_in
from manyheads.check.exercises import exercises
from manyheads.course.lesson import is_grade, is_solution

from . import feedback
from .nbgrading import Nbgrader

GRADED = "graded"
MISSING = "missing"
NOT_GRADED = "not graded"
BY_HAND = "by hand"


@dataclass(frozen=True)
class Question:
    """One exercise, or one written answer: its points and the graded cells that give them."""

    name: str
    points: float
    grade_ids: tuple[str, ...]
    by_hand: bool = False


@dataclass
class Mark:
    """What a student got for one question. ``got`` is None as long as nobody has marked it."""

    got: float | None
    status: str
    messages: list[str] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)


@dataclass
class Submission:
    """One student's work on one lesson. Only a graded one has marks: not graded is not 0."""

    student: str
    lesson: str
    status: str
    why: str = ""
    marks: dict[str, Mark] = field(default_factory=dict)
    repaired: list[str] = field(default_factory=list)

    @property
    def score(self) -> float | None:
        """Points so far, or None if the submission is not graded."""
        if self.status != GRADED:
            return None
        return sum(mark.got for mark in self.marks.values() if mark.got is not None)


def questions(nbgrader: Nbgrader, lesson: str) -> list[Question]:
    """The questions of a lesson in the order of its notebook."""
    source = nbformat.read(nbgrader.course.notebook("source", lesson), as_version=4)
    names = sorted((entry.name for entry in exercises(lesson)), key=len, reverse=True)
    found: dict[str, list] = {}
    by_hand = set()
    for cell in source.cells:
        if not is_grade(cell):
            continue
        meta = cell.metadata.nbgrader
        name = _exercise_of(meta.grade_id, names)
        found.setdefault(name, []).append((meta.grade_id, float(meta.points)))
        if is_solution(cell):
            by_hand.add(name)
    return [Question(name, sum(points for _, points in cells), tuple(grade_id for grade_id, _ in cells),
                     name in by_hand)
            for name, cells in found.items()]


def _exercise_of(grade_id: str, names: list[str]) -> str:
    tested = grade_id.removeprefix("test_")
    return next((name for name in names if tested == name or tested.startswith(f"{name}_")), tested)


def read(nbgrader: Nbgrader, lesson: str, student: str, why_not: str = "") -> Submission:
    """What became of one submission: points from the gradebook, messages from the autograded notebook.

    ``why_not`` is the reason if grading it failed.
    """
    path = nbgrader.place("autograded", lesson, student)
    if not nbgrader.place("submitted", lesson, student).is_file():
        return Submission(student, lesson, MISSING)
    if why_not or not path.is_file():
        return Submission(student, lesson, NOT_GRADED, why_not)
    nb = nbformat.read(path, as_version=4)
    said = {cell.metadata.nbgrader.grade_id: feedback.verdict(cell, nb) for cell in nb.cells if feedback.is_test(cell)}
    with nbgrader.gradebook() as gradebook:
        notebook = gradebook.find_submission_notebook(lesson, lesson, student)
        points = {grade.name: None if grade.needs_manual_grade and grade.manual_score is None else grade.score
                  for grade in notebook.grades}
    submission = Submission(student, lesson, GRADED, repaired=nb.metadata.get("manyheads", {}).get("repaired", []))
    for question in questions(nbgrader, lesson):
        submission.marks[question.name] = _mark(question, points, said)
    return submission


def _mark(question: Question, points: dict[str, float | None], said: dict[str, feedback.Verdict]) -> Mark:
    got = [points.get(grade_id) for grade_id in question.grade_ids]
    if question.by_hand:
        return Mark(got[0], GRADED if got[0] is not None else BY_HAND)
    if None in got or not all(grade_id in said for grade_id in question.grade_ids):
        return Mark(None, NOT_GRADED, ["a test cell is missing from the notebook"])
    verdicts = [said[grade_id] for grade_id in question.grade_ids]
    wrong = [verdict for verdict in verdicts if verdict.status != feedback.RIGHT]
    mark = Mark(sum(got), wrong[0].status if wrong else feedback.RIGHT)
    if wrong and sum(got) > 0:
        mark.status = feedback.PARTLY
    known = {mistake.name: mistake.sentence for verdict in wrong if (mistake := named_in(verdict.message))}
    mark.mistakes = list(known)
    # The same fault shows in several test cells of an exercise: say it once, by its name if it has one.
    mark.messages = list(known.values()) or list(dict.fromkeys(verdict.message for verdict in wrong if verdict.message))
    return mark


# ---- on the screen --------------------------------------------------------------------------------------------


def grades(lesson: str, asked: list[Question], class_: list[Submission]) -> Table:
    """Students x questions. Questions are numbered in the heading, so that the table fits a narrow screen."""
    names = ", ".join(f"{number}={question.name}" for number, question in enumerate(asked, 1))  # no break inside
    table = Table(title=f"{lesson}: points\n{names}", title_justify="left", title_style="", header_style="bold")
    table.add_column("student", no_wrap=True)
    for number, question in enumerate(asked, 1):
        table.add_column(f"{number}\n/{question.points:g}", justify="right", no_wrap=True)
    automatic = automatic_points(asked)
    by_hand = sum(question.points for question in asked if question.by_hand)
    table.add_column(f"checked\n/{automatic:g}", justify="right", no_wrap=True)
    table.add_column("status")
    for submission in class_:
        if submission.status != GRADED:
            table.add_row(submission.student, *["–"] * (len(asked) + 1), _not_graded(submission, submission.why))
            continue
        cells = [_points(submission.marks[question.name], question) for question in asked]
        checked = _checked(submission, asked)
        waiting = any(mark.status == BY_HAND for mark in submission.marks.values())
        table.add_row(submission.student, *cells, f"{checked:g}",
                      f"graded, {by_hand:g} open" if waiting else "graded")
    return table


def overview(asked: dict[str, list[Question]], class_: dict[str, list[Submission]]) -> Table:
    """Students x lessons: the points that were given automatically, and what was not handed in or not graded."""
    table = Table(title="The class: points checked automatically", title_justify="left", title_style="",
                  header_style="bold")
    table.add_column("student", no_wrap=True)
    for lesson, questions_ in asked.items():
        table.add_column(f"{lesson.split('_')[0]}\n/{automatic_points(questions_):g}", justify="right", no_wrap=True)
    for row in zip(*(class_[lesson] for lesson in asked), strict=True):
        cells = [Text(f"{_checked(submission, asked[submission.lesson]):g}") if submission.status == GRADED
                 else _not_graded(submission) for submission in row]
        table.add_row(row[0].student, *cells)
    return table


def automatic_points(asked: list[Question]) -> float:
    """The points of a lesson that need nobody to mark by hand."""
    return sum(question.points for question in asked if not question.by_hand)


def _checked(submission: Submission, asked: list[Question]) -> float:
    return sum(submission.marks[question.name].got or 0 for question in asked if not question.by_hand)


def _not_graded(submission: Submission, why: str = "") -> Text:
    """Missing or not graded, which is not 0."""
    return Text(submission.status + (f": {why}" if why else ""), style="dim" if submission.status == MISSING else "red")


def _points(mark: Mark, question: Question) -> Text:
    if mark.status == BY_HAND:
        return Text("?", style="dim")
    if mark.got is None:
        return Text("–", style="red")
    style = "green" if mark.got == question.points else "red" if mark.got == 0 else "yellow"
    return Text(f"{mark.got:g}", style=style)


def mistakes(lesson: str, asked: list[Question], class_: list[Submission]) -> Table:
    """What each student got wrong: what the student reads, under the name of the mistake if the catalogue knows it."""
    table = Table(title=f"{lesson}: what was not right", title_justify="left", title_style="", header_style="bold",
                  show_lines=True)
    table.add_column("student\nquestion, points")
    table.add_column("what the student is told")
    for submission in class_:
        wrong = [(question, submission.marks[question.name]) for question in asked
                 if question.name in submission.marks
                 and submission.marks[question.name].status not in (feedback.RIGHT, BY_HAND, GRADED)]
        missing = [question for question, mark in wrong if mark.status == feedback.NOT_ATTEMPTED]
        if missing:
            lost = sum(question.points for question in missing)
            table.add_row(f"{submission.student}\n{len(missing)} question{'s' if len(missing) > 1 else ''}, 0/{lost:g}",
                          f"{feedback.NOT_ATTEMPTED}: {', '.join(question.name for question in missing)}")
        for question, mark in wrong:
            if question in missing:
                continue
            told = Text()
            if mark.mistakes:
                told.append(f"known mistake: {', '.join(mark.mistakes)}\n", style="bold")
            told.append("\n".join(mark.messages) or mark.status)
            got = "–" if mark.got is None else f"{mark.got:g}"
            table.add_row(Text(f"{submission.student}\n{question.name}, {got}/{question.points:g}"), told)
    return table
