"""The round trip through JupyterLab: build, edit the source notebook as JupyterLab saves it, adopt, build."""

import asyncio
import json

import nbformat
import pytest
from click.testing import CliRunner
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tiny_course import LESSON, REPOSITORY, text, tiny_course

from manyheads.course import commands
from manyheads.course.adopt import adopt
from manyheads.course.build import build, edited_by_hand
from manyheads.course.lesson import Course, Refused, read_lesson, write_lesson

CREATE_ASSIGNMENT_TEST = {  # what the Create Assignment bar writes for "Autograded tests"
    "grade": True, "grade_id": "cell-0a1b2c", "locked": True, "points": 1, "schema_version": 3, "solution": False,
    "task": False,
}  # fmt: skip


class Lab:
    """JupyterLab's contents manager on a course: open the source notebook, change it, save it."""

    def __init__(self, course: Course):
        self.manager = AsyncLargeFileManager(root_dir=str(course.root))
        self.path = f"source/{LESSON}/{LESSON}.ipynb"

    def edit(self, change) -> None:
        async def session() -> None:
            model = await self.manager.get(self.path, content=True, type="notebook")
            notebook = model["content"]
            change(notebook)
            # As the browser sends it: plain JSON, with outputs and what the kernel told about itself.
            notebook = json.loads(json.dumps(notebook))
            notebook["metadata"]["language_info"]["version"] = "3.12.1"
            for cell in notebook["cells"]:
                cell["metadata"]["trusted"] = True
            await self.manager.save({"type": "notebook", "format": "json", "content": notebook}, self.path)

        asyncio.run(session())


def cell_named(notebook, grade_id):
    return next(c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


@pytest.fixture
def course(tmp_path):
    course = tiny_course(tmp_path / "course")
    build(course, solutions=False)
    return course


def test_running_and_saving_is_no_edit(course):
    def run(notebook):
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] == "code":
                cell["execution_count"] = number + 1
                cell["outputs"] = [nbformat.v4.new_output("stream", text="seen\n")]
                cell["metadata"].update(editable=True, slideshow={"slide_type": ""}, execution={"started": "now"})
                cell["metadata"].setdefault("tags", [])
        notebook["cells"].append(nbformat.v4.new_code_cell(""))

    before = course.notebook("source", LESSON).read_bytes()
    Lab(course).edit(run)
    assert course.notebook("source", LESSON).read_bytes() != before
    assert not edited_by_hand(course, LESSON)
    assert "nothing to adopt" in adopt(course, LESSON)[0]
    build(course, solutions=False)
    assert course.notebook("source", LESSON).read_bytes() == before


def test_an_edit_is_refused_adopted_and_built(course):
    def edit(notebook):
        cell = cell_named(notebook, "test_double_values")
        cell["source"] = cell["source"].replace("(3, 7.5)", "(3, 7.5, -2)") + "\n"
        cell["metadata"]["nbgrader"]["points"] = 5
        added = nbformat.v4.new_code_cell("# checks: the sign\nassert double(-1) is not None\n### BEGIN HIDDEN TESTS\n"
                                          "assert double(-1) == -2\n### END HIDDEN TESTS")  # fmt: skip
        added["metadata"]["nbgrader"] = dict(CREATE_ASSIGNMENT_TEST)
        notebook["cells"].insert(notebook["cells"].index(cell) + 1, added)

    Lab(course).edit(edit)
    edited = course.notebook("source", LESSON).read_bytes()
    with pytest.raises(Refused, match=f"{LESSON}: .* was edited since it was built. Run `manyheads adopt {LESSON}`"):
        build(course, solutions=False)
    assert course.notebook("source", LESSON).read_bytes() == edited

    adopt(course, LESSON)
    old, new = text().splitlines(), course.text(LESSON).read_text().splitlines()
    assert [line for line in old if line not in new] == ["  points: 6", "for number in (3, 7.5):"]
    assert [line for line in new if line not in old] == [
        "  points: 5", "for number in (3, 7.5, -2):", "  grade_id: cell-0a1b2c", "  points: 1", "# checks: the sign",
        "assert double(-1) is not None", "assert double(-1) == -2",
    ]  # fmt: skip

    build(course, solutions=False)
    built = nbformat.read(course.notebook("source", LESSON), as_version=4)
    lab = nbformat.reads(edited.decode(), as_version=4)
    assert [cell.source.rstrip("\n") for cell in lab.cells] == [cell.source for cell in built.cells]
    assert [c.metadata.get("nbgrader") for c in lab.cells] == [c.metadata.get("nbgrader") for c in built.cells]
    assert not edited_by_hand(course, LESSON)


def test_after_adopt_the_text_may_be_edited_further(course):
    Lab(course).edit(lambda notebook: cell_named(notebook, "setup").update(source="import math as mathematics"))
    adopt(course, LESSON)
    adopted = course.text(LESSON).read_text()
    assert "nothing to adopt" in adopt(course, LESSON)[0]
    course.text(LESSON).write_text(adopted.replace("mathematics", "maths"))
    build(course, solutions=False)
    assert "import math as maths" in course.notebook("source", LESSON).read_text()


def test_a_text_that_changed_too_is_not_lost(course):
    Lab(course).edit(lambda notebook: cell_named(notebook, "setup").update(source="import math as mathematics"))
    changed = text().replace("two times two", "2 * 2")
    course.text(LESSON).write_text(changed)
    with pytest.raises(Refused, match="changed too"):
        adopt(course, LESSON)
    assert course.text(LESSON).read_text() == changed
    adopt(course, LESSON, force=True)
    assert "mathematics" in course.text(LESSON).read_text()


def test_a_text_in_another_form_is_rewritten_and_this_is_said(tmp_path):
    block = "---\nnbgrader:\n  grade_id: setup\n---\n"
    assert block in text()
    course = tiny_course(tmp_path / "course", text().replace(block, ":nbgrader: {grade_id: setup}\n\n"))
    build(course, solutions=False)
    Lab(course).edit(lambda notebook: notebook["cells"][0].update(source="# Another title"))
    assert any("not in the form that jupytext writes" in line for line in adopt(course, LESSON))
    assert course.text(LESSON).read_text() == text().replace("# A tiny lesson", "# Another title")


def test_a_new_cell_without_a_role_is_adopted_named_and_then_refused(course):
    Lab(course).edit(lambda notebook: notebook["cells"].append(nbformat.v4.new_code_cell("new = 1")))
    assert any("cell 9 ('new = 1') has no role" in line for line in adopt(course, LESSON))
    with pytest.raises(Refused, match="cell 9 .*neither a role"):
        build(course, solutions=False)


@pytest.mark.parametrize(
    "source", ["above\n\n+++\n\nbelow", "a fence left open:\n\n```python\n1 + 1", "```{code-cell}\n1 + 1\n```"]
)
def test_what_a_text_cannot_hold_is_refused(course, source):
    def edit(notebook):
        notebook["cells"][0]["source"] = source
        notebook["cells"].insert(1, nbformat.v4.new_markdown_cell("another"))

    Lab(course).edit(edit)
    with pytest.raises(Refused, match="cell [12] .*cannot hold"):
        adopt(course, LESSON)
    assert course.text(LESSON).read_text() == text()


def test_a_pasted_picture_is_refused(course):
    picture = {"image.png": {"image/png": "iVBORw0KGgo="}}
    Lab(course).edit(lambda notebook: notebook["cells"][0].update(attachments=picture))
    with pytest.raises(Refused, match="cell 1 .*pasted picture"):
        adopt(course, LESSON)


def test_a_file_put_beside_the_source_is_adopted(course):
    (course.folder("source", LESSON) / "words.txt").write_text("one two")
    with pytest.raises(Refused, match="manyheads adopt"):
        build(course, solutions=False)
    assert f"lessons/{LESSON}/words.txt: copied from source/{LESSON}/" in adopt(course, LESSON)
    build(course, solutions=False)
    assert (course.folder("release", LESSON) / "words.txt").read_text() == "one two"


def test_the_command_says_what_to_do(course, monkeypatch):
    monkeypatch.chdir(course.root)
    Lab(course).edit(lambda notebook: cell_named(notebook, "setup").update(source="import math as mathematics"))
    assert "manyheads adopt" in CliRunner().invoke(commands.build, ["--no-solutions"]).output
    result = CliRunner().invoke(commands.adopt, [LESSON])
    assert result.exit_code == 0 and f"manyheads build {LESSON}" in result.output


@pytest.mark.parametrize("lesson", Course(REPOSITORY).lessons())
def test_every_lesson_text_survives_the_way_there_and_back(lesson):
    written = Course(REPOSITORY).text(lesson).read_text(encoding="utf-8")
    on_disk = nbformat.reads(nbformat.writes(read_lesson(written, lesson)), as_version=4)
    assert write_lesson(on_disk) == written
