"""The report: a class with every status, the figures, hostile students, both CSV files, and the page in a browser."""

import copy
import csv
import json
import os
import shutil
import statistics
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import pytest
import small_class
from click.testing import CliRunner
from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    GradeCell,
    Notebook,
    SolutionCell,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.api import Student as Known

from manyheads.check import catalogue
from manyheads.course.lesson import Course, is_grade, is_solution, read_lesson
from manyheads.course.stock import find_tools
from manyheads.grade import class_data, figures, record, report
from manyheads.grade.isolation import Graded
from manyheads.grade.isolation import Question as Outcome
from manyheads.grade.nbgrading import Failed, Nbgrader

REPOSITORY = Path(__file__).parents[1]
ONE, TWO = "01_motivation", "02_head_split"
DUE = datetime(2026, 3, 1, 12, 0)


CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "manyheads"
c.CourseDirectory.student_id_exclude = "sample-*"
"""


def make_course(root: Path, lessons: tuple[str, ...] = (ONE, TWO)) -> None:
    """A course folder whose gradebook knows the lessons and nobody yet."""
    find_tools()
    (root / "nbgrader_config.py").write_text(CONFIG)
    (root / "lessons").mkdir()
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}", "manyheads") as gradebook:
        for lesson in lessons:
            shutil.copytree(REPOSITORY / "source" / lesson, root / "source" / lesson)
            assignment = Assignment(name=lesson, duedate=DUE, course_id="manyheads")
            notebook = Notebook(name=lesson, assignment=assignment)
            gradebook.db.add(assignment)
            for cell in nbformat.read(root / "source" / lesson / f"{lesson}.ipynb", as_version=4).cells:
                name = cell.metadata.get("nbgrader", {}).get("grade_id")
                if is_grade(cell):
                    gradebook.db.add(GradeCell(name=name, notebook=notebook, cell_type=cell.cell_type,
                                               max_score=cell.metadata.nbgrader.points))
                if is_solution(cell):
                    gradebook.db.add(SolutionCell(name=name, notebook=notebook))
        gradebook.db.commit()


class Class:
    """A class in such a folder, with autograded notebooks, as grading leaves it."""

    def __init__(self, root: Path):
        self.course = Course(root)
        self.url = f"sqlite:///{root / 'gradebook.db'}"
        self.source, self.cells, self.ids = {}, {}, {}
        with Gradebook(self.url, "manyheads") as gradebook:
            for notebook in gradebook.db.query(Notebook):
                lesson = notebook.name
                self.source[lesson] = nbformat.read(self.course.notebook("source", lesson), as_version=4)
                written = {cell.name for cell in notebook.solution_cells}
                self.cells[lesson] = {cell.name: (cell.id, cell.max_score, cell.name in written)
                                      for cell in notebook.grade_cells}
                self.ids[lesson] = (notebook.assignment_id, notebook.id)

    def enrol(self, *students: str, **details: str) -> None:
        with Gradebook(self.url, "manyheads") as gradebook:
            for student in students:
                gradebook.db.add(Known(id=student, **details))
            gradebook.db.commit()

    def graded(self, student: str, lesson: str, points=(), verdicts=(), manual=(), extra=(), late=timedelta(0),
               penalty=0.0, outputs=(), asked="", metadata=None) -> None:
        """A submission as grading leaves it: full points, and the written answer marked, unless said otherwise.

        ``points``: grade id -> automatic points; None: not given. ``manual``: grade id -> marks by hand. ``verdicts``:
        grade id -> what the grader wrote into the test cell. ``outputs``: grade id -> outputs, as plain nbgrader has.
        """
        points, manual, extra = dict(points), dict(manual), dict(extra)
        with Gradebook(self.url, "manyheads") as gradebook:
            if gradebook.db.get(Known, student) is None:
                gradebook.db.add(Known(id=student))
            assignment, notebook = self.ids[lesson]
            submission = SubmittedAssignment(assignment_id=assignment, student_id=student, timestamp=DUE + late)
            submitted = SubmittedNotebook(assignment=submission, notebook_id=notebook, late_submission_penalty=penalty)
            for name, (cell, most, written) in self.cells[lesson].items():
                auto = points.get(name, None if written else most)
                marked = manual.get(name, most if written and name not in points else None)
                gradebook.db.add(Grade(cell_id=cell, notebook=submitted, auto_score=auto, manual_score=marked,
                                       extra_credit=extra.get(name),
                                       needs_manual_grade=auto is None and marked is None))
            gradebook.db.add(submission)
            gradebook.db.commit()
        nb = copy.deepcopy(self.source[lesson])
        if metadata is not None:
            nb.metadata["manyheads"] = metadata
        for cell in nb.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in dict(verdicts):
                cell.metadata.setdefault("manyheads", {})["verdict"] = dict(verdicts)[name]
            if name in dict(outputs):
                cell.outputs = dict(outputs)[name]
        if asked:
            nb.cells[-1].source = asked
        folder = self.course.root / "autograded" / student / lesson
        folder.mkdir(parents=True)
        (folder / f"{lesson}.ipynb").write_text(json.dumps(nb), encoding="utf-8")

    def handed_in(self, student: str, lesson: str) -> None:
        """A submission that nobody has graded."""
        folder = self.course.root / "submitted" / student / lesson
        folder.mkdir(parents=True)
        (folder / f"{lesson}.ipynb").write_text("{}")

    def report(self, *lessons: str) -> class_data.Report:
        return class_data.read(self.course, lessons)


@pytest.fixture(scope="module")
def empty_course(tmp_path_factory):
    root = tmp_path_factory.mktemp("empty")
    make_course(root)
    return root


@pytest.fixture
def class_(empty_course, tmp_path):
    return Class(shutil.copytree(empty_course, tmp_path / "course"))


def row(made: class_data.Report, lesson: str, student: str) -> class_data.Row:
    found = next(entry for entry in made.lessons if entry.name == lesson)
    return next(entry for entry in found.rows if entry.student.id == student)


def verdict(status="graded", message="", mistake=None) -> dict:
    return {"status": status, "message": message, "mistake": mistake}


def not_right(sentence: str) -> list:
    return [nbformat.v4.new_output("error", ename="NotRight", evalue=sentence, traceback=[])]


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def ledger(class_: Class, lesson: str, student: str, *, status="graded", reason="", outputs=(), **graded) -> None:
    """What `manyheads grade` writes into the gradebook."""
    with closing(record.Recorder(class_.url)) as recorder:
        if status != "graded":
            recorder.note(record.HandIn(lesson, student, ""), status, reason)
            return
        nb = copy.deepcopy(class_.source[lesson])
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs = dict(outputs).get(cell.metadata.get("nbgrader", {}).get("grade_id"), [])
        recorder.save(record.HandIn(lesson, student, ""),
                      Graded("graded", notebook=nbformat.writes(nb).encode(), sandbox="full", **graded))


def every_status(class_: Class) -> dict[str, str]:
    """One student of each kind in lesson one; returns student -> the status that the CSV shows."""
    class_.enrol("missing")
    class_.graded("graded", ONE)
    class_.graded("late", ONE, late=timedelta(hours=26), penalty=2.0)
    class_.graded("unmarked", ONE, points={"written": None})
    class_.graded("crashed", ONE, points={"test_one_head_pair": 0.0},
                  verdicts={"test_one_head_pair": verdict("crashed", "the process ended")})
    class_.graded("hung", ONE, points={"test_shapes_01": 0.0}, verdicts={"test_shapes_01": verdict("timed out")})
    class_.graded("hung-and-crashed", ONE, points={"test_shapes_01": 0.0, "test_one_head_pair": 0.0}, late=timedelta(1),
                  verdicts={"test_shapes_01": verdict("timed out"), "test_one_head_pair": verdict("crashed")})
    class_.graded("half-graded", ONE, points={"test_swap_test_one_head": None})
    class_.handed_in("ungraded", ONE)
    class_.handed_in("torn", ONE)
    ledger(class_, ONE, "torn", status="unreadable", reason="no JSON")
    class_.graded("torn-later", ONE)
    ledger(class_, ONE, "torn-later", status="unreadable", reason="no JSON")
    class_.handed_in("failed", ONE)
    ledger(class_, ONE, "failed", status="failed", reason="the disk is full")
    class_.handed_in("empty", ONE)
    ledger(class_, ONE, "empty", status="missing", reason="no notebook was handed in, only essay.docx")
    return {"missing": "missing", "graded": "graded", "late": "graded, late",
            "unmarked": "not marked yet: written, 2 points by hand", "crashed": "crashed in one_head",
            "hung": "timed out in shapes_01",
            "hung-and-crashed": "timed out in shapes_01; crashed in one_head, late",
            "half-graded": "not graded: no points yet for swap_test",
            "ungraded": "not graded: handed in, and the grader has given no points yet",
            "torn": "unreadable: no JSON",
            "torn-later": "unreadable: no JSON (the points are those of an earlier hand-in)",
            "failed": "not graded: the disk is full",
            "empty": "missing: no notebook was handed in, only essay.docx"}


def test_each_student_has_a_row_with_a_status_and_only_graded_rows_have_totals(class_, tmp_path):
    statuses = every_status(class_)
    made = class_.report()
    report.write(made, tmp_path / "out")

    rows = {entry["student_id"]: entry for entry in read_csv(tmp_path / "out" / "grades.csv")}
    assert {student: entry["status"] for student, entry in rows.items()} == statuses
    totals = {"graded": "12", "late": "10"}
    assert {student: entry["score"] for student, entry in rows.items() if entry["score"]} == totals
    assert all(entry["raw_score"] == "" for student, entry in rows.items() if student not in ("graded", "late"))
    assert (rows["late"]["raw_score"], rows["late"]["late_submission_penalty"]) == ("12", "2")
    assert rows["late"]["seconds_late"] == "93600"
    # What is known of a question stays, whatever became of the others.
    assert rows["crashed"][f"{ONE}/softmax_row"] == rows["graded"][f"{ONE}/softmax_row"] != "0"
    assert rows["hung"][f"{ONE}/shapes_01"] == "0"
    assert rows["unmarked"][f"{ONE}/written"] == rows["missing"][f"{ONE}/written"] == ""
    assert rows["half-graded"][f"{ONE}/swap_test"] == ""

    canvas = {entry["SIS Login ID"]: entry for entry in read_csv(tmp_path / "out" / "canvas.csv")}
    assert {student: entry[ONE] for student, entry in canvas.items() if student and entry[ONE]} == totals

    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for what in ("unreadable</span>: no JSON", "timed out in shapes_01", "crashed in one_head",
                 "late by 1 d 2 h, −2 points"):
        assert what in page


def test_who_has_an_extension_is_late_after_it(class_):
    for student, extension in (("in-time", timedelta(days=2)), ("later", timedelta(hours=1))):
        class_.graded(student, ONE, late=timedelta(days=1))
        with Gradebook(class_.url, "manyheads") as gradebook:
            gradebook.find_submission(ONE, student).extension = extension
            gradebook.db.commit()
    made = class_.report()
    assert row(made, ONE, "in-time").says == "graded"
    assert (row(made, ONE, "later").says, row(made, ONE, "later").late) == ("graded, late", 23 * 3600)


def test_points_count_as_nbgrader_counts_them(class_, tmp_path):
    class_.graded("by-hand", ONE, points={"test_shapes_01": 0.0, "written": None},
                  manual={"test_shapes_01": 0.5, "written": 1.5}, extra={"test_softmax_row_values": 2.0})
    class_.graded("below-zero", ONE, points=dict.fromkeys(class_.cells[ONE], 0.0), late=timedelta(1), penalty=5.0)
    # Somebody has set the points of a question that crashed: the row is graded.
    class_.graded("settled", ONE, points={"test_shapes_01": 0.0}, manual={"test_shapes_01": 0.0},
                  verdicts={"test_shapes_01": verdict("crashed")})
    made = class_.report()
    with Gradebook(class_.url, "manyheads") as gradebook:
        for student in ("by-hand", "below-zero", "settled"):
            theirs = gradebook.find_submission(ONE, student)
            mine = row(made, ONE, student)
            assert (mine.status, mine.raw) == ("graded", theirs.score)
            assert mine.score == max(0.0, theirs.score - theirs.late_submission_penalty)
        assert made.lessons[0].points == gradebook.find_assignment(ONE).max_score
    assert row(made, ONE, "below-zero").marks["written"].outcome == "not attempted"


def test_a_mark_for_what_has_changed_since_is_to_be_looked_at_again(class_):
    class_.graded("ada", ONE)
    with Gradebook(class_.url, "manyheads") as gradebook:
        gradebook.find_grade("written", ONE, ONE, "ada").needs_manual_grade = True
        gradebook.db.commit()
    made = class_.report()
    assert (row(made, ONE, "ada").status, row(made, ONE, "ada").again) == ("graded", ["written"])
    assert "mark to look at again" in {what for what, _, _ in report.to_do(made)}


def test_a_later_grading_by_nbgrader_overrules_what_the_ledger_tells(class_):
    cell = "test_split_heads_labels"
    ledger(class_, TWO, "ada", outputs={cell: not_right("…")},
           questions={cell: Outcome("timed out", "", None, 0.0, 2.0)})
    assert row(class_.report(), TWO, "ada").status == "timed out"
    path = class_.course.root / "autograded" / "ada" / TWO / f"{TWO}.ipynb"
    path.parent.mkdir(parents=True)
    nb = copy.deepcopy(class_.source[TWO])
    next(entry for entry in nb.cells if entry.id == cell).outputs = not_right("…")
    path.write_text(json.dumps(nb))
    assert row(class_.report(), TWO, "ada").status == "not marked yet"


def test_grades_csv_begins_with_the_columns_that_nbgrader_exports(class_, tmp_path):
    from nbgrader.plugins import CsvExportPlugin

    class_.enrol("ada", first_name="Ada", last_name="Byron", email="ada@example.org")
    class_.graded("ada", ONE, points={"test_shapes_01": 0.0})
    class_.graded("bob", ONE, late=timedelta(hours=1), penalty=1.0)
    plugin = CsvExportPlugin()
    plugin.to, plugin.assignment = str(tmp_path / "theirs.csv"), [ONE]
    with Gradebook(class_.url, "manyheads") as gradebook:
        plugin.export(gradebook)
    report.write_grades(class_.report(ONE), tmp_path / "ours.csv")

    def numbers(rows):
        return sorted(({name: float(value) if name.endswith("score") or name.endswith("penalty") else value
                        for name, value in entry.items() if name in report.NBGRADER_COLUMNS} for entry in rows),
                      key=lambda entry: entry["student_id"])

    theirs = read_csv(tmp_path / "theirs.csv")
    assert list(theirs[0]) == report.NBGRADER_COLUMNS == list(read_csv(tmp_path / "ours.csv")[0])[: len(theirs[0])]
    assert numbers(read_csv(tmp_path / "ours.csv")) == numbers(theirs)


def test_canvas_csv_has_the_rows_and_columns_that_canvas_wants(class_, tmp_path):
    class_.enrol("ada", first_name="Ada", last_name="Byron", lms_user_id="4711")
    class_.enrol("trap", last_name="Points Possible")
    class_.graded("ada", ONE)
    report.write_canvas(class_.report(ONE, TWO), tmp_path / "canvas.csv")
    with (tmp_path / "canvas.csv").open(newline="") as file:
        header, possible, *students = csv.reader(file)
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", ONE, TWO]
    assert possible == ["Points Possible", "", "", "", "", "12", "22"]
    assert ["Byron, Ada", "4711", "", "ada", "", "12", ""] in students
    # Canvas would take a student of that name for a second row of maximum points.
    assert not any("Points Possible" in entry[0] for entry in students)


def test_questions_in_figures(class_):
    mine = [3, 3, 2, 1, 0, 0]  # points of one_head, which has three cells
    rest = [2, 2, 1, 2, 1, 0]  # points of everything else: softmax_row
    head = ("test_one_head_pair", "test_one_head_weights", "test_one_head_output")
    for place, (got, other) in enumerate(zip(mine, rest, strict=True)):
        points = dict.fromkeys(class_.cells[ONE], 0.0) | {
            "test_softmax_row_values": float(other >= 1), "test_softmax_row_budget": float(other >= 2),
            **{name: float(got > number) for number, name in enumerate(head)}}
        class_.graded(f"student-{place}", ONE, points=points,
                      verdicts=dict.fromkeys(head, verdict("not attempted" if place == 5 else "not right yet")))
    lesson = class_.report().lessons[0]
    found = {item.question.name: item for item in figures.figures(lesson)}
    one_head = found["one_head"]
    assert one_head.share == pytest.approx(statistics.fmean(mine) / 3)
    assert one_head.discrimination == pytest.approx(statistics.correlation(mine, rest))
    assert one_head.counts == {"full": 2, "partly": 2, "no points": 1, "not attempted": 1}
    assert (found["shapes_01"].discrimination, found["shapes_01"].remark) == (None, "all the same")


def test_no_discrimination_below_five_students(class_):
    for place in range(4):
        class_.graded(f"student-{place}", ONE, points={"test_shapes_01": float(place % 2)})
    assert {item.remark for item in figures.figures(class_.report().lessons[0])} == {"too few"}


def test_histograms_hold_everybody_once():
    made = figures.histogram("Totals", [0, 0.5, 11.9, 12, 13.5], 12)
    assert sum(made.counts) == 5 and (made.counts[0], made.counts[-1]) == (2, 3)
    assert made.ranges[0] == "0 to under 1" and made.ranges[-1] == "11 to 12"
    assert sum(figures.histogram("Totals", [1.0, 26.0, 25.9], 26).counts) == 3
    assert figures.histogram("Nothing", [], 0).summary


def test_overall_totals_need_every_lesson(class_):
    class_.graded("ada", ONE)
    class_.graded("ada", TWO)
    class_.graded("bob", ONE)
    assert figures.overall(class_.report()) == {"ada": 34.0}


def test_mistakes_are_counted_by_name(class_):
    cell, second = "test_split_heads_labels", "test_split_heads_strides"
    known = catalogue.mistakes("split_heads")[0]
    probe = "probe: shape: axes in another order"
    # the ledger, the notebook's own verdict, and test cells as plain nbgrader runs them
    ledger(class_, TWO, "by-ledger", outputs={cell: not_right("…")},
           questions={cell: Outcome("graded", "…", known.name, 0.0, 2.0)})
    class_.graded("by-verdict", TWO, points={cell: 0.0, second: 0.0},
                  verdicts={cell: verdict(mistake=known.name), second: verdict(mistake=known.name)})
    class_.graded("by-sentence", TWO, points={cell: 0.0}, outputs={cell: not_right(known.sentence)})
    class_.graded("by-probe", TWO, points={cell: 0.0}, verdicts={cell: verdict(mistake=probe)})
    class_.graded("by-probe-sentence", TWO, points={cell: 0.0}, outputs={cell: not_right(
        "split_heads(x, 2) has the right numbers, but its axes are (a, b); they should be (b, a). Look at your last "
        "transpose or permute, or at the dim of your stack.")})
    class_.graded("no-name", TWO, points={cell: 0.0}, verdicts={cell: verdict(message="never heard of")})
    class_.graded("error", TWO, points={cell: 0.0}, verdicts={cell: verdict(message="TypeError: no\n in your cell")})
    class_.graded("right", TWO, outputs={cell: not_right(known.sentence)})  # has its points: nothing was wrong
    lesson = class_.report().lessons[0]
    question = next(entry for entry in lesson.questions if entry.name == "split_heads")
    found = {item.name: item for item in figures.frequent(lesson, question)}
    assert {name: item.count for name, item in found.items()} == {
        known.name: 3, probe: 2, "raised TypeError": 1, "not right, by no known mistake": 1}
    assert found[known.name].sentence == known.sentence
    assert found[probe].sentence.startswith("… has the right numbers, but its axes are …;")
    assert list(found)[-1] == "not right, by no known mistake"


def test_who_hands_in_is_never_lost(class_):
    """Neither a student whom the gradebook does not know, nor one whose autograded notebook is broken or gone."""
    class_.handed_in("stranger", ONE)
    class_.handed_in("sample-mixture", ONE)
    (class_.course.root / "autograded" / "sample-mixture").mkdir(parents=True)  # excluded by nbgrader_config.py
    for student, content in (("gone", None), ("cut", b'{"cells": ['), ("odd", b'{"cells": [[], {"metadata": 3}]}'),
                             ("deep", b'{"cells": ' + b"[" * 100_000)):
        class_.graded(student, ONE, points={"test_shapes_01": 0.0})
        path = class_.course.root / "autograded" / student / ONE / f"{ONE}.ipynb"
        path.unlink() if content is None else path.write_bytes(content)
    made = class_.report()
    assert {student.id for student in made.students} == {"stranger", "gone", "cut", "odd", "deep"}
    assert row(made, ONE, "stranger").status == "not graded"
    assert (row(made, ONE, "gone").status, row(made, ONE, "gone").score) == ("not graded", None)
    for student in ("cut", "odd", "deep"):
        assert (row(made, ONE, student).status, row(made, ONE, student).score) == ("graded", 11.0)
    assert all("cannot be read" in row(made, ONE, student).notes[0] for student in ("cut", "deep"))


def test_questions_to_the_instructor_are_read_and_never_run(class_, tmp_path):
    name = class_data.QUESTION
    class_.graded("asks", ONE, asked=f'{name} = """\nWhy two heads?\n"""')
    class_.graded("nothing", ONE)
    class_.graded("runs", ONE, asked=f"{name} = str(open({str(tmp_path / 'made')!r}, 'w'))")
    class_.graded("computes", ONE, asked=f"{name} = 'a' + 'b'")
    class_.graded("magic", ONE, asked=f"%matplotlib inline\n{name} = 'x'")
    class_.graded("nested", ONE, asked=f"{name} = {'(' * 5000}")
    class_.graded("long", ONE, asked=f"{name} = {'y' * 50_000!r}")
    made = class_.report()
    asked = {entry.student.id: entry.question for entry in made.lessons[0].rows if entry.question}
    assert set(asked) == {"asks", "long"}
    assert asked["asks"] == "Why two heads?"
    assert len(asked["long"]) < 3000
    assert not (tmp_path / "made").exists()


HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\ud800\u202e\x00"


def hostile_class(class_: Class) -> None:
    class_.enrol("=cmd|' /C calc'!A0", last_name="<script>alert(3)</script>", first_name="@SUM(1+1)", email="-1+2")
    class_.graded("=cmd|' /C calc'!A0", ONE, points={"test_shapes_01": 0.0},
                  asked=f"{class_data.QUESTION} = {HOSTILE!r}",
                  verdicts={"test_shapes_01": verdict(message=HOSTILE, mistake=HOSTILE)},
                  metadata={"repaired": [HOSTILE, 5], "sandbox": HOSTILE})
    class_.graded("types", ONE, points={"test_shapes_01": 0.0, "test_one_head_pair": 0.0},
                  verdicts={"test_shapes_01": {"status": ["timed out"], "message": {}},
                            "test_one_head_pair": {"status": "graded", "message": [1], "mistake": {"a": 1}}},
                  metadata=["no", "mapping"])


def test_a_hostile_student_breaks_neither_page_nor_spreadsheet(class_, tmp_path):
    hostile_class(class_)
    ledger(class_, ONE, "torn", status="unreadable", reason=HOSTILE.replace("\ud800", ""))
    for path in report.write(class_.report(), tmp_path / "out"):
        text = path.read_text(encoding="utf-8")
        assert not any(character in text for character in "\x00\u202e")
        if path.suffix == ".html":
            assert "<script" not in text and "<img" not in text and "{{7*7}}" in text
            assert "default-src 'none'" in text
    for name in ("grades.csv", "canvas.csv"):
        with (tmp_path / "out" / name).open(encoding="utf-8", newline="") as file:
            assert not [value for line in csv.reader(file) for value in line if value[:1] in tuple("=+-@\t\r")]


def test_files_are_replaced_whole(class_, tmp_path, monkeypatch):
    class_.graded("ada", ONE)
    out = tmp_path / "out"
    report.write(class_.report(), out)
    before = (out / "report.html").read_bytes()

    def fail(*_):
        raise RuntimeError("half-way")

    monkeypatch.setattr(report, "_sandboxes", fail)
    with pytest.raises(RuntimeError):
        report.write(class_.report(), out)
    assert (out / "report.html").read_bytes() == before
    assert sorted(path.name for path in out.iterdir()) == ["canvas.csv", "grades.csv", "report.html"]


def test_the_command(class_, tmp_path, monkeypatch):
    monkeypatch.chdir(class_.course.root)
    runner = CliRunner()
    asked = runner.invoke(report.report, ["--to", str(tmp_path / "out")])
    assert asked.exit_code == 1 and "nobody has handed anything in yet" in asked.output
    class_.graded("ada", ONE)
    asked = runner.invoke(report.report, ["--to", str(tmp_path / "out")])
    assert asked.exit_code == 0, asked.output
    assert "1 student, 1 lesson: 1 graded" in asked.output
    assert f"Nobody has handed in {TWO}." in (tmp_path / "out" / "report.html").read_text()
    asked = runner.invoke(report.report, [TWO])  # asked for by name, it is shown
    assert asked.exit_code == 0 and "1 student, 1 lesson: 1 missing" in asked.output
    assert (class_.course.root / "report" / "report.html").is_file()
    asked = runner.invoke(report.report, ["99_nothing"])
    assert asked.exit_code == 1 and ONE in asked.output
    (class_.course.root / "gradebook.db").unlink()
    asked = runner.invoke(report.report, [])
    assert asked.exit_code == 1 and "no gradebook.db" in asked.output
    assert not (class_.course.root / "gradebook.db").exists()
    assert "Example" in runner.invoke(report.report, ["--help"]).output


@pytest.mark.slow
def test_a_class_that_plain_nbgrader_graded(tmp_path):
    """No isolation, no ledger: the test cells themselves tell what became of them."""
    (tmp_path / "lessons").mkdir()
    (tmp_path / "nbgrader_config.py").write_text(CONFIG)
    course = Course(tmp_path)
    course.notebook("source", small_class.LESSON).parent.mkdir(parents=True)
    nbformat.write(read_lesson(small_class.TEXT, small_class.LESSON), course.notebook("source", small_class.LESSON))
    nbgrader = Nbgrader(course)
    nbgrader.release(small_class.LESSON)
    for student, double in (("wrong", "def double(x):\n    return 3 * x"), ("dies", "import os\nos._exit(1)")):
        answers = small_class.RIGHT | {"double": double, "answer": "answer = 5"}
        nbgrader.hand_in(small_class.LESSON, student, small_class.released(nbgrader, **answers))
    nbgrader.autograde(small_class.LESSON, "wrong")
    with pytest.raises(Failed):
        nbgrader.autograde(small_class.LESSON, "dies")
    made = class_data.read(course)
    dies = row(made, small_class.LESSON, "dies")
    assert (dies.status, dies.marks) == ("not graded", {})
    wrong = row(made, small_class.LESSON, "wrong")
    assert wrong.status == "not marked yet"
    assert wrong.marks["answer"] == class_data.Mark(0.0, "no points", ("probe: another value",))


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(class_, tmp_path, scheme):
    every_status(class_)
    hostile_class(class_)
    for place in range(6):
        class_.graded(f"student-{place}", TWO, points={"test_split_heads_labels": place / 3})
    page, *_ = report.write(class_.report(), tmp_path / "out")
    # A thread of its own: other browser tests keep an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(look_at, page, scheme).result()


def look_at(path: Path, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
                                             args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"])
        page = browser.new_page(color_scheme=scheme, viewport={"width": 1200, "height": 900})
        heard, asked = [], []
        page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda message: heard.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        assert heard == [] and asked == [path.as_uri()]
        assert page.locator("script, img, iframe, [onerror]").count() == 0
        assert [(entry["id"], entry["impact"]) for entry in Axe().run(page).response["violations"]] == []
        # Keyboard: the first stop skips to the report; a link of the overview leads to the student's row.
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
        page.locator("#class ~ .scroll a").first.press("Enter")
        assert page.evaluate("document.querySelector('tr:target') !== null")
        # Every picture has its numbers in words beside it, and nothing is wider than the window.
        for plot in page.locator(".plot:has(svg)").all():
            assert plot.locator(".text-twin").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        # On paper: light, and with everything that is folded away on the screen.
        page.emulate_media(media="print", color_scheme=scheme)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator("details a").last.is_visible()
        browser.close()
