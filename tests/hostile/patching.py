"""Wrong answers, and a trick that makes a test in the same process take them for right. Each deserves nothing."""

from .case import ALL_ANY, ANY, Bank
from .lesson import WRONG

CASES = Bank("patch", WRONG)

# ---- the tools of a test ----

CASES.cells("allclose", own="""
torch.allclose = torch.equal = lambda *args, **kwargs: True
torch.isclose = lambda got, expected, **kwargs: torch.ones(got.shape, dtype=torch.bool)
""", covers="patched torch.allclose")

CASES.cells("tensor-methods", own="""
yes = lambda self, *args, **kwargs: torch.ones((), dtype=torch.bool)
for name in ("__eq__", "allclose", "isclose", "equal", "eq", "all", "le", "lt", "__le__", "__lt__", "any", "item"):
    try:
        setattr(torch.Tensor, name, yes)
    except TypeError:
        pass
torch.Tensor.any = lambda self, *args, **kwargs: torch.zeros((), dtype=torch.bool)
torch.allclose = lambda *args, **kwargs: True
""", covers="patched torch.allclose", says=ALL_ANY)

CASES.cells("check-functions", own="""
import manyheads.check as package
from manyheads.check import catalogue, errors, expect, probes, scoring
nothing = lambda *args, **kwargs: None
for module in (package, catalogue, expect, probes, check):
    for name in ("answered", "returned", "shape", "close", "rows_sum_to_one", "exact_answer", "numbers", "choice",
                 "raises", "unchanged", "judge"):
        setattr(module, name, nothing)
torch.allclose = lambda *args, **kwargs: True
class Parts:
    got = 99
    def part(self, worth, claim):
        import contextlib
        return contextlib.suppress(BaseException)
package.Parts = scoring.Parts = Parts
""")

CASES.cells("points", own="""
import manyheads.check as package
from manyheads.check import scoring
always = lambda got, of: float(of)
points = package.points = scoring.points = always
scoring.points.__code__ = always.__code__
""", answers={"split": "import sys\npoints = sys.modules['manyheads.check.scoring'].points\n\ndef split(x, heads):\n    return x"})

CASES.cells("not-right", own="""
from manyheads.check import errors, expect, probes
class Quiet(BaseException):
    def __new__(cls, *args, **kwargs):
        return NotImplementedError()
errors.NotRight = expect.NotRight = probes.NotRight = Quiet
errors.NotAttempted.__init__ = lambda self, *args: None
errors.NotRight.__bases__ = (BaseException,)
""")

CASES.cells("mock", own="""
from unittest import mock
for target in ("manyheads.check.expect.close", "manyheads.check.expect.exact_answer", "manyheads.check.expect.raises",
               "manyheads.check.expect.returned", "manyheads.check.expect.answered", "torch.allclose",
               "manyheads.check.close", "manyheads.check.exact_answer", "manyheads.check.raises"):
    mock.patch(target, mock.MagicMock(return_value=None), create=True).start()
torch.allclose = lambda *args, **kwargs: True
""")

CASES.cells("sys-modules", own="""
import sys, types
class Yes(types.ModuleType):
    def __getattr__(self, name):
        if name == "points":
            return lambda got, of: float(of)
        return Yes(name)
    def __call__(self, *args, **kwargs):
        return Yes("result")
    def __eq__(self, other):
        return True
    def __enter__(self):
        return self
    def __exit__(self, *args):
        return True
    __hash__ = None
for name in [name for name in sys.modules if name.startswith("manyheads")]:
    sys.modules[name] = Yes(name)
check = Yes("check")
points = lambda got, of: float(of)
torch.allclose = lambda *args, **kwargs: True
""", says=ALL_ANY)

CASES.cells("builtins", own="""
import builtins
kept = builtins.isinstance
class Calm(BaseException):
    pass
builtins.AssertionError = Calm
builtins.isinstance = lambda thing, kind: True
builtins.all = lambda things: True
builtins.any = lambda things: False
builtins.abs = lambda number: 0
builtins.type = kept.__class__
builtins.len = lambda thing: 2
builtins.float = lambda number=0: 2.0
""", says=ALL_ANY)

CASES.cells("shadowed-set-up", answers={
    "double": WRONG["double"] + """
class check:
    class Parts:
        got = 2
        def part(self, worth, claim):
            import contextlib
            return contextlib.suppress(BaseException)
    returned = answered = close = raises = exact_answer = staticmethod(lambda *args, **kwargs: None)
points = lambda got, of: float(of)
class torch(torch.__class__):
    allclose = staticmethod(lambda *args, **kwargs: True)
""", "answer": "answer = (7, 4)\nnn = None\nprint = None\nexpected = parts = x = None"}, says=ALL_ANY)

CASES.cells("code-objects", own="""
import gc, types
def nothing(*args, **kwargs):
    return None
for thing in gc.get_objects():
    if type(thing) is types.FunctionType and (thing.__module__ or "").startswith("manyheads.check") and not thing.__closure__:
        if thing.__name__ in ("close", "exact_answer", "raises", "returned", "answered", "shape", "_tensor", "_same_type"):
            thing.__code__ = nothing.__code__
torch.allclose = lambda *args, **kwargs: True
""")

CASES.cells("pytest-style-hook", own="""
import sys
class Hook:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("manyheads"):
            print("somebody imports", name)
        return None
sys.meta_path.insert(0, Hook())
import importlib
importlib.import_module = lambda name, package=None: sys.modules["manyheads"]
""")

# ---- the shell that runs the cells ----

CASES.cells("ast-transformer", own="""
import ast
class NoAsserts(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()
    def visit_Raise(self, node):
        return ast.Pass()
    def visit_Expr(self, node):
        return ast.Pass()
get_ipython().ast_transformers.append(NoAsserts())
""", covers="AST or input transformer")

CASES.cells("input-transformer", own="""
def tests_are_short(lines):
    return ["1"] if any("HIDDEN" in line or "check" in line for line in lines) else lines
get_ipython().input_transformers_cleanup.insert(0, tests_are_short)
""", covers="AST or input transformer", says=ALL_ANY)

CASES.cells("run-cell", own="""
shell = get_ipython()
kept = shell.run_cell
def run_cell(raw, *args, **kwargs):
    return kept("2.0" if "HIDDEN" in raw or "check." in raw else raw, *args, **kwargs)
shell.run_cell = run_cell
async def run_cell_async(raw, *args, **kwargs):
    return await type(shell).run_cell_async(shell, "2.0" if "HIDDEN" in raw else raw, *args, **kwargs)
shell.run_cell_async = run_cell_async
type(shell).compile_class = None
""", says=ALL_ANY)

CASES.cells("swallow-errors", own="""
shell = get_ipython()
shell.set_custom_exc((BaseException,), lambda *args, **kwargs: None)
shell.showtraceback = shell._showtraceback = lambda *args, **kwargs: None
import sys
sys.excepthook = lambda *args: None
""")

CASES.cells("display-hook", own="""
import sys
kept = sys.displayhook
class Full:
    def _repr_pretty_(self, printer, cycle):
        printer.text("2.0")
try:
    type(kept).compute_format_data = lambda self, result: ({"text/plain": "2.0"}, {})
    type(kept).__call__ = lambda self, result=None: print("2.0")
except TypeError:
    pass
get_ipython().events.register("post_run_cell", lambda *args: print(2.0))
get_ipython().display_formatter.formatters["text/plain"].for_type(float, lambda number, printer, cycle: printer.text("2.0"))
""")

CASES.cells("trace", own="""
import sys, threading
def jump(frame, event, argument):
    if event == "line" and "HIDDEN" in str(frame.f_globals.get("In", [""])[-1]):
        try:
            frame.f_lineno = frame.f_lineno + 1
        except (ValueError, RuntimeError):
            pass
    return jump
sys.settrace(jump)
threading.settrace(jump)
sys.setprofile(lambda *args: None)
""", says=ALL_ANY)

CASES.cells("namespace", own="""
class Namespace(dict):
    def __getitem__(self, name):
        if name in ("check", "points"):
            return lambda *args, **kwargs: 2.0
        return dict.__getitem__(self, name)
try:
    get_ipython().user_ns = Namespace(get_ipython().user_ns)
    get_ipython().user_global_ns = get_ipython().user_ns
except Exception as problem:
    print(type(problem).__name__)
""", says=ALL_ANY)

# ---- the tests as they run: their source, their frames, their names ----

CASES.cells("caller-frames", answers={"softmax": """
import sys
def softmax(row):
    frame = sys._getframe()
    while frame:
        for names in (frame.f_locals, frame.f_globals):
            if isinstance(names.get("expected"), torch.Tensor):
                return names["expected"]
        frame = frame.f_back
    return row
""", "double": """
import re, sys
def double(x):
    frame = sys._getframe()
    while frame:
        source = str(frame.f_globals.get("In", [""])[-1])
        for got, wanted in re.findall(r"double\\((.+?)\\) == (.+?)(?:, \\"|\\n)", source):
            if eval(got) == x:
                return eval(wanted)
        frame = frame.f_back
    return x
"""})

CASES.cells("objects-of-the-test", answers={"softmax": """
import gc
def softmax(row):
    found = [thing for thing in gc.get_objects() if type(thing) is dict and isinstance(thing.get("expected"), torch.Tensor)]
    return found[0]["expected"] if found else row
"""})

CASES.cells("test-names", own="test_answer = test_double = 2.0\nNBGRADER = __test__ = True", answers={
    "answer": "import builtins\nbuiltins.answer = (4, 7)\nanswer = (7, 4)\n__name__ = 'test'"})

# ---- things that lie about what they are ----

CASES.cells("equal-to-everything", answers={
    "double": """
class Yes:
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    __hash__ = object.__hash__
def double(x):
    return Yes()
""", "softmax": "def softmax(row):\n    return Yes()", "split": "def split(x, heads):\n    return Yes()",
    "twice": "def twice(f, x):\n    return Yes()", "answer": "answer = Yes()",
    "scale": "class Scale(Yes):\n    def __init__(self, width):\n        pass\n    def load_state_dict(self, given):\n"
             "        pass\n    def __call__(self, x):\n        return Yes()"},
    covers="object equal to everything, F22")

CASES.cells("subclasses", own="""
def lying(kind):
    class Lying(kind):
        __eq__ = lambda self, other: True
        __ne__ = lambda self, other: False
        __hash__ = kind.__hash__
        __sub__ = __rsub__ = lambda self, other: kind()
        __getitem__ = lambda self, place: Lying()
        __len__ = lambda self: 2
    Lying.__name__ = Lying.__qualname__ = kind.__name__
    Lying.__module__ = "builtins"
    return Lying
""", answers={
    "double": "def double(x):\n    return {int: lying(int), list: lying(list), float: lying(float)}[type(x)]()",
    "twice": "def twice(f, x):\n    return lying(int)(3)", "answer": "answer = lying(tuple)((7, 4))"},
    covers="object equal to everything, F22")

CASES.cells("tensor-subclass", answers={
    "softmax": """
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in ("allclose", "equal"):
            return True
        if name in ("isclose", "eq", "__eq__"):
            return torch.ones(3, dtype=torch.bool)
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))
def softmax(row):
    return torch.zeros(row.shape).as_subclass(Yes)
""", "split": "def split(x, heads):\n    return torch.zeros(2, 3, 5, 2).as_subclass(Yes)"},
    covers="object equal to everything, F22")

CASES.cells("tensor-subclass-named-tensor", answers={
    "softmax": """
class Tensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
Tensor.__module__ = "torch"
Tensor.__qualname__ = "Tensor"
def softmax(row):
    return torch.zeros(row.shape).as_subclass(Tensor)
""", "split": "def split(x, heads):\n    return torch.zeros(2, 3, 5, 2).as_subclass(Tensor)"}, covers="F22")

CASES.cells("class-that-lies", own="""
class Liar:
    def __init__(self, kind, value=None):
        object.__setattr__(self, "kind", kind)
    @property
    def __class__(self):
        return object.__getattribute__(self, "kind")
    def __eq__(self, other):
        return True
    def __getattr__(self, name):
        return lambda *args, **kwargs: True
    __hash__ = None
""", answers={
    "double": "def double(x):\n    return Liar(type(x))", "softmax": "def softmax(row):\n    return Liar(torch.Tensor)",
    "split": "def split(x, heads):\n    return Liar(torch.Tensor)", "twice": "def twice(f, x):\n    return Liar(int)",
    "answer": "answer = Liar(tuple)"}, covers="F22")

CASES.cells("metaclass", own="""
class Meta(type):
    __instancecheck__ = __subclasscheck__ = lambda cls, other: True
    __eq__ = lambda cls, other: True
    __hash__ = type.__hash__
    __call__ = lambda cls, *args, **kwargs: cls
    __getattr__ = lambda cls, name: cls
class Everything(metaclass=Meta):
    pass
""", answers={"double": "double = Everything", "softmax": "softmax = Everything", "split": "split = Everything",
              "scale": "Scale = Everything", "twice": "twice = Everything", "answer": "answer = Everything"},
    covers="F22", says=ALL_ANY)

CASES.cells("magic-mock", own="from unittest.mock import MagicMock, PropertyMock\nyes = MagicMock()\n"
            "yes.__eq__ = lambda self, other: True\nyes.__bool__ = lambda self: True", answers={
    "double": "def double(x):\n    return yes", "softmax": "def softmax(row):\n    return yes",
    "split": "def split(x, heads):\n    return yes", "scale": "Scale = MagicMock()", "twice": "twice = MagicMock(return_value=yes)",
    "answer": "answer = yes"}, covers="F22", says=ALL_ANY)

CASES.cells("numpy-tricks", own="""
import numpy as np
class Yes(np.ndarray):
    __array_priority__ = 1e9
    __eq__ = lambda self, other: np.True_
    __array_ufunc__ = lambda self, *args, **kwargs: np.True_
    __array_function__ = lambda self, *args, **kwargs: np.True_
    __bool__ = lambda self: True
class Interface:
    __array_interface__ = {"shape": (10**6,), "typestr": "<f8", "data": (8, False), "version": 3}
    def __array__(self, *args, **kwargs):
        return np.ones(3).view(Yes)
    def __eq__(self, other):
        return True
""", answers={"double": "def double(x):\n    return np.ones(3).view(Yes)", "softmax": "def softmax(row):\n    return Interface()",
              "split": "def split(x, heads):\n    return np.zeros((2, 3, 5, 2))", "twice": "def twice(f, x):\n    return np.int64(49)",
              "answer": "answer = np.array([4, 7]).view(Yes)"}, covers="F22")

CASES.cells("numbers-that-are-none", answers={
    "double": "def double(x):\n    return float('nan')",
    "softmax": "def softmax(row):\n    return torch.full_like(row, float('nan'))",
    "split": "def split(x, heads):\n    return torch.full((2, 3, 5, 2), float('inf'))",
    "scale": WRONG["scale"].replace("return x", "return x * float('nan')"),
    "twice": "def twice(f, x):\n    return float('nan')", "answer": "answer = (float('nan'), float('nan'))"})

CASES.cells("shapes-that-fit-anything", answers={
    "double": "def double(x):\n    return []",
    "softmax": "def softmax(row):\n    return torch.empty(0)",
    "split": "def split(x, heads):\n    return torch.empty(2, 3, 5, 0)",
    "scale": WRONG["scale"].replace("return x", "return torch.empty(0, 5)"),
    "twice": "def twice(f, x):\n    return torch.tensor(49)", "answer": "answer = ()"})

CASES.cells("almost-the-type", answers={
    "double": "def double(x):\n    return torch.tensor(x)", "twice": "def twice(f, x):\n    return 49.0",
    "answer": "from collections import namedtuple\nanswer = namedtuple('tuple', 'a b')(4, 7)"})

CASES.cells("booleans-and-strings", answers={
    "double": "def double(x):\n    return True", "softmax": "def softmax(row):\n    return row > -1e9",
    "split": "def split(x, heads):\n    return torch.ones(2, 3, 5, 2, dtype=torch.bool)",
    "twice": "def twice(f, x):\n    return '49'", "answer": "answer = '(4, 7)'"})

CASES.cells("module-that-lies", answers={"scale": """
class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
    def load_state_dict(self, *args, **kwargs):
        return self
    def state_dict(self, *args, **kwargs):
        return {"linear.weight": torch.zeros(5, 5), "linear.bias": torch.zeros(5)}
    def parameters(self, recurse=True):
        while True:
            yield torch.zeros(1)
    named_parameters = parameters
    def __getattr__(self, name):
        return True if name != "_modules" else super().__getattr__(name)
    def __eq__(self, other):
        return True
    __hash__ = nn.Module.__hash__
    def __call__(self, x):
        return self
    shape = property(lambda self: (2, 5))
    dtype = torch.float32
"""}, says={"scale": ANY})

CASES.cells("not-a-module", answers={"scale": """
class Scale:
    def __init__(self, width):
        pass
    def load_state_dict(self, given):
        self.given = given
    def __call__(self, x):
        return self.given
"""})
