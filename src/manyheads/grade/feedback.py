"""What a student gets back: their work, the points, and one message a question.

Never in it: hidden test code, expected values, tracebacks of ours, paths, a script of anybody's, or anything that is
loaded from the network. What student code may reach is for the grader to decide; the feedback shows what it printed.
"""

import re
import textwrap
from dataclasses import dataclass
from html import escape
from urllib.parse import unquote

from bleach import clean
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import DictLoader, pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.ansi import strip_ansi
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import Preprocessor
from nbformat.notebooknode import NotebookNode, from_dict
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader import utils
from nbgrader.api import Gradebook
from pygments.token import STANDARD_TYPES
from traitlets import Bool, default

from .intake import grade_id

MOST_CHARACTERS = 10_000  # of one printed output
MOST_MARKDOWN = 50_000  # of one cell; the time to read it can grow with its square
WIDTH = 90
SAFE_PICTURES = ("image/png", "image/jpeg")

RIGHT = "right"
PARTLY = "partly right"
NOT_RIGHT = "not right yet"
NOT_ATTEMPTED = "not attempted"
RAISED = "raised an error"
TIMED_OUT = "timed out"
CRASHED = "crashed"
SET_BY_HAND = "points set by the instructor"

# What a cell that ran too long leaves behind: the interrupt, then nbgrader's own error.
TIMED_OUT_ERRORS = ("KeyboardInterrupt", "CellTimeoutError")
# What the isolated grader leaves in a cell in which the student's process ended.
CRASHED_ERROR = "StudentProcessDied"

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


def told(cell: NotebookNode, nb: NotebookNode) -> Verdict:
    """What a test cell of an autograded notebook says: what the isolated grader noted there, else :func:`verdict`."""
    return _noted(cell) or verdict(cell, nb)


def verdict(cell: NotebookNode, nb: NotebookNode) -> Verdict:
    """Read an executed test cell: what it says to the student, without what it must not say.

    Needs the autograded notebook around it to find the student's own line of an exception. Looks at outputs only: while
    a hand-in is graded, a note in the cell's metadata may still be the student's.
    """
    for output in cell.outputs:
        if output.output_type == "error":
            return _of_error(output, cell, nb)
    got, most = utils.determine_grade(cell)
    if got is not None and got < most:
        return Verdict(PARTLY if got else NOT_RIGHT, "\n".join(_failed_parts(cell)))
    return Verdict(RIGHT, "")


def _noted(cell: NotebookNode) -> Verdict | None:
    ours = cell.metadata.get("manyheads")
    held = ours.get("verdict") if isinstance(ours, dict) else None
    if not isinstance(held, dict):
        return None
    status, said = str(held.get("status")), str(held.get("message") or "")  # by verdict(), so without paths
    match status:
        case "timed out":
            return Verdict(TIMED_OUT, said or _too_long(cell, ""))
        case "graded":
            got, most = utils.determine_grade(cell)
            status = RIGHT if got is None or got >= most else PARTLY if got else NOT_RIGHT
    return Verdict(status, "" if status == RIGHT else said)


def _too_long(cell: NotebookNode, said: str) -> str:
    said = said or "your code did not finish in the time that it may take."
    name = (grade_id(cell) or "").removeprefix("test_")
    return f"{said.rstrip('.')} (question {name})." if name else said


def _of_error(output: NotebookNode, cell: NotebookNode, nb: NotebookNode) -> Verdict:
    said = _printable(output.evalue)
    match output.ename:
        case "NotRight":
            return Verdict(NOT_RIGHT, said)
        case "NotAttempted" | "NotImplementedError":
            return Verdict(NOT_ATTEMPTED, said)
        case "KeyboardInterrupt" | "CellTimeoutError":
            return Verdict(TIMED_OUT, _too_long(cell, said))
        case _ if output.ename == CRASHED_ERROR:
            return Verdict(CRASHED, said)
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
    return [_printable(line) for _, line in sorted(found)]


def without_paths(text: str) -> str:
    """Replace every absolute path by its last part."""
    return _PATH.sub(r"\1", text)


# What a terminal acts on or a page cannot hold, and what turns the direction of a text round.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _printable(text: str) -> str:
    text = _CONTROL.sub("\ufffd", without_paths(strip_ansi(text)))
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "\n... (the rest is left out)"


def redact(nb: NotebookNode) -> None:
    """Turn an autograded notebook into what its student may see, in place.

    A test cell shows the lines that the student had, and its verdict. Every other code cell keeps its code, its
    printed text and its pictures; an exception is one message with the student's line.
    """
    messages = [str(told(cell, nb)) if is_test(cell) else None for cell in nb.cells]
    shown = [None if is_test(cell) or cell.cell_type != "code" else _own_outputs(cell, nb) for cell in nb.cells]
    for cell, message, outputs in zip(nb.cells, messages, shown, strict=True):
        if message is not None:
            cell.source = visible_source(cell.source)
            cell.outputs = [new_output("stream", name="stdout", text=message + "\n")]
        elif outputs is not None:
            cell.source = visible_source(cell.source)  # whatever its metadata say of it
            cell.outputs = outputs
        elif cell.cell_type == "raw":  # would be copied into the page as it is
            cell.cell_type = "markdown"
            cell.source = "```\n" + cell.source.replace("```", "'''") + "\n```"
        # Tags, widgets, titles and the like end up in the page, or hide a cell from it.
        cell.metadata = {key: value for key, value in cell.metadata.items() if key == "nbgrader"}
    ours = nb.metadata.get("manyheads", {})
    nb.metadata = from_dict({"language_info": {"name": "python"}, "manyheads": ours})


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
            said = _printable(output.evalue)
            if output.ename in TIMED_OUT_ERRORS:
                message = "Timed out: this cell did not finish in the time that a cell may take."
            elif output.ename == CRASHED_ERROR:
                message = str(Verdict(CRASHED, said))
            else:
                line = _student_line(output, nb)
                message = f"{output.ename}: {said}" + (f"\n{line}" if line else "")
            if not kept or kept[-1].get("traceback") != [message]:  # an interrupt leaves two errors
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
        rows, overruled, comments = [], [], []
        for cell in nb.cells:
            meta = cell.metadata.get("nbgrader", {})
            if meta.get("comment"):
                comments.append(f"[{meta['grade_id']}](#comment-{meta['grade_id']})")
            if not utils.is_grade(cell):
                continue
            name, got, most = meta["grade_id"], meta["score"], meta["points"]
            unanswered = utils.is_solution(cell) and utils.determine_grade(cell)[0] == 0
            status = NOT_ATTEMPTED if unanswered else "not marked yet" if name in unmarked else "marked by hand"
            if is_test(cell):
                status = told(cell, nb).status
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
        nb.cells.insert(0, new_markdown_cell(self._summary(rows, comments, unmarked, nb)))
        return nb, resources

    def _unmarked(self, who: dict) -> dict[str, float]:
        """Grade id -> points of the answers that wait for marking by hand."""
        with Gradebook(who["db_url"]) as gradebook:
            notebook = gradebook.find_submission_notebook(who["notebook"], who["assignment"], who["student"])
            return {grade.name: grade.max_score for grade in notebook.grades
                    if grade.needs_manual_grade and grade.manual_score is None}

    def _summary(self, rows: list[str], comments: list[str], unmarked: dict[str, float], nb: NotebookNode) -> str:
        parts = ["\n".join(["| question | points | |", "|---|---|---|", *rows])]
        if comments:
            parts.append(f"Comments on: {', '.join(comments)}")
        if unmarked:
            parts.append(f"**{sum(unmarked.values()):g} points are not marked yet**: they are given by hand, and count "
                         "as 0 in the score above until then.")
        repaired = nb.metadata.get("manyheads", {}).get("repaired", [])
        parts += [f"**Repaired when it was graded.** {_as_it_is(sentence)}" for sentence in repaired]
        return "\n\n".join(parts)


class FeedbackPage(HTMLExporter):
    """nbgrader's page without its list of nameless test cells, which the table on top replaces.

    nbgrader's own loads MathJax from the network. Here formulas stay as they were written, and the page says itself
    that it may load and run nothing.
    """

    @default("template_file")
    def _template_file_default(self) -> str:
        return "page.html.j2"

    @default("extra_loaders")
    def _extra_loaders_default(self) -> list[DictLoader]:
        return [DictLoader({"page.html.j2": _PAGE, "mathjax.html.j2": _INSTEAD_OF_MATHJAX})]


_INSTEAD_OF_MATHJAX = """{% macro mathjax() %}
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>
  .rendered_html th, .rendered_html td { padding: 0.2em 1em 0.2em 0; vertical-align: top; }
  .output pre { white-space: pre-wrap; }
</style>
{% endmacro %}"""

_PAGE = """{%- extends 'index.html.j2' -%}
{% block body %}
<body>
  <a name="top"></a>
  <div class="container">
    <div class="panel panel-default">
      <div class="panel-heading">
        <h4>{{ resources.nbgrader.notebook }}
          (Score: {{ resources.nbgrader.score | float | round(2) }} / {{ resources.nbgrader.max_score | float | round(2) }})
        </h4>
        {% if resources.nbgrader.late_penalty > 0 %}
        Late submission penalty (Score: -{{ resources.nbgrader.late_penalty | float | round(2) }})
        {% endif %}
      </div>
      <div class="panel-body">
        <div id="notebook" class="border-box-sizing">
          <div class="container" id="notebook-container">
            {{ super.super() }}
          </div>
        </div>
      </div>
    </div>
  </div>
</body>
{%- endblock body %}"""

def _as_it_is(text: str) -> str:
    """The text for a markdown cell in which it means nothing but itself: it may quote the student."""
    marked = re.sub(r"([!-%'-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))
    return marked.replace("&", "&amp;")


_TAGS = {
    "a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt", "em", "h1", "h2", "h3",
    "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p", "pre", "s", "span", "strong", "sub", "summary", "sup",
    "table", "tbody", "td", "th", "thead", "tr", "u", "ul",
}
# Those of highlighted code. Others could dress a student's text as a button or a bar of Formgrader.
_CLASSES = {*STANDARD_TYPES.values(), "highlight", "anchor-link"} - {""}
_PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*")
_LINK = re.compile(r"(https?://|mailto:|#)", re.IGNORECASE)


def _allowed(tag: str, name: str, value: str) -> bool:
    match name:
        case "class":
            return set(value.split()) <= _CLASSES
        case "style" | "title" | "alt":
            return True
        case "src":  # a picture from elsewhere would tell its owner who opens the page, and when
            return tag == "img" and bool(_PICTURE.fullmatch(value))
        case "href":
            return tag == "a" and bool(_LINK.match(value))
    return False


class _Renderer(IPythonRenderer):
    """nbconvert's, with an attachment that is no picture left out; there it stops the whole page."""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        if url.startswith("attachment:"):
            held = self.attachments.get(unquote(url.removeprefix("attachment:"))) if isinstance(self.attachments, dict) else None
            url = ""
            for kind in SAFE_PICTURES:
                if isinstance(held, dict) and kind in held:
                    url = f"data:{kind};base64,{held[kind]}"
        return super().image(text, url, title)


@pass_context
def safe_markdown(context: dict, source: str) -> str:
    """nbconvert's ``markdown2html`` filter, with everything that could run or be loaded in a browser taken away.

    nbconvert's own ``sanitize_html`` does not reach the markdown cells of nbgrader's feedback template.
    Text that cannot be rendered is shown as it was written.
    """
    if len(source) > MOST_MARKDOWN:
        return f"<pre>{escape(source[:MOST_MARKDOWN])}\n... (the rest is left out)</pre>"
    renderer = _Renderer(escape=False, attachments=context.get("cell", {}).get("attachments", {}))
    try:
        html = MarkdownWithMath(renderer=renderer).render(source)
        return clean(html, tags=_TAGS, attributes=_allowed, protocols={"http", "https", "mailto", "data"}, strip=True,
                     css_sanitizer=CSSSanitizer(allowed_css_properties=["text-align"]))
    except Exception:  # of libraries, at text made for that
        return f"<pre>{escape(source)}</pre>"
