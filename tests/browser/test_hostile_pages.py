"""A hand-in full of scripts: none runs in the browser of who opens the feedback, or Formgrader.

Every script of the hand-in would write its name into ``pwned``, and every picture asks another host for itself.
"""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest
from harness import TOKEN, lab_server
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell
from playwright.sync_api import Page, expect
from small_class import LESSON, RIGHT, released, small_course

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STUDENT = "mallory"
ELSEWHERE = "http://elsewhere.invalid"
MATHJAX = re.compile(r"https://cdnjs\.cloudflare\.com/ajax/libs/mathjax/")  # which Formgrader itself asks for


def js(name: str) -> str:
    """A script, without quotes and angle brackets so that it fits everywhere."""
    return f"(top.pwned=top.pwned||[]).push(/{name}/.source)"


def bad(name: str) -> str:
    """A picture that is not there, and a script that runs for that."""
    return f"<img src='{ELSEWHERE}/{name}.png' onerror='{js(name)}'>"


MARKDOWN = {
    "script": f"<script>{js('script')}</script>",
    "picture": bad("picture"),
    "svg": f'<svg onload="{js("svg")}"></svg>',
    "svg-script": f"<svg><script>{js('svg-script')}</script></svg>",
    "details": f'<details open ontoggle="{js("details")}"><summary>s</summary>d</details>',
    "iframe": f'<iframe srcdoc="<script>{js("iframe")}</script>"></iframe>',
    "iframe-script": f'<iframe src="javascript:{js("iframe-script")}"></iframe>',
    "object": f'<object data="{ELSEWHERE}/object"></object><embed src="{ELSEWHERE}/embed">',
    "focus": f'<input autofocus onfocus="{js("focus")}">',
    "video": f'<video src="{ELSEWHERE}/video" onerror="{js("video")}"></video>',
    "style": f'<style>@import "{ELSEWHERE}/style.css"; body {{background: url({ELSEWHERE}/style.png)}}</style>',
    "style-attribute": f'<p style="background: url({ELSEWHERE}/background.png)">p</p>',
    "link": f'<link rel="stylesheet" href="{ELSEWHERE}/link.css">',
    "meta": f'<meta http-equiv="refresh" content="0; url={ELSEWHERE}/meta">',
    "base": f'<base href="{ELSEWHERE}/base/">',
    "unclosed": f"<script>{js('unclosed')}",
    "nested": f"<scr<script>ipt>{js('nested')}</scr</script>ipt>",
    "comment": f"<!-->{bad('comment')}-->",
    "noscript": f'<noscript><p title="</noscript>{bad("noscript")}"></noscript>',
    "math": f"<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=x onerror={js('math')}&gt;\">",
    "formula": f"$\\text{{{bad('formula')}}}$ $${bad('formula')}$$",
    "environment": f"\\begin{{align}}{bad('environment')}\\end{{align}}",
    "code": f"```{bad('code')}\ntext\n```\n\n`{bad('code')}`",
    "mermaid": f"```mermaid\n{bad('mermaid')}\n```",
    "image": f'![x" onerror="{js("image")}]({ELSEWHERE}/image.png)',
    "remote": f"![x]({ELSEWHERE}/remote.png) ![x](//elsewhere.invalid/remote.png)",
    "jump": f'[here](javascript:{js("jump")}) <a href="jav&#x09;ascript:{js("jump")}">there</a>',
    "heading": f"# {bad('heading')}",
    "table": f"| {bad('table')} |\n|---|\n| {bad('table')} |",
    "form": f'<form action="{ELSEWHERE}/form"><button formaction="javascript:{js("form")}">b</button></form>',
    "dialog": "<script>alert(1)</script>",
    "end": "</div></div></body></html>",
}

# What follows one of these is not seen, or at another address.
ENDS_THE_PAGE = ("meta", "base", "unclosed", "comment", "noscript", "math", "end")

# What a cell of the student's shows, one cell each.
SHOWN = {
    "text/html": f"<script>{js('out-html')}</script>{bad('out-html')}",
    "application/javascript": js("out-javascript"),
    "image/svg+xml": f'<svg xmlns="http://www.w3.org/2000/svg" onload="{js("out-svg")}"></svg>',
    "text/markdown": bad("out-markdown"),
    "text/latex": bad("out-latex"),
    "text/vnd.mermaid": bad("out-mermaid"),
    "image/png": f'x">{bad("out-png")}',
    "text/plain": bad("out-plain"),
    "application/vnd.jupyter.widget-view+json": {"model_id": f"</script>{bad('out-widget')}"},
}
SIZES = {"image/png": {"width": f'1">{bad("out-width")}'}, "text/html": {"isolated": True}}


def shows(kind: str) -> str:
    return f"from IPython.display import display\ndisplay({{{kind!r}: {SHOWN[kind]!r}}}, raw=True, metadata={SIZES!r})"


PRINTS = f"""print({bad('out-print')!r}, '\\x1b[31m', {bad('out-print')!r})
raise type({bad('out-error')!r}, (Exception,), {{}})({bad('out-error')!r})"""


def hostile(nb: NotebookNode) -> NotebookNode:
    """Add every script to a hand-in: as cells of its own, in the written answer, in metadata."""
    nb.cells.insert(0, new_markdown_cell("# test_answer\n\n# written"))  # ids that Formgrader looks for
    nb.cells += [new_markdown_cell(source) for source in MARKDOWN.values()]
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' onload='{js('attached')}'/>"
    nb.cells.append(new_markdown_cell("![a](attachment:a.svg) ![b](attachment:b.png) ![c](attachment:missing.png)", attachments={
        "a.svg": {"image/svg+xml": svg}, "b.png": {"image/png": f'x">{bad("attached")}'}}))
    nb.cells += [new_raw_cell(f"<script>{js('raw')}</script>", metadata={"raw_mimetype": kind})
                 for kind in ("", "text/html", "TEXT/HTML")]
    nb.cells += [new_code_cell(shows(kind)) for kind in SHOWN]
    nb.cells.append(new_code_cell(PRINTS, metadata={"tags": [f'">{bad("tag")}']}))
    nb.cells.append(new_code_cell(f'# </pre></div>{bad("source")}', metadata={
        "magics_language": "<img>", "nbgrader": {"grade_id": f'">{bad("grade-id")}'}}))
    nb.metadata["title"] = f"</title>{bad('title')}"
    nb.metadata["widgets"] = {"application/vnd.jupyter.widget-view+json": f"</script>{bad('widgets')}"}
    return nb


@dataclass
class Watch:
    """What happens in a window that should not."""

    page: Page
    server: str = "file:"  # our own
    dialogs: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # other hosts

    def __post_init__(self):
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.page.context.on("request", self._request)
        self.page.context.route(self._elsewhere, lambda route: route.abort())

    def _elsewhere(self, url: str) -> bool:
        return url.startswith(("http:", "https:", "ws:", "wss:")) and not url.startswith(self.server)

    def _request(self, request) -> None:
        if self._elsewhere(request.url):
            self.asked.append(request.url)

    def ran(self) -> list[str]:
        """Names of the scripts that ran, after all that happens by itself and by moving about has had its time."""
        self.page.wait_for_load_state("load")
        for picture in self.page.locator("img").all():
            picture.dispatch_event("mouseover")
        self.page.wait_for_timeout(1000)
        return self.page.evaluate("[...new Set(top.pwned || [])]") + self.dialogs

    def left(self) -> list[str]:
        """What could still run or be loaded on a click, in the part of the page that shows the hand-in."""
        return self.page.evaluate("""() => {
            const inside = [...document.querySelectorAll('#notebook-container *')];
            const risky = inside.filter(e => /^(script|iframe|object|embed|link|meta|base|form|style|svg|math|video)$/i.test(e.tagName)
                || [...e.attributes].some(a => /^on|^srcdoc$|^formaction$/i.test(a.name)
                    || (/^(href|src|action|data|xlink:href)$/i.test(a.name) && /^\\s*(javascript|data:text|data:image.svg)/i.test(a.value))));
            return risky.map(e => e.outerHTML.slice(0, 200));
        }""")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The hand-in, graded, with its feedback; and an honest one beside it."""
    nbgrader = small_course(tmp_path_factory.mktemp("course"))
    written = "\n\n".join(source for name, source in MARKDOWN.items() if name not in ENDS_THE_PAGE)
    for student, nb in ((STUDENT, hostile(released(nbgrader, **(RIGHT | {"written": written})))),
                        ("ada", released(nbgrader, **RIGHT))):
        nbgrader.hand_in(LESSON, student, nb)
        nbgrader.autograde(LESSON, student)
        nbgrader.feedback(LESSON, student)
    return nbgrader


@pytest.fixture
def window(chromium):
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    yield context.new_page()
    context.close()


def test_the_scripts_do_run_where_nothing_stops_them(window, tmp_path):
    """Otherwise the tests below would prove nothing."""
    page = tmp_path / "page.html"
    watch = Watch(window)
    cells = [new_markdown_cell(source) for name, source in MARKDOWN.items() if name not in ENDS_THE_PAGE]
    html, _ = HTMLExporter(template_name="classic").from_notebook_node(nbformat.v4.new_notebook(cells=cells))
    page.write_text(html, encoding="utf-8")
    window.goto(page.as_uri())
    ran = watch.ran()
    assert {"script", "picture", "svg", "details", "iframe", "heading", "table", "video", "1"} <= set(ran)
    assert {f"{ELSEWHERE}/{name}.png" for name in ("picture", "remote", "style", "background")} <= set(watch.asked)


def test_the_feedback_page_runs_nothing_and_loads_nothing(window, course, screenshots):
    page: Path = course.place("feedback", LESSON, STUDENT).with_suffix(".html")
    watch = Watch(window)
    window.goto(page.as_uri())
    assert watch.ran() == [] and watch.asked == [] and watch.left() == []
    expect(window.locator("#notebook-container").first).to_contain_text("double_values")
    window.screenshot(path=screenshots / "hostile-feedback.png", full_page=True)


@pytest.mark.parametrize("knows_the_course", [True, False])
def test_formgrader_runs_nothing_of_the_students(window, course, tmp_path, screenshots, knows_the_course):
    """Also one that has not read the course's configuration: the graded notebook itself is harmless."""
    root = course.course.root
    if not knows_the_course:
        root = shutil.copytree(root, tmp_path / "course", ignore=shutil.ignore_patterns("nbgrader_config.py"))
    config = f"c = get_config()\nc.CourseDirectory.root = {str(root)!r}\nc.CourseDirectory.course_id = 'manyheads'\n"
    with lab_server(root, tmp_path / "home", nbgrader_config=config) as url:
        watch = Watch(window, url)
        window.goto(f"{url}/formgrader?token={TOKEN}")
        window.get_by_text(LESSON, exact=True).first.wait_for()
        with course.gradebook() as gradebook:
            submission = gradebook.find_submission_notebook(LESSON, LESSON, STUDENT).id
        window.goto(f"{url}/formgrader/submissions/{submission}/")
        expect(window.locator("input#test_double_values")).to_have_attribute("placeholder", "2")  # its own scripts ran
        assert watch.ran() == [] and watch.left() == []
        assert [place for place in watch.asked if not MATHJAX.match(place)] == []
        fields = "() => ['test_answer', 'written'].map(name => document.getElementById(name).tagName)"
        assert window.evaluate(fields) == ["INPUT", "INPUT"]  # no heading of theirs stands in for one
        if knows_the_course:
            window.screenshot(path=screenshots / "hostile-formgrader.png", full_page=True)


def test_formgraders_button_grades_in_the_sandbox(window, course, tmp_path):
    root = course.course.root
    course.hand_in(LESSON, "bob", released(course, **RIGHT))
    config = f"c = get_config()\nc.CourseDirectory.root = {str(root)!r}\n"
    with lab_server(root, tmp_path / "home", nbgrader_config=config) as url:
        window.goto(f"{url}/formgrader?token={TOKEN}")
        window.goto(f"{url}/formgrader/manage_submissions/{LESSON}")
        row = window.locator("tr", has_text="bob")
        row.locator(".autograde a").click()
        expect(window.locator(".modal-title")).to_have_text("Success", timeout=120_000)
        expect(row).to_contain_text("5 / 7")
    graded = nbformat.read(course.place("autograded", LESSON, "bob"), as_version=4)
    assert graded.metadata.manyheads.sandbox == "full"
