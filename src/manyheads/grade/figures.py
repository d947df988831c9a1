"""The class in figures: which mistakes are frequent, how hard each question was, how the points are spread.

Computed from what :mod:`.class_data` has read; nothing is read or written here.
"""

import functools
import re
import statistics
from collections import Counter
from dataclasses import dataclass

from .class_data import GRADED, NO_NAME, NOT_GRADED, NOT_MARKED, Lesson, Question, Report, Row, number

FEWEST = 5  # students, below which a correlation says nothing


# ---- mistakes -------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def sentence_of(question: str, mistake: str) -> str:
    """What a student reads of a mistake, with … for what differs from one to the next; empty if it has no sentence."""
    from manyheads.check.catalogue import mistakes
    from manyheads.check.probes import PREFIX, SAYS

    if mistake.startswith(PREFIX):
        return re.sub(r"\{\w+\}", "…", SAYS.get(mistake.removeprefix(PREFIX), ""))
    of_question = [*mistakes(question), *mistakes()]
    return next((entry.sentence for entry in of_question if entry.name == mistake), "")


@dataclass(frozen=True)
class Frequent:
    """A mistake in a question, and how many students made it."""

    name: str
    sentence: str
    count: int


def frequent(lesson: Lesson, question: Question) -> list[Frequent]:
    """The mistakes in a question, the most frequent first."""
    counted = Counter(name for row in lesson.rows if question.name in row.marks
                      for name in row.marks[question.name].mistakes)
    return [Frequent(name, sentence_of(question.name, name), count)
            for name, count in sorted(counted.items(), key=lambda item: (item[0] == NO_NAME, -item[1], item[0]))]


# ---- numbers --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """A question in numbers. ``share`` is the mean share of its points; None where nobody has any points yet."""

    question: Question
    share: float | None
    discrimination: float | None
    remark: str
    counts: dict[str, int]


def figures(lesson: Lesson) -> list[Figures]:
    """Difficulty, discrimination and outcomes of each question of a lesson."""
    rows = [row for row in lesson.rows if row.marks and row.status != NOT_GRADED]
    whole = {question.name for question in lesson.questions
             if all(row.marks[question.name].got is not None for row in rows)}
    made = []
    for question in lesson.questions:
        name = question.name
        marked = [row for row in rows if row.marks[name].got is not None]
        got = [row.marks[name].got for row in marked]
        rest = [sum(row.marks[other].got for other in whole - {name}) for row in marked]
        share = statistics.fmean(got) / question.points if got and question.points else None
        counts = Counter(row.marks[name].outcome for row in rows)
        made.append(Figures(question, share, *discrimination(got, rest if whole - {name} else []), dict(counts)))
    return made


def discrimination(got: list[float], rest: list[float]) -> tuple[float | None, str]:
    """Pearson's correlation of a question with the rest of the score, and a word for it."""
    if len(got) < FEWEST:
        return None, "too few"
    if len(rest) < len(got):
        return None, "no rest to compare with"
    if len(set(got)) == 1:
        return None, "all the same"
    try:
        value = statistics.correlation(got, rest)
    except statistics.StatisticsError:
        return None, "the rest is all the same"
    word = "against the rest: look at it" if value < 0 else "weak" if value < 0.2 else "fair" if value < 0.4 else "good"
    return value, word


# ---- histograms and totals ------------------------------------------------------------------------------------------


def plural(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Histogram:
    """How many of the numbers lie in each range; the last range includes its end and what lies above it."""

    name: str
    edges: list[float]
    counts: list[int]
    values: list[float]
    most: float

    @property
    def ranges(self) -> list[str]:
        last = len(self.counts) - 1
        return [f"{number(low)} to {number(high)}" if place == last else f"{number(low)} to under {number(high)}"
                for place, (low, high) in enumerate(zip(self.edges, self.edges[1:], strict=False))]

    @property
    def summary(self) -> str:
        """The text beside the picture."""
        if not self.values:
            return "There is none yet."
        return (f"{plural(len(self.values), 'student')}, out of {number(self.most)} points: mean "
                f"{statistics.fmean(self.values):.1f}, median {number(statistics.median(self.values))}, from "
                f"{number(min(self.values))} to {number(max(self.values))}.")


def histogram(name: str, values: list[float], most: float) -> Histogram:
    """Ranges of a round width, a dozen or so up to ``most``."""
    width = next((width for width in (1, 2, 5, 10, 20, 50, 100, 200, 500) if most <= 13 * width), most / 10)
    edges = [0.0]
    while edges[-1] < most or len(edges) < 2:
        edges.append(min(edges[-1] + width, most) if most else 1.0)
    counts = [0] * (len(edges) - 1)
    for value in values:
        counts[min(int(max(value, 0) // width), len(counts) - 1)] += 1
    return Histogram(name, edges, counts, values, most)


def checked(lesson: Lesson, row: Row) -> float:
    """The points of a row that need no hand."""
    return sum(row.marks[question.name].got for question in lesson.questions if not question.by_hand)


def histograms(lesson: Lesson) -> list[Histogram]:
    """Of the totals; and, while answers wait to be marked by hand, of the points that need no hand."""
    made = []
    if any(row.status == NOT_MARKED for row in lesson.rows):
        most = sum(question.points for question in lesson.questions if not question.by_hand)
        got = [checked(lesson, row) for row in lesson.rows if row.status in (GRADED, NOT_MARKED)]
        made.append(histogram("Points checked automatically", got, most))
    totals = [row.score for row in lesson.rows if row.score is not None]
    if totals or not made:
        made.append(histogram("Totals", totals, lesson.points))
    return made


def class_histograms(report: Report, totals: dict[str, float]) -> list[Histogram]:
    """The same over all lessons, of who has such points in each."""
    made = []
    rows = [[lesson.rows[place] for lesson in report.lessons] for place in range(len(report.students))]
    if any(row.status == NOT_MARKED for of_student in rows for row in of_student):
        got = [sum(checked(*pair) for pair in zip(report.lessons, of_student, strict=True)) for of_student in rows
               if all(row.status in (GRADED, NOT_MARKED) for row in of_student)]
        most = sum(question.points for lesson in report.lessons for question in lesson.questions
                   if not question.by_hand)
        made.append(histogram("Points checked automatically in all lessons", got, most))
    if totals or not made:
        made.append(histogram("Totals of all lessons", list(totals.values()),
                              sum(lesson.points for lesson in report.lessons)))
    return made


def overall(report: Report) -> dict[str, float]:
    """Student id -> sum of all totals, of those who are graded in every lesson of the report."""
    scores = {student.id: [lesson.rows[place].score for lesson in report.lessons]
              for place, student in enumerate(report.students)}
    return {student: sum(got) for student, got in scores.items() if None not in got}
