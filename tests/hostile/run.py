"""Grade a course folder with short limits, as `manyheads grade` does: ``python run.py COURSE WORKERS [STUDENT...]``."""

import sys
from pathlib import Path

from manyheads.course.lesson import Course
from manyheads.grade.engine import Watch, grade
from manyheads.grade.isolation import Settings
from manyheads.grade.sandbox import Limits

LIMITS = Limits(memory_mb=768, total_memory_mb=1024, cpu_seconds=30, processes=24, file_mb=32, scratch_mb=64)
SETTINGS = Settings(limits=LIMITS, seconds_a_cell=5, seconds_a_call=3, seconds_in_all=20)


class Told(Watch):
    def written(self, lesson: str, student: str, status: str, what: str) -> None:
        print(f"{student}: {status}: {what}", flush=True)


def main(course: str, workers: str, *students: str) -> None:
    outcome = grade(Course(Path(course)), students=students, workers=int(workers), settings=SETTINGS, watch=Told())
    print(f"{outcome.graded} graded, {len(outcome.troubles)} not, {outcome.seconds:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
