"""A small lesson of its own, and a class that hands it in: for the tests of grading."""

import shutil
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from manyheads.course.lesson import Course, read_lesson
from manyheads.course.refuse import names_of
from manyheads.grade.intake import grade_id
from manyheads.grade.nbgrading import Nbgrader

LESSON = "small"
TEXT = '''---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
manyheads:
  title: A small lesson
  points: 7
  minutes: 5
---

# A small lesson

```{code-cell}
---
nbgrader:
  grade_id: setup
---
from manyheads import check
from manyheads.check import points
```

```{code-cell}
---
nbgrader:
  grade_id: double
  solution: true
---
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return 2 * x  # canary-solution
    ### END SOLUTION
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_double_values
  points: 2
---
# checks: double gives twice the value
check.returned("double(x)", double(1))
### BEGIN HIDDEN TESTS
assert double(4321) == 8642, "canary-assertion"
canary_hidden = {"canary-key": double([3])}
canary_hidden["canary-key"][1]
check.exact_answer(double(4322), 8644, "double(x)")
### END HIDDEN TESTS
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_double_kinds
  points: 2
---
# checks: double of numbers and of lists
check.returned("double(x)", double(1))
### BEGIN HIDDEN TESTS
parts = check.Parts()
with parts.part(1, "a number"):
    check.exact_answer(double(4323), 8646, "double(number)")
with parts.part(1, "a list"):
    check.exact_answer(double([4324]), [4324, 4324], "double(list)")
points(parts.got, 2)
### END HIDDEN TESTS
```

```{code-cell}
---
nbgrader:
  grade_id: answer
  solution: true
---
answer = None  # an int
### BEGIN SOLUTION
answer = 98765
### END SOLUTION
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_answer
  points: 1
---
# checks: answer is the right number
check.answered(answer=answer)
### BEGIN HIDDEN TESTS
check.exact_answer(answer, 98765, "answer")
### END HIDDEN TESTS
```

+++ {"nbgrader": {"grade": true, "grade_id": "written", "points": 2, "solution": true}}

The canary-model answer.
'''

RIGHT = {"double": "def double(x):\n    return x + x", "answer": "answer = 98765", "written": "My answer."}


def small_course(root: Path) -> Nbgrader:
    """A course of the small lesson, released, under the configuration of this repository."""
    course = Course(root)
    shutil.copy(Path(__file__).parents[1] / "nbgrader_config.py", root)
    source = course.notebook("source", LESSON)
    source.parent.mkdir(parents=True)
    nb = read_lesson(TEXT, LESSON)
    nb.metadata["manyheads"]["names"] = names_of(nb)  # as the build does
    nbformat.write(nb, source)
    nbgrader = Nbgrader(course)
    nbgrader.release(LESSON)
    return nbgrader


def released(nbgrader: Nbgrader, **answers: str) -> NotebookNode:
    """The student's notebook with some cells filled in, by grade id."""
    nb = nbformat.read(nbgrader.course.notebook("release", LESSON), as_version=4)
    for cell in nb.cells:
        if (name := grade_id(cell)) in answers:
            cell.source = answers[name]
    return nb


def points_of(nbgrader: Nbgrader, student: str) -> dict[str, float | None]:
    """Grade id -> points in the gradebook."""
    with nbgrader.gradebook() as gradebook:
        notebook = gradebook.find_submission_notebook(LESSON, LESSON, student)
        return {grade.name: grade.auto_score for grade in notebook.grades}
