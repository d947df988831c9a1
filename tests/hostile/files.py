"""Hand-ins that are broken, changed, misnamed or dangerous as files. The answers in them are right.

What can be repaired is graded in full; the rest ends in a named status. ``points=None`` means that there is no grade.
"""

import copy
import json
import os
import socket
import zipfile
from io import BytesIO
from pathlib import Path

import nbformat
from tiny_course import LESSON

from .case import CRASHED, GRADED, NAME, NOT_ATTEMPTED, Bank, as_bytes, fifo, find, link, name_of, own_cell
from .lesson import QUESTIONS, RIGHT, fill

CASES = Bank("files")
GONE = dict(points=None, status=("unreadable", "missing", "unmatched"))
# Either: the file may be taken or refused, both are sound.
EITHER = dict(points=dict.fromkeys(QUESTIONS), status=("graded", "unreadable"))


def without(*names: str) -> dict[str, float]:
    return {question: 0.0 if question in names else worth for question, worth in QUESTIONS.items()}


# ---- cells: copied, moved, split, gone ----


def _copied(name: str, times: int = 1):
    def change(nb):
        place = nb.cells.index(find(nb, name))
        for number in range(times):
            twin = copy.deepcopy(nb.cells[place])
            twin["id"] = f"pasted-{number}"
            nb.cells.insert(place + 1, twin)
    return change


CASES.notebook("aa-copied-test", _copied("test_double"), covers="copy-paste of a cell, F01")
CASES.notebook("aa-copied-solution", _copied("softmax", 3), covers="copy-paste of a cell, F01")
CASES.notebook("aa-copied-set-up", _copied("setup", 2), covers="copy-paste of a cell, F01")


@lambda change: CASES.notebook("copy-without-an-answer-below", change, points=without("test_double"),
                               says={"double": (NOT_ATTEMPTED, GRADED)}, covers="F01")
def _(nb):
    twin = copy.deepcopy(find(nb, "double"))
    twin["id"], twin["source"] = "pasted", "def double(x):\n    raise NotImplementedError"
    nb.cells.insert(nb.cells.index(find(nb, "double")) + 1, twin)


@lambda change: CASES.notebook("old-schema", change, covers="old schema version")
def _(nb):
    for cell in nb.cells:
        if name_of(cell):
            cell.metadata.nbgrader["schema_version"] = 1
            cell.metadata.nbgrader.pop("task")
            cell.metadata.nbgrader["grade"] = bool(cell.metadata.nbgrader["grade"])


@lambda change: CASES.notebook("future-schema", change)
def _(nb):
    for cell in nb.cells:
        if name_of(cell):
            cell.metadata.nbgrader["schema_version"] = 99


@lambda change: CASES.notebook("deleted-tests", change, covers="deleted test cell, F07")
def _(nb):
    nb.cells = [cell for cell in nb.cells if not (name_of(cell) or "").startswith("test_")]


@lambda change: CASES.notebook("deleted-everything", change, points=dict.fromkeys(QUESTIONS, 0.0),
                               says=dict.fromkeys(QUESTIONS, (NOT_ATTEMPTED, GRADED)), status=("graded", "unreadable"), covers="F07")
def _(nb):
    nb.cells = [own_cell("print('nothing is left')")]


@lambda change: CASES.notebook("deleted-answer", change, points=without("test_scale"), says={"scale": (NOT_ATTEMPTED, GRADED)},
                               covers="F07")
def _(nb):
    nb.cells.remove(find(nb, "scale"))


@lambda change: CASES.notebook("moved-tests", change)
def _(nb):
    tests = [cell for cell in nb.cells if (name_of(cell) or "").startswith("test_")]
    nb.cells = tests[::-1] + [cell for cell in nb.cells if cell not in tests]


@lambda change: CASES.notebook("reversed", change, status=("graded",))
def _(nb):
    nb.cells = nb.cells[::-1]


@lambda change: CASES.notebook("split-test", change)
def _(nb):
    test = find(nb, "test_double")
    lines = test.source.split("\n")
    test.source = lines[0]
    nb.cells.insert(nb.cells.index(test) + 1, own_cell("\n".join(lines[1:])))


@lambda change: CASES.notebook("split-answer", change)
def _(nb):
    cell = find(nb, "scale")
    head, tail = cell.source.split("\n\n")
    cell.source = head
    nb.cells.insert(nb.cells.index(cell) + 1, own_cell(f"_forward = '''\n{tail}\n'''\nexec('class Rest:\\n' + _forward)\n"
                                                       "Scale.forward = Rest.forward"))


@lambda change: CASES.notebook("retyped-cells", change)
def _(nb):
    for name, kind in (("test_double", "markdown"), ("test_softmax", "raw"), ("setup", "markdown")):
        cell = find(nb, name)
        cell["cell_type"] = kind
        cell.pop("outputs"), cell.pop("execution_count")


@lambda change: CASES.notebook("retyped-answer", change, points={**QUESTIONS, "test_double": None},
                               says={"double": (NOT_ATTEMPTED, GRADED)})
def _(nb):
    cell = find(nb, "double")
    cell["cell_type"] = "markdown"
    cell.pop("outputs"), cell.pop("execution_count")



@lambda change: CASES.notebook("retyped-written-answer", change)
def _(nb):
    cell = find(nb, "written")
    cell["cell_type"] = "code"
    cell.update(outputs=[], execution_count=None, source="import os\nos._exit(0)")


def _with_wrong_answers(name: str, **facts):
    """A change to a notebook whose answers are all wrong: it must give no point."""
    from .lesson import WRONG

    def register(change):
        def make(nb, world):
            fill(nb, WRONG)
            change(nb)
            return {NAME: as_bytes(nb)}
        CASES.add(name, make, points=dict.fromkeys(QUESTIONS, 0.0), **facts)
    return register


@_with_wrong_answers("edited-tests")
def _(nb):
    for cell in nb.cells:
        if (name_of(cell) or "").startswith("test_"):
            cell.source = "pass"


@_with_wrong_answers("tests-that-end-in-a-tuple", covers="a test cell ending in a tuple, F18")
def _(nb):
    for cell in nb.cells:
        if (name_of(cell) or "").startswith("test_"):
            cell.source = "2, 2"


@_with_wrong_answers("unlocked-tests")
def _(nb):
    for cell in nb.cells:
        if (name_of(cell) or "").startswith("test_"):
            cell.metadata.nbgrader.update(locked=False, solution=True, checksum="0" * 32)
            cell.source = "2.0"


@_with_wrong_answers("changed-points")
def _(nb):
    for cell in nb.cells:
        if name_of(cell):
            cell.metadata.nbgrader["points"] = 100
            cell.metadata.nbgrader["grade"] = True


@_with_wrong_answers("negative-points")
def _(nb):
    for points, cell in zip((-5, "NaN", None, [1], True, 10**300, 1e-9), (one for one in nb.cells if name_of(one)), strict=False):
        cell.metadata.nbgrader["points"] = points


@_with_wrong_answers("skip-execution", covers="test cells tagged skip-execution")
def _(nb):
    for cell in nb.cells:
        if (name_of(cell) or "").startswith("test_"):
            cell.metadata["tags"] = ["skip-execution", "raises-exception"]


@_with_wrong_answers("other-roles")
def _(nb):
    for cell in nb.cells:
        if (name_of(cell) or "").startswith("test_"):
            cell.metadata["manyheads"] = {"role": "demo", "verdict": {"status": "right", "message": "", "question": "graded"}}
    nb.metadata["manyheads"] = {"repaired": ["2 of 2"], "names": ["torch", "check", "points"], "sandbox": "full", "built": "x"}


@_with_wrong_answers("roles-that-swap")
def _(nb):
    for cell in nb.cells:
        role = "test" if name_of(cell) in RIGHT else "setup"
        cell.metadata["manyheads"] = {"role": role}


@_with_wrong_answers("answers-as-set-up")
def _(nb):
    cell = own_cell("import manyheads.check as package\npackage.returned = package.close = lambda *a, **k: None\n"
                    "check = package\npoints = lambda got, of: of\ntorch.allclose = lambda *a, **k: True")
    cell.metadata.update(manyheads={"role": "setup"}, nbgrader={
        "grade": False, "grade_id": "setup2", "locked": True, "schema_version": 3, "solution": False, "task": False})
    nb.cells.insert(2, cell)
    find(nb, "setup").source += "\n" + cell.source


@_with_wrong_answers("kept-outputs")
def _(nb):
    for cell in nb.cells:
        if (name_of(cell) or "").startswith("test_"):
            cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "2.0"}, execution_count=1)]
            cell.execution_count = 1


@_with_wrong_answers("solutions-named-as-tests")
def _(nb):
    cell = own_cell("2.0")
    cell.metadata.nbgrader = {"grade": True, "grade_id": "test_extra", "locked": True, "points": 50, "schema_version": 3,
                              "solution": False, "task": False}
    nb.cells.append(cell)
    for odd in ("../../x", "<script>alert(1)</script>", "x' or 1=1 --", "test_double\n", "\u202e", "a" * 5000, "setup "):
        cell = own_cell("1")
        cell.metadata.nbgrader = {**nb.cells[-1].metadata.get("nbgrader", {}), "grade_id": odd, "grade": True, "points": 5,
                                  "locked": True, "schema_version": 3, "solution": False, "task": False}
        nb.cells.append(cell)


@lambda change: CASES.notebook("metadata-of-other-types", change)
def _(nb):
    for cell, odd in zip((one for one in nb.cells if name_of(one)), ([], "x", 3, None, {}, {"grade_id": 5}, {"grade_id": ["a"]}),
                         strict=False):
        if name_of(cell) and name_of(cell).startswith("test_"):
            cell.metadata["nbgrader"] = odd
    nb.metadata["manyheads"] = "text"
    nb.metadata["kernelspec"] = []


@lambda change: CASES.notebook("invalid-metadata", change)
def _(nb):
    for cell in nb.cells:
        cell.metadata["execution"] = {"skip": True}  # no notebook of the standard: a text is wanted
        cell.metadata["tags"] = "one", "one"


@lambda change: CASES.notebook("no-metadata", change, points=dict.fromkeys(QUESTIONS), status=("graded", "unreadable"),
                               says=dict.fromkeys(QUESTIONS, (GRADED, NOT_ATTEMPTED)))
def _(nb):
    nb.metadata.clear()
    for cell in nb.cells:
        cell.metadata.clear()


@lambda change: CASES.notebook("other-kernel", change)
def _(nb):
    nb.metadata["kernelspec"] = {"name": "ir", "display_name": "R", "language": "R"}
    nb.metadata["language_info"] = {"name": "R", "file_extension": "/../../x"}


@lambda change: CASES.notebook("html-and-scripts", change, covers="raw HTML with a script in markdown")
def _(nb):
    bad = ("<script>window.owned = 1</script><img src=x onerror='window.owned=1'><iframe src='javascript:window.owned=1'></iframe>"
           "<svg onload='window.owned=1'></svg><a href='javascript:window.owned=1'>x</a><style>body{display:none}</style>"
           "<form action='https://example.org'><input name=q></form><meta http-equiv=refresh content='0;url=https://example.org'>"
           "<object data='data:text/html,<script>window.owned=1</script>'></object>"
           "\n\n[x](javascript:window.owned=1) ![x](data:image/svg+xml;base64,PHN2Zz4=) $\\href{javascript:window.owned=1}{x}$"
           "\n\n<!-- <script>window.owned=1</script> --><noscript><p title=\"</noscript><img src=x onerror=window.owned=1>\"></noscript>")
    markdown = nbformat.v4.new_markdown_cell(bad)
    markdown["attachments"] = {"x.svg": {"image/svg+xml": "<svg onload='window.owned=1'/>"}, "x.png": {"text/html": bad}}
    raw = nbformat.v4.new_raw_cell(bad, metadata={"raw_mimetype": "text/html", "format": "text/html"})
    outputs = own_cell(f"from IPython.display import HTML, Javascript, Markdown, SVG, display\nbad = {bad!r}\n"
                       "display(HTML(bad), Javascript('window.owned = 1'), Markdown(bad), SVG(data=\"<svg onload='window.owned=1'></svg>\"))\n"
                       "print(bad)\nraise ValueError(bad)")
    find(nb, "written").source = bad
    nb.cells += [markdown, raw, outputs]
    nb.metadata["title"] = "</title><script>window.owned=1</script>"


@lambda change: CASES.notebook("scripts-in-code", change)
def _(nb):
    find(nb, "double").source += "\n# </pre></code><script>window.owned=1</script>\nodd = '</script><script>window.owned=1</script>'"


# ---- the format ----

CASES.data("format-3", lambda data: nbformat.v3.writes_json(nbformat.convert(nbformat.reads(data.decode(), as_version=4), 3)).encode(),
           covers="nbformat 3")
CASES.notebook("format-5", lambda nb: nb.update(nbformat=5), **EITHER)
CASES.notebook("format-4-99", lambda nb: nb.update(nbformat_minor=99))
CASES.notebook("format-of-text", lambda nb: nb.update(nbformat="four", nbformat_minor=None), **EITHER)


@lambda change: CASES.notebook("without-cell-ids", change)
def _(nb):
    nb["nbformat_minor"] = 2
    for cell in nb.cells:
        del cell["id"]


@lambda change: CASES.notebook("same-cell-ids", change)
def _(nb):
    for cell, name in zip(nb.cells, ["x"] * 5 + ["", None, 5, "ü" * 100, "../..", "a" * 65], strict=False):
        cell["id"] = name


CASES.notebook("no-cells", lambda nb: nb.update(cells=[]), points=dict.fromkeys(QUESTIONS, 0.0),
               says=dict.fromkeys(QUESTIONS, (NOT_ATTEMPTED, GRADED)), status=("graded", "unreadable"))
CASES.notebook("cells-of-other-types", lambda nb: nb.cells.extend([None, 5, "x", [], {}, {"cell_type": "evil", "source": "1"},
               {"cell_type": "code"}, {"cell_type": "code", "source": None, "metadata": None, "outputs": {}, "execution_count": "x"},
               {"cell_type": "markdown", "source": [1, None, ["x"]], "metadata": {}, "attachments": 5}]))
CASES.data("cells-as-object", lambda data: json.dumps({**json.loads(data), "cells": {"0": 1}}).encode(), **GONE)


@lambda change: CASES.notebook("sources-in-lines", change)
def _(nb):
    for cell in nb.cells:
        cell["source"] = cell["source"].splitlines(keepends=True)


@lambda change: CASES.notebook("outputs-of-other-types", change)
def _(nb):
    for cell in nb.cells:
        if cell["cell_type"] == "code":
            cell["outputs"] = [None, 5, {"output_type": "odd"}, {"output_type": "stream"}, {"output_type": "display_data", "data": 5}]


@lambda change: CASES.notebook("hundred-thousand-cells", change, **EITHER)
def _(nb):
    cell = own_cell("1")
    nb["cells"] = nb.cells + [{**cell, "id": f"c{number}"} for number in range(100_000)]


@lambda change: CASES.notebook("two-thousand-cells", change)
def _(nb):
    nb["cells"] = nb.cells + [{**own_cell(f"x = {number}"), "id": f"c{number}"} for number in range(300)]


CASES.notebook("half-characters", lambda nb: nb.cells.extend([own_cell("x = '\ud800'"), nbformat.v4.new_markdown_cell("\udfff\x00\x1b[31m\u202e")]))
CASES.data("byte-order-mark", lambda data: b"\xef\xbb\xbf" + data)
CASES.data("utf-16", lambda data: data.decode().encode("utf-16"), **EITHER)
CASES.data("latin-1", lambda data: data.replace(b"My own words.", "Gr\u00fc\u00dfe".encode("latin-1")), **EITHER)
CASES.data("windows-lines", lambda data: data.replace(b"\n", b"\r\n"))
CASES.data("two-keys", lambda data: data.replace(b'"nbformat": 4', b'"nbformat": 4, "cells": [], "nbformat": 4', 1), **EITHER)
CASES.data("long-number", lambda data: data.replace(b'"nbformat": 4', b'"odd": ' + b"9" * 100_000 + b', "nbformat": 4', 1), **EITHER)
CASES.data("no-number", lambda data: data.replace(b'"nbformat": 4', b'"odd": [NaN, -Infinity, 1e999999], "nbformat": 4', 1), **EITHER)
CASES.data("not-json", lambda data: b"I will hand in the notebook tomorrow.", **GONE)
CASES.data("python", lambda data: "\n\n".join(RIGHT.values()).encode(), **GONE)
CASES.data("empty", lambda data: b"", **GONE)
CASES.data("zeros", lambda data: bytes(5000), **GONE)
CASES.data("truncated", lambda data: data[: len(data) // 2], **GONE)
CASES.data("random-bytes", lambda data: os.urandom(10_000), **GONE)
CASES.data("web-page", lambda data: b"<!DOCTYPE html><html><body><script>alert(1)</script></body></html>", **GONE)
CASES.data("json-null", lambda data: b"null", **GONE)
CASES.data("json-list", lambda data: b"[" + data + b"]", **GONE)
CASES.data("lfs-pointer", lambda data: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", **GONE)
CASES.data("merge-conflict", lambda data: data.replace(b'"cells"', b'<<<<<<< HEAD\n "cells": [],\n=======\n>>>>>>> theirs\n "cells"', 1), **GONE)
CASES.data("deep", lambda data: b"[" * 1_000_000 + b"]" * 1_000_000, **GONE)
CASES.data("deep-and-open", lambda data: b'{"cells":' * 300_000, **GONE)
CASES.data("deep-metadata", lambda data: data.replace(b'"nbformat": 4', b'"odd": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000
                                                      + b', "nbformat": 4', 1), **EITHER)
CASES.data("fifty-megabytes", lambda data: data.replace(b'"outputs": []', b'"outputs": [{"output_type": "stream", "name": "stdout", "text": "'
                                                        + b"x" * 50_000_000 + b'"}]', 1), **EITHER, covers="prints 50 MB")
CASES.data("hundred-megabytes", lambda data: data + b" " * 100_000_000, **GONE)
CASES.data("many-small-numbers", lambda data: b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [' + b"[]," * 10_000_000 + b"[]]}",
           points=dict.fromkeys(QUESTIONS), status=("unreadable", "graded"), says=dict.fromkeys(QUESTIONS, (GRADED, NOT_ATTEMPTED)))
CASES.data("other-notebook", lambda data: as_bytes(nbformat.v4.new_notebook(cells=[own_cell("import pandas")])), points=dict.fromkeys(QUESTIONS),
           status=("graded", "unreadable", "unmatched"), says=dict.fromkeys(QUESTIONS, (GRADED, NOT_ATTEMPTED)))

# ---- the folder ----


def _folder(name: str, files, **facts):
    """``files(data)`` gives the folder of a right notebook."""
    CASES.add(name, lambda nb, world: files(as_bytes(fill(nb, RIGHT)), world), **facts)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(20 * 2**30)


def _bound(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the address of a socket may be no longer than 107 characters
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(path.name)
    finally:
        os.chdir(here)


def _zip(data: bytes) -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(NAME, data)
    return held.getvalue()


_SHADOW = b"raise SystemExit('shadowed')\n"

_folder("renamed", lambda data, world: {f"{LESSON} (1).ipynb": data}, covers="F13")
_folder("renamed-otherwise", lambda data, world: {"my final version.ipynb": data}, covers="F13")
_folder("renamed-beside-the-original", lambda data, world: {NAME: data, f"{LESSON} (1).ipynb": b"{}", "notes.txt": b"hello"})
_folder("upper-case", lambda data, world: {NAME.upper(): data}, covers="F13")
_folder("nothing", lambda data, world: {".keep": b""}, **GONE)
_folder("only-a-checkpoint", lambda data, world: {f".ipynb_checkpoints/{LESSON}-checkpoint.ipynb": data},
        points=dict.fromkeys(QUESTIONS), status=("missing", "graded", "unmatched", "unreadable"))
_folder("zipped", lambda data, world: {f"{LESSON}.zip": _zip(data)}, **GONE)
_folder("zip-named-notebook", lambda data, world: {NAME: _zip(data)}, **GONE)
_folder("in-a-folder", lambda data, world: {f"{LESSON}/{NAME}": data}, points=dict.fromkeys(QUESTIONS),
        status=("graded", "missing", "unmatched"))
_folder("link-to-the-source", lambda data, world: {NAME: link(world.root / "source" / LESSON / NAME)},
        covers="a symlink in the hand-in folder", **GONE)
_folder("link-to-another-student", lambda data, world: {NAME: link(world.root / "submitted" / "files-zz-honest" / LESSON / NAME)},
        covers="a symlink in the hand-in folder", **GONE)
_folder("link-to-itself", lambda data, world: {NAME: link(NAME)}, **GONE)
_folder("link-to-a-device", lambda data, world: {NAME: link("/dev/zero")}, **GONE)
_folder("dangling-link", lambda data, world: {NAME: link("/nowhere")}, **GONE)
_folder("pipe", lambda data, world: {NAME: fifo}, **GONE)
_folder("socket", lambda data, world: {NAME: _bound}, **GONE)
_folder("folder-for-a-notebook", lambda data, world: {f"{NAME}/x.txt": b""}, **GONE)
_folder("twenty-sparse-gigabytes", lambda data, world: {NAME: _sparse}, **GONE)
_folder("odd-files-beside", lambda data, world: {
    NAME: data, "pipe": fifo, "socket": _bound, "big": _sparse, "loop": link("."), "zero": link("/dev/zero"),
    "secret.ipynb": link(world.root / "source" / LESSON / NAME), "a\nb \x1b[31m<b>.txt": b"x", "-rf": b"x", "d" * 200: b"x",
    "gradebook.db": b"x", "nbgrader_config.py": b"raise SystemExit", "timestamp.txt": b"not a date"})
_folder("link-beside", lambda data, world: {
    NAME: data.replace(b"My own words.", b"My own words."), "notes.txt": link(world.home / "secret.txt"),
    "source": link(world.root / "source"), "all": link("/")}, covers="a symlink in the hand-in folder")


def _reads_links(data: bytes, world) -> dict:
    nb = nbformat.reads(data.decode(), as_version=4)
    nb.cells.append(own_cell("for path in ('notes.txt', 'source/01_motivation/01_motivation.ipynb', 'all/etc/hostname'):\n    try:\n"
                             "        print('LO' + 'OT:', open(path).read()[:200])\n    except OSError as problem:\n"
                             "        print(type(problem).__name__)"))
    return {NAME: as_bytes(nb), "notes.txt": link(world.home / "secret.txt"), "source": link(world.root / "source"), "all": link("/")}


_folder("link-that-is-read", _reads_links, covers="a symlink in the hand-in folder")
_folder("stray-modules", lambda data, world: {
    NAME: data, **dict.fromkeys(("torch.py", "manyheads.py", "manyheads/__init__.py", "manyheads/check/__init__.py", "json.py", "os.py",
                                 "numpy.py", "random.py", "IPython.py", "sitecustomize.py", "usercustomize.py", "__init__.py", "evil.pth",
                                 "conftest.py", "ipython_config.py", ".ipython/profile_default/startup/00.py"), _SHADOW)})


def _stray_wins(data: bytes, world) -> dict:
    from .lesson import WRONG

    fake = (b"def __getattr__(name):\n    return (lambda got, of: of) if name == 'points' else lambda *a, **k: None\n")
    nb = nbformat.reads(data.decode(), as_version=4)
    fill(nb, WRONG)
    nb.cells.insert(1, own_cell("import sys\nsys.path.insert(0, '.')\nfor name in list(sys.modules):\n    if name.startswith('manyheads'):\n"
                                "        del sys.modules[name]\nfrom manyheads import check\nfrom manyheads.check import points"))
    return {NAME: as_bytes(nb), "manyheads/__init__.py": b"", "manyheads/check/__init__.py": fake, "manyheads/check.py": fake}


CASES.add("stray-check", lambda nb, world: _stray_wins(as_bytes(nb), world), points=dict.fromkeys(QUESTIONS, 0.0))
CASES.cells("modules-of-the-grader-named-like-answers", own="import double_test", files={"double_test.py": b"import os\nos._exit(0)"})
CASES.cells("no-such-helper", own="import helper_that_is_not_there\nopen('missing.csv')", says={"double": (GRADED, CRASHED)})
