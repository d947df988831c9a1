"""Code that hurts: it ends, hangs, floods or fills what it can reach, or goes for other processes and files.

What is hurt is the question in which it happens and no other: a cell of the student's own costs no point, an answer that
kills or hangs its process costs that answer. The dangerous ones make sure of being in a process namespace of their own.
"""

from .case import ALL_ANY, ANY, CRASHED, GRADED, TIMED_OUT, Bank, but
from .lesson import QUESTIONS

CASES = Bank("harm")

# In a namespace of its own the first process has the number 1, or is a child of that.
GUARD = """
import os
assert os.getpid() == 1 or os.getppid() == 1, "not inside a sandbox: this would hurt the machine"
"""

# ---- ending ----

CASES.cells("exit-in-own-cell", own="import os\nos._exit(0)", covers="os._exit, F06")
CASES.cells("exit-in-answer", answers={"softmax": "import os\nos._exit(0)\ndef softmax(row):\n    return torch.softmax(row, 0)"},
            lost="softmax", says={"softmax": (CRASHED,)}, covers="os._exit, F06")
CASES.cells("exit-in-call", answers={"softmax": "import os\ndef softmax(row):\n    os._exit(0)"}, lost="softmax",
            says={"softmax": (CRASHED,)}, covers="os._exit, F06")
CASES.cells("exit-in-every-call", answers={
    "double": "import os\ndef double(x):\n    os._exit(0)", "softmax": "def softmax(row):\n    os._exit(0)",
    "split": "def split(x, heads):\n    os._exit(0)", "twice": "def twice(f, x):\n    os._exit(0)",
    "scale": "class Scale(nn.Module):\n    def __init__(self, width):\n        os._exit(0)"},
    lost="double softmax split scale twice",
    says=dict.fromkeys(("double", "softmax", "split", "scale", "twice"), (CRASHED,)), covers="F06")
CASES.cells("sys-exit", own="import sys\nsys.exit(0)", answers={"double": "def double(x):\n    exit()"}, lost="double",
            says={"double": ANY})
CASES.cells("quit", own="quit()", before="softmax", last="exit")
CASES.cells("segfault", own="import ctypes\nctypes.string_at(0)", answers={
    "double": "import ctypes\ndef double(x):\n    ctypes.string_at(1)"}, lost="double", says={"double": (CRASHED,)}, covers="F06")
CASES.cells("abort", own="import os\nos.abort()", before="answer", answers={
    "twice": "import os, signal\ndef twice(f, x):\n    os.kill(os.getpid(), signal.SIGILL)\n    os.abort()"}, lost="twice",
    says={"twice": (CRASHED,)}, covers="F06")
CASES.cells("dies-after-a-while", answers={"double": "import os, threading\ndef double(x):\n"
            "    if x == 4321:\n        threading.Timer(0.1, os._exit, [0]).start()\n    return 2 * x"},
            points=but(double=None, softmax=None, split=None), says=dict.fromkeys(("double", "softmax", "split"), ANY))
CASES.cells("kills-its-parent", own="import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", covers="kills its parent process")
CASES.cells("kills-everything", own=GUARD + """
import signal
for number in (signal.SIGTERM, signal.SIGKILL):
    for target in (-1, 0, -os.getpgrp()):
        try:
            os.kill(target, number)
        except OSError as problem:
            print(type(problem).__name__)
""", covers="kills its parent process", stock=False)
CASES.cells("kills-one-by-one", own=GUARD + """
import signal
for pid in range(1, 40_000):
    if pid != os.getpid():
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
""", stock=False)
CASES.cells("stops-itself", own="import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)")
CASES.cells("stops-in-call", answers={"double": "import os, signal\ndef double(x):\n    os.killpg(os.getpgrp(), signal.SIGSTOP)\n"
                                                "    os.kill(os.getpid(), signal.SIGTSTP)\n    return 2 * x"},
            says={"double": ANY}, points=but(double=None))

# ---- hanging ----

CASES.cells("loop-in-own-cell", own="while True:\n    pass", covers="F04")
CASES.cells("loop-in-answer", answers={"softmax": "def softmax(row):\n    return torch.softmax(row, 0)\nwhile True:\n    pass"},
            lost="softmax", says={"softmax": (TIMED_OUT,)}, covers="F04")
CASES.cells("loop-in-call", answers={"softmax": "def softmax(row):\n    while True:\n        pass"}, lost="softmax",
            says={"softmax": (TIMED_OUT,)}, covers="F04")
CASES.cells("loop-that-ignores-interrupts", answers={"softmax": """
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
def softmax(row):
    while True:
        try:
            while True:
                time.sleep(0.01)
        except BaseException:
            pass
"""}, lost="softmax", says={"softmax": (TIMED_OUT,)}, covers="a loop that ignores interrupts, F04")
CASES.cells("loop-that-ignores-interrupts-in-own-cell", own="""
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
""", covers="a loop that ignores interrupts, F04")
CASES.cells("holds-the-interpreter", own="import re\nre.match('(a+)+$', 'a' * 60 + 'b')", before="twice")
CASES.cells("sleeps-within-each-limit", answers={
    name: f"import time\ntime.sleep(2)\n{text}" for name, text in {
        "double": "def double(x):\n    time.sleep(1.4)\n    return 2 * x",
        "softmax": "def softmax(row):\n    time.sleep(1.4)\n    return torch.softmax(row, 0)",
        "split": "def split(x, heads):\n    time.sleep(1.4)\n    return x",
        "twice": "def twice(f, x):\n    time.sleep(1.4)\n    return f(f(x))"}.items()},
    points=dict.fromkeys(QUESTIONS),
    says=ALL_ANY)
CASES.cells("hangs-while-shown", own="class Hang:\n    def __repr__(self):\n        while True:\n            pass\nHang()")
CASES.cells("hangs-at-the-end", own="""
import atexit, threading, time, weakref
class Hang:
    def __del__(self):
        while True:
            time.sleep(1)
kept = Hang()
kept.itself = kept
atexit.register(time.sleep, 3600)
threading.Thread(target=time.sleep, args=(3600,)).start()
weakref.finalize(kept, time.sleep, 3600)
""")
CASES.cells("event-loop", own="import asyncio\nasync def forever():\n    while True:\n        await asyncio.sleep(0)\nawait forever()")
CASES.cells("event-loop-stopped", own="""
import asyncio
loop = asyncio.get_event_loop()
loop.call_soon(loop.stop)
async def stop():
    asyncio.get_running_loop().stop()
await stop()
""")
CASES.cells("alarms", own="import signal\nsignal.signal(signal.SIGALRM, lambda *args: None)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\nsignal.siginterrupt(signal.SIGALRM, True)")
CASES.cells("reads-the-keyboard", own="import sys\nprint(sys.stdin.read())\nimport getpass\ngetpass.getpass()\nopen('/dev/tty').read()")
CASES.cells("waits-for-a-child", own="import subprocess\nsubprocess.run(['sleep', '600'])", before="scale")

# ---- processes ----

CASES.cells("fork-bomb", own=GUARD + """
import time
end = time.monotonic() + 2
def bomb():
    while time.monotonic() < end:
        try:
            if os.fork() == 0:
                bomb()
        except OSError:
            pass
    time.sleep(30)
    os._exit(0)
bomb()
""", stock=False)
CASES.cells("many-threads", own="""
import threading, time
kept = []
try:
    for number in range(3000):
        kept.append(threading.Thread(target=time.sleep, args=(600,), daemon=True))
        kept[-1].start()
except RuntimeError as problem:
    print(len(kept), problem)
""", stock=False)
CASES.cells("daemon", own="""
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        for _ in range(600):
            time.sleep(0.5)
            for path in ("/tmp/manyheads-@TOKEN@-daemon", "@ROOT@/daemon", "@HOME@/daemon"):
                try:
                    open(path, "a").write("alive\\n")
                except OSError:
                    pass
        os._exit(0)
    os._exit(0)
""", last="import subprocess\nsubprocess.Popen('nohup setsid sleep 600 >/dev/null 2>&1 &', shell=True)\n"
          "subprocess.Popen(['sleep', '600'], start_new_session=True)")
CASES.cells("daemon-then-death", own="""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
time.sleep(0.1)
os._exit(0)
""")
CASES.cells("zombies", own="import os\nfor number in range(200):\n    try:\n        if os.fork() == 0:\n            os._exit(0)\n"
            "    except OSError:\n        pass")
CASES.cells("child-answers", answers={"double": "import os\ndef double(x):\n    os.fork()\n    return x"}, lost="double",
            says=ALL_ANY, points=but(double=0.0, softmax=None, split=None, scale=None, twice=None, answer=None))
CASES.cells("processes-of-multiprocessing", own="""
import multiprocessing, time
context = multiprocessing.get_context("fork")
kept = [context.Process(target=time.sleep, args=(600,)) for _ in range(5)]
for one in kept:
    one.start()
""")

# ---- memory, disk, output ----

CASES.cells("memory", own=GUARD + "kept = []\nwhile True:\n    kept.append(b'x' * 10**8)", covers="F06", stock=False)
CASES.cells("memory-in-call", answers={"softmax": GUARD + "def softmax(row):\n    kept = []\n    while True:\n"
                                                          "        kept.append(torch.ones(10**7))"},
            lost="softmax", says={"softmax": (CRASHED, GRADED, TIMED_OUT)}, covers="F06", stock=False)
CASES.cells("memory-of-many", own=GUARD + """
import time
for number in range(16):
    try:
        if os.fork() == 0:
            kept = bytearray(b"x") * 700_000_000
            time.sleep(30)
            os._exit(0)
    except (OSError, MemoryError):
        pass
time.sleep(20)
""", covers="F06", stock=False)
CASES.cells("memory-shared", own=GUARD + """
import mmap
kept = [mmap.mmap(-1, 10**9) for _ in range(3)]
for one in kept:
    for place in range(0, 10**9, 4096):
        one[place] = 1
fd = os.memfd_create("big")
while True:
    os.write(fd, b"x" * 10**7)
""", covers="F06", stock=False)
CASES.cells("memory-claimed", own="import mmap\nkept = []\nfor size in (2**46, 2**42, 2**38):\n    try:\n"
            "        kept.append(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_NORESERVE))\n"
            "    except OSError as problem:\n        print(problem)")
CASES.cells("disk", own=GUARD + """
for number in range(200):
    try:
        with open(f"big-{number}", "wb") as file:
            for _ in range(10):
                file.write(b"x" * 10**7)
    except OSError as problem:
        print(number, problem.strerror)
        break
else:
    print("LO" + "OT: 20 GB written")
""", stock=False)
CASES.cells("many-files", own=GUARD + """
import time
end = time.monotonic() + 2
number = 0
try:
    while time.monotonic() < end:
        os.makedirs(f"folder-{number}/" + "deep/" * 100)
        open(f"file-{number}", "w").close()
        number += 1
except OSError as problem:
    print(problem.strerror)
""", stock=False)
CASES.cells("prints-fifty-megabytes", own="print('x' * 50_000_000)", covers="prints 50 MB")
CASES.cells("prints-many-lines", own="for number in range(3_000_000):\n    print('line', number)", covers="prints 50 MB")
CASES.cells("prints-to-descriptors", own="""
import os, subprocess, sys
for _ in range(500):
    for fd in (1, 2):
        os.write(fd, b"y" * 100_000)
subprocess.run("yes | head -c 50000000; yes | head -c 50000000 >&2", shell=True)
sys.__stdout__.write("z" * 10_000_000)
sys.__stderr__.write("z" * 10_000_000)
""", covers="prints 50 MB")
CASES.cells("prints-in-calls", answers={"double": "import sys\ndef double(x):\n    print('x' * 20_000_000)\n"
                                                  "    sys.stderr.write('x' * 20_000_000)\n    return 2 * x"}, covers="prints 50 MB")
CASES.cells("displays", own="""
from IPython.display import HTML, display, update_display, clear_output
for number in range(20_000):
    display(number)
display(HTML("<script>document.title = 'owned'</script>" * 100_000))
display({"image/png": "x" * 30_000_000, "application/x-odd": [1] * 10**6}, raw=True)
for number in range(1000):
    clear_output(wait=True)
    display({"text/plain": "\\x1b[2J" * 1000}, raw=True)
""", covers="prints 50 MB")
CASES.cells("huge-result", own="'x' * 50_000_000", last="list(range(10**7))")
CASES.cells("huge-traceback", own="""
def deep(number):
    padding = "x" * 100_000
    return deep(number + 1) + 1
deep(0)
""")
CASES.cells("recursion-in-call", answers={"double": "import sys\nsys.setrecursionlimit(10**9)\ndef double(x):\n    return double(x)"},
            lost="double", says={"double": ANY})
CASES.cells("more-than-allowed", own=GUARD + """
import resource
for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
    for wanted in ((-1, -1), (2**40, 2**40)):
        try:
            resource.setrlimit(kind, wanted)
            print("LO" + "OT: raised limit", kind)
        except (OSError, ValueError):
            pass
for step in (-20, 19):
    try:
        os.nice(step)
    except OSError:
        pass
kept = []
while True:
    kept.append(b"x" * 10**8)
""", stock=False, covers="F06")
CASES.cells("closes-descriptors", own="import os\nos.closerange(0, 100_000)")
CASES.cells("closes-descriptors-in-call", answers={"softmax": "import os\ndef softmax(row):\n    os.closerange(0, 100_000)\n"
                                                              "    return torch.softmax(row, 0)"},
            points=but(softmax=0.0), says={"softmax": (CRASHED,)})
CASES.cells("many-descriptors", own="import os\nkept = []\ntry:\n    while True:\n        kept.append(os.pipe())\nexcept OSError as problem:\n"
            "    print(problem.strerror)", answers={"twice": "for pair in kept:\n    os.close(pair[0])\ndef twice(f, x):\n    return f(f(x))"})

# ---- files and the system ----

CASES.cells("deletes", own=GUARD + """
import shutil
for path in ("@ROOT@/gradebook.db", "@ROOT@/submitted", "@ROOT@/source", "@ROOT@/autograded", "@HOME@", "/tmp/manyheads-@TOKEN@-secret"):
    try:
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        print("LO" + "OT: deleted", path)
    except OSError as problem:
        print(type(problem).__name__)
    for action in (lambda: os.chmod(path, 0o777), lambda: os.chown(path, 1, 1), lambda: os.rename(path, path + ".moved"),
                   lambda: os.truncate(path, 0), lambda: os.utime(path), lambda: os.setxattr(path, "user.x", b"x")):
        try:
            action()
            print("LO" + "OT: changed", path)
        except OSError:
            pass
""", covers="locks or deletes the gradebook", stock=False)
CASES.cells("locks-the-gradebook", own="""
import fcntl, os, sqlite3, time
try:
    connection = sqlite3.connect("@ROOT@/gradebook.db", timeout=1)
    connection.execute("begin exclusive")
    if os.fork() == 0:
        time.sleep(600)
except Exception as problem:
    print(type(problem).__name__)
try:
    fcntl.flock(open("@ROOT@/gradebook.db", "rb"), fcntl.LOCK_EX)
except OSError as problem:
    print(type(problem).__name__)
""", covers="locks or deletes the gradebook")
CASES.cells("moves-away", own="import os, shutil\nshutil.rmtree('.', ignore_errors=True)\nos.mkdir('gone') if os.path.isdir('.') else None\n"
            "os.chdir('/')\nos.umask(0o777)\nshutil.rmtree(os.environ.get('HOME', 'none') + '/none', ignore_errors=True)")
CASES.cells("deletes-its-folder", own="import os, shutil\nhere = os.getcwd()\nos.chdir('..')\nshutil.rmtree(here, ignore_errors=True)")
CASES.cells("system-calls", own=GUARD + """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def tried(what, *args):
    result = getattr(libc, what)(*args)
    print(what, result)
    if result == 0:
        print("LO" + "OT:", what)
tried("sethostname", b"owned", 5)
tried("mount", b"none", b"/tmp", b"tmpfs", 0, None)
tried("umount2", b"/proc", 2)
tried("settimeofday", ctypes.create_string_buffer(16), None)
tried("swapoff", b"/swapfile")
tried("mknod", b"disk", 0o60666, 0xfd00)
tried("chroot", b".")
tried("pivot_root", b".", b".") if hasattr(libc, "pivot_root") else None
tried("setuid", 0) if os.getuid() else None
tried("iopl", 3) if hasattr(libc, "iopl") else None
tried("acct", b"/tmp/acct")
tried("quotactl", 0, b"/", 0, None)
tried("init_module", b"x", 1, b"") if hasattr(libc, "init_module") else None
tried("delete_module", b"x", 0) if hasattr(libc, "delete_module") else None
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/power/state", "/proc/1/oom_score_adj", "/proc/self/oom_score_adj",
             "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches"):
    try:
        with open(path, "w") as file:
            file.write("-1000" if "oom" in path else "")
        print("LO" + "OT: opened", path) if "oom" not in path else None
    except OSError as problem:
        print(type(problem).__name__)
""", stock=False)
CASES.cells("magics", own="""
!rm -rf ../../* "@ROOT@/autograded" 2>/dev/null; kill -9 $PPID
%cd /
%env HOME=/nowhere
%reset -f
%xmode Verbose
%autocall 2
%pdb on
""", stock=False, answers={"double": "import torch\nfrom torch import nn\ndef double(x):\n    return 2 * x"})
CASES.cells("debugger", own="%pdb on\n1 / 0", last="import pdb\npdb.set_trace()", answers={
    "double": "def double(x):\n    breakpoint()\n    return 2 * x"}, says={"double": ANY},
    points=but(double=None))
CASES.cells("script-magic", own="%%bash --bg\nwhile true; do sleep 1; done", last="%%script python3 --no-such-option\npass")
CASES.cells("no-python", own="this is no Python (", last="x = '\\x00'\n\x00", answers={"double": "def double(x:\n  return"}, lost="double",
            says={"double": ANY})
CASES.cells("streams-broken", own="""
import builtins, sys, logging
sys.stdout = sys.stderr = sys.stdin = None
builtins.print = None
sys.displayhook = sys.excepthook = None
logging.disable()
sys.path.clear()
sys.modules.pop("os")
""", before="written")
CASES.cells("shell-broken", own="""
shell = get_ipython()
for name in list(vars(shell)):
    try:
        setattr(shell, name, None)
    except Exception:
        pass
""", before="written")
CASES.cells("modules-gone", own="import sys\nfor name in list(sys.modules):\n    if name != 'sys':\n        del sys.modules[name]",
            before="written")
CASES.cells("defaults-changed", own="""
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_grad_enabled(False)
torch.use_deterministic_algorithms(True)
torch.set_num_threads(64)
torch.set_printoptions(threshold=10**9)
import locale, gc, random, time
gc.disable()
random.seed(0)
time.time = lambda: 0.0
time.monotonic = lambda: 0.0
time.sleep = lambda seconds: None
""", before="written")
