"""One server and one browser for all browser tests; a fresh window and fresh kernels for each."""

from pathlib import Path

import pytest
from harness import Lab, lab_server, start_chromium
from playwright.sync_api import sync_playwright

SCREENSHOTS = Path(__file__).parents[2] / "screenshots"


def pytest_collection_modifyitems(items):
    """Browser tests come last: Playwright keeps an event loop in this thread, and others need to start their own."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(scope="session")
def lab_root(tmp_path_factory):
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def lab_url(lab_root, tmp_path_factory):
    with lab_server(lab_root, tmp_path_factory.mktemp("home")) as url:
        yield url


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = start_chromium(playwright)
        yield browser
        browser.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and call.when == "call" and "lab" in item.funcargs:
        SCREENSHOTS.mkdir(exist_ok=True)
        item.funcargs["lab"].page.screenshot(path=SCREENSHOTS / f"failed-{item.name}.png")
    return report


@pytest.fixture
def lab(chromium, lab_url, lab_root):
    context = chromium.new_context(viewport={"width": 1300, "height": 1600})
    lab = Lab(context.new_page(), lab_url, lab_root)
    yield lab
    context.close()
    lab.theme("JupyterLab Light")
    lab.shut_kernels_down()


@pytest.fixture(scope="session")
def screenshots():
    """A git-ignored folder that a person can look through."""
    SCREENSHOTS.mkdir(exist_ok=True)
    return SCREENSHOTS
