"""Feedback: the student's work, points and a message a question, and nothing that must stay hidden."""

import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_notebook, new_output
from small_class import LESSON, RIGHT, released, small_course

from manyheads.grade.feedback import (
    RedactTests,
    Verdict,
    redact,
    safe_markdown,
    told,
    verdict,
    visible_source,
    without_paths,
)

HIDDEN = ["canary", "4321", "8642", "4322", "8644", "4323", "8646", "4324", "98765", "HIDDEN", "Traceback"]

STUDENTS = {
    "right": RIGHT,
    "blank": {},
    "wrong": {"double": "def double(x):\n    return 3 * x", "answer": "answer = 1", "written": "My answer."},
    "partly": RIGHT | {"double": "def double(x):\n    return int(x) * 2 if isinstance(x, int) else x"},
    "raises": RIGHT | {"double": "def double(x):\n    y = [][x]\n    return y"},
    "overruled": RIGHT | {"double": "def double(x):\n    return 3 * x"},
    "asserts": RIGHT | {"double": "def double(x):\n    return 0"},
    "breaks": RIGHT | {"double": "import pathlib\npathlib.Path('/usr', 'secret', 'place.txt').read_text()"},
    "script": RIGHT | {"written": "Hello <script>alert('evil')</script> <img src=x onerror=\"alert('evil')\"> "
                                  "[link](javascript:alert('evil'))\n\n<svg onload=\"alert('evil')\"></svg>"},
    "shows": RIGHT | {"answer": "from IPython.display import HTML, Javascript, display\n"
                                "display(HTML('<script>evil()</script>'), Javascript('evil()'))\n"
                                "display({'image/png': '\"><script>evil()</script>'}, raw=True)\n"
                                "display({'image/png': 'iVBORw0KGgo=', 'text/plain': '<script>evil()</script>'}, raw=True)\n"
                                "answer = 98766"},
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Student -> the feedback page, as soup."""
    nbgrader = small_course(tmp_path_factory.mktemp("course"))
    made = {}
    for student, answers in STUDENTS.items():
        nbgrader.hand_in(LESSON, student, released(nbgrader, **answers))
        nbgrader.autograde(LESSON, student)
        if student == "overruled":
            with nbgrader.gradebook() as gradebook:
                for name, points in (("test_double_values", 2), ("written", 1.5)):
                    grade = gradebook.find_grade(name, LESSON, LESSON, student)
                    grade.manual_score, grade.needs_manual_grade = points, False
                gradebook.find_comment("written", LESSON, LESSON, student).manual_comment = "Well put."
                gradebook.db.commit()
        made[student] = BeautifulSoup(nbgrader.feedback(LESSON, student).read_text(encoding="utf-8"), "html.parser")
        for style in made[student].find_all("style"):
            style.decompose()
    made["root"] = nbgrader.course.root
    return made


def message(page, grade_id):
    """The text below the test cell of this name."""
    return page.find("a", attrs={"name": grade_id}).find_parent(class_="cell").find(class_="output").get_text().strip()


def heading(page, grade_id):
    return " ".join(page.find("a", attrs={"name": grade_id}).find_parent(class_="panel").get_text().split())


@pytest.mark.slow
@pytest.mark.parametrize("student", ["blank", "wrong", "partly", "raises", "asserts", "breaks"])
def test_nothing_hidden_is_shown(pages, student):
    html = str(pages[student]).replace("def double(x):", "")
    shown = [secret for secret in HIDDEN if secret in html]
    if student != "wrong":  # "answer = 98765" is what the student wrote
        shown = [secret for secret in shown if secret != "98765"]
    assert not shown
    assert str(pages["root"]) not in html and "site-packages" not in html and "/usr/secret" not in html


@pytest.mark.slow
@pytest.mark.parametrize("student", [student for student in STUDENTS])
def test_every_question_has_points_and_a_message(pages, student):
    for test in ("test_double_values", "test_double_kinds", "test_answer"):
        assert message(pages[student], test)
        assert "Score: " in heading(pages[student], test)
        assert "# checks: " in heading(pages[student], test)


@pytest.mark.slow
def test_the_message_tells_what_is_wrong(pages):
    assert message(pages["right"], "test_double_values") == "Right."
    assert message(pages["blank"], "test_answer") == "Not attempted: answer is still None"
    assert message(pages["blank"], "test_double_values") == "Not attempted."
    assert message(pages["wrong"], "test_answer").startswith("Not right yet: answer")
    assert message(pages["raises"], "test_double_values") == (
        "Raised an error: IndexError: list index out of range\n  in your cell double, line 2: y = [][x]")
    assert message(pages["asserts"], "test_double_values") == (
        "Not right yet: the check could not use what your code gave (AssertionError).")
    assert message(pages["breaks"], "test_double_values").startswith("Not attempted: double is not there.")


@pytest.mark.slow
def test_partial_points_say_which_part_is_missing(pages):
    assert "Score: 1.0 / 2.0" in heading(pages["partly"], "test_double_kinds")
    said = message(pages["partly"], "test_double_kinds")
    assert said.startswith("Partly right: a list: not right yet:")
    assert "a number" not in said


@pytest.mark.slow
def test_a_table_on_top_shows_every_question(pages):
    rows = [[cell.get_text() for cell in row.find_all("td")] for row in pages["partly"].find("table").find_all("tr")]
    assert rows[1:] == [["double_values", "0 of 2", "not right yet"], ["double_kinds", "1 of 2", "partly right"],
                        ["answer", "1 of 1", "right"], ["written", "– of 2", "not marked yet"]]


@pytest.mark.slow
def test_points_that_the_instructor_gave_are_not_called_wrong(pages):
    table = pages["overruled"].find("table").get_text()
    assert "double_values\n2 of 2\npoints set by the instructor" in table
    assert "written\n1.5 of 2\nmarked by hand" in table
    assert "not marked yet" not in pages["overruled"].get_text()
    assert pages["overruled"].find("a", href="#comment-written").get_text() == "written"
    assert "Well put." in pages["overruled"].get_text()
    assert "written\n0 of 2\nnot attempted" in pages["blank"].find("table").get_text()


@pytest.mark.slow
def test_the_students_work_stays(pages):
    assert "y = [][x]" in pages["raises"].get_text()
    assert "My answer." in pages["right"].get_text()
    assert "FileNotFoundError" in pages["breaks"].get_text()


@pytest.mark.slow
def test_an_answer_that_nobody_marked_does_not_look_like_no_points(pages):
    assert "2 points are not marked yet" in pages["right"].get_text()
    assert "Not marked yet" in heading(pages["right"], "written")
    assert "not marked yet" not in pages["blank"].get_text()


@pytest.mark.slow
@pytest.mark.parametrize("student", ["right", "script", "shows"])
def test_a_page_loads_nothing_and_runs_nothing(pages, student):
    page = pages[student]
    assert not page.find_all(["script", "link", "iframe", "object", "embed"])
    assert not page.find_all(src=lambda place: place and not place.startswith("data:"))
    policy = page.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert "Test cell" not in page.get_text()


@pytest.mark.slow
@pytest.mark.parametrize("student", ["script", "shows"])
def test_no_script_of_a_student_survives(pages, student):
    page = pages[student]
    assert not [tag for tag in page.find_all("script") if "evil" in tag.get_text()]
    assert not page.find_all(lambda tag: any(name.startswith("on") for name in tag.attrs))
    assert not page.find_all(href=lambda to: to and to.strip().lower().startswith("javascript"))
    assert not page.find_all("svg")
    if student == "script":
        assert "Hello" in page.get_text()
    else:
        assert page.find("img", src="data:image/png;base64,iVBORw0KGgo=")


@pytest.mark.parametrize("source, gone, kept", [
    ("<script>x()</script> text", "<script", "text"),
    ("<SCRIPT SRC=//evil></SCRIPT>text", "<script", "text"),
    ("<a href=' jAvAscript:x()'>text</a>", "javascript:", "text"),
    ("<a href='data:text/html,<script>x()</script>'>text</a>", "data:", "text"),
    ("<iframe src='https://evil'></iframe>text", "<iframe", "text"),
    ("<details open ontoggle=x()><summary>s</summary>text</details>", "ontoggle", "<details>"),
    ("<p style='background:url(javascript:x())'>text</p>", "javascript", "text"),
    ("<math><mi xlink:href='javascript:x()'>text</mi></math>", "href", "text"),
    ("$\\href{a}{<img src=x onerror=x()>}$ text", "<img", "text"),
    ("![text](https://evil/seen.png)", "evil", "text"),
    ("<img src='//evil/seen.png' alt='text'>", "evil", "text"),
    ("<img src='/logout' alt='text'>", "logout", "text"),
    ("<img src='data:image/svg+xml;base64,AAAA' alt='text'>", "data:", "text"),
    ("<a href='&#100;ata:text/html,<b>x</b>'>text</a>", "href", "text"),
    ("<a href='/logout'>text</a>", "href", "text"),
    ("<a class='btn btn-success full-credit' href='#'>text</a>", "class", "text"),
    ("<a id='test_answer' name='test_answer'>text</a>", "test_answer", "text"),
    ("![text](attachment:missing.png)", "attachment", "text"),
])
def test_markdown_becomes_harmless(source, gone, kept):
    html = safe_markdown({}, source)
    assert gone not in html.lower()
    assert kept in html


def test_ordinary_markdown_is_untouched():
    html = safe_markdown({}, "# Title\n\n**bold** $a<b$ `x < 3`\n\n```python\nif x < 3: pass\n```\n\n"
                             "| a | b |\n|--:|:--|\n| 1 | 2 |\n\n![p](data:image/png;base64,AAAA)\n\n"
                             "[there](https://example.org) [here](#title)\n")
    for wanted in ("<h1>", "<strong>bold</strong>", "$a&lt;b$", "<code>x &lt; 3</code>", "<table>",
                   'style="text-align:right;"', 'src="data:image/png;base64,AAAA"', 'class="highlight"',
                   'href="https://example.org"', 'href="#title"'):
        assert wanted in html


@pytest.mark.parametrize("attachments, shown", [
    ({"a b.png": {"image/png": "AAAA"}}, True),
    ({"a b.png": {"image/svg+xml": "AAAA"}}, False),
    ({"a b.png": {"image/png": '"><script>x()</script>'}}, False),
    ({"a b.png": {}}, False),
    ({"a b.png": "AAAA"}, False),
    ([], False),
])
def test_an_attached_picture_is_shown_if_it_is_one(attachments, shown):
    html = safe_markdown({"cell": {"attachments": attachments}}, "![a picture](attachment:a%20b.png)")
    assert ('src="data:image/png;base64,AAAA"' in html) == shown
    assert "a picture" in html and "<script" not in html


def test_text_that_is_too_long_to_render_is_shown_as_it_is():
    html = safe_markdown({}, "<b>" * 100_000)
    assert html.startswith("<pre>&lt;b&gt;") and html.endswith("(the rest is left out)</pre>")
    assert len(html) < 500_000


def test_paths_are_cut_to_their_last_part():
    assert without_paths("no /home/ada/course/x.py here") == "no x.py here"
    assert without_paths(r"File C:\Users\ada\x.py, line 3") == "File x.py, line 3"
    assert without_paths("(3/4) and 1 / 2, https://a.org/b/c") == "(3/4) and 1 / 2, https://a.org/b/c"


def test_visible_source_ends_where_the_hidden_tests_begin():
    source = "# checks\nf(1)\n### BEGIN HIDDEN TESTS\nsecret\n### END HIDDEN TESTS\nlast"
    assert visible_source(source) == "# checks\nf(1)\nlast"
    assert visible_source(source.rsplit("### END", 1)[0]) == "# checks\nf(1)"


def graded_cell(**held):
    return new_code_cell("f()", **held, metadata={"nbgrader": {"grade": True, "grade_id": "test_f", "points": 2}})


INTERRUPT = new_output("error", ename="KeyboardInterrupt", evalue="", traceback=["Cell In[1], line 1"])
LIMIT = new_output("error", ename="CellTimeoutError", evalue="", traceback=["No reply from kernel"])
DIED = new_output("error", ename="StudentProcessDied", evalue="your code ended the Python process", traceback=["x"])


@pytest.mark.parametrize("outputs, text", [
    ([INTERRUPT, LIMIT], "Timed out: your code did not finish in the time that it may take (question f)."),
    ([LIMIT], "Timed out: your code did not finish in the time that it may take (question f)."),
    ([new_output("error", ename="CellTimeoutError", evalue="the time was used up before.", traceback=[])],
     "Timed out: the time was used up before (question f)."),
    ([DIED], "Crashed: your code ended the Python process"),
])
def test_a_question_without_an_answer_in_time_has_a_status_of_its_own(outputs, text):
    test = graded_cell(outputs=outputs)
    student = new_code_cell("def f(): pass", execution_count=1)
    assert str(verdict(test, new_notebook(cells=[student, test]))) == text


@pytest.mark.parametrize("outputs, text", [
    ([INTERRUPT, LIMIT], "Timed out: this cell did not finish in the time that a cell may take."),
    ([DIED], "Crashed: your code ended the Python process"),
])
def test_a_cell_of_the_student_tells_once_why_it_stopped(outputs, text):
    nb = new_notebook(cells=[new_code_cell("while True: pass", outputs=outputs)])
    redact(nb)
    assert [output.traceback for output in nb.cells[0].outputs] == [[text]]


@pytest.mark.parametrize("written, points, text", [
    ({"status": "graded", "message": ""}, None, "Right."),
    ({"status": "graded", "message": "f(x): 3, not 4", "mistake": "off_by_one"}, 0, "Not right yet: f(x): 3, not 4"),
    ({"status": "graded", "message": "a list: not right yet"}, 1, "Partly right: a list: not right yet"),
    ({"status": "not attempted", "message": "f is still None"}, 0, "Not attempted: f is still None"),
    ({"status": "timed out", "message": ""}, 0, "Timed out: your code did not finish in the time that it may take (question f)."),
    ({"status": "crashed", "message": "f used more memory than allowed"}, 0, "Crashed: f used more memory than allowed"),
    ({"status": "raised an error", "message": "OSError: a\n  in your cell f, line 1: open('/home/me/a')"}, 0,
     "Raised an error: OSError: a\n  in your cell f, line 1: open('/home/me/a')"),
])
def test_what_the_isolated_grader_wrote_counts(written, points, text):
    test = graded_cell()
    if points is not None:
        test.outputs = [new_output("execute_result", data={"text/plain": str(points)})]
    test.metadata["manyheads"] = {"verdict": written}
    assert str(told(test, new_notebook(cells=[test]))) == text


def test_a_sentence_on_repairs_quotes_the_student_letter_by_letter():
    quote = "The cell '# *a* ![b](c) <i> $x$ `d` | 1. &lt;' was there twice: the last copy was graded."
    nb = new_notebook(metadata={"manyheads": {"repaired": [quote]}})
    summary = RedactTests()._summary([], [], {}, nb)
    assert BeautifulSoup(safe_markdown({}, summary), "html.parser").get_text().endswith(f" {quote}\n")


def test_metadata_of_the_student_do_not_reach_the_page():
    cell = new_code_cell("x", metadata={"transient": {"remove_source": True}, "tags": ["evil"]})
    nb = new_notebook(cells=[cell], metadata={"widgets": {"evil": 1}, "title": "evil", "language_info": {"name": "evil"}})
    redact(nb)
    assert "evil" not in str(nb) and "remove_source" not in str(nb)


def test_a_long_message_is_broken_into_lines():
    words = " ".join(["word"] * 60)
    lines = str(Verdict("not right yet", f"{words}\n  in your cell: {words}")).split("\n")
    assert max(len(line) for line in lines) <= 90
    assert " ".join(" ".join(lines).split()) == f"Not right yet: {words} in your cell: {words}"


def test_a_hidden_region_is_cut_whatever_the_metadata_say():
    cell = new_code_cell("f()\n### BEGIN HIDDEN TESTS\nsecret\n### END HIDDEN TESTS", metadata={"nbgrader": {}})
    nb = new_notebook(cells=[cell])
    redact(nb)
    assert nb.cells[0].source == "f()"


def test_an_exception_from_the_test_itself_says_nothing_of_what_it_expects():
    """The student called back into the test, which raised: the deepest cell is the test's."""
    frames = "Cell In[2], line 3\nCell In[1], line 1, in f(call)\nCell In[2], line 2, in <lambda>"
    error = new_output("error", ename="ValueError", evalue="secret", traceback=[frames])
    test = new_code_cell("f(1)", execution_count=2, outputs=[error], metadata={"nbgrader": {"grade": True, "points": 1}})
    student = new_code_cell("def f(call): return call()", execution_count=1)
    nb = new_notebook(cells=[student, test])
    assert "secret" not in str(verdict(test, nb))
    error["traceback"] = [frames.rsplit("\n", 1)[0]]
    assert "secret" in str(verdict(test, nb))
