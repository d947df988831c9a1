"""A real JupyterLab in a real Chromium, driven by Playwright.

The server has its own HOME, settings, port and token, so a test neither sees nor changes anything of the person who
runs it. Waits are for facts in the page (kernel idle, prompt [n], a text), never for time.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from playwright.sync_api import Browser, Locator, Page, Playwright, expect

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
CHROMIUM_ARGS = [
    "--no-sandbox",  # Chromium refuses to run as root with it, as in most containers
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--force-device-scale-factor=1",
    "--font-render-hinting=none",
]
TOKEN = "browser-tests"
PANEL = ".jp-NotebookPanel:not(.lm-mod-hidden)"

SETTINGS = {
    # no "Would you like to get news?" in front of the page
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # saving when we say so, no race with the test
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
    # the default takes cells outside the window out of the page: nothing could find them
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}


# ------------------------------------------------------------------ server and browser


@contextmanager
def lab_server(root: Path, home: Path, timeout: float = 90, nbgrader_config: str = "") -> Iterator[str]:
    """Run JupyterLab on ``root``; yields its URL. RuntimeError with the end of its log when it does not start.

    ``nbgrader_config``: what the person who runs the server has in their own nbgrader_config.py.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "NBGRADER"))}
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
        "MPLCONFIGDIR": "matplotlib",
    }
    for name, folder in folders.items():
        (home / folder).mkdir(parents=True)
        env[name] = str(home / folder)
    env |= {"HOME": str(home), "OMP_NUM_THREADS": "1"}
    for plugin, values in SETTINGS.items():
        file = home / "settings" / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    (home / "config" / "nbgrader_config.py").write_text(nbgrader_config)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={root}"]
    command += [f"--IdentityProvider.token={TOKEN}", "--LabApp.extension_manager=readonly"]
    log = home / "lab.log"
    with log.open("w") as log_file:
        server = subprocess.Popen(
            command, cwd=root, env=env, stdout=log_file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            url = f"http://127.0.0.1:{port}"
            end = time.monotonic() + timeout
            while not _answers(url):
                if server.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")
                time.sleep(0.1)
            yield url
        finally:
            server.send_signal(signal.SIGTERM)  # ends its kernels too
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def _answers(url: str) -> bool:
    try:
        api(url, "GET", "status")
    except OSError:
        return False
    return True


def api(url: str, method: str, path: str, content: dict | None = None) -> object:
    """One call to the server's REST interface."""
    request = urllib.request.Request(
        f"{url}/api/{path}" if not path.startswith("/") else url + path,
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={"Authorization": f"token {TOKEN}"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        body = response.read()
    return json.loads(body) if body else None


def start_chromium(playwright: Playwright) -> Browser:
    """RuntimeError, saying what to do, when there is no Chromium."""
    if not Path(CHROMIUM).exists():
        raise RuntimeError(f"there is no Chromium at {CHROMIUM}: install it, or set CHROMIUM to its path")
    return playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)


# ------------------------------------------------------------------ what a person does in JupyterLab


@dataclass
class Lab:
    """One browser window on the server."""

    page: Page
    url: str
    root: Path
    errors: list[str] = field(default_factory=list)  # what the browser's console called an error

    def __post_init__(self) -> None:
        self.page.set_default_timeout(30_000)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))

    def write(self, name: str, cells: list[nbformat.NotebookNode]) -> str:
        """Put a notebook into the server's folder; returns its path there."""
        notebook = nbformat.v4.new_notebook(cells=cells)
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.root / name)
        return name

    def read(self, path: str) -> nbformat.NotebookNode:
        return nbformat.read(self.root / path, as_version=4)

    def open(self, path: str) -> Locator:
        """Open a notebook and wait until its cells are there and its kernel is idle ("Run All" asks otherwise)."""
        cells = len(self.read(path).cells)
        self.page.goto(f"{self.url}/lab/tree/{path}?token={TOKEN}&reset")
        self.page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=90_000)
        panel = self.page.locator(PANEL)
        expect(panel.locator(".jp-Cell")).to_have_count(cells, timeout=60_000)
        self.wait_until_idle()
        return panel

    def wait_until_idle(self, timeout: float = 120_000) -> None:
        self.page.wait_for_function(
            """panel => {
                const kernel = document.querySelector(panel + ' .jp-Toolbar-kernelName')?.innerText || 'No Kernel';
                const status = document.querySelector('#jp-main-statusbar')?.innerText || '';
                const idle = document.querySelector(panel + " .jp-Notebook-ExecutionIndicator[data-status='idle']");
                return !/No Kernel/.test(kernel) && /\\| Idle/.test(status) && idle;
            }""",
            arg=PANEL,
            timeout=timeout,
        )

    def menu(self, *items: str) -> None:
        top, *rest = items
        self.page.locator(".lm-MenuBar-itemLabel").get_by_text(top, exact=True).click()
        for item in rest:
            self.page.locator(".lm-Menu-itemLabel").get_by_text(item, exact=True).click()

    def run_all(self, timeout: float = 180_000) -> None:
        """Run all cells and wait until each non-empty code cell has its number.

        A cell that stops the run leaves later ones without a number. After an expected error (raises-exception)
        JupyterLab clears all waiting prompts for a moment as well, so a run has stopped only when an idle kernel has
        moved nothing for five seconds.
        """
        self.menu("Run", "Run All Cells")
        result = self.page.wait_for_function(
            """panel => {
                const cells = [...document.querySelectorAll(panel + ' .jp-CodeCell')]
                    .filter(cell => cell.querySelector('.cm-content')?.innerText.trim());
                const prompts = cells.map(cell => cell.querySelector('.jp-InputPrompt')?.innerText || '');
                const left = cells.filter((cell, i) => !/\\d/.test(prompts[i]));
                if (!left.length) return {left: []};
                const state = prompts.join() + document.querySelector('#jp-main-statusbar')?.innerText;
                if (state !== window.lastRunState || !/\\| Idle/.test(state) || state.includes('*')) {
                    window.lastRunState = state;
                    window.lastRunMove = Date.now();
                }
                return Date.now() - window.lastRunMove > 5000 ? {left: left.map(cell => cell.innerText)} : null;
            }""",
            arg=PANEL,
            timeout=timeout,
        ).json_value()
        assert not result["left"], f"Run All stopped before this cell:\n{result['left'][0]}"
        self.wait_until_idle()

    def save(self, path: str) -> nbformat.NotebookNode:
        """Save the open notebook and read the file."""
        with self.page.expect_response(lambda r: r.request.method == "PUT" and "/api/contents/" in r.url):
            self.page.keyboard.press("Control+s")
        return self.read(path)

    def validate(self, timeout: float = 120_000) -> str:
        """Press nbgrader's Validate; returns the text of the dialog and closes it."""
        self.page.locator(PANEL).get_by_text("Validate", exact=True).click()
        dialog = self.page.locator(".jp-Dialog-content")
        dialog.filter(has_text=re.compile("success|fail|error|changed", re.I)).wait_for(timeout=timeout)
        text = dialog.inner_text()
        dialog.locator("button").last.click()
        return text

    def theme(self, name: str) -> None:
        """ "JupyterLab Light" or "JupyterLab Dark", for pages opened from now on."""
        path = "/lab/api/settings/@jupyterlab/apputils-extension:themes"
        api(self.url, "PUT", path, {"raw": json.dumps({"theme": name})})

    def screenshots(self, folder: Path, name: str) -> None:
        """The whole notebook as pages name-01.png, name-02.png, …"""
        folder.mkdir(exist_ok=True)
        for old in folder.glob(f"{name}-[0-9][0-9].png"):
            old.unlink()
        pane = self.page.locator(f"{PANEL} .jp-WindowedPanel-outer")
        total, seen = pane.evaluate("pane => [pane.scrollHeight, pane.clientHeight]")
        for number, top in enumerate(range(0, total, seen), start=1):
            pane.evaluate("(pane, top) => pane.scrollTo({top, behavior: 'instant'})", top)
            self.page.screenshot(path=folder / f"{name}-{number:02}.png")

    def shut_kernels_down(self) -> None:
        for session in api(self.url, "GET", "sessions"):
            api(self.url, "DELETE", f"sessions/{session['id']}")


# ------------------------------------------------------------------ ipywidgets


def slider(scope: Locator, description: str) -> Locator:
    """The slider with this label."""
    label = scope.page.locator(".widget-label", has_text=re.compile(f"^{description}$"))
    return scope.locator(".widget-slider").filter(has=label)


def press(slider_row: Locator, key: str, times: int = 1) -> None:
    """Move a slider by keyboard."""
    handle = slider_row.locator(".noUi-handle")
    handle.focus()
    for _ in range(times):
        handle.press(key)


def drag(slider_row: Locator, fraction: float, moves: int) -> None:
    """Drag the handle to a fraction (0 to 1) of the track with the mouse, in so many moves."""
    slider_row.scroll_into_view_if_needed()
    handle = slider_row.locator(".noUi-handle").bounding_box()
    track = slider_row.locator(".noUi-base").bounding_box()
    middle = handle["y"] + handle["height"] / 2
    mouse = slider_row.page.mouse
    mouse.move(handle["x"] + handle["width"] / 2, middle)
    mouse.down()
    mouse.move(track["x"] + track["width"] * fraction, middle, steps=moves)
    mouse.up()
