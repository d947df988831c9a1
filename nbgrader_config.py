"""The course for nbgrader: `nbgrader` commands and Formgrader read this file, and so does `manyheads`."""

from pathlib import Path

from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ComputeChecksums,
    IncludeHeaderFooter,
    InstantiateTests,
    LockCells,
    SaveCells,
)

from manyheads.course.stubs import StubSolutions
from manyheads.grade.plugin import configure

c = get_config()  # noqa: F821

root = Path(__file__).resolve().parent

c.CourseDirectory.course_id = "manyheads"
c.CourseDirectory.root = str(root)
c.CourseDirectory.solution_directory = "solutions"
# autograded/sample-* shows a result to readers: no student of a class, and unknown to the gradebook.
c.CourseDirectory.student_id_exclude = ",".join(sorted(path.name for path in root.glob("autograded/sample-*")))

# nbgrader's own list, with our stubs in place of ClearSolutions.
c.GenerateAssignment.preprocessors = [
    IncludeHeaderFooter,
    InstantiateTests,
    LockCells,
    StubSolutions,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    SaveCells,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
]

# Intake, feedback and a quick shutdown of kernels: what the course adds to nbgrader's grading.
configure(c)
