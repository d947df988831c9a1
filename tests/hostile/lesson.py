"""The lesson that the bank attacks: small, and with one question of each sort that a test can ask."""

from pathlib import Path

from nbformat import NotebookNode
from tiny_course import LESSON, tiny_course

from manyheads.course.build import build
from manyheads.course.lesson import Course

TEXT = '''---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
manyheads:
  title: A lesson under attack
  points: 12
  minutes: 5
---

# A lesson under attack

```{code-cell}
---
nbgrader:
  grade_id: setup
---
import torch
from torch import nn
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
    return x * 2  # @SOLUTION@
    ### END SOLUTION
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_double
  points: 2
---
# checks: double of numbers and of lists
check.returned("double(x)", double(1))
### BEGIN HIDDEN TESTS
told = "@HIDDEN@"
assert double(4321) == 8642, "@HIDDEN@"
assert double([3, 4]) == [3, 4, 3, 4]
assert double(0.25) == 0.5
### END HIDDEN TESTS
```

```{code-cell}
---
nbgrader:
  grade_id: softmax
  solution: true
---
def softmax(row):
    """A row of scores, shape (n,), to a budget, shape (n,)."""
    ### BEGIN SOLUTION
    exponentials = row.exp()
    return exponentials / exponentials.sum()
    ### END SOLUTION
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_softmax
  points: 1
---
# checks: softmax of rows of several lengths
check.returned("softmax(row)", softmax(torch.zeros(2)))
### BEGIN HIDDEN TESTS
for length in (3, 7):
    row = torch.randn(length)
    expected = row.exp() / row.exp().sum()
    assert torch.allclose(softmax(row), expected, atol=1e-5), "@HIDDEN@"
### END HIDDEN TESTS
```

```{code-cell}
---
nbgrader:
  grade_id: head
  solution: true
---
def head(Q, K, V):
    """Q (n, d), K (m, d), V (m, e) to a pair: output (n, e), weights (n, m)."""
    ### BEGIN SOLUTION
    weights = torch.softmax(Q @ K.T / Q.shape[1]**0.5, dim=1)
    return weights @ V, weights
    ### END SOLUTION
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_head
  points: 1
---
# checks: head, and names the mistake
check.returned("head(Q, K, V)", head(torch.zeros(3, 2), torch.zeros(3, 2), torch.zeros(3, 5)))
### BEGIN HIDDEN TESTS
Q, K, V = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
exponentials = (torch.einsum("nd,md->nm", Q, K) / 2).exp()
weights = exponentials / exponentials.sum(1, keepdim=True)
expected = torch.einsum("nm,md->nd", weights, V), weights
check.judge("one_head", head(Q, K, V), expected, Q, K, V, what="head(Q, K, V)", parts=("output", "weights"))
### END HIDDEN TESTS
```

```{code-cell}
---
nbgrader:
  grade_id: split
  solution: true
---
def split(x, heads):
    """(batch, seq, width) to (batch, heads, seq, width / heads); ValueError if heads does not divide width."""
    ### BEGIN SOLUTION
    batch, seq, width = x.shape
    if width % heads:
        raise ValueError(f"{heads} does not divide {width}")
    return x.view(batch, seq, heads, width // heads).transpose(1, 2)
    ### END SOLUTION
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_split
  points: 2
---
# checks: split gives each head its features, and refuses a bad number of heads
check.returned("split(x, heads)", split(torch.zeros(2, 3, 4), 2))
### BEGIN HIDDEN TESTS
parts = check.Parts()
with parts.part(1, "the values"):
    x = torch.randn(2, 5, 6)
    expected = torch.stack([x[..., :2], x[..., 2:4], x[..., 4:]], dim=1)
    check.close(split(x, 3), expected, "split(x, 3)", axes=("batch", "head", "token", "feature"))
with parts.part(1, "a bad number of heads"):
    check.raises(split, torch.zeros(2, 5, 6), 4, what="split(x, 4)")
points(parts.got, 2)
### END HIDDEN TESTS
```

```{code-cell}
---
nbgrader:
  grade_id: scale
  solution: true
---
class Scale(nn.Module):
    """Scale(width): x, shape (..., width), to twice linear(x)."""
    def __init__(self, width):
        super().__init__()
        ### BEGIN SOLUTION
        self.linear = nn.Linear(width, width)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return 2 * self.linear(x)
        ### END SOLUTION
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_scale
  points: 2
---
# checks: Scale with weights that are set from outside
check.returned("Scale(3)", Scale(3))
### BEGIN HIDDEN TESTS
weight, bias, x = torch.randn(5, 5), torch.randn(5), torch.randn(2, 5)
module = Scale(5)
module.load_state_dict({"linear.weight": weight, "linear.bias": bias})
expected = 2 * (torch.einsum("oi,bi->bo", weight, x) + bias)
check.close(module(x), expected, "Scale(5)(x)", axes=("batch", "feature"))
### END HIDDEN TESTS
```

```{code-cell}
---
nbgrader:
  grade_id: twice
  solution: true
---
def twice(f, x):
    """f(f(x))."""
    ### BEGIN SOLUTION
    return f(f(x))
    ### END SOLUTION
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_twice
  points: 1
---
# checks: twice calls the function that it is given
check.returned("twice(f, x)", twice(abs, 1))
### BEGIN HIDDEN TESTS
check.exact_answer(twice(lambda number: 3 * number + 1, 5), 49, "twice(f, x)")
### END HIDDEN TESTS
```

```{code-cell}
---
nbgrader:
  grade_id: answer
  solution: true
---
answer = None  # a tuple of two ints
### BEGIN SOLUTION
answer = (4, 7)
### END SOLUTION
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_answer
  points: 1
---
# checks: the two sizes
check.answered(answer=answer)
### BEGIN HIDDEN TESTS
check.exact_answer(answer, (4, 7), "answer")
### END HIDDEN TESTS
```

+++ {"nbgrader": {"grade": true, "grade_id": "written", "points": 2, "solution": true}}

A model answer: @SOLUTION@.
'''

# Question (its test cell) -> points. The written answer is marked by hand.
QUESTIONS = {"test_double": 2.0, "test_softmax": 1.0, "test_head": 1.0, "test_split": 2.0, "test_scale": 2.0,
             "test_twice": 1.0, "test_answer": 1.0}

RIGHT = {
    "double": "def double(x):\n    return x + x",
    "softmax": "def softmax(row):\n    return torch.softmax(row, dim=0)",
    "head": ("def head(Q, K, V):\n    weights = torch.softmax(Q @ K.T / Q.shape[1]**0.5, dim=1)\n"
             "    return weights @ V, weights"),
    "split": ("def split(x, heads):\n    batch, seq, width = x.shape\n    if width % heads:\n"
              "        raise ValueError('heads must divide the width')\n"
              "    return x.reshape(batch, seq, heads, -1).permute(0, 2, 1, 3)"),
    "scale": ("class Scale(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
              "        self.linear = nn.Linear(width, width)\n\n"
              "    def forward(self, x):\n        return self.linear(x) + self.linear(x)"),
    "twice": "def twice(f, x):\n    return f(f(x))",
    "answer": "answer = (4, 7)",
    "written": "My own words.",
}

# Every answer is there, every answer is wrong.
WRONG = {
    "double": "def double(x):\n    return x",
    "softmax": "def softmax(row):\n    return row",
    "head": "def head(Q, K, V):\n    return V, Q",
    "split": "def split(x, heads):\n    return x",
    "scale": RIGHT["scale"].replace("self.linear(x) + self.linear(x)", "x"),
    "twice": "def twice(f, x):\n    return x",
    "answer": "answer = (7, 4)",
    "written": "My own words.",
}


def make_course(root: Path, hidden: str, solution: str) -> Course:
    """The lesson in source/ and release/ of a new course folder, with these canaries in it."""
    course = tiny_course(root, TEXT.replace("@HIDDEN@", hidden).replace("@SOLUTION@", solution))
    build(course, [LESSON], solutions=False)
    return course


def fill(released: NotebookNode, answers: dict[str, str]) -> NotebookNode:
    """Fill in the released notebook (in place), by grade id."""
    for cell in released.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in answers:
            cell.source = answers[name]
    return released
