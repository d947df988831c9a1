"""A sample class from hand-in to a table of grades, in a folder of its own."""

import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from manyheads.course import sample
from manyheads.course.build import build_into
from manyheads.course.lesson import Course

from . import class_data, engine, report, table
from .isolation import Settings
from .nbgrading import Failed, Nbgrader
from .sandbox import FULL, probe


@dataclass
class Demo:
    """What a run made."""

    nbgrader: Nbgrader
    lessons: list[str]
    class_: dict[str, list[table.Submission]] = field(default_factory=dict)
    feedback: list[Path] = field(default_factory=list)
    report: Path | None = None
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    grading: float = 0.0  # of these

    @property
    def csv(self) -> Path:
        return self.nbgrader.course.root / "grades.csv"


def run(folder: Path, lessons: list[str] | None = None, origin: Course | None = None,
        console: Console | None = None) -> Demo:
    """Build, hand in, grade and give back the sample class in ``folder``, which must be empty or not exist.

    A submission that cannot be graded does not stop the others: it is among ``problems``. Raises Failed if the grades
    cannot be exported, Refused if a lesson cannot be built, engine.Stop if nothing can be graded.
    """
    started = time.monotonic()
    console = console or Console(quiet=True)
    console.print(f"Building the course in {folder}")
    course = build_into(folder, lessons, origin)
    demo = Demo(Nbgrader(course), course.lessons())
    level = probe().level
    if level != FULL:
        console.print("This machine has no full sandbox (see `manyheads doctor`); "
                      f"the sample class does without: {level}")
    students = [student.name for student in sample.STUDENTS]
    handed_in = [(lesson, student.name) for place, lesson in enumerate(demo.lessons) for student in sample.STUDENTS
                 if sample.hands_in(student, place)]
    with Progress(TextColumn("{task.description:<40}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                  console=console) as progress:
        def hand_in(lesson: str, student: str) -> None:
            demo.nbgrader.hand_in(lesson, student, sample.hand_in(course, lesson, student))

        _each(demo, handed_in, progress, "handing in", hand_in)
        grading = progress.add_task("grading", total=len(handed_in))
        begun = time.monotonic()
        outcome = engine.grade(course, workers=os.cpu_count() or 1, settings=Settings(level),
                               watch=_Bar(progress, grading))
        demo.grading = time.monotonic() - begun
        why_not = {(trouble.lesson, trouble.student): trouble.why for trouble in outcome.troubles}
        demo.problems += [f"grading {lesson} of {student}: {why}" for (lesson, student), why in why_not.items()]
        for lesson in demo.lessons:
            demo.class_[lesson] = [table.read(demo.nbgrader, lesson, student, why_not.get((lesson, student), ""))
                                   for student in students]
        graded = [(submission.lesson, submission.student) for class_ in demo.class_.values() for submission in class_
                  if submission.status == table.GRADED]
        _each(demo, graded, progress, "writing feedback",
              lambda lesson, student: demo.feedback.append(demo.nbgrader.feedback(lesson, student)))
    demo.nbgrader.export(demo.csv)
    demo.report = report.write(class_data.read(course), course.root / "report")[0]
    demo.seconds = time.monotonic() - started
    return demo


class _Bar(engine.Watch):
    def __init__(self, progress: Progress, task):
        self.progress, self.task = progress, task

    def written(self, lesson: str, student: str, status: str, what: str) -> None:
        self.progress.update(self.task, advance=1, description=f"grading: {lesson} {student}"[:40])


def _each(demo: Demo, pairs: list[tuple[str, str]], progress: Progress, what: str, step) -> dict[tuple[str, str], str]:
    """Do ``step(lesson, student)`` for all pairs, going on after a failure; return the reasons of failures."""
    why_not = {}
    bar = progress.add_task(what, total=len(pairs))
    for lesson, student in pairs:
        progress.update(bar, description=f"{what}: {lesson} {student}"[:40])
        try:
            step(lesson, student)
        except Failed as problem:
            why_not[lesson, student] = str(problem)
            demo.problems.append(f"{what} {lesson} of {student}: {problem}")
        progress.advance(bar)
    progress.update(bar, description=f"{what}: done")
    return why_not


def show(demo: Demo, console: Console) -> None:
    """Print the tables, then where to look."""
    console.print()
    console.print("The sample class:")
    for student in sample.STUDENTS:
        console.print(f"  {student.name}: {student.about}")
    console.print()
    asked = {lesson: table.questions(demo.nbgrader, lesson) for lesson in demo.lessons}
    for lesson in demo.lessons:
        console.print(table.grades(lesson, asked[lesson], demo.class_[lesson]))
        for submission in demo.class_[lesson]:
            for sentence in submission.repaired:
                console.print(f"Repaired, {submission.student}: {sentence}", highlight=False, markup=False)
        console.print()
    for lesson in demo.lessons:
        console.print(table.mistakes(lesson, asked[lesson], demo.class_[lesson]))
        console.print()
    console.print(table.overview(asked, demo.class_))
    root = demo.nbgrader.course.root
    counts = Counter(submission.status for class_ in demo.class_.values() for submission in class_)
    console.print(f"\n{counts[table.GRADED]} submissions were graded in {demo.grading:.0f} s, gradebook and warm start "
                  f"included; with hand-in and feedback it took {demo.seconds:.0f} s. "
                  f"{counts[table.MISSING]} are missing, which is not 0: nobody handed them in. "
                  "Each lesson also has a written answer, shown as ? above: "
                  "its points are open until somebody marks it by hand, in Formgrader.\n")
    console.print("Where to look (what each student got wrong stands above, lesson by lesson):")
    page = demo.nbgrader.place("feedback", demo.lessons[-1], "known-mistakes").with_suffix(".html")
    programs = Path(sys.executable).parent
    for label, where in (("feedback, for a browser", page), ("report, for a browser", demo.report),
                         ("graded notebooks", root / "autograded"), ("grades, nbgrader's CSV", demo.csv),
                         ("the gradebook", root / "gradebook.db"),
                         ("Formgrader", f"cd {root} && {programs / 'jupyter'} lab")):
        console.print(f"  {label + ':':<25}{where}", soft_wrap=True, highlight=False)
    console.print("(The CSV has a 0 where a submission is missing: nbgrader writes it so.)")
