"""A class in the browser: a student fetches, works and submits; the instructor sees a graded sample class in Formgrader."""

import re
from pathlib import Path

import pytest
from harness import TOKEN, Lab, lab_server
from playwright.sync_api import expect
from small_class import LESSON, small_course

from manyheads.course.lesson import Course
from manyheads.grade import demo

pytestmark = pytest.mark.browser

COURSE = Course(Path(__file__).parents[2])


@pytest.fixture
def window(chromium):
    """A browser window that reaches nothing but this machine."""
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    context.route(lambda url: "127.0.0.1" not in url and url.startswith("http"), lambda route: route.abort())
    yield context.new_page()
    context.close()


def test_a_student_fetches_works_and_submits(window, tmp_path, screenshots):
    exchange, desk = tmp_path / "exchange", tmp_path / "desk"
    for folder in (exchange, desk, tmp_path / "course"):
        folder.mkdir()
    exchange.chmod(0o777)
    course = small_course(tmp_path / "course")
    course.config.Exchange.root = course.api.config.Exchange.root = str(exchange)
    released = course.api.release_assignment(LESSON)
    assert released["success"], released

    config = f"c = get_config()\nc.CourseDirectory.course_id = 'manyheads'\nc.Exchange.root = {str(exchange)!r}\n"
    with lab_server(desk, tmp_path / "home", nbgrader_config=config) as url:
        lab = Lab(window, url, desk)
        lab.page.goto(f"{url}/lab?token={TOKEN}&reset")
        lab.page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=90_000)
        lab.menu("Nbgrader", "Assignment List")
        lists = lab.page.locator("#assignments")
        lists.locator("#released_assignments_list").get_by_text("Fetch", exact=True).click()
        submit = lists.locator("#fetched_assignments_list").get_by_text("Submit", exact=True)
        expect(submit).to_be_visible()
        assert (desk / LESSON / f"{LESSON}.ipynb").is_file()

        panel = lab.open(f"{LESSON}/{LESSON}.ipynb")
        panel.locator(".jp-CodeCell .cm-content").filter(has_text="answer = None").click()
        lab.page.keyboard.press("Control+a")
        lab.page.keyboard.type("answer = 98765")
        lab.save(f"{LESSON}/{LESSON}.ipynb")
        lab.menu("Nbgrader", "Assignment List")
        submit.click()
        expect(lists.locator("#submitted_assignments_list")).to_contain_text(LESSON)
        lab.page.screenshot(path=screenshots / "assignment-list.png")
        lab.shut_kernels_down()
    [handed_in] = (exchange / "manyheads" / "inbound").glob(f"*/{LESSON}.ipynb")
    assert "answer = 98765" in handed_in.read_text()


def test_formgrader_shows_the_sample_class_graded(window, tmp_path, screenshots):
    lesson = COURSE.lessons()[1]
    folder = tmp_path / "course"
    made = demo.run(folder, [lesson], COURSE)
    assert not made.problems
    config = f"c = get_config()\nc.CourseDirectory.root = {str(folder)!r}\n"
    with lab_server(folder, tmp_path / "home", nbgrader_config=config) as url:
        window.goto(f"{url}/formgrader?token={TOKEN}")
        window.get_by_text(lesson, exact=True).first.wait_for()
        window.screenshot(path=screenshots / "formgrader-assignments.png")
        window.goto(f"{url}/formgrader/manage_submissions/{lesson}")
        graded = [submission for submission in made.class_[lesson] if submission.status == "graded"]
        assert len(graded) >= 4
        for submission in graded:
            row = window.locator("tr", has_text=submission.student)  # the written answer waits for a person
            score = rf"(graded|needs manual grading)\s*{submission.score:g} / 22"
            expect(row).to_contain_text(re.compile(score), timeout=30_000)
        window.screenshot(path=screenshots / "formgrader-submissions.png")

        window.goto(f"{url}/formgrader/gradebook/{lesson}/{lesson}")
        window.locator("a", has_text="Submission #1").first.click()
        expect(window.locator("body")).to_contain_text("BEGIN HIDDEN TESTS")
        window.screenshot(path=screenshots / "formgrader-submission.png")
