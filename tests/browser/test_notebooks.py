"""Every student version in JupyterLab: run as it is handed out, looked at, and validated with nbgrader's button."""

import shutil
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

pytestmark = pytest.mark.browser

RELEASE = Path(__file__).parents[2] / "release"
LESSONS = sorted(folder.name for folder in RELEASE.glob("[0-9]*"))
MAY_BE_RAISED = {"NotImplementedError", "NotAttempted"}


@pytest.fixture
def release(lab):
    """Copies a released lesson to where the server sees it."""

    def copy(lesson: str) -> str:
        shutil.copytree(RELEASE / lesson, lab.root / lesson, dirs_exist_ok=True)
        return f"{lesson}/{lesson}.ipynb"

    return copy


def graded_cell(grade_id: str, source: str, **kind):
    info = {"schema_version": 3, "grade_id": grade_id, "task": False, "grade": False, "solution": False} | kind
    return new_code_cell(source, metadata={"nbgrader": info | {"locked": not info["solution"]}})


def raised(notebook) -> list[str]:
    return [
        out.ename
        for cell in notebook.cells
        if cell.cell_type == "code"
        for out in cell.outputs
        if out.output_type == "error"
    ]


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_blank_lesson_runs_from_top_to_bottom(lab, release, screenshots, lesson):
    path = release(lesson)
    lab.open(path)
    lab.run_all()
    found = raised(lab.save(path))
    assert set(found) <= MAY_BE_RAISED, found
    assert found, "a blank lesson says what is missing"
    lab.screenshots(screenshots, lesson)
    assert lab.errors == []


def test_an_error_and_a_stopped_run_are_seen(lab):
    """The test above can fail: an error that may not be, and a run that ends early."""
    tag = {"tags": ["raises-exception"]}
    path = lab.write("errors.ipynb", [new_code_cell("1 / 0", metadata=tag), new_code_cell("2")])
    lab.open(path)
    lab.run_all()
    assert raised(lab.save(path)) == ["ZeroDivisionError"]

    lab.open(lab.write("stops.ipynb", [new_code_cell("1 / 0"), new_markdown_cell("between"), new_code_cell("3 + 4")]))
    with pytest.raises(AssertionError, match="stopped before this cell"):
        lab.run_all()


def test_validate_tells_a_missing_answer_from_a_given_one(lab):
    solution = "answer = None\n"
    test = '# checks: the answer\nassert answer == 4, "not yet"'
    cells = [
        graded_cell("answer", solution, solution=True),
        graded_cell("test_answer", test, grade=True, points=2),
    ]
    panel = lab.open(lab.write("small.ipynb", cells))
    assert "# checks: the answer" in lab.validate()

    panel.locator(".jp-CodeCell .cm-content").first.click()
    lab.page.keyboard.press("Control+a")
    lab.page.keyboard.type("answer = 4")
    assert "Success" in lab.validate()


@pytest.mark.skipif("02_head_split" not in LESSONS, reason="lesson 02 is not built")
def test_validate_on_a_lesson_with_one_answer_filled_in(lab, release):
    path = release("02_head_split")
    panel = lab.open(path)
    cell = panel.locator(".jp-CodeCell .cm-content").filter(has_text="answer_d_k = None").first
    cell.get_by_text("answer_d_k = None").click()
    lab.page.keyboard.press("Home")
    lab.page.keyboard.press("Shift+End")
    lab.page.keyboard.type("answer_d_k = 4")
    said = lab.validate()
    assert "# checks: answer_d_k" not in said
    assert "# checks: shape_q_heads" in said
    assert "NotAttempted" in said
