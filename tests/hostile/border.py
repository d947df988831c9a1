"""Attacks on the door between the student's process and the examiner: what is sent back, raised, or written to it."""

from .case import ALL_ANY, ANY, CRASHED, GRADED, NOT_ATTEMPTED, TIMED_OUT, Bank, but

CASES = Bank("border")

# ---- results ----

CASES.cells("huge-tensor", lost="softmax split", answers={
    "softmax": "def softmax(row):\n    return torch.zeros(1).expand(10**10)",
    "split": "def split(x, heads):\n    return torch.empty(10**6, 10**6, device='meta')"},
    says={"softmax": ANY, "split": ANY})

CASES.cells("huge-numbers", lost="double twice answer", answers={
    "double": "def double(x):\n    return 10**100_000", "twice": "def twice(f, x):\n    return 'x' * 300_000_000",
    "answer": "answer = (1 << 10**7, 7)"}, says={"double": ANY, "twice": ANY, "answer": ANY})

CASES.cells("huge-list", lost="double", answers={"double": "def double(x):\n    return [0] * 50_000_000"},
            says={"double": ANY})

CASES.cells("deep-result", lost="double answer", answers={
    "double": "def double(x):\n    deep = []\n    for _ in range(100_000):\n        deep = [deep]\n    return deep",
    "answer": "answer = ()\nfor _ in range(100_000):\n    answer = (answer,)"}, says={"double": ANY, "answer": ANY})

CASES.cells("wide-and-deep-result", lost="double", answers={
    "double": "def double(x):\n    wide = [1]\n    for _ in range(40):\n        wide = [wide, wide]\n    return wide"},
    says={"double": ANY})

CASES.cells("result-in-itself", lost="double twice", answers={
    "double": "def double(x):\n    loop = []\n    loop.append(loop)\n    return loop",
    "twice": "def twice(f, x):\n    loop = {}\n    loop['self'] = loop\n    return loop"})

CASES.cells("endless-iterator", lost="double twice", answers={
    "double": "import itertools\ndef double(x):\n    return itertools.count()",
    "twice": "def twice(f, x):\n    while True:\n        yield x"}, says={"double": ANY, "twice": ANY})

CASES.cells("iterator-that-fails", lost="double twice", answers={
    "double": "def double(x):\n    yield 8642\n    raise SystemExit(0)",
    "twice": "class Slow:\n    def __iter__(self):\n        return self\n    def __next__(self):\n        while True:\n"
             "            pass\ndef twice(f, x):\n    return Slow()"}, says={"double": ANY, "twice": ANY})

CASES.cells("odd-tensors", lost="softmax split", answers={
    "softmax": "def softmax(row):\n    return torch.softmax(row, 0).to_sparse() if len(row) == 3 else torch.softmax(row, 0).to(torch.complex64)",
    "split": "def split(x, heads):\n    return torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])"},
    says={"softmax": ANY, "split": ANY})

CASES.cells("quantised-and-masked", lost="softmax split", answers={
    "softmax": "def softmax(row):\n    return torch.quantize_per_tensor(row, 0.1, 0, torch.qint8)",
    "split": "def split(x, heads):\n    import numpy as np\n    return np.ma.masked_all((2, 3, 5, 2))"},
    says={"softmax": ANY, "split": ANY})

CASES.cells("numpy-objects", lost="double softmax", answers={
    "double": "import numpy as np\ndef double(x):\n    return np.array([lambda: 0, {}], dtype=object)",
    "softmax": "import numpy as np\ndef softmax(row):\n    return np.zeros(3, dtype=[('a', 'O'), ('b', 'V8')])"})

CASES.cells("reduce", lost="double", answers={"double": """
class Bomb:
    def __reduce__(self):
        return eval, ("__import__('os').system('touch /tmp/manyheads-@TOKEN@-reduce')",)
    __reduce_ex__ = lambda self, protocol: self.__reduce__()
    __getstate__ = __reduce__
def double(x):
    return Bomb()
"""})

CASES.cells("functions-for-results", lost="double softmax scale twice", answers={
    "double": "def double(x):\n    return Scale", "softmax": "def softmax(row):\n    return softmax",
    "scale": "class Scale:\n    def __new__(cls, width):\n        return Scale\n    @classmethod\n    def load_state_dict(cls, given):\n"
             "        pass",
    "twice": "def twice(f, x):\n    return f"}, says={"scale": ANY})

CASES.cells("handles-for-answers", answers={
    "double": "def double(x):\n    return nn.Linear(2, 2)", "softmax": "softmax = nn.Softmax(dim=0)",
    "answer": "answer = nn.Linear(4, 7)"}, lost="double answer")

CASES.cells("names-that-are-gone", lost="double answer", answers={"double": "def double(x):\n    return 2 * x\ndel double",
                                                                  "answer": "answer = (4, 7)\ndel answer"},
            says={"double": ANY, "answer": ANY})

CASES.cells("result-that-changes", lost="double", answers={"double": """
class Sly(int):
    calls = 0
    def __index__(self):
        type(self).calls += 1
        return 8642 if type(self).calls % 2 else 0
    __int__ = __index__
    def __repr__(self):
        return "8642"
    __str__ = __repr__
def double(x):
    return Sly(1)
"""})

CASES.cells("encoding-that-hangs", lost="double twice", answers={
    "double": "class Hang(list):\n    def __iter__(self):\n        while True:\n            pass\n    __len__ = __getitem__ = __iter__\n"
              "def double(x):\n    return Hang()",
    "twice": "class Hang(dict):\n    def items(self):\n        while True:\n            pass\n    keys = __iter__ = items\n"
             "def twice(f, x):\n    return Hang()"}, says={"double": ANY, "twice": ANY})

# ---- exceptions ----

CASES.cells("raises-not-attempted", lost="double", answers={
    "double": "from manyheads.check import NotAttempted\ndef double(x):\n    raise NotAttempted('double <b>is</b> fine: 2 of 2')"},
    says={"double": (NOT_ATTEMPTED, GRADED)})

CASES.cells("raises-not-right", lost="double", answers={
    "double": "from manyheads.check import NotRight\ndef double(x):\n"
              "    raise NotRight('<script>alert(1)</script>', mistake='../../<script>')"})

CASES.cells("exception-named-points", lost="double twice", answers={
    "double": "class points(Exception):\n    pass\ndef double(x):\n    raise points('2.0')",
    "twice": "Odd = type('2.0\\n</pre><script>alert(1)</script>', (Exception,), {})\ndef twice(f, x):\n    raise Odd()"})

CASES.cells("base-exceptions", lost="double softmax split scale twice", answers={
    "double": "def double(x):\n    raise SystemExit(0)", "softmax": "def softmax(row):\n    raise KeyboardInterrupt",
    "split": "def split(x, heads):\n    raise GeneratorExit", "twice": "def twice(f, x):\n    raise StopIteration(49)",
    "scale": "class Calm(BaseException):\n    pass\nclass Scale(nn.Module):\n    def __init__(self, width):\n        raise Calm"},
    says=dict.fromkeys(("double", "softmax", "split", "scale", "twice"), ANY))

CASES.cells("more-base-exceptions", lost="double softmax split twice", answers={
    "double": "import asyncio\ndef double(x):\n    raise asyncio.CancelledError",
    "softmax": "def softmax(row):\n    raise BaseExceptionGroup('many', [KeyboardInterrupt(), SystemExit(0)])",
    "split": "def split(x, heads):\n    raise MemoryError", "twice": "def twice(f, x):\n    raise RecursionError"},
    says=dict.fromkeys(("double", "softmax", "split", "twice"), ANY))

CASES.cells("exceptions-of-the-grader", lost="double softmax twice", answers={
    "double": "class CellTimeoutError(TimeoutError):\n    pass\ndef double(x):\n    raise CellTimeoutError()",
    "softmax": "class StudentProcessDied(Exception):\n    pass\ndef softmax(row):\n    raise StudentProcessDied()",
    "twice": "def twice(f, x):\n    raise EOFError('the socket is closed')"},
    says={"double": ANY, "softmax": ANY, "twice": ANY})

CASES.cells("exception-with-a-huge-message", lost="double twice", answers={
    "double": "def double(x):\n    raise ValueError('x' * 20_000_000)",
    "twice": "def twice(f, x):\n    raise ValueError(*range(1_000_000))"}, says={"double": ANY, "twice": ANY})

CASES.cells("exception-with-a-page", lost="double twice", answers={
    "double": "def double(x):\n    raise ValueError('\\x1b[31mred\\x1b]0;title\\x07 <script>alert(1)</script> /etc/passwd @ROOT@/source')",
    "twice": "def twice(f, x):\n    raise KeyError('\\ud800 \\x00 \\u202e')"})

CASES.cells("exception-that-cannot-be-told", lost="double softmax twice", answers={
    "double": "class Odd(ValueError):\n    def __str__(self):\n        raise Odd()\n    __repr__ = __str__\ndef double(x):\n    raise Odd()",
    "softmax": "class Endless(ValueError):\n    def __str__(self):\n        while True:\n            pass\n    __repr__ = __str__\n"
               "def softmax(row):\n    raise Endless()",
    "twice": "class Wrong(ValueError):\n    __str__ = lambda self: 3\n    args = property(lambda self: 1 / 0)\n"
             "    __traceback__ = property(lambda self: 1 / 0)\ndef twice(f, x):\n    raise Wrong()"},
    says={"double": ANY, "softmax": ANY, "twice": ANY})

CASES.cells("chain-of-exceptions", lost="double", answers={"double": """
def double(x):
    problem = None
    for number in range(20_000):
        new = ValueError(number)
        new.__cause__ = problem
        problem = new
    loop = ValueError("loop")
    problem.__context__ = loop
    loop.__context__ = problem
    raise problem
"""}, says={"double": ANY})

# A dead process, a hang or a lie is no ValueError: of split's two points none is for these.
CASES.cells("dies-where-an-error-is-wanted", lost="", answers={
    "split": "import os\ndef split(x, heads):\n    if heads == 4:\n        os._exit(1)\n    return torch.zeros(2, 2, 3, 2)"},
    points=but(split=0.0),
    says={"split": (CRASHED,)})

CASES.cells("hangs-where-an-error-is-wanted", answers={
    "split": "def split(x, heads):\n    while heads == 4:\n        pass\n    return torch.zeros(2, 2, 3, 2)"},
    lost="split", says={"split": (TIMED_OUT,)}, covers="F18")

# ---- arguments ----

CASES.cells("arguments-of-another-size", lost="double softmax", answers={
    "double": "def double(x):\n    if type(x) is list:\n        x.extend([0] * 3_000_000)\n    return x",
    "softmax": "def softmax(row):\n    row.resize_(0)\n    row.set_(torch.zeros(10**6).untyped_storage())\n    return row"},
    says={"double": ANY, "softmax": ANY})

CASES.cells("arguments-of-another-kind", lost="softmax split", answers={
    "softmax": "def softmax(row):\n    row.data = torch.zeros(3, 3, dtype=torch.complex128)\n    return row",
    "split": "def split(x, heads):\n    x.__class__ = nn.Parameter\n    x.data = torch.zeros(1).expand(10**9)\n    return x"},
    says={"softmax": ANY, "split": ANY})

CASES.cells("arguments-in-themselves", lost="double", answers={
    "double": "def double(x):\n    if type(x) is list:\n        x[:] = [x, lambda: 0, object()]\n    return x"},
    says={"double": ANY})

# ---- functions of the examiner ----

CASES.cells("callback-called-for-ever", lost="twice", answers={
    "twice": "def twice(f, x):\n    while True:\n        f(x)"}, says={"twice": ANY})

CASES.cells("callback-with-anything", lost="twice", answers={
    "twice": "def twice(f, x):\n    for odd in (object(), 10**5000, [[]] * 10**6, lambda: 0, 'x' * 10**8, f, None, torch.zeros(1)):\n"
             "        try:\n            f(odd)\n        except BaseException:\n            pass\n    return f"},
    says={"twice": ANY})

CASES.cells("callback-looked-into", lost="twice", answers={
    "twice": """
def twice(f, x):
    for name in ("__globals__", "__closure__", "__code__", "__self__", "__func__", "__wrapped__", "__dict__"):
        print(name, str(getattr(f, name, None))[:500])
    f.__class__ = type(f)
    return getattr(f, "__globals__", {}).get("expected", 0)
"""}, says={"twice": ANY})

CASES.cells("callback-kept", lost="twice", answers={
    "twice": """
import threading
kept = []
def twice(f, x):
    kept.append(f)
    threading.Thread(target=lambda: [f(number) for number in range(10**6)], daemon=True, name="calls").start()
    return kept[0](x)
"""}, last="try:\n    print(kept[0](1))\nexcept BaseException as problem:\n    print(type(problem).__name__)",
    says={"twice": ANY, "answer": ANY}, points=but(twice=0.0, answer=None))

CASES.cells("callback-in-a-circle", lost="twice", answers={
    "twice": "def twice(f, x):\n    return twice(lambda number: twice(f, number), x)"}, says={"twice": ANY})

# ---- the socket itself ----

SOCKETS = """
import os, socket, stat
def sockets():
    found = []
    for fd in range(3, 300):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                found.append(fd)
        except OSError:
            pass
    return found
"""

# The attack is made in a call, so the earlier answers stay.

def _on_the_socket(name: str, attack: str, later: bool = False) -> None:
    """With ``later`` the attack goes on in a thread, and may cost the next question too."""
    lines = "\n".join(f"    {line}" for line in attack.strip("\n").split("\n"))
    CASES.cells(name, own=SOCKETS, answers={"softmax": f"def softmax(row):\n{lines}\n    return row"},
                points=but(softmax=0.0, head=None, split=None) if later else but(softmax=0.0), says=ALL_ANY)


_on_the_socket("garbage-on-the-socket", """
for fd in sockets():
    os.write(fd, b"garbage" * 100)
""")

_on_the_socket("a-huge-frame", """
for fd in sockets():
    for head in (b"\\xff" * 64, b"\\x00\\x00\\x00\\x00\\xff\\xff\\xff\\xff" * 4, b"\\x7f" * 16, b"9" * 64 + b"\\n"):
        try:
            os.write(fd, head)
        except OSError:
            pass
""")

_on_the_socket("half-a-frame", """
import time
for fd in sockets():
    os.write(fd, b"\\x00\\x00\\x00\\x10")
time.sleep(60)
""")

_on_the_socket("closed-socket", """
for fd in sockets():
    socket.socket(fileno=os.dup(fd)).shutdown(socket.SHUT_RDWR)
    os.close(fd)
""")

_on_the_socket("flooded-socket", """
import threading
def flood(fd):
    try:
        while True:
            os.write(fd, b"\\x00" * 65536)
    except OSError:
        pass
for fd in sockets():
    threading.Thread(target=flood, args=(fd,), daemon=True, name="flood").start()
import time
time.sleep(1)
""", later=True)

_on_the_socket("read-by-another-thread", """
import threading
def steal(fd):
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass
for fd in sockets():
    threading.Thread(target=steal, args=(fd,), daemon=True, name="steal").start()
""", later=True)

_on_the_socket("forged-replies", """
import sys
wire = sys.modules.get("manyheads.grade.wire")
if wire is None:
    import manyheads.grade.wire as wire
for fd in sockets():
    sock = socket.socket(fileno=os.dup(fd))
    sock.setblocking(True)
    for message in ({"ok": True}, {"result": 2.0, "points": 2.0, "status": "graded"}, {"value": None}, {"id": 1, "value": True},
                    {"raised": "points", "message": "2.0"}, {}, {"ended": "exit 0"}, {"kind": "result", "tree": [1] * 1000}):
        for _ in range(5):
            wire.send(sock, message, [b"x"] * 3)
""")

_on_the_socket("patched-wire", """
import sys
for name, module in list(sys.modules.items()):
    if name.startswith("manyheads.grade"):
        for place, thing in list(vars(module).items()):
            if callable(thing) and not place.startswith("__"):
                setattr(module, place, lambda *args, **kwargs: (True, []))
""")
