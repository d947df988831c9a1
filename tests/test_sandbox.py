"""The box around student code, tried from inside at every level, as root and as an ordinary user."""

import contextlib
import json
import os
import shlex
import socket
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

import manyheads
from manyheads.grade import sandbox
from manyheads.grade.sandbox import FULL, NONE, REDUCED, Limits

PACKAGE = Path(manyheads.__file__).parent
ROOT = os.geteuid() == 0
WHO = ["root", "user"] if ROOT else ["user"]
everybody = pytest.mark.parametrize("who", WHO)
every_level = pytest.mark.parametrize("level", [FULL, REDUCED, NONE])
fenced = pytest.mark.parametrize("level", [FULL, REDUCED])

SCRIPT = """
import json, os, socket, sys, tempfile, time
ask = json.loads(sys.argv[1])
sys.path.append(ask["source"])
from manyheads.grade import linux, sandbox

def mounts():
    with open("/proc/self/mounts") as file:
        return file.read()

before = mounts()
linux.adopt_orphans()
held, leash = socket.socketpair()
ear, talk = socket.socketpair()
keeper = os.fork()
if not keeper:
    held.close()
    ear.close()
    sandbox.enter(ask["level"], sandbox.Limits.from_dict(ask["limits"]), [talk.fileno()], leash.fileno())

    def say(value):
        talk.sendall(json.dumps(value).encode() + b"\\n")

    def attempt(action):
        try:
            return f"did: {action()}"
        except BaseException as error:
            return f"refused: {type(error).__name__}"

    try:
        exec(ask["code"], {**globals(), **ask["facts"]})
    except BaseException as error:
        say(f"error: {error!r}")
    os._exit(0)
leash.close()
talk.close()
said, ended = [], ""
for line in ear.makefile():
    said.append(json.loads(line))
    if said[-1] == "let go":
        held.close()
if held.fileno() >= 0:
    ended = held.makefile().read()
os.waitpid(keeper, 0)
with open(f"/proc/self/task/{os.getpid()}/children") as file:
    left = file.read().split()
left += os.listdir(tempfile.gettempdir())
left += [] if mounts() == before else ["mounts"]
print(json.dumps({"said": said, "ended": json.loads(ended)["ended"] if ended else "", "left": left}))
"""


@dataclass
class Ran:
    said: list
    ended: str


def as_user(command: list[str]) -> list[str]:
    """The command, run by an ordinary user, who can read Python even if it lies in root's home."""
    if not ROOT:
        return command
    needed = [Path(path).resolve() for path in (sys.base_prefix, sys.prefix, PACKAGE)]
    steps = []
    for number, path in enumerate(needed):
        closed = [folder for folder in path.parents if not folder.stat().st_mode & stat.S_IXOTH]
        if not closed:
            continue
        place, top = shlex.quote(str(path)), shlex.quote(str(closed[-1]))
        steps += [f"mkdir -p /run/manyheads-test/{number}", f"mount --bind {place} /run/manyheads-test/{number}",
                  f"mount -t tmpfs -o mode=755 tmpfs {top}", f"mkdir -p {place}",
                  f"mount --move /run/manyheads-test/{number} {place}"]
    steps.append('exec setpriv --reuid 12345 --regid 12345 --clear-groups -- "$@"')
    return ["unshare", "--mount", "sh", "-ec", "mount -t tmpfs tmpfs /run; " + "; ".join(steps), "sh", *command]


@pytest.fixture
def open_folder():
    """Makes folders that everybody may use: pytest's own belong to one user."""
    with contextlib.ExitStack() as stack:
        def make() -> Path:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="test-sandbox-")))
            folder.chmod(0o777)
            return folder
        yield make


@pytest.fixture
def box(open_folder, who):
    """Runs code in the box; whatever it does, nothing of it may be left afterwards."""
    def run(level: str, code: str, limits: Limits = Limits(), **facts: object) -> Ran:  # noqa: B008
        ask = {"level": level, "limits": limits.to_dict(), "code": code, "facts": facts, "source": str(PACKAGE.parent)}
        command = [sys.executable, "-I", "-c", SCRIPT, json.dumps(ask)]
        ran = subprocess.run(command if who == "root" else as_user(command), capture_output=True, text=True, timeout=60,
                             env={**os.environ, "TMPDIR": str(open_folder()), "SECRET": "canary"})
        assert ran.returncode == 0, ran.stderr
        answer = json.loads(ran.stdout)
        assert answer.pop("left") == []
        return Ran(**answer)
    return run


@pytest.fixture
def outside(open_folder):
    """Things that student code must not reach: files, sockets, a process."""
    folder = open_folder()
    canary = folder / "gradebook.db"
    canary.write_text("canary")
    canary.chmod(0o666)
    tcp = socket.create_server(("127.0.0.1", 0))
    path, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    path.bind(str(folder / "socket"))
    (folder / "socket").chmod(0o777)
    abstract.bind(f"\0manyheads-test-{os.getpid()}")
    for each in (path, abstract):
        each.listen()
    process = subprocess.Popen(["sleep", "60"], env={"SECRET": "canary"}, user=None if not ROOT else 12345)
    yield {"canary": str(canary), "folder": str(folder), "port": tcp.getsockname()[1], "process": process.pid,
           "path": str(folder / "socket"), "abstract": abstract.getsockname()[1:].decode(),
           "answers": str(PACKAGE / "course" / "answers"), "package": str(PACKAGE)}
    assert process.poll() is None
    assert canary.read_text() == "canary"
    process.kill()
    process.wait()
    for each in (tcp, path, abstract):
        each.close()


TRY = """
import ctypes, resource, shutil, subprocess
def connected(family, address):
    sock = socket.socket(family)
    sock.settimeout(2)
    sock.connect(address)
def c(name, *arguments):
    if ctypes.CDLL(None, use_errno=True)[name](*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)
tries = {
    "read /etc/passwd": lambda: open("/etc/passwd").read(),
    "list a home": lambda: os.listdir("/root"),
    "read the gradebook": lambda: open(canary).read(),
    "write the gradebook": lambda: open(canary, "w"),
    "move the gradebook": lambda: os.rename(canary, canary + "2"),
    "copy it by link": lambda: os.link(canary, "mine"),
    "write beside it": lambda: open(folder + "/x", "w"),
    "write the package": lambda: open(package + "/check/x.py", "w"),
    "write Python": lambda: open(sys.prefix + "/x", "w"),
    "read the answers": lambda: [open(f"{answers}/{name}").read() for name in os.listdir(answers)][0],
    "another environment": lambda: open(f"/proc/{process}/environ").read(),
    "another command line": lambda: open(f"/proc/{process}/cmdline").read(),
    "signal another": lambda: os.kill(process, 0),
    "signal the keeper": lambda: os.kill(os.getppid() or process, 9),
    "limit another": lambda: resource.prlimit(process, resource.RLIMIT_CPU, (1, 1)),
    "raise own limit": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)),
    "TCP": lambda: connected(socket.AF_INET, ("127.0.0.1", port)),
    "UDP": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port)),
    "a socket by path": lambda: connected(socket.AF_UNIX, path),
    "an abstract socket": lambda: connected(socket.AF_UNIX, chr(0) + abstract),
    "a raw kernel socket": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "mount": lambda: c("mount", b"tmpfs", b".", b"tmpfs", 0, None),
    "new namespaces": lambda: c("unshare", 0x10000000),
    "trace": lambda: c("ptrace", 16, process, 0, 0),
    "outlive the keeper": lambda: c("prctl", 1, 0, 0, 0, 0),
    "memory nobody counts": lambda: os.memfd_create("x"),
    "become root": lambda: [os.setuid(0), open("/etc/shadow").read()],
}
say({name: attempt(action) for name, action in tries.items()})
"""


@everybody
@fenced
def test_what_is_outside_stays_outside(box, outside, level):
    ran = box(level, TRY, **outside)
    assert {name: result for name, result in ran.said[0].items() if not result.startswith("refused: ")} == {}
    assert ran.ended == "exit 0"


@everybody
def test_at_the_full_level_nothing_outside_can_even_be_seen_to_exist(box, outside):
    ran = box(FULL, """
say({"seen": [path for path in (canary, folder, "/etc/passwd", "/home", "/var", "/sys", "/run") if os.path.exists(path)],
     "answers": os.path.exists(answers), "rooms": [os.listdir(f"{package}/{room}") for room in ("course", "grade")],
     "processes": [name for name in os.listdir("/proc") if name.isdigit()], "name": socket.gethostname(),
     "parent": os.getppid(), "environment": open("/proc/self/environ").read().strip(chr(0))})
""", **outside)
    assert ran.said == [{"seen": [], "answers": False, "rooms": [[], []], "processes": ["1"], "name": "student",
                         "parent": 0, "environment": ""}]


@everybody
@every_level
def test_honest_code_finds_a_working_python_and_an_empty_folder(box, level):
    ran = box(level, """
import numpy, subprocess, sqlite3
found = os.listdir(".")
with open("colorsys.py", "w") as file:
    file.write("raise SystemExit")
import colorsys
with tempfile.NamedTemporaryFile() as file:
    at_home = os.path.dirname(file.name) == os.environ["HOME"] == os.getcwd()
child = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True)
say([found, child.stdout, at_home, float(numpy.ones(3).sum()), os.environ.get("SECRET")])
say([name for name in os.listdir("/proc/self/fd") if int(name) > 2] if os.path.exists("/proc/1/comm") else [])
print("to nowhere")
""")
    assert ran.said[0] == [[], "42\n", True, 3.0, None]
    assert ran.ended == "exit 0"


@everybody
@every_level
def test_only_the_kept_descriptor_is_open(box, level):
    ran = box(level, """
def is_open(number):
    try:
        os.fstat(number)
        return True
    except OSError:
        return False
say([number for number in range(3, 1000) if is_open(number)] == [talk.fileno()])
say([os.readlink(f"/dev/fd/{n}") for n in range(3)] if os.path.exists("/dev/fd/0") else ["/dev/null"] * 3)
""")
    assert ran.said[0] is True


@everybody
@every_level
def test_how_it_ended_arrives_on_the_leash(box, level):
    assert box(level, "os._exit(3)").ended == "exit 3"
    assert box(level, "import ctypes; ctypes.string_at(0)").ended == "signal 11"


@everybody
@every_level
def test_letting_go_of_the_leash_ends_everything(box, level):
    ran = box(level, """
import signal
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
    attempt(lambda: signal.signal(number, signal.SIG_IGN))
for _ in range(3):
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        while True:
            time.sleep(1)
os.kill(0, signal.SIGTERM)
say("let go")
while True:
    pass
""")
    assert ran.said == ["let go"]


@everybody
@every_level
def test_processes_left_behind_are_gone(box, level):
    ran = box(level, """
for _ in range(5):
    if not os.fork():
        os.setsid()
        talk.close()
        time.sleep(60)
say("done")
""")
    assert ran == Ran(["done"], "exit 0")


@everybody
@every_level
def test_a_fork_bomb_stays_small(box, level):
    ran = box(level, """
count = 0
while True:
    try:
        if not os.fork():
            time.sleep(60)
    except BlockingIOError:
        break
    count += 1
    time.sleep(0.001)
say(count)
""", Limits(processes=10))
    assert ran.said == [9] or ran.ended == "processes" or (level != FULL and ran.said[0] < 30)


@everybody
@every_level
def test_limits_of_one_process(box, level):
    ran = box(level, """
def big_file():
    with open("big", "wb") as file:
        file.write(bytes(200 * 2**20))
say([attempt(big_file), os.path.getsize("big") <= 64 * 2**20])
say(attempt(lambda: bytearray(500 * 2**20)))
while True:
    pass
""", Limits(cpu_seconds=1, memory_mb=400))
    assert ran == Ran([["refused: OSError", True], "refused: MemoryError"], "cpu")


@everybody
@every_level
def test_memory_of_all_processes_together(box, level):
    ran = box(level, """
for _ in range(8):
    if not os.fork():
        held = b"x" * (80 * 2**20)
        time.sleep(60)
time.sleep(60)
""", Limits(total_memory_mb=400))
    assert ran.ended == "memory"


@everybody
@fenced
def test_the_scratch_folder_has_an_end(box, level):
    ran = box(level, """
try:
    for number in range(30):
        with open(f"part{number}", "wb") as file:
            file.write(b"x" * (5 * 2**20))
    time.sleep(10)
except OSError as error:
    say(error.strerror)
""", Limits(scratch_mb=50))
    assert ran == (Ran(["No space left on device"], "exit 0") if level == FULL else Ran([], "disk"))


@everybody
@every_level
def test_folders_that_are_hard_to_remove(box, level):
    ran = box(level, """
os.makedirs("closed/inside")
os.chmod("closed", 0)
for _ in range(1100):
    os.mkdir("deep")
    os.chdir("deep")
""")
    assert ran.said == [] and ran.ended in ("exit 0", "disk")


NO_NAMESPACES = ["unshare", "--user", "--map-root-user", "sh", "-ec",
                 'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all "$@"', "sh"]


def test_where_namespaces_are_forbidden_no_student_code_runs_at_the_full_level(tmp_path):
    ask = {"level": FULL, "limits": {}, "code": "say('ran')", "facts": {}, "source": str(PACKAGE.parent)}
    command = [*NO_NAMESPACES, sys.executable, "-I", "-c", SCRIPT, json.dumps(ask)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    answer = json.loads(ran.stdout)
    assert answer["said"] == []
    assert answer["ended"].startswith("not entered: unshare")


def test_the_probe_says_what_works_here():
    assert sandbox.probe() == sandbox.Report(FULL, ())


def test_the_probe_says_what_is_missing_and_what_to_do():
    script = f"import sys; sys.path.append({str(PACKAGE.parent)!r}); from manyheads.grade import sandbox as s; r = s.probe(); " \
             "print(r.level, *r.missing, sep='\\n')"
    ran = subprocess.run([*NO_NAMESPACES, sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    level, missing, *_ = ran.stdout.splitlines()
    assert level == REDUCED
    assert "namespaces" in missing and "sysctl user.max_user_namespaces" in missing


def test_other_systems_have_no_sandbox(monkeypatch):
    monkeypatch.setattr(sandbox, "sys", SimpleNamespace(platform="darwin"))
    report = sandbox.probe.__wrapped__()
    assert report.level == NONE
    assert "Linux" in report.missing[0]


def test_limits_travel_as_a_dictionary():
    limits = Limits(memory_mb=7)
    assert Limits.from_dict(json.loads(json.dumps(limits.to_dict()))) == limits
