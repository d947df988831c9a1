"""Students' texts and outputs: nothing of theirs runs in a page, and ordinary text keeps every character."""

import base64
import re

import nbformat
import pytest
from bleach.html5lib_shim import HTMLParser
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from manyheads.grade.harmless import MOST_CHARACTERS, MOST_PRINTED, harmless_text, make_harmless

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
FORBIDDEN = {"script", "iframe", "object", "embed", "form", "meta", "base", "link", "style", "svg", "math", "textarea",
             "plaintext", "button", "select", "template", "noscript", "title", "video", "audio", "frame", "frameset", "details",
             "dialog"}  # fmt: skip


def rendered(text, attachments=None):
    """What nbconvert puts into a page: its own filter, without anything of ours."""
    return MarkdownWithMath(renderer=IPythonRenderer(escape=False, attachments=attachments)).render(text)


def elements(html):
    """All elements of the text in a page. What stands behind the text in the page must not be touched by it."""
    page = HTMLParser(namespaceHTMLElements=False).parse(f"<!DOCTYPE html><div>{html}</div><section></section>")
    body = page.find("body")
    assert [child.tag for child in body] == ["div", "section"], html
    return [element for element in body[0].iter() if element is not body[0]]


def assert_nothing_runs(html):
    for element in elements(html):
        assert isinstance(element.tag, str), "a comment"
        assert element.tag.lower() not in FORBIDDEN, html
        for name, value in element.items():
            assert not name.lower().startswith("on"), html
            assert name != "style" or value.startswith("text-align"), html
            if name in ("href", "src", "action", "xlink:href"):
                address = re.sub(r"[\x00-\x20]", "", value).lower()
                assert not address.startswith(("javascript:", "vbscript:", "data:text", "data:image/svg")), html


# ---- texts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "Plain words, and *some* of **them** with ~~marks~~.", "`x<y` and $a < b$ and $a<b$ and x<y",
    "a -> b <- c <= d <3 & more",
    "```python\nif a<b and c>d: print('<script>')\n```", "~~~\n<b onclick=1>\n~~~", "``a ` <script> b``",
    "- a\n- b `<script>`\n  1. c", "| a | b |\n|:--|--:|\n| 1 | `<i>` |",
    "[a link](https://example.org/a?b=1#c \"title\")",
    "<https://example.org>, https://example.org and <me@example.org>", "[a][1]\n\n[1]: https://example.org",
    "[x](#section)",
    "H<sub>2</sub>O, <b>bold</b><br>x<sup>2</sup>", "# Title\n\n> a quotation\n\n---", "- [x] done\n- [ ] open",
    "$$\n\\frac{a}{b} < c\n$$", "\\begin{align}\na<b\n\\end{align}", "$\\mathrm{softmax}(QK^T/\\sqrt{d_k})$ costs $5",
    "a &amp; b",
    "weights[0] = scores[1](mask)!", "The data: three rows. See [1]: the weights.", "x\\_y \\* z", "term\n: meaning",
    f"![dot](data:image/png;base64,{DOT})",
])  # fmt: skip
def test_ordinary_text_keeps_every_character(text):
    assert harmless_text(text) == text


@pytest.mark.parametrize("text", [
    "<script>alert(1)</script>", "<ScRiPt\n>x</ScRiPt\n>", "<img src=x onerror=alert(1)>",
    "<img/src=x onerror=alert(1)>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>", "<img src=x onerror=alert(1) ", "<script", "<svg onload=alert(1)>",
    "<iframe src=javascript:alert(1)>", "<div style='position:fixed;top:0;left:0;width:100%;height:100%'>",
    "</div></div></body>",
    "<b>bold to the end of the page", "<!-- hidden", "<style>*{display:none}</style>", "<plaintext>", "<textarea>",
    "<base href=//x>",
    "<form action=/x><button>", "<meta http-equiv=refresh content=0>", "<?php ?>", "<![CDATA[<script>]]>",
    "<a href=//x>y</a>",
    "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](&#106;avascript:alert(1))",
    "[x](java&Tab;script&colon;alert(1))",
    "[x](java\nscript:alert(1))", "[x]( <javascript:alert(1)>)", "[x](data:text/html,<script>)", "[x](vbscript:a)",
    "[x][y]\n\n[y]: javascript:alert(1)", "[y]\n\n[y]:\n  javascript:alert(1)", "<javascript:alert(1)>",
    "[`x`](javascript:alert(1))", '<a href="&#106;avascript:alert(1)">x</a>', "![x](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)", "![x](https://example.org/pixel.png)", "![x](/logout)",
    "![x](attachment:none.png)",
    "$x$<img src=x onerror=alert(1)>$y$", "$$x<script>alert(1)</script>", "\\begin{a}<script>alert(1)</script>",
    "`<script>`<script>",
    "`\n<script>alert(1)</script>`", "<b>\n`<script>alert(1)</script>`\n</b>", "<b>\n\n```\n<script>\n```\n",
    "\\\\<script>x</script>",
    "| a ` | <img src=x onerror=alert(1)> | ` b |\n|--|--|--|", "```mermaid\n</pre><img src=x onerror=alert(1)>\n```",
    "> ```mermaid\n> <script>alert(1)</script>\n> ```", "    code\n<script>", "x<y <img src=x onerror=alert(1)>",
    "\0<script>",
])  # fmt: skip
def test_whatever_could_run_or_hide_becomes_text(text):
    changed = harmless_text(text)
    assert_nothing_runs(rendered(changed))
    assert not [element for element in elements(rendered(changed)) if element.tag == "img"]
    assert harmless_text(changed) == changed


@pytest.mark.parametrize("text", ["$\\href{javascript:alert(1)}{x}$", "\\href{javascript:alert(1)}{x}",
                                  "$$\\style{position:fixed}{x}$$",
                                  "&#36;&#92;href{javascript:alert(1)}{x}&#36;", "$\\require{html}\\cssId{a}{b}$"])
def test_math_that_writes_links_or_styles_is_defused(text):
    outside_code = re.sub("(?s)<pre>.*</pre>", "", rendered(harmless_text(text)))
    shown = "".join(HTMLParser(namespaceHTMLElements=False).parse(outside_code).itertext())
    assert not re.search(r"\\(href|style|require|cssId)", shown)


def test_only_what_is_harmful_changes():
    text = "Let $a<b$ and `<i>`.\n\n<script>alert(1)</script>\n\n```\n<script>\n```\n\nSee [here](https://example.org)."
    assert harmless_text(text) == text.replace("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>")


def test_attached_pictures_are_shown():
    text, attachments = "![image.png](attachment:image.png)", {"image.png": {"image/png": DOT}}
    assert harmless_text(text, attachments) == text
    assert rendered(harmless_text("![x](attachment:gone.png)", attachments))  # nbconvert raises for a missing one


@pytest.mark.parametrize("text", ["# written", "written\n---", "# written-comment", "## written <b>", "# **written**"])
def test_no_heading_takes_the_place_of_a_field_in_formgrader(text):
    nb = after(new_markdown_cell(text, metadata=STUDENT), new_markdown_cell("# My answer\n\nwritten", metadata=WRITTEN))
    ids = {element.get("id") for element in elements(rendered(nb.cells[0].source))}
    assert not ids & {"written", "written-comment"}
    assert nb.cells[1].source == "# My answer\n\nwritten"


def test_a_text_without_end_is_cut_and_says_so():
    changed = harmless_text("word " * MOST_CHARACTERS)
    assert len(changed) < MOST_CHARACTERS + 200 and "left out" in changed


@pytest.mark.parametrize("text", ["[" * 20_000, "\\\\(" * 6_000, "\\begin{a}" * 2_000, "<a " * 6_000, "`" * 20_000])
def test_texts_made_to_be_slow_are_shown_as_code_or_rendered(text):
    assert_nothing_runs(rendered(harmless_text(text)))


FRAGMENTS = [
    "<script>", "</script>", "alert(1)", "<img src=x onerror=alert(1)>", "<img/src=x onerror=alert(1)",
    "<svg onload=alert(1)>", "javascript:",
    "java", "script:", "&#106;avascript:", "&colon;", "&Tab;", "[x](", "[x]: ", "[x]", "![x](", ")", "<a href=\"",
    "<a href='", '"', "'", ">",
    "<", "/", "`", "``", "```", "~~~", "\n", "\n\n", "$", "$$", "\\\\(", "\\\\)", "\\\\[", "\\\\]", "\\begin{a}",
    "\\end{a}", "\\href{javascript:1}{x}",
    "<!--", "-->", "<![CDATA[", "]]>", "<style>", "</style>", "</div>", '<div style="position:fixed">', "&lt;",
    "&#60;", "&#36;", "&#92;", "\\", "|",
    "| a | b |\n|---|---|\n| ", "- ", "> ", "    ", "\t", "<b>", "</b>", "<textarea>",
    "<iframe src=javascript:alert(1)>", "<form>", "<base href=x>",
    "<meta http-equiv=refresh>", "<link rel=x>", "<object>", "<embed>", "x<y", "a ", "```mermaid\n", "\u200b", "\0",
    "\r", "\f", "*", "_", "1. ",
    "# ", "~~", ": ", "<http://a.b", "data:text/html,", "attachment:x", '"title"', "(", " ", "<?", "<math>",
    '<x-y z=">', "='", "<br", "/>", "</p>",
    "<p>", "<plaintext>", "<title>", "<template>", "<select>", "<noscript>", " onerror=alert(1) ",
]  # fmt: skip
NASTY = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=25).map("".join)


@settings(max_examples=500, deadline=None)
@given(NASTY)
def test_no_mixture_of_fragments_runs(text):
    assert_nothing_runs(rendered(harmless_text(text)))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["$a<b$", "`x<y`", "**b**", "*i*", "word", "\n\n", "\n- item ", "[l](https://a.b)",
                                 "\n\n```\na<b>\n```\n\n",
                                 "\n\n$$a<b$$\n\n", "one<br>two", "a < b", "1 > 0", "R&D"]), max_size=15).map(" ".join))
def test_mixtures_of_ordinary_text_stay(text):
    assert harmless_text(text) == text


# ---- whole notebooks ------------------------------------------------------------------------------------------

STUDENT = {"manyheads": {"role": "student"}}
WRITTEN = {"nbgrader": {"grade": True, "grade_id": "written", "locked": False, "points": 2, "schema_version": 3,
                        "solution": True, "task": False}}
HARM = "<img src=x onerror=alert(1)>"


def after(*cells, **metadata):
    nb = new_notebook(metadata=metadata)
    nb.cells = list(cells)  # as they are: new_notebook refuses what a hostile notebook may hold
    make_harmless(nb)
    nbformat.validate(nb)
    nbformat.writes(nb).encode()
    return nb


def test_all_that_a_student_may_write_is_changed_and_the_lesson_is_not():
    nb = after(new_markdown_cell(HARM, metadata=STUDENT), new_markdown_cell(HARM, metadata=WRITTEN),
               new_markdown_cell(HARM, metadata={"manyheads": {"role": "note"}}),
               new_markdown_cell("<details>Lesson</details>"),
               new_code_cell(f"text = '{HARM}'", metadata=STUDENT),
               widgets={"application/vnd.jupyter.widget-state+json": {}})
    for cell in nb.cells[:3]:
        assert cell.source == "&lt;img src=x onerror=alert(1)>"
    assert nb.cells[3].source == "<details>Lesson</details>"
    assert nb.cells[4].source == f"text = '{HARM}'"
    assert "widgets" not in nb.metadata


def test_a_raw_cell_becomes_a_block_of_code():
    cell = after(new_raw_cell(f"```\n{HARM}\n````", metadata=STUDENT)).cells[0]
    assert cell.cell_type == "markdown" and HARM in cell.source
    assert {element.tag for element in elements(rendered(cell.source))} <= {"pre", "code", "div", "span"}


def outputs_of(*outputs):
    cell = new_code_cell("x", metadata=STUDENT)
    cell.outputs = [nbformat.from_dict(output) for output in outputs]
    return after(cell).cells[0].outputs


def test_outputs_keep_text_and_pictures_only():
    data = {kind: "<script>alert(1)</script>" for kind in (
        "text/html", "image/svg+xml", "application/javascript", "text/latex", "text/markdown",
        "application/vnd.jupyter.widget-view+json",
        "application/x-own", "image/jpeg")} | {"text/plain": "Figure <b>", "image/png": DOT + "\n"}  # fmt: skip
    kept, = outputs_of(new_output("display_data", data=data, metadata={"image/png": {"width": '"><script>'}}))
    assert kept.data == {"text/plain": "Figure <b>", "image/png": DOT} and kept.metadata == {}
    assert outputs_of(new_output("display_data", data={"text/html": "<b>"})) == []


@pytest.mark.parametrize("picture", ['x" onerror="alert(1)', base64.b64encode(b"<svg onload=alert(1)>").decode(), "",
                                     DOT[:-3] + "!", 3])
def test_what_only_says_that_it_is_a_picture_is_dropped(picture):
    assert outputs_of({"output_type": "display_data", "metadata": {}, "data": {"image/png": picture}}) == []


def test_a_result_and_an_error_stay_what_they_are():
    result = new_output("execute_result", data={"text/plain": "1.5"}, execution_count=3)
    error = new_output("error", ename="ValueError", evalue="no", traceback=["Cell In[3], line 1", "ValueError: no"])
    assert outputs_of(result, error) == [result, error]


def test_printed_text_is_capped_over_the_whole_cell():
    kept = outputs_of(*(new_output("stream", name="stdout", text="x" * 9_000) for _ in range(50)))
    assert sum(len(output.text) for output in kept) < MOST_PRINTED + 100
    kept = outputs_of(*(new_output("display_data", data={"text/plain": "x"}) for _ in range(5_000)))
    assert len(kept) < 300
    error = new_output("error", ename="E", evalue="x" * 10**6, traceback=["y" * 10**6] * 9)
    assert len(str(outputs_of(error))) < MOST_PRINTED + 1_000


def test_half_characters_and_odd_outputs_can_be_written_to_a_file():
    kept = outputs_of(new_output("stream", name="stdout", text="a \ud800 b"), {"output_type": "own", "x": 1},
                      {"output_type": "stream", "name": "<b>", "text": ["a", "b"]})
    assert [(output.name, output.text) for output in kept] == [("stdout", "a ? b"), ("stdout", "ab")]
