"""What a student gets back: their work, the points, and one message a question.

Never in it: hidden test code, expected values, tracebacks of ours, paths, or a script of anybody's.
While student and test code share one process and one folder (as under stock nbgrader), a student who sets out to can
print the test's variables, or the graded file itself, from code of their own. What student code may reach is for the
grader to decide; the feedback shows what that code printed.
"""

import re
import textwrap
from dataclasses import dataclass

from bleach import clean
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import pass_context
from nbconvert.filters.ansi import strip_ansi
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import Preprocessor
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader import utils
from nbgrader.api import Gradebook
from traitlets import Bool

MOST_CHARACTERS = 10_000  # of one printed output
WIDTH = 90
SAFE_PICTURES = ("image/png", "image/jpeg")

RIGHT = "right"
PARTLY = "partly right"
NOT_RIGHT = "not right yet"
NOT_ATTEMPTED = "not attempted"
RAISED = "raised an error"
TIMED_OUT = "timed out"
SET_BY_HAND = "points set by the instructor"

# What a cell that ran too long leaves behind: the interrupt, then nbgrader's own error.
TIMED_OUT_ERRORS = ("KeyboardInterrupt", "CellTimeoutError")

_FRAME = re.compile(r"^\s*(?:Cell|Input) In ?\[(\d+)\], line (\d+)", re.MULTILINE)
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+=*\s*")  # the template copies it into the page as it is
_PART_WRONG = re.compile(r"^[^:\n]+: not right yet: .+$", re.MULTILINE)
_PART_RAISED = re.compile(r"^([^:\n]+: raised (\w+)): .*$", re.MULTILINE)
_PATH = re.compile(r"(?<![\w.:/<])(?:[A-Za-z]:)?(?:[\\/][\w.+@~ -]*[\w.+@~-])+[\\/]([\w.+@~-]+)")


@dataclass(frozen=True)
class Verdict:
    """What a graded test cell says: one of the statuses above, and the message for the student."""

    status: str
    message: str

    def __str__(self) -> str:
        """The message in lines of a readable length: neither a web page nor JupyterLab breaks printed text."""
        whole = f"{self.status.capitalize()}{': ' if self.message else '.'}{self.message}"
        return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent=" " * (len(line) - len(line.lstrip())),
                                       break_long_words=False, break_on_hyphens=False)
                         for line in whole.split("\n"))


def is_test(cell: NotebookNode) -> bool:
    """A graded cell that the student does not write."""
    return cell.cell_type == "code" and utils.is_grade(cell) and not utils.is_solution(cell)


def visible_source(source: str) -> str:
    """The lines of a test cell that the released notebook shows."""
    kept, hidden = [], False
    for line in source.split("\n"):
        if "BEGIN HIDDEN TESTS" in line:
            hidden = True
        elif "END HIDDEN TESTS" in line:
            hidden = False
        elif not hidden:
            kept.append(line)
    return "\n".join(kept).rstrip()


def verdict(cell: NotebookNode, nb: NotebookNode) -> Verdict:
    """Read an executed test cell: what it says to the student, without what it must not say.

    Needs the autograded notebook around it to find the student's own line of an exception.
    """
    for output in cell.outputs:
        if output.output_type == "error":
            return _of_error(output, cell, nb)
    got, most = utils.determine_grade(cell)
    if got is not None and got < most:
        return Verdict(PARTLY if got else NOT_RIGHT, "\n".join(_failed_parts(cell)))
    return Verdict(RIGHT, "")


def _of_error(output: NotebookNode, cell: NotebookNode, nb: NotebookNode) -> Verdict:
    said = _printable(output.evalue)
    match output.ename:
        case "NotRight":
            return Verdict(NOT_RIGHT, said)
        case "NotAttempted" | "NotImplementedError":
            return Verdict(NOT_ATTEMPTED, said)
        case "KeyboardInterrupt" | "CellTimeoutError":
            return Verdict(TIMED_OUT, "your code did not finish in the time that a cell may take.")
    line = _student_line(output, nb, but_not=cell)
    if line:
        return Verdict(RAISED, f"{output.ename}: {said}\n{line}")
    if output.ename == "NameError" and (name := re.search(r"'(\w+)'", said)) and name[1] in visible_source(cell.source):
        return Verdict(NOT_ATTEMPTED, f"{name[1]} is not there. Was its cell deleted, or did it stop with an error?")
    # The exception comes from the test itself, so its text may hold what the test expects.
    return Verdict(NOT_RIGHT, f"the check could not use what your code gave ({output.ename}).")


def _student_line(output: NotebookNode, nb: NotebookNode, but_not: NotebookNode | None = None) -> str:
    """The student's line that an exception comes from; empty if it comes from the cell ``but_not``, or from no cell."""
    frames = _FRAME.findall(strip_ansi("\n".join(output.traceback)))
    if not frames:
        return ""
    count, number = (int(part) for part in frames[-1])
    for cell in nb.cells:
        if cell.cell_type == "code" and cell.execution_count == count:
            if cell is but_not or is_test(cell):
                return ""
            lines = cell.source.split("\n")
            where = utils.is_solution(cell) and cell.metadata.nbgrader["grade_id"]
            text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
            return f"  in {f'your cell {where}' if where else 'a cell of yours'}, line {number}: {text}"
    return ""


def _failed_parts(cell: NotebookNode) -> list[str]:
    """The messages that Parts printed. Anything else that was printed in a test cell is left out."""
    printed = "\n".join(output.text for output in cell.outputs if output.output_type == "stream")
    found = [(hit.start(), hit[0]) for hit in _PART_WRONG.finditer(printed)]
    for hit in _PART_RAISED.finditer(printed):
        # An assertion's text is the test's, not the student's.
        found.append((hit.start(), f"{hit[1]}." if hit[2] == "AssertionError" else hit[0]))
    return [without_paths(line) for _, line in sorted(found)]


def without_paths(text: str) -> str:
    """Replace every absolute path by its last part."""
    return _PATH.sub(r"\1", text)


def _printable(text: str) -> str:
    text = without_paths(strip_ansi(text))
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "\n... (the rest is left out)"


def redact(nb: NotebookNode) -> None:
    """Turn an autograded notebook into what its student may see, in place.

    A test cell shows the lines that the student had, and its verdict. Every other code cell keeps its code, its
    printed text and its pictures; an exception is one message with the student's line.
    """
    told = [str(verdict(cell, nb)) if is_test(cell) else None for cell in nb.cells]
    shown = [None if is_test(cell) or cell.cell_type != "code" else _own_outputs(cell, nb) for cell in nb.cells]
    for cell, message, outputs in zip(nb.cells, told, shown, strict=True):
        if message is not None:
            cell.source = visible_source(cell.source)
            cell.outputs = [new_output("stream", name="stdout", text=message + "\n")]
        elif outputs is not None:
            cell.source = visible_source(cell.source)  # whatever its metadata say of it
            cell.outputs = outputs
        elif cell.cell_type == "raw":  # would be copied into the page as it is
            cell.cell_type = "markdown"
            cell.source = "```\n" + cell.source.replace("```", "'''") + "\n```"
    nb.metadata.pop("widgets", None)


def _own_outputs(cell: NotebookNode, nb: NotebookNode) -> list[NotebookNode]:
    kept = []
    for output in cell.outputs:
        if output.output_type == "stream":
            before = kept[-1] if kept else {}
            if before.get("name") == output.name:  # one text arrives in pieces, differently in each run
                before["text"] += output.text
            else:
                kept.append(new_output("stream", name=output.name, text=output.text))
        elif output.output_type == "error":
            line = _student_line(output, nb)
            said = _printable(output.evalue)
            message = f"{output.ename}: {said}" + (f"\n{line}" if line else "")
            kept.append(new_output("error", ename=output.ename, evalue=said, traceback=[message]))
        else:
            data = {kind: value for kind in SAFE_PICTURES if _BASE64.fullmatch(value := str(output.data.get(kind, "")))}
            if "text/plain" in output.data:
                data["text/plain"] = _printable(str(output.data["text/plain"]))
            if data:
                kept.append(new_output("display_data", data=data))
    for output in kept:
        if output.output_type == "stream":
            output["text"] = _printable(output.text)
    return kept


class RedactTests(Preprocessor):
    """Among ``GenerateFeedback.preprocessors``, after GetGrades: :func:`redact`, and a summary on top."""

    enabled = Bool(True).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        unmarked = self._unmarked(resources["nbgrader"])
        rows = []
        overruled = []
        for cell in nb.cells:
            meta = cell.metadata.get("nbgrader", {})
            if not utils.is_grade(cell):
                continue
            name, got, most = meta["grade_id"], meta["score"], meta["points"]
            unanswered = utils.is_solution(cell) and utils.determine_grade(cell)[0] == 0
            status = NOT_ATTEMPTED if unanswered else "not marked yet" if name in unmarked else "marked by hand"
            if is_test(cell):
                status = verdict(cell, nb).status
                if got != utils.determine_grade(cell)[0]:
                    status = SET_BY_HAND
                    overruled.append(cell)
            elif name in unmarked:
                note = "Not marked yet: the points of this answer are still to come."
                meta["comment"] = f"{meta['comment']}\n\n{note}" if meta.get("comment") else note
            points = f"– of {most:g}" if name in unmarked else f"{got:g} of {most:g}"
            rows.append(f"| [{name.removeprefix('test_')}](#{name}) | {points} | {status} |")
        redact(nb)
        for cell in overruled:
            cell.outputs.append(new_output("stream", name="stdout", text=f"{SET_BY_HAND.capitalize()}.\n"))
        nb.cells.insert(0, new_markdown_cell(self._summary(rows, unmarked, nb)))
        return nb, resources

    def _unmarked(self, who: dict) -> dict[str, float]:
        """Grade id -> points of the answers that wait for marking by hand."""
        with Gradebook(who["db_url"]) as gradebook:
            notebook = gradebook.find_submission_notebook(who["notebook"], who["assignment"], who["student"])
            return {grade.name: grade.max_score for grade in notebook.grades
                    if grade.needs_manual_grade and grade.manual_score is None}

    def _summary(self, rows: list[str], unmarked: dict[str, float], nb: NotebookNode) -> str:
        parts = ["\n".join(["| question | points | |", "|---|---|---|", *rows])]
        if unmarked:
            parts.append(f"**{sum(unmarked.values()):g} points are not marked yet**: they are given by hand, and count "
                         "as 0 in the score above until then.")
        repaired = nb.metadata.get("manyheads", {}).get("repaired", [])
        parts += [f"**Repaired when it was graded.** {sentence}" for sentence in repaired]
        return "\n\n".join(parts)


_TAGS = {
    "a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt", "em", "h1", "h2", "h3",
    "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p", "pre", "s", "span", "strong", "sub", "summary", "sup",
    "table", "tbody", "td", "th", "thead", "tr", "u", "ul",
}
_PICTURE = re.compile(r"^data:image/(png|jpeg|gif|webp);base64,")


def _allowed(tag: str, name: str, value: str) -> bool:
    if name in ("class", "style", "title", "alt"):
        return True
    if name == "src":
        return tag == "img" and (not value.lower().startswith("data:") or bool(_PICTURE.match(value)))
    return tag == "a" and name == "href" and not value.lower().startswith("data:")


@pass_context
def safe_markdown(context: dict, source: str) -> str:
    """nbconvert's ``markdown2html`` filter, with everything that could run in a browser taken away.

    nbconvert's own ``sanitize_html`` does not reach the markdown cells of nbgrader's feedback template.
    """
    attachments = context.get("cell", {}).get("attachments", {})
    html = MarkdownWithMath(renderer=IPythonRenderer(escape=False, attachments=attachments)).render(source)
    return clean(html, tags=_TAGS, attributes=_allowed, protocols={"http", "https", "mailto", "data"}, strip=True,
                 css_sanitizer=CSSSanitizer(allowed_css_properties=["text-align"]))
