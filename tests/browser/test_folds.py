"""Quiz, flashcards, hints and mentor in JupyterLab: opened with the keyboard alone, in both themes."""

import pytest
from harness import PANEL
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import expect

from manyheads.learn import content, help, questions

pytestmark = pytest.mark.browser

QUIZ = (
    content.Question(
        "For $d_{model} = 16$ and `num_heads = 4`, what is $d_k$?",
        (
            content.Choice("16", False, "That is d_model; each head gets a part of it."),
            content.Choice("4", True, "$d_k = d_{model} / h = 16 / 4$."),
        ),
    ),
)
SET_UP = f"""
from manyheads.learn import cards, content, help, questions
from manyheads.learn.content import Card, Choice, Question
content.show(questions.quiz_html("sample", {QUIZ!r}), "quiz")
content.show(cards.cards_html("sample", (Card("d_k", "The features of one head."),)), "cards")
content.show(help.hints_html("split_heads", ["Look at the last axis.", "Cut it first.", "Then move heads."]), "hints")
"""

# A lesson of our own, so that the course's texts may change.
MENTOR = """
from pathlib import Path
from tempfile import mkdtemp
from manyheads import learn
from manyheads.learn import content, help, questions
content.FOLDER = Path(mkdtemp())
(content.FOLDER / "sample.toml").write_text('''
[symptoms]
split_heads = [["RuntimeError: view size", "$x$ is not contiguous: `transpose` moves no numbers"]]
''')
learn.mentor("sample")
"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_folds_open_by_keyboard_with_a_visible_focus(lab, theme, screenshots):
    lab.theme(theme)
    panel = lab.open(lab.write("folds.ipynb", [new_code_cell(SET_UP)]))
    lab.run_all()
    expect(panel.locator("mjx-container").first).to_be_visible()

    wrong, right = panel.locator("[aria-label='Quiz of sample'] details").all()
    wrong.locator("summary").focus()
    lab.page.keyboard.press("Tab")
    expect(right.locator("summary")).to_be_focused()
    outline = "summary => getComputedStyle(summary).outlineStyle + getComputedStyle(summary).outlineWidth"
    assert right.locator("summary").evaluate(outline) == "solid3px"
    lab.page.keyboard.press("Enter")
    expect(right.locator("p")).to_contain_text("Right.")
    expect(right.locator("p")).to_be_visible()
    lab.page.keyboard.press("Space")
    expect(right.locator("p")).to_be_hidden()

    hints = panel.locator("[aria-label='Hints for split_heads'] summary")
    expect(hints.nth(1)).to_be_hidden()
    hints.nth(0).focus()
    for number in (1, 2):
        lab.page.keyboard.press("Enter")
        expect(hints.nth(number)).to_be_visible()
        lab.page.keyboard.press("Tab")
        expect(hints.nth(number)).to_be_focused()
    right.locator("summary").press("Enter")
    panel.page.locator(PANEL).screenshot(path=screenshots / f"folds-{theme.split()[1].lower()}.png")
    assert lab.errors == []


def test_the_mentor_answers_a_typed_question(lab, screenshots):
    panel = lab.open(lab.write("mentor.ipynb", [new_code_cell(MENTOR)]))
    lab.run_all()
    box = panel.get_by_label("Question")
    box.fill("Why does `split_heads` raise a RuntimeError?")
    box.press("Enter")
    answer = panel.locator("[aria-label='Answer']")
    expect(answer).to_contain_text("Symptom of split_heads")
    expect(answer).to_contain_text("not contiguous")
    expect(answer.locator("code").first).to_have_text("split_heads")
    panel.page.locator(PANEL).screenshot(path=screenshots / "mentor.png")

    box.fill("the weather")
    panel.get_by_role("button", name="Look up").click()
    expect(answer).to_contain_text("No text of this lesson shares a word")
    expect(answer).to_contain_text("in the cell below")
    assert lab.errors == []


def test_an_html_export_works_without_script_and_network(chromium, tmp_path, screenshots):
    outputs = [
        questions.quiz_html("sample", QUIZ),
        help.hints_html("split_heads", ["Look at the last axis.", "Cut it first."]),
    ]
    cell = new_code_cell("...", outputs=[new_output("display_data", data={"text/html": html}) for html in outputs])
    page_html, _ = HTMLExporter().from_notebook_node(new_notebook(cells=[cell]))
    (tmp_path / "export.html").write_text(page_html, encoding="utf-8")

    context = chromium.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "export.html").as_uri())
    right = page.locator("[aria-label='Quiz of sample'] details").nth(1)
    right.locator("summary").press("Enter")
    expect(right.locator("p")).to_be_visible()
    second = page.get_by_text("Hint 2 of 2")
    expect(second).to_be_hidden()
    page.get_by_text("Hint 1 of 2").press("Space")
    expect(second).to_be_visible()
    page.screenshot(path=screenshots / "export.png")
    context.close()
