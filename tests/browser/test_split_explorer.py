"""The split explorer, moved by keyboard and mouse, read from the page."""

import re

import pytest
from harness import drag, press, slider
from nbformat.v4 import new_code_cell
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture(params=["JupyterLab Light"])
def explorer(lab, request):
    lab.theme(request.param)
    path = lab.write("explorer.ipynb", [new_code_cell("from manyheads import learn\nlearn.split_explorer()")])
    panel = lab.open(path)
    lab.run_all()
    yield panel.locator(".manyheads-live")
    assert lab.errors == []


def expect_picture(explorer, title: str, *said: str) -> None:
    picture = explorer.locator("svg[role=img]")
    expect(picture.locator("title")).to_have_text(title)
    for words in said:
        expect(picture).to_have_attribute("aria-label", re.compile(re.escape(words)))


@pytest.mark.parametrize("explorer", ["JupyterLab Light", "JupyterLab Dark"], indirect=True)
def test_both_sliders_move_by_keyboard_and_the_picture_follows(explorer, screenshots, request):
    d_model, num_heads = slider(explorer, "d_model"), slider(explorer, "num_heads")
    expect_picture(explorer, "d_model = 16, num_heads = 4, d_k = 4", "The 1,088 parameters stay the same")

    press(num_heads, "ArrowRight", times=4)
    expect_picture(explorer, "d_model = 16, num_heads = 8, d_k = 2", "Each head gets 2 features", "are 8 maps")
    expect(explorer.locator("svg [data-head]")).to_have_count(8)
    expect(explorer.locator("svg")).to_contain_text("(batch, 8, seq, 2)")

    press(d_model, "ArrowRight", times=8)
    expect_picture(explorer, "d_model = 24, num_heads = 8, d_k = 3", "The 2,400 parameters")
    theme = request.node.callspec.params["explorer"].split()[1].lower()
    explorer.screenshot(path=screenshots / f"explorer-{theme}.png")

    press(d_model, "ArrowLeft")
    expect_picture(
        explorer,
        "d_model = 23, num_heads = 8, d_k: not a whole number",
        "with 2 features each, 7 features would be left over",
        "The nearest head counts that divide 23: 1 and 23.",
    )
    expect(explorer.locator("svg [data-left-over='7']")).to_be_visible()
    explorer.screenshot(path=screenshots / f"explorer-refused-{theme}.png")


def test_a_drag_ends_on_its_last_value_with_one_picture(explorer):
    d_model = slider(explorer, "d_model")
    drag(d_model, 1.0, moves=40)
    expect_picture(explorer, "d_model = 64, num_heads = 4, d_k = 16")
    expect(d_model.locator(".widget-readout")).to_have_text("64")
    expect(explorer.locator("svg")).to_have_count(1)


def test_the_static_twin_gives_way_to_the_live_picture_and_stands_in_for_it(lab):
    path = lab.write("twin.ipynb", [new_code_cell("from manyheads import learn\nlearn.split_explorer()")])
    panel = lab.open(path)
    lab.run_all()
    expect(panel.locator(".manyheads-live svg")).to_be_visible()
    expect(panel.locator(".manyheads-static")).to_be_hidden()

    # A reader of a built solution: no widget view in the file, and JupyterLab does not trust what it has not run.
    cells = lab.save(path).cells
    view = "application/vnd.jupyter.widget-view+json"
    [live], [twin] = [[out for out in cells[0].outputs if (view in out.data) == wanted] for wanted in (True, False)]
    cells[0].outputs = [twin]
    panel = lab.open(lab.write("twin_only.ipynb", cells))
    expect(panel.locator(".manyheads-static summary")).to_have_text("Static picture (d_model = 16, num_heads = 4)")
    picture = panel.locator(".manyheads-static img")
    expect(picture).to_have_attribute("alt", re.compile("Each head gets 4 features"))
    assert picture.evaluate("image => image.decode().then(() => image.width)") > 500
