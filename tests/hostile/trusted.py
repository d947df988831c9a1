"""Attacks on what the grader itself does outside of the sandbox: its time, its memory, its parsers.

They deserve what they deserve; what counts is that the run ends, and that the class does not wait.
"""

import nbformat

from .case import ALL_ANY, ANY, NAME, Bank, as_bytes, but, fill, find, own_cell
from .lesson import QUESTIONS, RIGHT

CASES = Bank("trusted")
UNKNOWN = dict(points=dict.fromkeys(QUESTIONS), says=ALL_ANY, status=("graded", "unreadable"))

# ---- a process that does not take part ----

STUDENT = """
import sys, time
student = sys.modules["manyheads.grade.student"]
def replaced(name, new):
    \"\"\"Put a function in the place of another of the student process's own, wherever it is held.\"\"\"
    old = [module for key, module in list(sys.modules.items()) if key.startswith("manyheads.grade.") and name in vars(module)]
    assert old, name
    kept = vars(old[0])[name]
    for module in old:
        setattr(module, name, new)
    return kept
"""

CASES.cells("does-not-read", own=STUDENT + "replaced('receive', lambda *args, **kwargs: time.sleep(3600))",
            answers={"double": f"# {'x' * 1_500_000}\n{RIGHT['double']}"}, stock=False, **UNKNOWN)
CASES.cells("reads-slowly", own=STUDENT + """
import socket
class Slow(socket.socket):
    def recv_into(self, view, *args):
        time.sleep(0.5)
        return super().recv_into(view[:1000], *args)
import gc
for thing in gc.get_objects():
    if type(thing) is student._Student:
        thing.line = Slow(fileno=thing.line.detach())
""", answers={"double": f"# {'x' * 1_500_000}\n{RIGHT['double']}"}, stock=False, **UNKNOWN)
CASES.cells("answers-by-the-byte", own=STUDENT + """
def send(sock, message, buffers=(), *args, **kwargs):
    for byte in b"MHw1" + bytes(8):
        sock.send(bytes([byte]))
        time.sleep(1)
replaced("send", send)
""", stock=False, **UNKNOWN)
CASES.cells("hidden-exit", own="import os, threading\nthreading.Timer(1.0, os._exit, [0]).start()",
            answers={"softmax": f"import time\ntime.sleep(1.5)\n{RIGHT['softmax']}"}, **UNKNOWN)

# ---- results that are slow or large to judge ----

CASES.cells("many-axes", lost="softmax head split scale", answers={
    "softmax": "def softmax(row):\n    return row.reshape(-1, *[1] * 15)",
    "head": "def head(Q, K, V):\n    return V.reshape(5, 2, *[1] * 14), Q.reshape(*[1] * 14, 3, 4)",
    "split": "def split(x, heads):\n    return torch.zeros(2, 3, 5, 2, *[1] * 12)",
    "scale": RIGHT["scale"].replace("return self.linear(x) + self.linear(x)", "return self.linear(x).reshape(2, *[1] * 13, 5)")})
CASES.cells("large-results", lost="softmax head split scale", answers={
    "softmax": "def softmax(row):\n    return torch.rand(15_000_000)",
    "head": "def head(Q, K, V):\n    return torch.rand(3, 2_000_000), torch.rand(3, 5, 500_000)",
    "split": "def split(x, heads):\n    return torch.rand(2, 3, 5, 400_000)",
    "scale": RIGHT["scale"].replace("return self.linear(x) + self.linear(x)", "return torch.rand(2, 5, 1_000_000)")}, says=ALL_ANY,
    points=but(softmax=0.0, head=0.0, split=None, scale=0.0))
CASES.cells("grown-arguments", lost="head", answers={"head": """
def head(Q, K, V):
    wrong = V, Q
    for tensor in (Q, K, V):
        tensor.data = torch.rand(12_000, 4)
    return wrong
"""}, says={"head": ANY})
CASES.cells("grown-arguments-of-many-axes", lost="head", answers={"head": """
def head(Q, K, V):
    for tensor in (Q, K, V):
        tensor.data = torch.rand(*[2] * 16)
    return V, Q
"""}, says={"head": ANY})
CASES.cells("objects-of-many-classes", lost="double", answers={
    "double": "kinds = [type(f'Kind{number}', (), {}) for number in range(20_000)]\ndef double(x):\n    return [kind() for kind in kinds]"},
    says={"double": ANY})
CASES.cells("numbers-with-one-hash", lost="double", answers={
    "double": "def double(x):\n    return {number * (2**61 - 1): 0 for number in range(60_000)}"}, says={"double": ANY})
CASES.cells("many-tensors", lost="double", answers={
    "double": "def double(x):\n    return [torch.zeros(1) for _ in range(100_000)]"}, says={"double": ANY})

# ---- replies that the student's process was never meant to give ----

CASES.cells("outputs-of-other-forms", own=STUDENT + """
from manyheads.grade.shell import Shell
def run(self, source, number):
    return [None, 5, [], {"output_type": []}, {"output_type": "stream", "name": {}, "text": []}, {"output_type": "error", "ename": 5},
            {"output_type": "error", "ename": "2.0", "evalue": "<script>alert(1)</script>", "traceback": [1, None, "\\x1b[2J<b>"]},
            {"output_type": "display_data", "data": [], "metadata": 5}, {"output_type": "execute_result", "execution_count": "x"},
            {"output_type": "display_data", "data": {"text/html": "<script>alert(1)</script>", "text/plain": ["a"], "image/png": "'><script>"}},
            {"output_type": "execute_result", "data": {"text/plain": "2.0"}, "execution_count": 10**30}], 5
Shell.run = run
""", stock=False, **UNKNOWN)
CASES.cells("forged-exceptions", lost="double softmax head twice", own=STUDENT + """
told = [{"kinds": ["TypeError"], "said": "\\x1b[2J<script>alert(1)</script>\\n/etc/passwd " + "x" * 3_000_000},
        {"kinds": ["NotRight", 5], "said": "x"}, {"kinds": [], "said": ""}, {"kinds": ["SystemExit", "BaseException"], "said": "0"},
        {"kinds": ["KeyboardInterrupt"], "said": "", "frame": [10**18, -5, "</pre><script>"]}, {"kinds": "ValueError", "said": 5}, 5, None,
        {"kinds": ["CellTimeoutError"] * 10_000, "said": "", "mistake": {"a": 1}}, {"kinds": ["eval", "exec", "open", "__import__"], "said": "1"}]
def raised(self, problem):
    told.append(told.pop(0))
    return told[-1]
assert student._Student._raised
student._Student._raised = raised
""", answers={"double": "def double(x):\n    raise ValueError", "softmax": "def softmax(row):\n    raise ValueError",
              "head": "def head(Q, K, V):\n    raise ValueError", "twice": "def twice(f, x):\n    raise ValueError"},
    says=ALL_ANY, stock=False, points=but(double=0.0, softmax=0.0, head=0.0, twice=0.0, split=None))
CASES.cells("forged-trees", lost="double softmax head twice answer", own=STUDENT + """
trees = [{"tensor": ["float32", [10**9, 10**9], 0, False, False]}, {"tensor": ["float32", [-1], 0, False, False]}, {"tensor": ["qint8", [2], 0, 0, 0]},
         {"list": [{"same": 0}]}, {"same": 5}, {"linear": [10**9, 10**9, True, None, None]}, {"module": [True, ["forward", 1], []]},
         {"array": ["|O", [10], 0]}, {"scalar": ["<U1000000000", ""]}, {"range": [0, 10**18, 1]}, {"int": "0x" + "f" * 3000}, {"text": 10**6},
         {"h": {"number": -1, "kind": "__class__", "callable": True}}, {"h": {"number": 10**9, "kind": "x" * 50, "callable": False}},
         {"tuple": [4, 7], "of": "__import__"}, {"dict": [[], 1]}, {"set": [{"list": []}]}, {"device": "cuda:99"}, {"dtype": "__class__"},
         {"size": [10**18] * 20}, {"bytes": "zz"}, {"complex": ["a", 1]}, {"unknown": 1}, [1], {"float": "1e5"}, {"slice": [1, 2]}]
class Forged(sys.modules["manyheads.grade.wire"].Encoder):
    def tree(self, value):
        trees.append(trees.pop(0))
        return trees[-1]
replaced("Encoder", Forged)
""", says=ALL_ANY, stock=False, points=but(double=0.0, softmax=0.0, head=0.0, split=None, scale=0.0, twice=0.0, answer=0.0))
CASES.cells("forged-changes", own=STUDENT + """
def send(sock, message, buffers=(), *args, **kwargs):
    if "value" in message:
        message = {**message, "changed": [[place, {"tensor": ["float32", [5, 5], 0, True, True]}] for place in (0, 1, 10**6, -1, "x", None)],
                   "own": 0}
    kept(sock, message, [bytes(100)], *args, **kwargs)
kept = replaced("send", send)
""", stock=False, **UNKNOWN)

# ---- texts that are slow to read ----


def _texts(name: str, change, **facts) -> None:
    def make(nb, world):
        fill(nb, RIGHT)
        change(nb)
        return {NAME: as_bytes(nb)}

    CASES.add(name, make, **{**UNKNOWN, "stock": False, **facts})


def _unmarked(*sources: str):
    """The answer cell has lost its marks, and cells that look a little like it are there."""
    def change(nb):
        place = nb.cells.index(find(nb, "answer"))
        nb.cells[place:place + 1] = [own_cell(source) for source in sources]
    return change


_texts("slow-to-match", _unmarked("answer," * 120_000, "answer:" * 60_000, "a," * 150_000, " answer" * 20_000 + " = (4, 7)"))
_texts("slow-to-parse", _unmarked("answer = " + "-" * 200_000 + "1", "answer = " + "(" * 100_000, "answer = " + "lambda: " * 50_000 + "1",
                                  "answer = a" + ".a" * 100_000, "answer = " + "[" * 95 + "]" * 95, "answer = '" + "\\" * 200_000,
                                  "\n".join(" " * depth + "if 1:" for depth in range(120))))
_texts("splits-that-are-slow-to-parse", lambda nb: nb.cells.__setitem__(slice(None), [
    *nb.cells[:-1], *({**find(nb, "answer"), "id": f"piece-{number}", "source": text} for number, text in enumerate(
        ("answer = " + "-" * 200_000 + "1", "not " * 100_000 + "x", "a" + "()" * 100_000)))]))


@lambda change: _texts("slow-to-search", change)
def _(nb):
    find(nb, "answer").source = "#" + "answer:" * 120_000 + "\n#" + "answer," * 90_000 + "\nwhile True:\n    pass"


@lambda change: _texts("slow-markdown", change, points=dict(QUESTIONS), says={}, status=("graded",))
def _(nb):
    find(nb, "written").source = "[" * 19_000
    for text in ("![" * 9_000, "> " * 9_000 + "x", "- " * 9_000, "`" * 9_999 + "x" * 9_000, "*a_" * 6_000, "<" * 19_000, "&#" * 9_000, "$" * 19_999,
                 "\\begin{a}" * 2_000, "[x](" * 4_000, "|" * 19_000 + "\n" + "|-" * 9_000, "![x](data:image/png;base64," * 700,
                 "<a " + "x='" * 6_000, "\n" * 19_000 + "x", "1. " * 6_000, "~~~" * 6_000, "[a]: <" * 3_000, "<!--" * 4_000, "\\" * 19_000,
                 "x " * 200_000):
        nb.cells.append(nbformat.v4.new_markdown_cell(text))


@lambda change: _texts("outputs-without-end", change)
def _(nb):
    text = """
from manyheads.grade.shell import Shell
def run(self, source, number):
    return [{"output_type": "stream", "name": name, "text": name * 550_000} for name in ("stdout", "stderr")], None
Shell.run = run
"""
    nb["cells"] = [*nb.cells, own_cell(text), *({**own_cell("1"), "id": f"c{number}"} for number in range(400))]


@lambda change: _texts("pictures-without-end", change)
def _(nb):
    text = """
import base64
from manyheads.grade.shell import Shell
picture = base64.b64encode(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(2_900_000)).decode()
def run(self, source, number):
    return [{"output_type": "display_data", "metadata": {}, "data": {"image/png": picture, "image/jpeg": "<script>"}}], None
Shell.run = run
"""
    nb["cells"] = [*nb.cells, own_cell(text), *({**own_cell("1"), "id": f"c{number}"} for number in range(60))]


@lambda change: _texts("many-attachments", change)
def _(nb):
    cell = nbformat.v4.new_markdown_cell("\n".join(f"![x](attachment:{number}.png)" for number in range(900)))
    cell["attachments"] = {f"{number}.png": {"image/png": "iVBORw0KGgo" + "A" * 10_000} for number in range(900)}
    nb.cells += [cell, {**cell, "id": "again"}]


@lambda change: _texts("five-thousand-cells", change)
def _(nb):
    nb["cells"] = nb.cells[:4] + [{**own_cell("while True: pass" if number % 1000 == 0 else "print(1)"), "id": f"c{number}"}
                                  for number in range(4_900)] + nb.cells[4:]


CASES.cells("traceback-that-is-slow-to-read", lost="double", answers={"double": """
def double(x):
    raise ValueError("Cell In [" * 50_000 + " " * 100_000 + "/a" * 100_000 + ": not right yet: " * 10_000)
"""}, last="raise ValueError('a: raised ' * 100_000 + '\\\\n' * 100_000 + 'C:\\\\\\\\a b' * 100_000)")
