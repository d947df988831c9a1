"""Reasons to refuse a lesson. Each function returns the problems it sees; an empty list is good news."""

import ast
import base64
import binascii
import contextlib
import copy
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from .lesson import (
    AUTHOR_ROLES,
    TOTALS,
    Problem,
    asked_names,
    cell_label,
    defined_names,
    is_grade,
    is_solution,
    python_of,
    role_of,
)
from .stubs import StubSolutions

_HIDDEN = ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
_SOLUTION = ("### BEGIN SOLUTION", "### END SOLUTION")
# The helpers of `check` that give something back: a test cell that ends in one would end in a value.
_CHECK_RETURNS = {"gradient", "parameter_gradients", "on_non_contiguous", "Parts"}
# What a blank notebook may raise.
_BLANK_ERRORS = {"NotImplementedError", "NotAttempted"}


# ---- the source notebook --------------------------------------------------------------------------------------


def source_problems(lesson: str, notebook: NotebookNode) -> list[Problem]:
    """Everything that can be seen in the completed source notebook without running it."""
    problems = _points_problems(lesson, notebook)
    seen: dict[str, str] = {}
    for index, cell in enumerate(notebook.cells):
        label = cell_label(index, cell)
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id:
            if grade_id in seen:
                problems.append(Problem(label, f"its grade id is that of {seen[grade_id]} too", "Rename one of them."))
            seen.setdefault(grade_id, label)
        elif "nbgrader" in cell.metadata:
            problems.append(Problem(label, "it has nbgrader metadata but no grade id", "Add `grade_id: NAME`."))
        problems += [Problem(label, what, remedy) for what, remedy in _cell_problems(cell)]
    if problems:
        return problems  # the rest reads cells that are known to be sound
    asked = set(names_of(notebook))
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and role_of(cell) == "setup":
            taken = sorted(defined_names(python_of(cell)) & asked)
            if taken:
                what = f"the set-up defines {', '.join(taken)}, which the tests ask the student for"
                problems.append(Problem(cell_label(index, cell), what, "Use another name, or leave it to the student."))
            if re.search(r"^\s*from\s+\S+\s+import\s+\*", cell.source, re.MULTILINE):
                what = "the set-up imports *, so nobody can tell which names it defines"
                problems.append(Problem(cell_label(index, cell), what, "Import the names one by one."))
    return problems


def names_of(notebook: NotebookNode) -> list[str]:
    """The names that tests may ask the student for, in order (DESIGN, "Cell roles")."""
    names: dict[str, None] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and is_solution(cell):
            names |= dict.fromkeys(asked_names(stubbed(cell)))
    return list(names)


def stubbed(cell: NotebookNode) -> str:
    """What a student sees of a solution cell. Raises RuntimeError if nbgrader cannot tell its regions."""
    student, _ = StubSolutions().preprocess_cell(copy.deepcopy(cell), {"language": "python"}, 0)
    return student.source


def _points_problems(lesson: str, notebook: NotebookNode) -> list[Problem]:
    if lesson not in TOTALS:
        remedy = "Add it to TOTALS in src/manyheads/course/lesson.py, or mend the file name."
        return [Problem(None, "the table of points does not know this lesson", remedy)]
    total, problems = TOTALS[lesson], []
    given = [cell.metadata.nbgrader.get("points", 0) for cell in notebook.cells if is_grade(cell)]
    points = sum(number for number in given if isinstance(number, int | float))
    if points != total:
        what = f"its points add up to {points:g}, and the lesson has {total}"
        problems.append(Problem(None, what, "Change the points of its cells (the table: course/lesson.py)."))
    header = notebook.metadata.get("manyheads", {}).get("points")
    if header != total:
        problems.append(Problem(None, f"its header says points: {header}", f"Write `points: {total}`."))
    return problems


def _cell_problems(cell: NotebookNode) -> list[tuple[str, str]]:
    """(what, remedy) for one cell by itself."""
    problems = []
    if is_grade(cell):
        points = cell.metadata.nbgrader.get("points")
        if isinstance(points, bool) or not isinstance(points, int | float) or points <= 0:
            problems.append(("it is graded but has no points", "Add `points: N` to its nbgrader metadata."))
    if cell.cell_type != "code":
        if is_grade(cell) != is_solution(cell):
            problems.append(("a written answer needs both", "Write `grade: true` and `solution: true`."))
        if is_solution(cell) and (heading := _heading(cell.source)):
            remedy = "Students would not get it: everything in the cell is the model answer. End the cell with `+++` above."
            problems.append((f"its model answer holds the heading {heading!r}", remedy))
        return problems
    role = role_of(cell)
    if role is None:
        remedy = f"Give it `role: R` with R one of {', '.join(AUTHOR_ROLES)}, or nbgrader metadata."
        return [*problems, ("the code cell has neither a role nor nbgrader metadata", remedy)]
    if "nbgrader" not in cell.metadata and role not in AUTHOR_ROLES:
        return [*problems, (f"nobody knows the role {role!r}", f"Roles to write: {', '.join(AUTHOR_ROLES)}.")]
    if is_grade(cell) and is_solution(cell):
        problems.append(("a code cell is either a solution or a test", "Split it into two cells."))
    try:
        tree = ast.parse(python_of(cell))
    except SyntaxError as error:
        return [*problems, (f"it is no Python ({error.msg}, line {error.lineno})", "Mend it.")]
    if role == "test":
        problems += _test_problems(cell, tree)
    elif is_solution(cell):
        problems += _solution_problems(cell)
    return problems


def _heading(markdown: str) -> str | None:
    """The first heading line outside fenced code."""
    fence = None
    for line in markdown.splitlines():
        if border := re.match(r" {0,3}(`{3,}|~{3,})", line):
            fence = border[1][:3] if fence is None else None if border[1].startswith(fence) else fence
        elif fence is None and re.match(r" {0,3}#{1,6}(\s|$)", line):
            return line.strip()
    return None


def _test_problems(cell: NotebookNode, tree: ast.Module) -> list[tuple[str, str]]:
    problems = []
    lines = cell.source.splitlines()
    if not lines or not re.match(r"# checks: \S", lines[0]):
        problems.append(("its first line does not say what it checks", "Begin it with `# checks: ...`."))
    if not any(line.strip() and not line.lstrip().startswith("#") for line in visible_lines(cell.source)[0]):
        remedy = "Add a line above ### BEGIN HIDDEN TESTS that fails while the answer is missing, e.g. a small call."
        problems.append(("it has no visible line before its hidden tests", remedy))
    problems += _ending_problems(tree, cell.metadata.nbgrader.get("points"))
    return problems


def visible_lines(source: str) -> tuple[list[str], list[str]]:
    """The lines of a test cell above its hidden tests, and the rest (all and none without hidden tests)."""
    lines = source.splitlines()
    start = next((number for number, line in enumerate(lines) if _HIDDEN[0][4:] in line), len(lines))
    return lines[:start], lines[start:]


def _ending_problems(tree: ast.Module, points: object) -> list[tuple[str, str]]:
    """nbgrader takes the value of a test cell's last expression for points, and nearly any value for full points."""
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return []
    value = tree.body[-1].value
    called = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    if called in ("points", "check.points"):
        most = value.args[1] if len(value.args) == 2 else None
        if isinstance(most, ast.Constant) and most.value == points:
            return []
        return [(f"it ends in {ast.unparse(value)!r}, and the cell has {points} points", f"Write `points(got, {points})`.")]
    room, _, name = called.partition(".")
    if room == "check" and name and name not in _CHECK_RETURNS:
        return []
    remedy = "End it in an assert, a check.* call that returns nothing, or points(got, of)."
    return [(f"it ends in the expression {ast.unparse(value)!r}, which nbgrader would take for points", remedy)]


def _solution_problems(cell: NotebookNode) -> list[tuple[str, str]]:
    if _SOLUTION[0][4:] not in cell.source:
        return [("its solution is not between ### BEGIN SOLUTION and ### END SOLUTION", "Mark the region.")]
    try:
        left = stubbed(cell)
        tree = ast.parse(left)
    except RuntimeError as error:
        return [(f"its solution regions do not match ({error})", "Close each region before the next.")]
    except SyntaxError as error:
        return [(f"without its solution it is no Python ({error.msg})", "Move the region's borders.")]
    problems = []
    inside = [
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Raise)
    ]
    if any(isinstance(node, ast.Raise) and node not in inside for node in ast.walk(tree)):
        remedy = "Put the region inside the function's body, or at top level under `name = None`."
        problems.append(("without its solution it raises at top level, which would stop Run All", remedy))
    stubs = [node for node in inside if "NotImplementedError" in ast.unparse(node)]
    empty = [
        target.id
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is None
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
    if not stubs and not empty and not problems:
        remedy = "Leave a function whose body raises NotImplementedError, or `name = None` above the region."
        problems.append(("without its solution there is no stub", remedy))
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and stubs and not any(node in stubs for node in ast.walk(function)):
            remedy = "Put its solution inside its body, or move it into a set-up cell."
            problems.append((f"{function.name} has no stub: students would get it as it is", remedy))
    filled = {
        target.id
        for source in top_level_solutions(cell.source)
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for name in sorted(set(empty) - filled):
        problems.append((f"the solution does not fill in {name}", f"Assign {name} inside the region."))
    return problems


def regions(source: str, borders: tuple[str, str] = _SOLUTION) -> list[list[str]]:
    """The lines of each region between `borders` (without them)."""
    found: list[list[str]] = []
    inside = False
    for line in source.splitlines():
        if borders[0][4:] in line:
            inside = True
            found.append([])
        elif borders[1][4:] in line:
            inside = False
        elif inside:
            found[-1].append(line)
    return found


def top_level_solutions(source: str) -> list[str]:
    """The solution regions that are not inside a function, as Python sources."""
    sources = ["\n".join(region) for region in regions(source)]
    return [region for region in sources if region.strip() and not region.lstrip("\n").startswith((" ", "\t"))]


# ---- the release ----------------------------------------------------------------------------------------------


def leaks(source: NotebookNode, release: Path) -> list[Problem]:
    """Solutions and hidden tests of `source` that survive in the `release` folder, anywhere.

    A line of a short answer is a leak by itself. Of a longer solution or test more than half of the telling lines
    must stand in one place: `scores = query @ key.T` alone may well be part of an explanation.
    """
    places = _places(release)
    problems = []
    for index, cell in enumerate(source.cells):
        label = cell_label(index, cell)
        for kind, lines in _secrets(cell):
            patterns = [re.compile(rf"(?<!\w){re.escape(line)}(?!\w)") for line in lines]
            for place, text in places:
                found = [line for line, pattern in zip(lines, patterns, strict=True) if pattern.search(text)]
                if len(found) * 2 > len(lines):
                    what = f"its {kind} survives in the release, in {place}: {found[0]!r}"
                    problems.append(Problem(label, what, "Remove it from there."))
    return problems


def canary_problems(canary: str, release: Path) -> list[Problem]:
    """Places in `release` where the marker is found that the build put into every secret region of the source."""
    return [
        Problem(None, f"a marker in a solution or hidden test survives in the release, in {place}", "Close the region.")
        for place, text in _places(release)
        if canary in text
    ]


def with_canary(source: NotebookNode, canary: str) -> NotebookNode:
    """A copy of the source notebook with `canary` in every solution, hidden test and model answer."""
    marked = copy.deepcopy(source)
    ends = tuple(borders[1][4:] for borders in (_SOLUTION, _HIDDEN))
    for cell in marked.cells:
        if cell.cell_type == "code":
            lines = []
            for line in cell.source.splitlines():
                if any(end in line for end in ends):
                    lines.append(f"{line[: len(line) - len(line.lstrip())]}{canary!r}")
                lines.append(line)
            cell.source = "\n".join(lines)
        elif is_solution(cell):
            cell.source += f"\n\n{canary}"
    return marked


def _secrets(cell: NotebookNode) -> list[tuple[str, list[str]]]:
    """(kind, telling lines) of each secret region of a source cell."""
    if cell.cell_type != "code":
        lines = [_squeeze(line) for line in cell.source.splitlines()] if is_solution(cell) else []
        return [("model answer", telling)] if (telling := [line for line in lines if len(line) >= 30]) else []
    secrets = []
    answers = top_level_solutions(cell.source)
    for source in answers:
        lines = [_squeeze(line) for line in source.splitlines()]
        secrets += [("answer", [line]) for line in lines if re.match(r"[A-Za-z_]\w* = \S", line)]
    for kind, borders in (("solution", _SOLUTION), ("hidden test", _HIDDEN)):
        for region in regions(cell.source, borders):
            if "\n".join(region) in answers:
                continue
            telling = dict.fromkeys(line for line in map(_squeeze, region) if _telling(line))
            secrets.append((kind, list(telling)))
    visible = {_squeeze(line) for line in _outside_regions(cell.source)}
    secrets = [(kind, [line for line in lines if line not in visible]) for kind, lines in secrets]
    return [(kind, lines) for kind, lines in secrets if lines]


def _outside_regions(source: str) -> list[str]:
    outside, inside = [], False
    for line in source.splitlines():
        if any(borders[0][4:] in line for borders in (_SOLUTION, _HIDDEN)):
            inside = True
        elif any(borders[1][4:] in line for borders in (_SOLUTION, _HIDDEN)):
            inside = False
        elif not inside:
            outside.append(line)
    return outside


def _squeeze(line: str) -> str:
    return " ".join(line.split())


def _telling(line: str) -> bool:
    """Whether a line says something about a solution; `return out` or `import math` stand in every notebook."""
    return len(line) >= 16 and not re.match(r"#|import |from |return \w+$|(def|class) |with |for \w+ in range", line)


def _places(release: Path) -> list[tuple[str, str]]:
    """(name, text with single spaces) of everything that a student receives."""
    places = []
    for path in sorted(path for path in release.rglob("*") if path.is_file()):
        if path.suffix != ".ipynb":
            places.append((path.relative_to(release).as_posix(), _squeeze(path.read_bytes().decode(errors="ignore"))))
            continue
        notebook = nbformat.read(path, as_version=4)
        places.append(("the notebook's metadata", _squeeze("\n".join(_strings(notebook.metadata)))))
        for index, cell in enumerate(notebook.cells):
            label = cell_label(index, cell)
            places.append((label, _squeeze(cell.source)))
            for part in ("metadata", "outputs", "attachments"):
                if cell.get(part):
                    places.append((f"the {part} of {label}", _squeeze("\n".join(_strings(cell[part])))))
    return places


def _strings(value: object) -> list[str]:
    """All strings inside nested lists and dicts; base64 as what it says."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (str(key), *_strings(item))]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    if not isinstance(value, str):
        return [str(value)]
    with contextlib.suppress(binascii.Error, ValueError):
        return [value, base64.b64decode(value, validate=True).decode(errors="ignore")]
    return [value]


# ---- executed notebooks ---------------------------------------------------------------------------------------


def blank_problems(notebook: NotebookNode) -> list[Problem]:
    """What is wrong in an executed release notebook on which nobody has worked yet."""
    problems = []
    for index, cell in enumerate(notebook.cells):
        errors = [output for output in cell.get("outputs", []) if output.output_type == "error"]
        label = cell_label(index, cell)
        for error in errors:
            if error.ename not in _BLANK_ERRORS:
                what = f"in a blank notebook it raises {error.ename}: {_squeeze(error.evalue)[:200]}"
                problems.append(Problem(label, what, "Only NotImplementedError and NotAttempted may be raised."))
        if cell.cell_type == "code" and role_of(cell) == "test" and not errors:
            remedy = "Its visible line must fail while the answer is missing."
            problems.append(Problem(label, "in a blank notebook this test passes", remedy))
    return problems


def solution_problems(notebook: NotebookNode) -> list[Problem]:
    """What is wrong in an executed solution: any error, and stderr in a test (it costs all points in nbgrader)."""
    problems = []
    for index, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            label = cell_label(index, cell)
            if output.output_type == "error":
                what = f"the solution raises {output.ename}: {_squeeze(output.evalue)[:200]}"
                problems.append(Problem(label, what, "Mend the solution or the cell."))
            elif role_of(cell) == "test" and output.output_type == "stream" and output.name == "stderr":
                what = f"the solution writes to stderr: {_squeeze(output.text)[:200]}"
                problems.append(Problem(label, what, "nbgrader would give no points: silence the warning."))
    return problems
