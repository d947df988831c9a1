"""Honest work gets the same points, and hears the same, whether tests and answers share a process or not.

Every answer of both banks goes through isolated grading, as a student's notebook does, and is compared with what the
same test cells say of it in one process (test_banks.py). A notebook takes one answer for each exercise, so there are
as many notebooks of a lesson as its longest row of answers.
"""

from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
import test_banks as banks

from manyheads.course import sample
from manyheads.course.lesson import Course
from manyheads.grade.isolation import Job, Workshop

COURSE = Course.find(banks.HERE)


def rows(lesson):
    """The notebooks of a lesson: each a dict from exercise to the bank's answer in it."""
    waiting = {}
    for path in banks.WRONG + banks.RIGHT:
        number, exercise, _ = banks.of_bank(path)
        if lesson.startswith(f"{number}_"):
            waiting.setdefault(exercise, []).append(path)
    found = []
    while any(waiting.values()):
        found.append({exercise: paths.pop() for exercise, paths in waiting.items() if paths})
    return found


def notebook(lesson, row):
    nb = sample.hand_in(COURSE, lesson, "all-right")
    for cell in nb.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in row:
            cell.source = row[name].read_text(encoding="utf-8")
    return nbformat.writes(nb).encode()


def others(lesson, row):
    """Tests of exercises that are answered rightly in every notebook: they need not run again."""
    asked = {cell.metadata.nbgrader.grade_id for exercise in row for cell in banks.cells_of(lesson[:2], exercise)}
    return {cell.metadata.nbgrader.grade_id: {"outputs": [], "metadata": {}} for cell in banks.code_cells(lesson[:2], "test")
            if cell.metadata.nbgrader.grade_id not in asked}


@pytest.fixture(scope="module")
def isolated():
    """Bank file -> its graded questions, from isolated grading."""
    found = {}
    with Workshop() as workshop, ThreadPoolExecutor(2) as pool:
        for lesson in COURSE.lessons():
            source = COURSE.notebook("source", lesson).read_bytes()
            jobs = [(row, Job(lesson, source, notebook(lesson, row), keep=others(lesson, row))) for row in rows(lesson)]
            for (row, _), graded in zip(jobs, pool.map(lambda one: workshop.grade(one[1]), jobs), strict=True):
                for exercise, path in row.items():
                    tests = [cell.metadata.nbgrader.grade_id for cell in banks.cells_of(lesson[:2], exercise)]
                    found[path] = [graded.questions[test] for test in tests]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("bank", [banks.WRONG, banks.RIGHT], ids=["wrong", "right"])
def test_points_are_the_same_as_in_one_process(isolated, bank):
    differ = []
    for path in bank:
        got = sum(one.points for one in isolated[path])
        # A few wrong answers pass or fail by the numbers that a test draws.
        if all(got != alone for alone in drawn_anew(path)):
            differ.append(f"{path.stem}: {got} of two processes, {banks.verdict(path).points} of one")
    assert not differ, "\n".join(differ)


def drawn_anew(path):
    """The points in one process, for up to ten draws."""
    yield banks.verdict(path).points
    for _ in range(9):
        yield banks.verdict.__wrapped__(path).points


@pytest.mark.slow
def test_mistakes_are_named_as_in_one_process(isolated):
    """Up to what hangs on the random draw of a test, in either way of grading."""
    differ = []
    for path in banks.WRONG:
        named = {one.mistake for one in isolated[path]} - {None}
        claim = banks.of_bank(path)[2]
        told = any("\n  in your cell" in one.message for one in isolated[path]) if claim == "own error" else claim in named
        if not told and banks.rightly_named(path):
            differ.append(f"{path.stem}: {claim!r} is not in {sorted(named)}, {[one.message[:90] for one in isolated[path]]}")
    assert len(differ) <= 0.02 * len(banks.WRONG), "\n".join(differ)
