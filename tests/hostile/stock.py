"""What stock nbgrader does with the bank: ``python tests/hostile/stock.py [HAND-IN...]`` writes stock.json anew or adds to it.

Not part of the tests: it takes some twelve seconds a case, and it is run as root in process and mount namespaces of its own, so
that what a case kills or unmounts is only its own. Cases that would hurt the machine all the same are left out.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tiny_course import LESSON  # noqa: E402

from hostile import CASES  # noqa: E402
from hostile.case import Case  # noqa: E402
from hostile.lesson import QUESTIONS  # noqa: E402
from hostile.theft import LOOT  # noqa: E402
from hostile.world import Class, attacked_course  # noqa: E402
from manyheads.course.lesson import Course  # noqa: E402

SECONDS = 100
RESULTS = HERE / "stock.json"
OTHER = "zz-other"
CONFIG = "c = get_config()\nc.CourseDirectory.course_id = 'manyheads'\n"
MOST = sum(QUESTIONS.values())


def tried(template: Class, case: Case, folder: Path) -> str:
    """One case and an honest student after it, in a copy of the course, by `nbgrader autograde`."""
    root = folder / "course"
    shutil.copytree(template.course.root, root, ignore=shutil.ignore_patterns("submitted", "autograded", "gradebook-backups"))
    (root / "nbgrader_config.py").write_text(CONFIG)
    made = Class(Course(root), replace(template.world, root=root), template.canaries, template.released)
    made.hand_in(case)
    made.hand_in_honest(OTHER)
    command = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child", sys.executable, "-m", "nbgrader", "autograde", LESSON]
    late = False
    try:
        subprocess.run(command, cwd=root, env=made.environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, start_new_session=True)
    except subprocess.TimeoutExpired:
        late = True
    return ", ".join(part for part in (f"stopped after {SECONDS} s" if late else "", _grade(made, case), _others(made), _stolen(made, case)) if part)


def _grade(made: Class, case: Case) -> str:
    try:
        got = made.points(case.student)
    except Exception:
        return "the gradebook is broken"
    if got is None or made.autograded(case.student) is None:
        return "no grade"
    if None in got.values():
        return f"{sum(score or 0 for score in got.values()):g} of {MOST:g}, {list(got.values()).count(None)} wait for marking by hand"
    return f"{sum(got.values()):g} of {MOST:g}"


def _others(made: Class) -> str:
    try:
        got = made.points(OTHER)
    except Exception:
        return ""
    if got is None or made.autograded(OTHER) is None:
        return "others ungraded"
    return "" if got == QUESTIONS else f"another got {sum(score or 0 for score in got.values()):g}"


def _stolen(made: Class, case: Case) -> str:
    path = made.course.root / "autograded" / case.student / LESSON / f"{LESSON}.ipynb"
    if not path.is_file():
        return ""
    size = path.stat().st_size
    return ("stole" if LOOT in path.read_text(errors="replace") else "") or (f"{size / 10**6:.0f} MB kept" if size > 10**7 else "")


def main(*names: str) -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    with tempfile.TemporaryDirectory(prefix="hostile-stock-") as folder, attacked_course(Path(folder)) as template:
        for case in CASES:
            if not case.stock or (names and case.student not in names):
                continue
            with tempfile.TemporaryDirectory(prefix="hostile-stock-", ignore_cleanup_errors=True) as place:
                results[case.student] = tried(template, case, Path(place))
            print(f"{case.student}: {results[case.student]}", flush=True)
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
