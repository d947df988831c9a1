"""Honest work that is only odd. It gets all its points, whatever it prints, draws, imports or waits for."""

import nbformat

from .case import Bank, find, own_cell
from .lesson import RIGHT

CASES = Bank("odd")

CASES.cells("warns", answers={"double": "import sys, warnings\ndef double(x):\n    warnings.warn('slow')\n    print('hm', file=sys.stderr)\n"
                                        "    return x * 2", "answer": "import warnings\nwarnings.warn('old')\nanswer = (4, 7)"},
            covers="a correct function that warns, F11")
CASES.cells("prints-much", answers={"double": "def double(x):\n    for number in range(2000):\n        print('step', number, x)\n    return x * 2",
                                    "softmax": RIGHT["softmax"] + "\nfor number in range(20_000):\n    print(number)"})
CASES.cells("own-classes", answers={"double": "from dataclasses import dataclass\n@dataclass\nclass Held:\n    value: object\n"
                                              "    def twice(self):\n        return self.value * 2\ndef double(x):\n    return Held(x).twice()",
                                    "scale": "class Base(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
                                             "        self.linear = nn.Linear(width, width)\nclass Scale(Base):\n    def forward(self, x):\n"
                                             "        return self.linear(x).mul(2)"})
CASES.cells("asks-the-keyboard", own="name = input('Your name? ')\nprint('Hello', name)",
            answers={"answer": "answer = (4, 7)\nif False:\n    input()"}, covers="F12")
CASES.cells("asks-the-keyboard-in-an-answer", answers={"twice": "def twice(f, x):\n    return f(f(x))\ninput('press return')"}, covers="F12")
CASES.cells("reads-its-own-file", own="rows = [line.split(',') for line in open('data/numbers.csv')]",
            answers={"answer": "answer = tuple(int(number) for number in rows[0])",
                     "double": "from helper import twofold as double"},
            files={"data/numbers.csv": b"4,7\n", "helper.py": b"def twofold(x):\n    return x * 2\n"}, covers="F12")
CASES.cells("writes-its-own-file", answers={"answer": "import json, os, tempfile\nfrom pathlib import Path\nPath('out').mkdir(exist_ok=True)\n"
            "Path('out/answer.json').write_text('[4, 7]')\ntempfile.NamedTemporaryFile().close()\n"
            "torch.save(torch.zeros(3), 'out/x.pt')\nanswer = tuple(json.loads(Path('out/answer.json').read_text()))"})
CASES.cells("threads", answers={"double": "import threading\nfrom concurrent.futures import ThreadPoolExecutor\ndef double(x):\n"
            "    with ThreadPoolExecutor(2) as pool:\n        return pool.submit(lambda: x * 2).result()"},
            own="import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()")
CASES.cells("processes", own="import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout)")
CASES.cells("double-precision", own="torch.set_default_dtype(torch.float64)\ntorch.manual_seed(0)")
CASES.cells("seeds", own="import random\nimport numpy as np\ntorch.manual_seed(1)\nrandom.seed(1)\nnp.random.seed(1)",
            answers={"softmax": "def softmax(row):\n    torch.rand(100)\n    return torch.softmax(row, 0)"}, covers="F17")
CASES.cells("layers-in-another-order", answers={"scale": "class Scale(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
            "        torch.randn(7)\n        self.register_buffer('two', torch.tensor(2.0), persistent=False)\n"
            "        self.linear = nn.Linear(width, width)\n    def forward(self, x):\n        return self.two * self.linear(x)"}, covers="F17")
CASES.cells("plots", own="import matplotlib.pyplot as plt\nimport numpy as np\nfor _ in range(3):\n    plt.figure()\n    plt.plot(np.arange(10))\n"
            "figure, axes = plt.subplots()\naxes.imshow(torch.rand(5, 5))\nplt.title('Größe')")
CASES.cells("plots-without-show", own="%matplotlib inline\nimport matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
CASES.cells("magics", own="%time x = 1\n%timeit -n 1 -r 1 sum(range(10))\n!ls\nfiles = !echo hello\nprint(files)\n%matplotlib inline\n%pwd\nx?\n_",
            answers={"double": "%%time\n" + RIGHT["double"], "softmax": "%%capture held\n" + RIGHT["softmax"]})
CASES.cells("await", own="import asyncio\nawait asyncio.sleep(0.01)\nasync def two():\n    return 2\nprint(await two())",
            answers={"answer": "async def sizes():\n    return (4, 7)\nanswer = await sizes()"})
CASES.cells("widgets", own="import ipywidgets\nfrom IPython.display import display\ndisplay(ipywidgets.IntSlider())\n"
            "@ipywidgets.interact(x=(0, 5))\ndef show(x):\n    print(x)")
CASES.cells("helper-cells", own="def _helper(x):\n    return x * 2", answers={"double": "def double(x):\n    return _helper(x)"},
            last="assert double(2) == 4\nprint(double(3))")
CASES.cells("helper-below-its-use", answers={"double": "def double(x):\n    return twofold(x)\ndef twofold(x):\n    return x * 2"})
CASES.cells("fails-in-own-cells", own="1 / 0", last="undefined_name\nraise SystemExit", answers={"answer": "answer = (4, 7)\nassert False, 'later'"})
CASES.cells("slow", answers={"softmax": "import time\ndef softmax(row):\n    time.sleep(1)\n    return torch.softmax(row, dim=0)"},
            own="import time\ntime.sleep(2)")
CASES.cells("other-forms", answers={"double": "double = lambda x: 2 * x", "softmax": "from functools import partial\nsoftmax = partial(torch.softmax, dim=0)",
            "split": "def split(x, heads):\n    assert x.shape[2] % heads == 0\n    return torch.stack(x.chunk(heads, dim=2), dim=1)",
            "twice": "class Twice:\n    def __call__(self, f, x):\n        return f(f(x))\ntwice = Twice()",
            "answer": "answer: tuple[int, int] = tuple(torch.zeros(4, 7).shape)"})
CASES.cells("cached", answers={"double": "from functools import wraps\ncalls = 0\ndef counted(f):\n    @wraps(f)\n    def inner(*args):\n"
            "        global calls\n        calls += 1\n        return f(*args)\n    return inner\n@counted\ndef double(x):\n    return x * 2"})
CASES.cells("gradients", answers={"softmax": "weight = nn.Parameter(torch.ones(()))\ndef softmax(row):\n    return torch.softmax(row * weight, 0)",
            "split": "@torch.no_grad()\ndef split(x, heads):\n    if x.shape[-1] % heads:\n        raise AssertionError\n"
                     "    return x.unflatten(-1, (heads, -1)).transpose(1, 2)"})
CASES.cells("trains", own="layer = nn.Linear(3, 3)\nadam = torch.optim.Adam(layer.parameters())\nfor _ in range(20):\n"
            "    loss = layer(torch.randn(5, 3)).square().mean()\n    adam.zero_grad()\n    loss.backward()\n    adam.step()\nprint(loss.item())")
CASES.cells("names-of-everything", own="from torch import *\nlist = [1]\nstr = 'x'\ninput = 5\nid = 7\nx = y = row = heads = f = 3\nmodule = weight = 'mine'",
            last="del list, str")
CASES.cells("unicode", own="größe = 3\nprint('∑ 😀 \\r progress \\x1b[32mgreen\\x1b[0m', größe)\n\"\"\"Ein Satz.\"\"\"",
            answers={"written": "Überschrift\n\n$\\sum_i x_i$ und `code` 😀\n\n| a | b |\n|---|---|\n| 1 | 2 |"})
CASES.cells("patched-for-itself", own="import builtins\n_print = print\ndef print(*args, **kwargs):\n    _print('>', *args, **kwargs)\n"
            "import sys\nsys.setrecursionlimit(5000)\nsys.path.append('/nowhere')\nimport warnings\nwarnings.simplefilter('error')")


@lambda change: CASES.notebook("from-colab", change)
def _(nb):
    nb.metadata.update(colab={"provenance": [], "toc_visible": True}, accelerator="GPU",
                       kernelspec={"name": "python3", "display_name": "Python 3"}, language_info={"name": "python"})
    nb["nbformat_minor"] = 0
    for cell in nb.cells:
        cell.metadata["id"] = cell.pop("id")
        cell.metadata["colab"] = {"base_uri": "https://localhost:8080/", "height": 34}
        cell.metadata["outputId"] = "5f1d"


@lambda change: CASES.notebook("from-vs-code", change)
def _(nb):
    nb.metadata["kernelspec"] = {"display_name": ".venv", "language": "python", "name": "python3"}
    nb.metadata["language_info"].update(version="3.12.1", nbconvert_exporter="python")
    for cell in nb.cells:
        cell.metadata["vscode"] = {"languageId": "python"}
        if cell["cell_type"] == "code":
            cell["execution_count"] = 7


@lambda change: CASES.notebook("lines-of-windows", change)
def _(nb):
    for cell in nb.cells:
        cell["source"] = cell["source"].replace("\n", "\r\n")


@lambda change: CASES.notebook("written-notes", change)
def _(nb):
    nb.cells.insert(3, nbformat.v4.new_markdown_cell("# My notes\n\n<details><summary>more</summary>text</details>"))
    nb.cells.insert(5, own_cell(""))
    find(nb, "written").source = ""
