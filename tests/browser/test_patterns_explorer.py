"""The explorer of random heads: sliders and sentence box, read from the page."""

import re

import pytest
from harness import press, slider
from nbformat.v4 import new_code_cell
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_sliders_and_sentence_change_the_maps(lab, theme, screenshots):
    lab.theme(theme)
    path = lab.write("patterns.ipynb", [new_code_cell("from manyheads import learn\nlearn.patterns_explorer()")])
    panel = lab.open(path)
    lab.run_all()
    explorer = panel.locator(".manyheads-live")
    picture = explorer.locator("svg[role=img]")
    expect(picture.locator("title")).to_contain_text("d_k = 4 · random: the pattern has no meaning")
    expect(picture.locator("[data-head]")).to_have_count(4)
    expect(panel.locator(".manyheads-static")).to_be_hidden()

    press(slider(explorer, "num_heads"), "ArrowRight", times=4)
    expect(picture.locator("[data-head]")).to_have_count(8)
    press(slider(explorer, "d_model"), "ArrowRight", times=8)
    expect(picture.locator("title")).to_contain_text("d_model = 24, num_heads = 8, d_k = 3")

    box = explorer.locator("input[type=text]")
    box.fill("the cat saw the dog in the garden")
    expect(picture).to_have_attribute("aria-label", re.compile("8 maps of 8 × 8 weights"))
    expect(picture.locator("[data-head='1'] [data-percent]")).to_have_attribute("data-words", re.compile("^the cat saw"))
    name = theme.split()[1].lower()
    explorer.screenshot(path=screenshots / f"patterns-{name}.png")
    box.fill("In the morning the farmer carried two large bags of rice to the market of the town")
    expect(explorer).to_contain_text("Only the first 16 of 17 words are drawn.")
    explorer.screenshot(path=screenshots / f"patterns-long-{name}.png")

    press(slider(explorer, "num_heads"), "ArrowLeft")
    expect(explorer).to_contain_text("cannot be shared equally by num_heads = 7")
    assert lab.errors == []
