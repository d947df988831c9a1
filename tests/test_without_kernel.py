"""What a reader without a kernel sees: a solution notebook as plain HTML, converted but not run."""

import base64
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook

from manyheads import learn
from manyheads.course.build import tidy

SOLUTIONS = sorted((Path(__file__).parents[1] / "solutions").glob("*/*.ipynb"))
EXPLORERS = [name for name in learn.__all__ if name.endswith("_explorer")]


class Images(HTMLParser):
    def __init__(self, page: str):
        super().__init__()
        self.found: list[dict[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.found.append(dict(attributes))


def demand_a_still_picture(cell) -> None:
    """One image with words, and the same words as text."""
    [output] = [output for output in cell.outputs if "text/html" in output.get("data", {})]
    [image] = Images(output.data["text/html"]).found
    picture = ET.fromstring(base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")))
    assert len(list(picture.iter())) > 10, "the picture is not empty"
    assert image["alt"] in output.data["text/plain"] and len(image["alt"]) > 80


def demand_a_whole_page(notebook) -> None:
    assert "widgets" not in notebook.metadata
    page, _ = HTMLExporter().from_notebook_node(notebook)
    for trace in ("jupyter.widget", "widget-view", "html-manager", "model not found", "VBox("):
        assert trace not in page
    words = [image.get("alt", "") for image in Images(page).found]
    assert all(one and "No description" not in one for one in words), "every picture has words"


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_a_solution_as_html_tells_the_whole_story(path):
    notebook = nbformat.read(path, as_version=4)
    demand_a_whole_page(notebook)
    for cell in notebook.cells:
        if re.search(r"^learn\.\w+_explorer\(", cell.source, re.MULTILINE):
            demand_a_still_picture(cell)


@pytest.mark.slow
def test_every_explorer_leaves_a_picture_in_a_built_notebook(monkeypatch):
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    notebook = new_notebook(cells=[new_code_cell("from manyheads import learn")])
    notebook.cells += [new_code_cell(f"learn.{name}()") for name in EXPLORERS]
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    assert "widgets" in notebook.metadata, "the live part was there before"
    tidy(notebook)
    demand_a_whole_page(notebook)
    for cell in notebook.cells[1:]:
        demand_a_still_picture(cell)
