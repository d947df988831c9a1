"""A tiny lesson without torch, for tests of the build: small enough to read, whole enough to grade."""

import shutil
from pathlib import Path

from manyheads.course.lesson import Course

REPOSITORY = Path(__file__).parents[1]
LESSON = "01_motivation"  # 12 points

HEADER = """---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
manyheads:
  title: A tiny lesson
  points: 12
  minutes: 5
---

# A tiny lesson
"""

SETUP = """
```{code-cell}
---
nbgrader:
  grade_id: setup
---
import math
from manyheads.check.errors import NotAttempted
```
"""

DOUBLE = '''
```{code-cell}
---
nbgrader:
  grade_id: double
  solution: true
---
def double(number):
    """Twice the number."""
    ### BEGIN SOLUTION
    doubled_by_addition = number + number
    return doubled_by_addition
    ### END SOLUTION
```
'''

TEST_DOUBLE = """
```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_double_values
  points: 6
---
# checks: other numbers
assert double(2) is not None
### BEGIN HIDDEN TESTS
for number in (3, 7.5):
    assert math.isclose(double(number), 2 * number), f"{number}"
### END HIDDEN TESTS
```
"""

ANSWER = """
```{code-cell}
---
nbgrader:
  grade_id: answer
  solution: true
---
answer_sum = None  # an int
### BEGIN SOLUTION
answer_sum = 4711
### END SOLUTION
```
"""

TEST_ANSWER = """
```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_answer_sum
  points: 4
---
# checks: type and value
if answer_sum is None:
    raise NotAttempted("answer_sum is still None")
### BEGIN HIDDEN TESTS
assert type(answer_sum) is int and answer_sum == 4711
### END HIDDEN TESTS
```
"""

DEMO = """
```{code-cell}
:role: demo

print("two times two is", 4)
```
"""

WRITTEN = """
+++ {"nbgrader": {"grade": true, "grade_id": "written", "points": 2, "solution": true}}

Doubling is adding a number to itself, whatever its sign. One point for each half of the sentence.
"""

CELLS = {
    "setup": SETUP,
    "double": DOUBLE,
    "test_double": TEST_DOUBLE,
    "answer": ANSWER,
    "test_answer": TEST_ANSWER,
    "demo": DEMO,
    "written": WRITTEN,
}


def text(**changed: str) -> str:
    """The text of the tiny lesson; a cell given by name replaces that one, another name comes at the end."""
    return HEADER + "".join({**CELLS, **changed}.values())


def tiny_course(root: Path, lesson_text: str | None = None) -> Course:
    """A course folder at `root` with the tiny lesson, and the real course's nbgrader_config.py. Nothing is built."""
    course = Course(root)
    (root / "lessons").mkdir(parents=True)
    shutil.copy(REPOSITORY / "nbgrader_config.py", root)
    course.text(LESSON).write_text(lesson_text or text(), encoding="utf-8")
    return course
