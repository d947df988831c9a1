"""Students' texts and outputs, made harmless for every page that shows them: Formgrader, JupyterLab, the feedback.

Formgrader renders the markdown of an autograded notebook as it stands, into a page that may set marks. So the text
itself must hold nothing that runs. Ordinary markdown, math and code keep their text; a tag becomes visible text.
"""

import html
import re
from collections import Counter

from bleach.html5lib_shim import HTMLParser
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from nbgrader.utils import is_solution

from .intake import is_picture

MOST_PRINTED = 20_000  # characters that one code cell may show
MOST_PICTURES = 6 * 2**20  # characters of the pictures of one code cell
MOST_OUTPUTS = 200
MOST_CHARACTERS = 20_000  # of one text: rendering takes longer than in proportion
MOST_RENDERED = 100_000  # of all texts of a notebook
_MOST_OPENED = 100  # math that is opened and never closed is slow to render


def make_harmless(nb: NotebookNode) -> None:
    """Change an autograded notebook in place: the texts that a student may have written, and all outputs."""
    left, reserved = MOST_RENDERED, _reserved(nb)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell["outputs"] = _outputs(cell.get("outputs", []))
        elif _is_students(cell):
            if cell.cell_type == "raw":  # a page would get it as it is
                cell["cell_type"] = "markdown"
                cell["source"] = _fenced(cell.source[:MOST_CHARACTERS])
                continue
            cell["source"] = harmless_text(cell.source, cell.get("attachments"), reserved, len(cell.source) <= left)
            left -= min(len(cell.source), left)
    nb.metadata.pop("widgets", None)


def _is_students(cell: NotebookNode) -> bool:
    meta = cell.metadata.get("manyheads")
    return is_solution(cell) or (isinstance(meta, dict) and meta.get("role") in ("student", "note"))


def _reserved(nb: NotebookNode) -> frozenset[str]:
    """Where Formgrader looks for its fields. A heading has its words for an id, and would take the place of a field."""
    metas = [cell.metadata.get("nbgrader") for cell in nb.cells]
    names = [str(meta["grade_id"]) for meta in metas if isinstance(meta, dict) and meta.get("grade_id")]
    fields = [f"{name}{end}" for name in names for end in ("", "-comment", "_extra_credit")]
    return frozenset([*fields, "statusmessage", "notebook", "notebook-container"])


# ---- texts ----------------------------------------------------------------------------------------------------

# Tags without any attribute that may stay: they change letters, and open nothing else.
_SIMPLE = ("b", "br", "code", "del", "em", "i", "kbd", "mark", "s", "small", "strong", "sub", "sup", "u")
_SIMPLE_TAG = re.compile(rf"<(/?)({'|'.join(_SIMPLE)})\s*(/?)>", re.IGNORECASE)
_KEPT_TAG = re.compile(rf"{_SIMPLE_TAG.pattern}|<(?:https?://|mailto:)[^\s<>\"'`]*>|<[\w.+-]+@[\w.-]+>", re.IGNORECASE)
_TAG_START = re.compile(r"<(?=[A-Za-z/!?])")
_PROTECTED = re.compile(
    r"(?P<code>^ {0,3}(?P<fence>`{3,}|~{3,})[^\n`]*\n(?s:.*?)(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?<![`\\])(?P<ticks>`{1,9})(?!`)[^\n]+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<math>(?<!\\)\$\$(?s:.+?)(?<!\\)\$\$|(?<![\\$\w])\$(?![\s$])[^\n$]*?[^\s\\$]\$(?![\w$])"
    r"|\\begin\{(?P<env>[a-z]+\*?)\}(?s:.*?)\\end\{(?P=env)\})",
    re.MULTILINE)  # fmt: skip
_PICTURE = re.compile(r"!\[[^\[\]\n]*\]\((?:attachment:(?P<name>[^\s()<>\"]+)"
                      r"|data:(?P<kind>image/\w+);base64,(?P<data>[A-Za-z0-9+/=]+))\)")
_BAD_LINK = re.compile(
    r"(?:\]\(|\]:|<)<?(?:javascript|vbscript|livescript|data(?!:image/(?:png|jpeg|gif|webp);base64,)|file|blob"
    r"|filesystem|about|view-source):",
    re.IGNORECASE)
# What makes MathJax write links, styles or HTML, or load more of itself.
_ACTIVE_MATH = re.compile(
    r"\\(?=(?:href|url|style|class|cssId|data|require|html\w*|mmlToken|includegraphics|csname|unicode)\b)")
_MERMAID = re.compile(r"^([ \t>*+\-\d.)]*(?:`{3,}|~{3,})[ \t]*)mermaid", re.IGNORECASE | re.MULTILINE)
_ANY_MARK = re.compile(r"[<>&\[\]\\`~!$]")
_UNCLOSED_MATH = re.compile(r"\\\\[(\[]|\\begin")


def harmless_text(text: str, attachments: dict | None = None, reserved: frozenset[str] = frozenset(),
                  render: bool = True) -> str:
    """Markdown that renders without anything that could run, spy or cover the page; unchanged if it does already.

    Each step takes more than the one before, until the rendered page is seen to be harmless. No heading gets one of
    the ``reserved`` ids. Without ``render`` the text is shown as code.
    """
    if len(text) > MOST_CHARACTERS:
        gone = len(text) - MOST_CHARACTERS
        text = f"{text[:MOST_CHARACTERS]}\n\n({gone} characters more are left out here. The hand-in itself has them.)"
    if not _ANY_MARK.search(text) and not any(name in text for name in reserved):
        return text
    attachments = attachments or {}
    if render and len(_UNCLOSED_MATH.findall(text)) <= _MOST_OPENED:
        for step in (_gently, _without_tags, _plain):
            changed = step(text, attachments)
            if is_harmless(changed, attachments, reserved):
                return changed
    return _fenced(text)


def _gently(text: str, attachments: dict) -> str:
    open_tags = Counter()
    for closing, name, empty in _SIMPLE_TAG.findall(_PROTECTED.sub("", text)):
        if name.lower() != "br" and not empty:
            open_tags[name.lower()] += -1 if closing else 1
    return _outside_code(text, attachments, keep_tags=not any(open_tags.values()))


def _without_tags(text: str, attachments: dict) -> str:
    return _outside_code(text, attachments, keep_tags=False)


def _plain(text: str, attachments: dict) -> str:
    """Every character that could begin something in markdown or HTML as an entity, in code too."""
    return re.sub(r"[<&\[\]\\$`!#]", lambda found: f"&#{ord(found[0])};", text)


def _outside_code(text: str, attachments: dict, keep_tags: bool) -> str:
    text = _MERMAID.sub(r"\1text", text)
    parts, end = [], 0
    for found in _PROTECTED.finditer(text):
        parts.append(_prose(text[end:found.start()], text, found.start(), attachments, keep_tags))
        parts.append(found[0] if found["code"] else _ACTIVE_MATH.sub("", found[0]))
        end = found.end()
    parts.append(_prose(text[end:], text, len(text), attachments, keep_tags))
    return "".join(parts)


def _prose(piece: str, text: str, end: int, attachments: dict, keep_tags: bool) -> str:
    """A piece of text between code and math; it ends at ``end`` in the whole."""
    if _is_bad_link(piece):
        lines = piece.split("\n")
        bad = [_is_bad_link(line) for line in lines]
        if not any(bad):  # only together
            bad = [True] * len(lines)
        piece = "\n".join(_without_brackets(line) if one else line for line, one in zip(lines, bad, strict=True))
    piece = _ACTIVE_MATH.sub("", piece)
    piece = _only_own_pictures(piece, attachments)
    last = len(piece) if ">" in text[end:] else piece.rfind(">")

    def tag(found: re.Match) -> str:
        kept = _KEPT_TAG.match(piece, found.start())
        if kept and (keep_tags or kept[2] is None):
            return "<"
        # `a<b` without a > behind it is no tag for anybody.
        is_sum = found.start() > 0 and (piece[found.start() - 1].isalnum() or piece[found.start() - 1] in ")]")
        return "<" if is_sum and found.start() > last else "&lt;"

    return _TAG_START.sub(tag, piece)


def _is_bad_link(text: str) -> bool:
    decoded = text
    for _ in range(2):  # an entity in a link is decoded by markdown, and once more by the browser
        decoded = html.unescape(decoded)
    return bool(_BAD_LINK.search(re.sub(r"[\x00-\x20\\\u00ad\u200b-\u200f\u2028\u2029]", "", decoded)))


def _without_brackets(text: str) -> str:
    return text.replace("[", "&#91;").replace("]", "&#93;")


def _only_own_pictures(piece: str, attachments: dict) -> str:
    """Pictures from elsewhere become links: showing them would ask another server, or this one, for something."""
    parts, end = [], 0
    for found in re.finditer(r"!+\[", piece):
        if found.start() < end:
            continue
        own = _PICTURE.match(piece, found.end() - 2)
        if own and (own["name"] in attachments if own["name"] else is_picture(own["kind"], own["data"])):
            parts.append(piece[end:own.end()])
            end = own.end()
        else:
            parts.append(piece[end:found.start()])
            end = found.end() - 1
    return "".join([*parts, piece[end:]])


def _fenced(text: str) -> str:
    """The text as a block of code that no line of it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


# ---- looking at the rendered page -----------------------------------------------------------------------------

_TAGS = {
    *_SIMPLE, "a", "blockquote", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "input", "li",
    "ol", "p", "pre", "span", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_LINK = re.compile(r"(?:https?://|mailto:|attachment:|#|[^:/?#]*(?:[/?#]|$))", re.IGNORECASE)
_STYLE = re.compile(r"text-align: ?(left|right|center);?")


def is_harmless(text: str, attachments: dict | None = None, reserved: frozenset[str] = frozenset()) -> bool:
    """Whether nbconvert renders this markdown into a page in which nothing runs, and that it does not break."""
    try:
        rendered = MarkdownWithMath(renderer=IPythonRenderer(escape=False, attachments=attachments or {})).render(text)
    except Exception:  # of any kind: Formgrader would show an error in place of the whole notebook
        return False
    # As in a real page: what stands behind the text must stay where it is.
    page = HTMLParser(namespaceHTMLElements=False).parse(f"<!DOCTYPE html><div>{rendered}</div><section></section>")
    body = page.find("body")
    if body is None or [child.tag for child in body] != ["div", "section"]:
        return False
    if len(body[1]) or body.text or body[0].tail or any(element.get("id") in reserved for element in body[0].iter()):
        return False
    return _all_harmless(body[0], in_code=False)


def _all_harmless(element, in_code: bool) -> bool:
    for child in element:
        if child.tag not in _TAGS or not all(_is_fine(child.tag, *pair) for pair in child.items()):
            return False
        if child.tag == "input" and child.get("type") != "checkbox":
            return False
        if not _all_harmless(child, in_code or child.tag in ("code", "pre")):
            return False
    texts = [element.text, *(child.tail for child in element)]
    return in_code or not any(_ACTIVE_MATH.search(text) for text in texts if text)


def _is_fine(tag: str, name: str, value: str) -> bool:
    match name:
        case "href":
            return tag == "a" and bool(_LINK.match(re.sub(r"[\x00-\x20]", "", value)))
        case "src":
            kind, _, data = value.removeprefix("data:").partition(";base64,")
            return tag == "img" and value.startswith("data:") and is_picture(kind, data)
        case "class":
            return "mermaid" not in value.lower()
        case "style":
            return _STYLE.fullmatch(value) is not None
    return name in ("alt", "title", "id", "type", "checked", "disabled", "start", "align")


# ---- outputs --------------------------------------------------------------------------------------------------

_PICTURES = ("image/png", "image/jpeg")


def _outputs(outputs: object) -> list[NotebookNode]:
    """Text and pictures only, of a bounded size."""
    kept, room = [], {"text": MOST_PRINTED, "picture": MOST_PICTURES}
    for output in outputs if isinstance(outputs, list) else []:
        if len(kept) >= MOST_OUTPUTS:
            said = "... (the other outputs are left out)\n"
            kept.append(NotebookNode(output_type="stream", name="stdout", text=said))
            break
        one = _output(output, room) if isinstance(output, dict) else None
        if one is not None:
            kept.append(one)
    return kept


def _output(output: dict, room: dict[str, int]) -> NotebookNode | None:
    match output.get("output_type"):
        case "stream":
            text = _within(output.get("text"), room)
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            return NotebookNode(output_type="stream", name=name, text=text) if text else None
        case "error":
            lines = output.get("traceback")
            lines = [line for line in lines if line] if isinstance(lines, list) else []
            return NotebookNode(output_type="error", ename=_string(output.get("ename"))[:200],
                                evalue=_within(output.get("evalue"), room),
                                traceback=[_within(line, room) for line in lines])
        case "execute_result" | "display_data" as kind:
            data = _data(output.get("data"), room)
            if not data:
                return None
            made = NotebookNode(output_type=kind, data=data, metadata=NotebookNode())
            if kind == "execute_result":
                count = output.get("execution_count")
                made["execution_count"] = count if type(count) is int else None
            return made
    return None


def _data(data: object, room: dict[str, int]) -> NotebookNode:
    kept = NotebookNode()
    for kind, value in data.items() if isinstance(data, dict) else ():
        if kind == "text/plain":
            kept[kind] = _within(value, room)
        elif kind in _PICTURES and is_picture(kind, picture := _string(value)) and len(picture) <= room["picture"]:
            room["picture"] -= len(picture)
            kept[kind] = "".join(picture.split())
    return kept


def _string(value: object) -> str:
    """A text that can be written to a file, whatever was printed."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _within(value: object, room: dict[str, int]) -> str:
    text = _string(value)
    if len(text) > room["text"]:
        text = text[:room["text"]] + "\n... (the rest is left out)\n" if room["text"] else ""
    room["text"] -= min(len(text), room["text"])
    return text
