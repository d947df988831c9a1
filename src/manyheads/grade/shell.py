"""An IPython shell that runs one cell and gives back its outputs, without a kernel around it.

A kernel brings sockets, threads and messages, and takes longer to start than a lesson's cells run. What a notebook
can see of IPython is here all the same: magics, ``display``, top-level ``await``, figures at the end of a cell.
"""

import base64
import builtins
import subprocess
import sys

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

MOST_CHARACTERS = 200_000  # printed by one cell
MOST_OUTPUTS = 100  # of one cell
MOST_DISPLAYED = 3_000_000  # characters of all that one cell displays, its pictures among it
CUT = "\n... (the rest is left out)\n"


class Outputs:
    """The outputs of the running cell, in nbformat's form and within limits."""

    def __init__(self):
        self.start()

    def start(self) -> None:
        self.held: list[dict] = []
        self.characters = self.displayed = 0
        self.waiting = False  # clear_output(wait=True)

    def write(self, name: str, text: str) -> None:
        if self.characters >= MOST_CHARACTERS:
            return
        left = MOST_CHARACTERS - self.characters
        self.characters += len(text)
        if len(text) > left:
            text = text[:left] + CUT
        self._make_room()
        if self.held and self.held[-1].get("name") == name:
            self.held[-1]["text"] += text
        elif len(self.held) < MOST_OUTPUTS:
            self.held.append({"output_type": "stream", "name": name, "text": text})

    def add(self, output: dict) -> None:
        """Take an output in, without what is too large of it."""
        self._make_room()
        if len(self.held) >= MOST_OUTPUTS and output["output_type"] != "error":
            return
        for kind, value in list(output.get("data", {}).items()):
            self.displayed += len(value)
            if self.displayed > MOST_DISPLAYED:
                self.displayed -= len(value)
                del output["data"][kind]
        self.held.append(output)

    def clear(self, wait: bool) -> None:
        self.waiting = wait
        if not wait:
            self.held = []

    def _make_room(self) -> None:
        if self.waiting:
            self.held, self.waiting = [], False


OUTPUTS = Outputs()


class _Stream:
    encoding = "utf-8"
    errors = "replace"

    def __init__(self, name: str):
        self.name = name

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        OUTPUTS.write(self.name, str(text))
        return len(text)

    def writelines(self, lines) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError("this stream has no file descriptor")


class _Hook(DisplayHook):
    def quiet(self) -> bool:
        return self.semicolon_at_end_of_expression(self.shell.cell)

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
        OUTPUTS.add({"output_type": "execute_result", "execution_count": self.shell.execution_count,
                     "data": _text(format_dict), "metadata": {}})

    def finish_displayhook(self) -> None:
        pass


class _Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **_) -> None:
        if data := _text(data):
            OUTPUTS.add({"output_type": "display_data", "data": data, "metadata": {}})

    def clear_output(self, wait: bool = False) -> None:
        OUTPUTS.clear(wait)


class Shell(InteractiveShell):
    cell = ""  # what runs now
    displayhook_class = Type(_Hook)
    display_pub_class = Type(_Publisher)

    def _showtraceback(self, etype, evalue, stb) -> None:
        text = stb if isinstance(stb, list) else [str(stb)]
        OUTPUTS.add({"output_type": "error", "ename": str(getattr(etype, "__name__", etype)), "evalue": _said(evalue),
                     "traceback": [str(line)[:10_000] for line in text[:100]]})

    def system(self, cmd: str) -> None:
        """``!command``: without a terminal, which the sandbox has not got."""
        done = subprocess.run(self.var_expand(cmd, depth=1), shell=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        OUTPUTS.write("stdout", done.stdout[:MOST_CHARACTERS].decode("utf-8", "replace"))
        self.user_ns["_exit_code"] = done.returncode

    def enable_gui(self, gui: str | None = None) -> None:
        """``%matplotlib inline`` asks for no window system."""

    def ask_exit(self) -> None:
        """``exit`` in a notebook cell: there is nothing to leave."""

    def init_io(self) -> None:
        """A terminal's colours are not wanted."""

    def run(self, source: str, number: int) -> tuple[list[dict], BaseException | None]:
        """Run a cell as number ``number``. Returns its outputs, and what it raised."""
        OUTPUTS.start()
        self.execution_count, self.cell = number, source
        kept = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _Stream("stdout"), _Stream("stderr")
        try:
            result = self.run_cell(source, store_history=False)
        finally:
            sys.stdout, sys.stderr = kept
        return OUTPUTS.held, result.error_before_exec or result.error_in_exec


def make() -> Shell:
    """The shell of this process, ready before a fork so that the child has nothing to wait for."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Plain"
    config.InteractiveShell.autocall = 0
    shell = Shell.instance(config=config)
    builtins.input = _no_input
    return shell


def _no_input(prompt: object = "") -> str:
    raise StdinNotImplementedError("input() was called, but nobody is there to answer.")


def _said(problem: object) -> str:
    """An exception's message, also if its __str__ is broken."""
    try:
        return str(problem)[:MOST_CHARACTERS]
    except BaseException as another:
        return f"(its message cannot be shown: {type(another).__name__})"


def _text(data: dict) -> dict:
    """The parts of a display as text: pictures in base64."""
    kept = {}
    for kind, value in data.items():
        value = base64.b64encode(value).decode() if isinstance(value, bytes) else value
        if isinstance(kind, str) and isinstance(value, str):
            kept[kind] = value
    return kept
