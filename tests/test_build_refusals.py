"""Each reason to refuse a lesson: the message names the lesson and the cell, and says what to do."""

import base64

import nbformat
import pytest
from tiny_course import ANSWER, DEMO, DOUBLE, LESSON, SETUP, TEST_ANSWER, TEST_DOUBLE, WRITTEN, text, tiny_course

from manyheads.course import build, refuse
from manyheads.course.lesson import Refused, defined_names, read_lesson


def refusal(tmp_path, lesson_text, solutions=False):
    """The problems for which the build refuses this text."""
    course = tiny_course(tmp_path / "course", lesson_text)
    with pytest.raises(Refused) as error:
        build.build(course, solutions=solutions)
    assert str(error.value).startswith(LESSON)
    assert not course.folder("release", LESSON).exists()
    return error.value.problems


def only(tmp_path, lesson_text, solutions=False):
    problems = refusal(tmp_path, lesson_text, solutions)
    assert len(problems) == 1, [str(problem) for problem in problems]
    return problems[0]


def test_the_tiny_lesson_itself_is_fine():
    assert refuse.source_problems(LESSON, read_lesson(text(), LESSON)) == []


# ---- test cells -----------------------------------------------------------------------------------------------

ENDINGS = {
    "double(3) == 6": False,
    "(double(3), 6)": False,
    "points(5, 4)": False,  # the cell has 6
    "points(got)": False,
    "check.gradient(double, 3)": False,
    "len('check.close')": False,
    "points(got, 6)": True,
    "check.close(double(3), 6, 'double')": True,
    "assert double(3) == 6": True,
    "six = double(3)": True,
    "with open('x') as file: file.read()": True,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_a_test_cell_may_end_in(ending):
    # hidden and visible endings count alike
    for border in ("### END HIDDEN TESTS\n", "### END HIDDEN TESTS"):
        source = TEST_DOUBLE.replace("### END HIDDEN TESTS\n", f"{ending}\n{border.strip()}\n")
        problems = refuse.source_problems(LESSON, read_lesson(text(test_double=source), LESSON))
        assert (not problems) == ENDINGS[ending], [str(problem) for problem in problems]
        assert all(problem.cell == "cell 4 (test_double_values)" for problem in problems)


def test_a_test_cell_that_ends_in_a_value_is_refused(tmp_path):
    problem = only(tmp_path, text(test_double=TEST_DOUBLE.replace("### END HIDDEN", "double(3)\n### END HIDDEN")))
    assert problem.cell == "cell 4 (test_double_values)"
    assert "'double(3)'" in problem.what and "points(got, of)" in problem.remedy


def test_a_test_cell_says_first_what_it_checks(tmp_path):
    problem = only(tmp_path, text(test_double=TEST_DOUBLE.replace("# checks: other numbers\n", "# numbers\n")))
    assert problem.cell == "cell 4 (test_double_values)" and "# checks:" in problem.remedy


def test_a_test_cell_has_a_visible_line_before_its_hidden_tests(tmp_path):
    problem = only(tmp_path, text(test_double=TEST_DOUBLE.replace("assert double(2) is not None\n", "# nothing\n")))
    assert problem.cell == "cell 4 (test_double_values)" and "visible line" in problem.what


# ---- points and ids -------------------------------------------------------------------------------------------


def test_a_graded_cell_has_points(tmp_path):
    problems = refusal(tmp_path, text(test_double=TEST_DOUBLE.replace("  points: 6\n", "")))
    assert any(p.cell == "cell 4 (test_double_values)" and "no points" in p.what for p in problems)


def test_points_add_up_to_the_lessons_total(tmp_path):
    problem = only(tmp_path, text(test_double=TEST_DOUBLE.replace("points: 6", "points: 7")))
    assert "add up to 13, and the lesson has 12" in problem.what


def test_the_header_says_the_total(tmp_path):
    assert "says points: 13" in only(tmp_path, text().replace("  points: 12", "  points: 13")).what


def test_a_lesson_outside_the_table_is_refused(tmp_path):
    course = tiny_course(tmp_path / "course")
    course.text(LESSON).rename(course.root / "lessons" / "06_encoder.md")
    with pytest.raises(Refused, match="06_encoder: the table of points does not know"):
        build.build(course, solutions=False)


def test_a_grade_id_is_used_once(tmp_path):
    problem = only(tmp_path, text(answer=ANSWER.replace("grade_id: answer", "grade_id: double")))
    assert problem.cell == "cell 5 (double)" and "cell 3 (double)" in problem.what


def test_every_code_cell_has_a_role_or_nbgrader_metadata(tmp_path):
    problem = only(tmp_path, text(demo=DEMO.replace(":role: demo\n\n", "")))
    assert problem.cell.startswith("cell 7 (") and "demo, check, student" in problem.remedy
    assert "'tset'" in only(tmp_path / "unknown", text(demo=DEMO.replace("demo\n", "tset\n"))).what


def test_a_written_answer_does_not_swallow_the_next_section(tmp_path):
    problem = only(tmp_path, text(written=WRITTEN + "\n## 2. The next section\n\nIts text.\n"))
    assert problem.cell == "cell 8 (written)"
    assert "'## 2. The next section'" in problem.what and "`+++`" in problem.remedy


def test_a_written_answer_may_hold_code_with_comments():
    fenced = WRITTEN + "\n```python\n# twice\nx + x  # also right\n```\n\nA head #1 is no heading, nor is a\n#hashtag.\n"
    assert refuse.source_problems(LESSON, read_lesson(text(written=fenced), LESSON)) == []


# ---- solutions and set-up -------------------------------------------------------------------------------------


NO_STUB = {
    "no region": (DOUBLE.replace("### BEGIN", "# begin").replace("### END", "# end"), "is not between"),
    "region at top level": (DOUBLE.replace("    ###", "###"), "no stub"),
    "no name": (ANSWER.replace("answer_sum = None  # an int\n", ""), "no stub"),
    "not None": (ANSWER.replace("answer_sum = None", "answer_sum = 0"), "no stub"),
    "raises at top level": (ANSWER.replace("### BEGIN", "if True:\n  ### BEGIN").replace("answer_sum = 4", "  answer_sum = 4"),
                            "stop Run All"),
    "another name": (ANSWER.replace("answer_sum = 4711", "answer_product = 4711"), "does not fill in answer_sum"),
    "left open": (ANSWER.replace("### END SOLUTION\n", ""), "do not match"),
    "given as it is": (DOUBLE.replace("def double", "def helper():\n    return 1\n\ndef double"), "helper has no stub"),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_STUB)
def test_a_solution_cell_leaves_a_stub(tmp_path, case):
    source, said = NO_STUB[case]
    name = "double" if "def double" in source else "answer"
    problems = refusal(tmp_path, text(**{name: source}))
    assert {problem.cell for problem in problems} == {f"cell {3 if name == 'double' else 5} ({name})"}
    assert any(said in problem.what for problem in problems), problems


@pytest.mark.parametrize(
    "line",
    [
        "double = 3", "double += 1", "import math as double", "for double in (): pass", "def double(): pass",
        "with open('x') as double: pass", "(first, double) = 1, 2", "class double: pass", "if (double := 1): pass",
        "def change():\n    global double\n    double = 1",
    ],
)  # fmt: skip
def test_a_setup_cell_defines_no_name_that_tests_ask_for(tmp_path, line):
    assert "double" in defined_names(line)
    problem = only(tmp_path, text(setup=SETUP.replace("import math\n", f"import math\n{line}\n")))
    assert problem.cell == "cell 2 (setup)" and "defines double" in problem.what


def test_a_setup_cell_imports_names_one_by_one(tmp_path):
    problem = only(tmp_path, text(setup=SETUP.replace("import math\n", "from math import *\n")))
    assert problem.cell == "cell 2 (setup)" and "imports *" in problem.what


def test_local_names_of_a_setup_function_are_free():
    assert defined_names("def f(x):\n    double = x\n    return [answer for answer in double]") == {"f"}


# ---- what reaches students ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "cell"),
    [
        ({"demo": DEMO + "\nThe answer is easy: answer_sum = 4711, as everybody sees.\n"}, "cell 5 (answer)"),
        ({"demo": DEMO.replace("print", "doubled_by_addition = number + number\nprint")}, "cell 3 (double)"),
        (
            {"test_answer": TEST_ANSWER.replace("tags", "").replace("  points: 4\n", "  points: 4\nnote: answer_sum = 4711\n")},
            "cell 5 (answer)",
        ),
        ({"demo": DEMO + "\n" + WRITTEN.split("\n\n")[1]}, "cell 9 (written)"),
        ({"demo": DEMO + "\nfor number in (3, 7.5):\n    assert math.isclose(double(number), 2 * number), f\"{number}\"\n"},
         "cell 4 (test_double_values)"),
    ],
    ids=["answer in a text", "solution in a cell", "answer in metadata", "model answer", "hidden test"],
)  # fmt: skip
def test_a_secret_that_survives_is_refused(tmp_path, changed, cell):
    problem = only(tmp_path, text(**changed))
    assert problem.cell == cell and "survives in the release" in problem.what


def test_a_secret_in_a_helper_file_is_refused(tmp_path):
    course = tiny_course(tmp_path / "course")
    course.helpers(LESSON).mkdir()
    (course.helpers(LESSON) / "notes.txt").write_text("remember:\n   doubled_by_addition  =  number + number\n")
    with pytest.raises(Refused, match="notes.txt"):
        build.build(course, solutions=False)


def test_a_secret_in_outputs_and_attachments_is_found(tmp_path):
    source = read_lesson(text(), LESSON)
    release = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1"), nbformat.v4.new_markdown_cell("a")])
    release.cells[0].outputs = [nbformat.v4.new_output("stream", text="answer_sum = 4711\n")]
    hidden = base64.b64encode(b"doubled_by_addition = number + number").decode()
    release.cells[1]["attachments"] = {"picture.txt": {"text/plain": hidden}}
    nbformat.write(release, tmp_path / "release.ipynb")
    said = [str(problem) for problem in refuse.leaks(source, tmp_path)]
    assert len(said) == 2
    assert "the attachments of cell 2" in said[0] and "the outputs of cell 1" in said[1]


def test_one_line_of_a_long_solution_is_no_leak_but_two_of_three_are(tmp_path):
    body = ["scores = query @ key.transpose(-2, -1)", "weights = torch.softmax(scores, -1)", "return weights @ value"]
    marked = ["### BEGIN SOLUTION", *body, "### END SOLUTION"]
    solution = nbformat.v4.new_code_cell("\n    ".join(["def one_head(query, key, value):", *marked]))
    solution.metadata["nbgrader"] = {"solution": True, "grade_id": "one_head"}
    source = nbformat.v4.new_notebook(cells=[solution])
    for lines, found in ((1, 0), (2, 1)):
        shown = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("\n".join(body[:lines]))])
        nbformat.write(shown, tmp_path / "release.ipynb")
        assert len(refuse.leaks(source, tmp_path)) == found


def test_the_canary_finds_what_a_converter_leaves(tmp_path, monkeypatch):
    """Suppose nbgrader, or a course configuration, did not clear hidden tests."""
    config = (tiny_course(tmp_path / "course").root) / "nbgrader_config.py"
    config.write_text(config.read_text().replace("    ClearHiddenTests,\n    ClearMark", "    ClearMark"))
    monkeypatch.setattr(refuse, "leaks", lambda source, release: [])
    with pytest.raises(Refused, match="a marker in a solution or hidden test survives.*test_double_values"):
        build.build(build.Course(tmp_path / "course"), solutions=False)


def test_nbgrader_metadata_is_a_mapping(tmp_path):
    problem = only(tmp_path, text(demo=DEMO.replace(":role: demo", ":nbgrader: demo")))
    assert problem.cell.startswith("cell 7 (") and "no mapping" in problem.what


def test_a_second_notebook_among_the_helpers_is_refused(tmp_path):
    course = tiny_course(tmp_path / "course")
    course.helpers(LESSON).mkdir()
    (course.helpers(LESSON) / "draft.ipynb").write_text("{}")
    with pytest.raises(Refused, match="a helper file is a notebook"):
        build.build(course, solutions=False)


def test_a_text_in_another_encoding(tmp_path):
    course = tiny_course(tmp_path / "course")
    course.text(LESSON).write_bytes(text().replace("tiny", "t\u00efny").encode("latin-1"))
    with pytest.raises(Refused, match="01_motivation.md is not UTF-8"):
        build.build(course, solutions=False)


def test_a_text_that_is_no_notebook_and_a_lesson_that_is_not_there(tmp_path):
    assert "jupytext cannot read" in only(tmp_path, text().replace("grade_id: setup", "grade_id: [")).what
    with pytest.raises(Refused, match="there is no lessons/02_none.md. Lessons that exist: 01_motivation"):
        build.build(build.Course(tmp_path / "course"), ["02_none"], solutions=False)


# ---- executed -------------------------------------------------------------------------------------------------


def test_what_a_blank_notebook_may_raise():
    def ran(role, *names):
        cell = nbformat.v4.new_code_cell("x", metadata={"manyheads": {"role": role}})
        cell.outputs = [nbformat.v4.new_output("error", ename=name, evalue="", traceback=[]) for name in names]
        return refuse.blank_problems(nbformat.v4.new_notebook(cells=[cell]))

    assert not ran("test", "NotImplementedError") and not ran("test", "NotAttempted") and not ran("demo")
    assert "raises TypeError" in ran("demo", "TypeError")[0].what
    assert "this test passes" in ran("test")[0].what


@pytest.mark.slow
def test_a_blank_notebook_that_raises_something_else_is_refused(tmp_path):
    problem = only(tmp_path, text(demo=DEMO + "\n```{code-cell}\n:role: demo\n\nanswer_sum + 1\n```\n"), solutions=True)
    assert problem.cell == "cell 8 ('answer_sum + 1')" and "TypeError" in problem.what


@pytest.mark.slow
def test_a_solution_that_raises_is_refused(tmp_path):
    problem = only(tmp_path, text(answer=ANSWER.replace("answer_sum = 4711", "answer_sum = 4712")), solutions=True)
    assert problem.cell == "cell 6 (test_answer_sum)" and "the solution raises AssertionError" in problem.what
