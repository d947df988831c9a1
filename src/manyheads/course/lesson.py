"""The lesson text and its notebook: reading, completing, compacting.

A lesson text (``lessons/NN_name.md``, MyST Markdown) holds *compact* metadata, so that an author types little.
`read_lesson` completes it into the notebook that nbgrader wants; `write_lesson` is its inverse.
"""

import ast
import hashlib
import json
import re
import symtable
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

# Points of each lesson. The only place: the build refuses a lesson that does not add up to its total.
TOTALS = {
    "01_motivation": 12,
    "02_head_split": 22,
    "03_head_patterns": 24,
    "04_concat_and_output": 16,
    "05_full_module": 26,
}

# Roles that an author writes; `setup`, `student` and `test` of nbgrader's own cells are written by the build.
AUTHOR_ROLES = ("demo", "check", "student")

KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
# Without a version: the notebooks do not change with the Python that built them.
LANGUAGE_INFO = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}

_TEXT_FORMAT = {
    "extension": ".md",
    "format_name": "myst",
    "notebook_metadata_filter": "kernelspec,manyheads,-jupytext",
    "cell_metadata_filter": "all",
}
# What the build adds to the notebook's own metadata.
_BUILD_WRITES = {"names", "built", "files", "solution"}
# What JupyterLab and nbgrader write into a cell by themselves: nobody's edit, so it never reaches the lesson text.
_NOISE = {
    "ExecuteTime", "collapsed", "deletable", "editable", "execution", "jupyter", "manyheads", "scrolled", "slideshow",
    "trusted", "vscode",
}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """One reason to refuse a lesson: the cell (None: the lesson as a whole), what is wrong, what to do."""

    cell: str | None
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.cell}: {self.what}. {self.remedy}" if self.cell else f"{self.what}. {self.remedy}"


class Refused(Exception):
    """A lesson that is not built, with all the reasons."""

    def __init__(self, lesson: str, *problems: Problem):
        self.lesson, self.problems = lesson, list(problems)
        super().__init__("\n".join(f"{lesson}: {problem}" for problem in problems))

    @classmethod
    def together(cls, refusals: "list[Refused]") -> "Refused":
        """One exception for several lessons."""
        whole = cls(", ".join(refusal.lesson for refusal in refusals))
        whole.problems = [problem for refusal in refusals for problem in refusal.problems]
        whole.args = ("\n".join(str(refusal) for refusal in refusals),)
        return whole


@dataclass(frozen=True)
class Course:
    """A course folder: the place of nbgrader_config.py, lessons/, source/, release/ and solutions/."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> "Course":
        """The course that `start` (default: the current folder) lies in. Raises FileNotFoundError outside a course."""
        start = (start or Path.cwd()).resolve()
        for folder in (start, *start.parents):
            if (folder / "nbgrader_config.py").is_file() and (folder / "lessons").is_dir():
                return cls(folder)
        raise FileNotFoundError(
            f"{start} is not inside a course: no parent folder holds both nbgrader_config.py and lessons/"
        )

    def lessons(self) -> list[str]:
        """Names of the lessons that exist, in order."""
        return sorted(path.stem for path in (self.root / "lessons").glob("[0-9][0-9]_*.md"))

    def text(self, lesson: str) -> Path:
        return self.root / "lessons" / f"{lesson}.md"

    def helpers(self, lesson: str) -> Path:
        """The (optional) folder of files that students get beside the notebook."""
        return self.root / "lessons" / lesson

    def folder(self, step: str, lesson: str) -> Path:
        """`step` is "source", "release" or "solutions"."""
        return self.root / step / lesson

    def notebook(self, step: str, lesson: str) -> Path:
        return self.folder(step, lesson) / f"{lesson}.ipynb"


def cell_label(index: int, cell: NotebookNode) -> str:
    """How a message names a cell: its position (from 1), and its grade id or its first line."""
    metadata = cell.metadata.get("nbgrader")
    name = metadata.get("grade_id") if isinstance(metadata, dict) else None
    if not name:
        first = next((line.strip() for line in cell.source.splitlines() if line.strip()), "empty")
        name = repr(first if len(first) <= 40 else first[:37] + "...")
    return f"cell {index + 1} ({name})"


def python_of(cell: NotebookNode) -> str:
    """The source of a code cell as plain Python (IPython's % and ! lines translated)."""
    return TransformerManager().transform_cell(cell.source)


def defined_names(source: str) -> set[str]:
    """Every name that running `source` at top level may bind: assignments, imports, loop targets, functions, ..."""
    table = symtable.symtable(source, "cell", "exec")
    names = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    inner = list(table.get_children())
    while inner:  # a function may bind a global name too
        scope = inner.pop()
        names |= {s.get_name() for s in scope.get_symbols() if s.is_declared_global() and s.is_assigned()}
        inner.extend(scope.get_children())
    return names


def asked_names(stubbed: str) -> list[str]:
    """Names that a solution cell asks the student to define: top-level functions, classes and assigned names."""
    names = []
    for statement in ast.parse(stubbed).body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names += [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return names


def is_solution(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def is_grade(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


def role_of(cell: NotebookNode) -> str | None:
    """The role of a completed code cell (DESIGN, "Cell roles"); None if it has none."""
    return cell.metadata.get("manyheads", {}).get("role")


def lesson_text(course: Course, lesson: str) -> str:
    """The text of a lesson. Raises Refused if there is none, or if it is no UTF-8."""
    try:
        return course.text(lesson).read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError):
        known = ", ".join(course.lessons()) or "none"
        problem = Problem(None, f"there is no lessons/{lesson}.md", f"Lessons that exist: {known}.")
    except UnicodeDecodeError as error:
        problem = Problem(None, f"lessons/{lesson}.md is not UTF-8 (byte {error.start})", "Save it as UTF-8.")
    raise Refused(lesson, problem)


def read_notebook(path: Path, lesson: str) -> NotebookNode:
    """The notebook at source/LESSON/ or solutions/LESSON/. Raises Refused if the file is no notebook."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        return notebook
    except OSError:
        raise
    except Exception as error:  # nbformat raises many kinds: no JSON, no notebook, a later format
        what = f"{path.parent.parent.name}/{lesson}/{path.name} is not a notebook that can be read"
        remedy = "Mend it; or, if it holds no edit of yours, delete it and build the lesson."
        raise Refused(lesson, Problem(None, what, remedy)) from error


def read_lesson(text: str, lesson: str) -> NotebookNode:
    """The source notebook of a lesson text, completed but not yet checked (see `refuse`).

    Raises Refused if the text is no MyST notebook.
    """
    try:
        compact = jupytext.reads(text, fmt="md:myst")
    except Exception as error:  # jupytext raises many kinds
        problem = Problem(None, f"jupytext cannot read the text ({error})", "Mend the header or the cell headers.")
        raise Refused(lesson, problem) from error
    for index, cell in enumerate(compact.cells):
        if not isinstance(cell.metadata.get("nbgrader", {}), dict):
            problem = Problem(cell_label(index, cell), "its nbgrader metadata is no mapping", "Write `grade_id: NAME` in it.")
            raise Refused(lesson, problem)
    cells = [_complete(index, cell) for index, cell in enumerate(compact.cells)]
    seen: set[str] = set()
    for index, cell in enumerate(cells):
        if cell.id in seen:  # a duplicate grade id, refused later
            cell["id"] = f"cell-{index + 1:02d}"
        seen.add(cell.id)
    header = dict(compact.metadata.get("manyheads", {}))
    notebook = nbformat.v4.new_notebook(
        cells=cells,
        metadata={"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO, "manyheads": header},
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def _complete(index: int, cell: NotebookNode) -> NotebookNode:
    metadata = dict(cell.metadata)
    role = metadata.pop("role", None)
    written = metadata.pop("nbgrader", None)
    new = nbformat.v4.new_code_cell if cell.cell_type == "code" else nbformat.v4.new_markdown_cell
    if cell.cell_type == "raw":
        new = nbformat.v4.new_raw_cell
    if written is not None:
        written = dict(written)
        grade, solution = bool(written.get("grade")), bool(written.get("solution"))
        full = {
            "grade": grade,
            "grade_id": str(written.get("grade_id", "")),
            "locked": bool(written.get("locked", not solution)),
            "schema_version": 3,
            "solution": solution,
            "task": bool(written.get("task", False)),
        }
        if "points" in written:
            full["points"] = written["points"]
        metadata["nbgrader"] = full
        if cell.cell_type == "code":
            role = "test" if grade and not solution else "student" if solution else "setup"
            if role == "test":
                metadata["tags"] = [*metadata.get("tags", []), "raises-exception"]
    if role is not None:
        metadata["manyheads"] = {"role": role}
    grade_id = metadata.get("nbgrader", {}).get("grade_id", "")
    made = new(cell.source, metadata=metadata)
    made["id"] = re.sub(r"[^A-Za-z0-9_-]", "-", grade_id)[:64] or f"cell-{index + 1:02d}"
    return made


def compact_notebook(notebook: NotebookNode) -> NotebookNode:
    """What an author would have written for this source notebook: no outputs, ids or completed metadata.

    Reads the notebook as the build or JupyterLab leaves it.
    """
    given = notebook.metadata.get("manyheads", {})
    order = ["title", "points", "minutes", *sorted(given)]  # a notebook file sorts its keys; a text should not
    header = {key: given[key] for key in dict.fromkeys(order) if key in given and key not in _BUILD_WRITES}
    compact = nbformat.v4.new_notebook(metadata={"kernelspec": KERNELSPEC, "manyheads": header})
    makers = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    for cell in notebook.cells:
        metadata = {key: cell.metadata[key] for key in sorted(cell.metadata) if key not in {*_NOISE, "nbgrader"}}
        role, short = role_of(cell), _compact_nbgrader(cell)
        if role == "test":  # the build's own tag
            metadata["tags"] = [tag for tag in metadata.get("tags", []) if tag != "raises-exception"]
        if not metadata.get("tags"):
            metadata.pop("tags", None)
        if short:
            metadata["nbgrader"] = short
        elif cell.cell_type == "code" and role in AUTHOR_ROLES:
            # Roles of nbgrader's cells go with their nbgrader metadata: then the author must choose one.
            metadata["role"] = role
        # Blank lines around a cell are nothing that the text could hold.
        source = cell.source.rstrip() if cell.cell_type == "code" else cell.source.strip("\n").rstrip()
        if not source and not metadata:
            continue  # the empty cell that JupyterLab leaves at the end
        made = makers.get(cell.cell_type, nbformat.v4.new_raw_cell)(source, metadata=metadata)
        if cell.get("attachments"):
            made["attachments"] = cell.attachments
        compact.cells.append(made)
    return compact


def _compact_nbgrader(cell: NotebookNode) -> dict:
    full = cell.metadata.get("nbgrader", {})
    grade, solution = bool(full.get("grade")), bool(full.get("solution"))
    locked, task = bool(full.get("locked")), bool(full.get("task"))
    if not (grade or solution or locked or task):
        return {}
    short: dict = {"grade": True} if grade else {}
    short["grade_id"] = full.get("grade_id", "")
    if (grade or task) and "points" in full:
        points = full["points"]
        short["points"] = int(points) if isinstance(points, float) and points.is_integer() else points
    if solution:
        short["solution"] = True
    if task:
        short["task"] = True
    # nbgrader ignores `locked` on solution and graded cells, and Create Assignment writes either value there.
    return short


def write_lesson(notebook: NotebookNode) -> str:
    """The lesson text of a source notebook, in the form that jupytext writes."""
    compact = compact_notebook(notebook)
    return jupytext.writes(compact, fmt=_TEXT_FORMAT)


def fingerprint(notebook: NotebookNode) -> str:
    """A hash of all that an author decides in a source notebook; running or saving it does not change the hash."""
    compact = compact_notebook(notebook)
    content = [
        [cell.cell_type, cell.source, cell.metadata, sorted(cell.get("attachments", {}))] for cell in compact.cells
    ]
    whole = json.dumps([compact.metadata, content], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(whole.encode()).hexdigest()
