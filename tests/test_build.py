"""Building a lesson: what is made, and that it is always the same."""

import fcntl
import json
import os

import nbformat
import pytest
from click.testing import CliRunner
from tiny_course import DEMO, LESSON, text, tiny_course

from manyheads.cli import main
from manyheads.course import commands
from manyheads.course.build import build, check, tidy
from manyheads.course.lesson import TOTALS, Refused


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def cells(course, step):
    notebook = nbformat.read(course.notebook(step, LESSON), as_version=4)
    return {cell.id: cell for cell in notebook.cells}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    course = tiny_course(tmp_path_factory.mktemp("built") / "course")
    build(course, solutions=False)
    return course


def test_the_table_of_points_makes_100():
    assert list(TOTALS.values()) == [12, 22, 24, 16, 26]


def test_two_builds_are_byte_identical(built, tmp_path):
    other = tiny_course(tmp_path / "elsewhere")
    build(other, solutions=False)
    for step in ("source", "release"):
        assert files(built.root / step) == files(other.root / step)


def test_a_function_raises_and_an_answer_stays_none(built):
    student = cells(built, "release")
    assert student["double"].source.endswith('    """Twice the number."""\n    # YOUR CODE HERE\n    raise NotImplementedError')
    assert student["answer"].source == "answer_sum = None  # an int"
    assert "Write your answer here" in student["written"].source
    assert student["test_double_values"].source == "# checks: other numbers\nassert double(2) is not None"


def test_roles_names_and_tags(built):
    for step in ("source", "release"):
        made = cells(built, step)
        roles = {name: cell.metadata.get("manyheads", {}).get("role") for name, cell in made.items()}
        assert roles == {
            "cell-01": None, "setup": "setup", "double": "student", "test_double_values": "test", "answer": "student",
            "test_answer_sum": "test", "cell-07": "demo", "written": None,
        }  # fmt: skip
        assert made["test_double_values"].metadata.tags == ["raises-exception"]
        notebook = nbformat.read(built.notebook(step, LESSON), as_version=4)
        assert notebook.metadata.manyheads.names == ["double", "answer_sum"]
        assert notebook.metadata.language_info == {**notebook.metadata.language_info, "name": "python"}
        assert "version" not in notebook.metadata.language_info
        assert not {"jupytext", "widgets"} & set(notebook.metadata)


def test_a_build_touches_no_gradebook(tmp_path):
    course = tiny_course(tmp_path / "course")
    (course.root / "gradebook.db").write_bytes(b"the class")
    build(course, solutions=False)
    assert (course.root / "gradebook.db").read_bytes() == b"the class"
    assert sorted(path.name for path in course.root.iterdir()) == [
        "gradebook.db", "lessons", "nbgrader_config.py", "release", "source",
    ]  # fmt: skip


def test_the_stock_generate_assignment_makes_the_same_release(built, tmp_path):
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    from manyheads.course.build import build_into
    from manyheads.course.stock import nbgrader_config

    course = build_into(tmp_path / "course", [LESSON], origin=built)
    config = nbgrader_config(course)
    assert config.CourseDirectory.root == str(course.root)
    api = NbGraderAPI(coursedir=CourseDirectory(config=config), config=config)
    os.remove(course.notebook("release", LESSON))
    assert api.generate_assignment(LESSON)["success"]
    assert course.notebook("release", LESSON).read_bytes() == built.notebook("release", LESSON).read_bytes()


def test_a_refused_lesson_leaves_everything_as_it_was(built, tmp_path):
    course = tiny_course(tmp_path / "course")
    build(course, solutions=False)
    before = {step: files(course.root / step) for step in ("source", "release")}
    course.text(LESSON).write_text(text(demo=DEMO.replace(":role: demo\n", "")))
    with pytest.raises(Refused):
        build(course, solutions=False)
    assert before == {step: files(course.root / step) for step in ("source", "release")}
    assert not list((course.root / "source").glob(".*"))


@pytest.mark.parametrize("broken", ["{broken", "{}", "[]", '{"nbformat": 4, "nbformat_minor": 5, "cells": [{}], "metadata": {}}'])
def test_a_source_that_cannot_be_read_is_named_by_build_and_adopt(tmp_path, monkeypatch, broken):
    course = tiny_course(tmp_path / "course")
    course.folder("source", LESSON).mkdir(parents=True)
    course.notebook("source", LESSON).write_text(broken)
    monkeypatch.chdir(course.root)
    for command in (commands.build, commands.adopt):
        result = CliRunner().invoke(command, [LESSON])
        assert result.exit_code == 1
        assert f"source/{LESSON}/{LESSON}.ipynb is not a notebook" in result.output
    assert course.notebook("source", LESSON).read_text() == broken


def test_a_lesson_is_named_or_given_as_a_path(tmp_path, monkeypatch):
    (course := tiny_course(tmp_path / "course")).root.joinpath("deep down").mkdir()
    monkeypatch.chdir(course.root / "deep down")
    given = [LESSON, f"../lessons/{LESSON}.md", f"source/{LESSON}/"]
    result = CliRunner().invoke(commands.build, ["--no-solutions", *given])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == [f"{LESSON}: source, release (solutions not run)"]


def test_a_build_that_is_broken_off_leaves_everything_as_it_was(tmp_path, monkeypatch):
    course = tiny_course(tmp_path / "course")
    build(course, solutions=False)
    before = files(course.root)
    course.text(LESSON).write_text(text(demo=DEMO.replace("two times two", "2 * 2")))

    def broken_off(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("nbgrader.preprocessors.ClearOutput.preprocess", broken_off)
    with pytest.raises(KeyboardInterrupt):  # nbgrader itself calls it a failed conversion, and goes on
        build(course, solutions=False)
    assert {**files(course.root), f"lessons/{LESSON}.md": b""} == {**before, f"lessons/{LESSON}.md": b""}


def test_builds_swap_their_notebooks_in_one_after_the_other(tmp_path, monkeypatch):
    course, swapped = tiny_course(tmp_path / "course"), []

    def swap(made, place):
        with open(course.root / "nbgrader_config.py", "rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)  # what another build would wait for
        swapped.append(place)

    monkeypatch.setattr("manyheads.course.build._swap_in", swap)
    build(course, solutions=False)
    assert swapped == [course.folder("source", LESSON), course.folder("release", LESSON)]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    course = tiny_course(tmp_path / "course")
    (course.root / "source").write_text("a file where the build wants a folder")
    monkeypatch.chdir(course.root)
    result = CliRunner().invoke(main, ["build", "--no-solutions"])
    assert result.exit_code == 1
    assert len(result.output.splitlines()) == 1 and str(course.root / "source") in result.output


def test_helper_files_reach_students(tmp_path):
    course = tiny_course(tmp_path / "course")
    course.helpers(LESSON).mkdir()
    (course.helpers(LESSON) / "words.txt").write_text("student delivered book")
    build(course, solutions=False)
    for step in ("source", "release"):
        assert (course.folder(step, LESSON) / "words.txt").read_text() == "student delivered book"
    build(course, solutions=False)  # known files are no edit by hand


# ---- solutions and --check ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    live = DEMO + "\n```{code-cell}\n:role: demo\n\nfrom manyheads.learn import live\nprint('live:', live())\n```\n"
    course = tiny_course(tmp_path_factory.mktemp("executed") / "course", text(demo=live))
    os.environ["NBGRADER_EXECUTION"] = "autograde"  # a demonstration in a solution is live all the same
    try:
        build(course)
        assert os.environ["NBGRADER_EXECUTION"] == "autograde"
    finally:
        del os.environ["NBGRADER_EXECUTION"]
    return course


@pytest.mark.slow
def test_the_solution_is_executed_and_live(executed):
    solution = nbformat.read(executed.notebook("solutions", LESSON), as_version=4)
    printed = [output.text for cell in solution.cells for output in cell.get("outputs", [])]
    assert "live: True\n" in printed and "two times two is 4\n" in printed
    assert not any("execution" in cell.metadata for cell in solution.cells)
    assert "version" not in solution.metadata.language_info


@pytest.mark.slow
def test_check_is_content_with_a_fresh_build_and_runs_nothing(executed, monkeypatch):
    monkeypatch.setattr("nbgrader.preprocessors.Execute.preprocess", None)
    assert check(executed) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", ["source", "release", "solutions"])
def test_check_names_each_stale_file(executed, step):
    path = executed.notebook(step, LESSON)
    kept = path.read_bytes()
    notebook = json.loads(kept)
    notebook["cells"][0]["source"] = ["# Another title"]
    try:
        path.write_text(json.dumps(notebook))
        stale = [f"{step}/{LESSON}/{LESSON}.ipynb"]
        assert [item.path for item in check(executed)] == stale
        path.unlink()
        assert [item.path for item in check(executed)] == stale
    finally:
        path.write_bytes(kept)


@pytest.mark.slow
def test_check_sees_a_changed_lesson_package_and_lock(executed, monkeypatch):
    text_path = executed.text(LESSON)
    kept = text_path.read_text()
    text_path.write_text(kept.replace("two times two", "2 * 2"))
    assert {item.path.split("/")[0] for item in check(executed)} == {"source", "release", "solutions"}
    text_path.write_text(kept)
    lock = executed.root / "requirements.txt"
    lock.write_text("torch==0.0.1\n")
    assert [item.path.split("/")[0] for item in check(executed)] == ["solutions"]
    lock.unlink()
    monkeypatch.setattr("manyheads.course.build._imported_files", lambda: [text_path])
    assert [item.path.split("/")[0] for item in check(executed)] == ["solutions"]


@pytest.mark.slow
def test_check_names_what_has_no_lesson(executed):
    folder = executed.root / "release" / "09_forgotten"
    folder.mkdir()
    assert [item.why for item in check(executed) if item.path == "release/09_forgotten"] == [
        "there is no lessons/09_forgotten.md"
    ]
    folder.rmdir()


def test_the_check_command_fails_and_names_the_file(built, monkeypatch):
    monkeypatch.chdir(built.root)
    result = CliRunner().invoke(commands.build, ["--check"])
    assert result.exit_code == 1
    assert f"stale: solutions/{LESSON}/{LESSON}.ipynb (missing)" in result.output


def test_tidy_keeps_the_static_twin_and_drops_the_widget():
    view = "application/vnd.jupyter.widget-view+json"
    bare = nbformat.v4.new_output("display_data", {view: {"model_id": "a"}, "text/plain": "VBox(...)"})
    twin = nbformat.v4.new_output("display_data", {view: {"model_id": "b"}, "image/svg+xml": "<svg/>"})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("show()", outputs=[bare, twin])])
    notebook.metadata["widgets"] = {"state": {}}
    tidy(notebook)
    assert [dict(output.data) for output in notebook.cells[0].outputs] == [{"image/svg+xml": "<svg/>"}]
    assert "widgets" not in notebook.metadata
