"""A class in which nearly everybody cheats, steals, does harm or hands in something odd, graded in one run.

The bank is in tests/hostile/. Each case gets what it deserves and a named status, the honest students between them get
what they would get alone, nothing secret comes out, no process stays, and the gradebook is whole.
"""

import dataclasses
import hashlib
import json
import sqlite3
import stat
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from hostile import CASES
from hostile.case import Case
from hostile.lesson import QUESTIONS
from hostile.theft import LOOT
from hostile.world import COMMENTED, HERE, HONEST, MANYHEADS, attacked_course, copy_alone, hand_in_all, watched
from tiny_course import LESSON

from manyheads.grade import sandbox
from manyheads.grade.feedback import is_test
from manyheads.grade.nbgrading import Nbgrader
from manyheads.grade.record import Entry, Ledger

pytestmark = pytest.mark.slow

# The design's table of what stock nbgrader does, and the field reports about grading.
ROWS = (
    "copy-paste of a cell", "old schema version", "patched torch.allclose", "AST or input transformer", "object equal to everything",
    "test cells tagged skip-execution", "reads the source", "reads the hidden tests in its own folder", "writes gradebook.db",
    "kills its parent process", "locks or deletes the gradebook", "os._exit", "a loop that ignores interrupts", "prints 50 MB",
    "a correct function that warns", "a test cell ending in a tuple", "deleted test cell", "nbformat 3",
    "raw HTML with a script in markdown", "a symlink in the hand-in folder",
    "F01", "F02", "F04", "F06", "F07", "F08", "F11", "F12", "F13", "F17", "F18", "F22",
)
PARTLY = 3  # exit code: some hand-ins could not be graded
SECONDS = 600  # for the whole class: only a run that hangs takes so long
STATUSES = {"graded", "timed out", "crashed", "not attempted", "by hand"}


@dataclasses.dataclass
class Graded:
    """The class after the run."""

    made: object
    alone: dict[str, float | None]
    honest: list[str]
    run: dict
    entries: dict[str, Entry]
    points: dict[str, dict[str, float | None]]
    before: dict[str, str]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    report = sandbox.probe()
    assert report.level == sandbox.FULL, f"these hand-ins are run in a full sandbox only: {' '.join(report.missing)}"
    folder = tmp_path_factory.mktemp("hostile")
    with attacked_course(folder) as made:
        honest = hand_in_all(made, CASES)
        alone = copy_alone(made, folder / "alone", honest[0])
        run = watched(alone, 300, *MANYHEADS, "grade", "--workers", "1")
        assert run["exit"] == 0, run["said"]
        usual = alone.points(honest[0])
        before = hashes(made.course.root)
        run = watched(made, SECONDS, *MANYHEADS, "grade", "--workers", "2")
        ledger = Ledger(f"sqlite:///{made.course.root / 'gradebook.db'}")
        entries = {entry.student: entry for entry in ledger.entries(LESSON)}
        ledger.close()
        yield Graded(made, usual, honest, run, entries, all_points(made.course.root), before)


def hashes(root: Path) -> dict[str, str]:
    """What may not change while a class is graded: lessons, source, release, hand-ins, configuration."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if name.parts[0] in ("gradebook.db", "autograded", "feedback", "gradebook-backups", "gradebook.db.grading"):
            continue
        facts = path.lstat()
        held = b""
        if stat.S_ISREG(facts.st_mode) and facts.st_size < 10**8:
            held = path.read_bytes()
        found[str(name)] = f"{facts.st_mode} {hashlib.sha256(held).hexdigest()}"
    return found


def all_points(root: Path) -> dict[str, dict[str, float | None]]:
    """Student -> question -> automatic points, as nbgrader's own tables have it."""
    found: dict[str, dict[str, float | None]] = {}
    with sqlite3.connect(root / "gradebook.db") as connection:
        rows = connection.execute(
            "select submitted_assignment.student_id, base_cell.name, grade.auto_score from grade"
            " join base_cell on base_cell.id = grade.cell_id"
            " join submitted_notebook on submitted_notebook.id = grade.notebook_id"
            " join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id")
        for student, name, score in rows:
            if name in QUESTIONS:
                found.setdefault(student, {})[name] = score
    return found


class Active(HTMLParser):
    """Finds what of a student's would run in a page: every case marks it with `owned` or `alert`."""

    def __init__(self):
        super().__init__()
        self.found: list[str] = []
        self.tag = ""

    def handle_starttag(self, tag, attributes):
        self.tag = tag
        for key, value in attributes:
            if key.startswith("on") or "javascript:" in (value or "").lower():
                self.found.append(f"<{tag} {key}={value}>")

    def handle_data(self, data):
        if self.tag == "script" and ("owned" in data or "alert(1)" in data):
            self.found.append(data)

    def handle_endtag(self, tag):
        self.tag = ""


def name(case: Case) -> str:
    return case.student


def verdict(graded: Graded, case: Case) -> tuple[str, str, str]:
    """For the table: what we say of a case, its points, what it deserves."""
    entry = graded.entries.get(case.student)
    if entry is None:
        return "no entry", "", ""
    got = graded.points.get(case.student)
    said = Counter(question.status for key, question in entry.questions.items() if key in QUESTIONS)
    status = entry.status if not got else ", ".join(f"{many} {what}" for what, many in said.items())
    deserved = "none" if case.points is None else f"{sum(worth or 0 for worth in case.points.values()):g}"
    return status, "none" if not got else f"{sum(score or 0 for score in got.values()):g}", deserved


def stock_says() -> dict[str, str]:
    return json.loads((HERE / "stock.json").read_text())


# ---- the bank itself ----


def test_the_bank_is_large_and_has_a_case_for_every_row():
    assert len(CASES) >= 50
    assert len({case.student for case in CASES}) == len(CASES)
    assert {row for case in CASES for row in case.covers} >= set(ROWS)
    assert all(case.student < f"{case.kind}-{HONEST}" for case in CASES), "the honest ones come after those of their kind"


def test_the_run_ends_and_the_table_is_shown(graded, capsys):
    assert not graded.run["late"] and graded.run["exit"] == PARTLY, graded.run["said"][-3000:]
    assert not set(graded.run["said"]) & set("\x1b\x07\x00"), "a name or message of a student's reached the screen as it is"
    stock = stock_says()
    rows = [(case.student, stock.get(case.student, "not tried"), *verdict(graded, case)) for case in CASES]
    with capsys.disabled():
        print(f"\n\n{'hand-in':48} {'stock nbgrader':34} {'our status':44} {'points':>6} {'of deserved':>11}")
        for row in rows:
            print(f"{row[0][:48]:48} {row[1][:34]:34} {row[2][:44]:44} {row[3]:>6} {row[4]:>11}")
        print(f"{len(rows)} hand-ins in {graded.run['seconds']:.0f} s; at most {graded.run['most_processes']} processes, "
              f"{graded.run['most_memory'] / 2**20:.0f} MB")


# ---- each case ----


@pytest.mark.parametrize("case", CASES, ids=name)
def test_gets_what_it_deserves_and_a_named_status(graded, case):
    entry = graded.entries.get(case.student)
    assert entry is not None, "the grader says nothing of it"
    assert entry.status in case.status, entry.reason
    assert "\n" not in entry.reason
    got = graded.points.get(case.student)
    if entry.status != "graded":
        assert entry.reason and not got
        return
    assert case.points is not None
    assert got is not None and set(got) == set(QUESTIONS)
    said = {key: f"{question.status}: {question.message}" for key, question in entry.questions.items()}
    for question, deserved in case.points.items():
        assert entry.questions[question].points == got[question]
        assert 0 <= got[question] <= QUESTIONS[question], said[question]
        if deserved is not None:
            assert got[question] == deserved, f"{question}: {said[question]}"
        status = entry.questions[question].status
        assert status in STATUSES
        if deserved is not None:
            assert status in case.says.get(question, ("graded",)), said[question]


@pytest.mark.parametrize("case", [case for case in CASES if case.kind in ("theft", "harm", "files")], ids=name)
def test_brings_nothing_home(graded, case):
    nb = graded.made.autograded(case.student)
    if nb is None:
        return
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            text = output.get("text", "") + str(output.get("data", "")) + output.get("evalue", "")
            assert LOOT not in text, text


@pytest.mark.parametrize("kind", sorted({case.kind for case in CASES}))
def test_an_honest_student_among_them_gets_the_usual_grade(graded, kind):
    student = f"{kind}-{HONEST}"
    assert graded.alone == QUESTIONS
    assert graded.points[student] == graded.alone
    assert {question.status for key, question in graded.entries[student].questions.items() if key in QUESTIONS} == {"graded"}


# ---- feedback, and nbgrader's own command ----

SHOWN = (
    "files-html-and-scripts", "files-scripts-in-code", "files-half-characters", "files-link-that-is-read", "files-skip-execution",
    "border-exception-with-a-page", "border-raises-not-right", "border-exception-named-points", "border-exception-with-a-huge-message",
    "theft-source", "theft-own-memory-in-a-call", "theft-frames", "patch-caller-frames", "patch-equal-to-everything", "harm-displays",
    "harm-exit-in-call", "harm-loop-in-call", "harm-prints-fifty-megabytes", "trusted-slow-markdown", "trusted-forged-exceptions",
)


@pytest.mark.parametrize("student", SHOWN)
def test_feedback_tells_no_secret_and_runs_nothing(graded, student):
    made = graded.made
    page = Nbgrader(made.course).feedback(LESSON, student).read_text(encoding="utf-8")
    assert not [place for place, text in made.canaries.items() if text in page]
    assert "8642" not in page, "a hidden test"
    assert str(made.course.root / "autograded") not in page
    assert len(page) < 3_000_000
    active = Active()
    active.feed(page)
    assert not active.found


@pytest.fixture(scope="module")
def by_nbgrader(tmp_path_factory):
    """A part of the class, graded by `nbgrader autograde` with the course's configuration."""
    cases = [case for case in CASES if case.student in BY_NBGRADER]
    assert len(cases) == len(BY_NBGRADER)
    with attacked_course(tmp_path_factory.mktemp("by-nbgrader")) as made:
        honest = hand_in_all(made, cases)
        run = watched(made, 600, "-m", "nbgrader", "autograde", LESSON)
        yield made, run, honest, all_points(made.course.root)


BY_NBGRADER = (
    "files-aa-copied-test", "files-old-schema", "files-deleted-tests", "files-edited-tests", "files-skip-execution", "files-invalid-metadata",
    "files-tests-that-end-in-a-tuple", "patch-allclose", "patch-ast-transformer", "patch-equal-to-everything", "theft-source",
    "theft-gradebook-write", "harm-exit-in-call", "harm-kills-everything", "harm-loop-that-ignores-interrupts",
    "harm-prints-fifty-megabytes", "odd-warns",
)


@pytest.mark.parametrize("student", BY_NBGRADER)
def test_gets_the_same_by_nbgraders_own_command(by_nbgrader, student):
    made, run, _, points = by_nbgrader
    (case,) = [case for case in CASES if case.student == student]
    assert points[student] == case.points, run["said"][-3000:]
    nb = made.autograded(student)
    assert LOOT not in str([cell.get("outputs") for cell in nb.cells if not is_test(cell)])


def test_nbgraders_own_command_grades_the_honest_and_leaves_nothing(by_nbgrader):
    made, run, honest, points = by_nbgrader
    assert run["exit"] == 0 and not run["late"] and run["left"] == []
    assert {student: points[student] for student in honest} == dict.fromkeys(honest, QUESTIONS)
    assert made.reached == []


# ---- the class as a whole ----


def test_no_secret_comes_out(graded):
    """Not in what students wrote or saw; the hidden tests themselves stay in test cells, for the instructor."""
    root = graded.made.course.root
    secrets = {place: text.encode() for place, text in graded.made.canaries.items()}
    theirs = root / "autograded" / graded.honest[0]
    found = []
    for path in (root / "autograded").rglob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        held = path.read_bytes()
        if path.name == f"{LESSON}.ipynb":
            nb = nbformat.reads(held.decode(), as_version=4)
            nb.cells = [cell for cell in nb.cells if not is_test(cell)]
            held = nbformat.writes(nb).encode()
        found += [(str(path), place) for place, text in secrets.items() if text in held
                  and not (place == "student" and theirs in path.parents)]
    assert not found
    said = json.dumps([dataclasses.asdict(entry) for entry in graded.entries.values()], default=str)
    assert not [place for place, text in graded.made.canaries.items() if text in said or text in graded.run["said"]]
    for place in ("release",):
        assert not [path for path in (root / place).rglob("*") if path.is_file() and b"CANARY" in path.read_bytes()]


def test_nothing_outside_was_touched(graded):
    root, home = graded.made.course.root, graded.made.world.home
    assert hashes(root) == graded.before
    assert {path.name for path in root.iterdir()} <= {
        "lessons", "source", "release", "submitted", "autograded", "feedback", "gradebook-backups", "gradebook.db", "gradebook.db.grading", "nbgrader_config.py"}
    left = [path.name for path in home.iterdir() if path.name not in ("secret.txt", ".cache", ".config", ".ipython", ".local", ".jupyter")]
    assert not left and not list(home.rglob(f"*{graded.made.world.token}*"))
    token = graded.made.world.token
    assert sorted(path.name for path in Path("/tmp").glob(f"*{token}*")) == [f"manyheads-{token}-secret", f"manyheads-{token}-socket"]
    assert Path(f"/tmp/manyheads-{token}-secret").read_text() == graded.made.canaries["tmp"]
    assert not list(Path("/dev/shm").glob(f"*{token}*"))
    assert not [path for path in (root / "autograded").rglob("*") if path.is_symlink()]
    assert not list((root / "autograded").glob(".*"))


def test_nobody_was_reached_over_the_network(graded):
    assert graded.made.reached == []


def test_no_process_is_left(graded):
    assert graded.run["left"] == []


def test_processes_and_memory_were_bounded(graded):
    """Two workers: each an examiner, and a student process with what it may start."""
    assert graded.run["most_processes"] < 100
    assert graded.run["most_memory"] < 6 * 2**30


def test_autograded_notebooks_stay_small_and_valid(graded):
    for path in (graded.made.course.root / "autograded").glob(f"*/*/{LESSON}.ipynb"):
        assert path.stat().st_size < 16 * 2**20, path
        nbformat.validate(nbformat.read(path, as_version=4))


def test_the_gradebook_is_whole(graded):
    with sqlite3.connect(graded.made.course.root / "gradebook.db") as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert connection.execute("pragma foreign_key_check").fetchall() == []
        students = {row[0] for row in connection.execute("select id from student")}
        assert connection.execute("select count(*) from grade where manual_score is not null").fetchone() == (0,)
        assert connection.execute("select max(max_score), count(*) from grade_cells").fetchone() == (2.0, len(QUESTIONS) + 1)
    expected = {COMMENTED, *graded.honest} | {case.student for case in CASES}
    assert students <= expected
    assert students >= {COMMENTED, *graded.points}
    assert set(graded.entries) == expected - {COMMENTED}
