"""The box a student's code runs in: what it can see, touch, send and use up.

``enter`` splits the calling process in two: the caller stays outside as the *keeper*, which waits, watches and cleans
up; its child comes back from ``enter`` inside the box. Three levels:

* full: namespaces of its own for processes, files, network, IPC and names. The file system holds a read-only Python
  and an empty scratch folder, nothing else; Landlock, seccomp, rlimits and an unprivileged user on top.
* reduced: no namespaces. Landlock, seccomp and rlimits keep files and sockets away, but what is not readable can
  still be seen to exist.
* none: rlimits and a scratch folder.
"""

import dataclasses
import functools
import json
import os
import platform
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import linux

try:
    import resource
except ImportError:  # Windows
    resource = None

FULL, REDUCED, NONE = "full", "reduced", "none"

_PACKAGE = Path(__file__).resolve().parents[1]
_HIDDEN = tuple(str(_PACKAGE / room) for room in ("course", "grade"))  # they hold answers; what runs is imported already
_PYTHON = ("bin", "lib", "lib64", "pyvenv.cfg")  # of a prefix: never all of it, a course may lie beside its lib/
_SYSTEM = (
    "/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/fonts",
    "/usr/share/zoneinfo", "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime",
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_SCRATCH = "/student"
_FIRST_SPARE_USER = 0x70000000  # above every range that systemd, NSS or containers hand out
_TICK = 100  # milliseconds
_MOST_SOCKETS = 300  # of a submission; what waits in one is memory that belongs to no process, up to half a megabyte
_DISK_TICKS = 10  # a look at the scratch folder every so many ticks
_lacking: list[str] = []  # in the box: second fences that could not be put up; probe() names them


@dataclass(frozen=True)
class Limits:
    """What one submission may use. ``memory_mb`` is for each process, on top of what the warm start has mapped."""

    memory_mb: int = 2048
    total_memory_mb: int = 3072
    cpu_seconds: int = 180
    processes: int = 32
    file_mb: int = 64
    scratch_mb: int = 128
    open_files: int = 256

    def to_dict(self) -> dict[str, int]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, int]) -> "Limits":
        return cls(**values)


@dataclass(frozen=True)
class Report:
    """The best level this machine gives, and one line for each thing that is missing: what, and what to do."""

    level: str
    missing: tuple[str, ...] = ()


# ---- what this machine can do


@functools.cache
def probe() -> Report:
    """Enter each level in a throwaway process, and say which is the best that works and what is missing."""
    if sys.platform != "linux":
        return Report(NONE, (f"the sandbox needs Linux, this is {platform.system()}: grade in a Linux virtual machine",))
    script = "import sys; sys.path.append(sys.argv[1]); from manyheads.grade import sandbox; sandbox._try_levels()"
    try:
        ran = subprocess.run([sys.executable, "-I", "-c", script, str(_PACKAGE.parent)], capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=60)
        tried = json.loads(ran.stdout)
    except subprocess.TimeoutExpired:
        return Report(NONE, ("the trial of the sandbox did not end within a minute: is the machine overloaded?",))
    except ValueError:
        last = (ran.stderr.strip().splitlines() or ["no answer"])[-1]
        return Report(NONE, (f"the trial of the sandbox failed: {last}",))
    missing = []
    for level in (FULL, REDUCED):
        ended, lacking = tried[level]
        if lacking is not None:
            return Report(level, (*missing, *(_LACKING[name] for name in lacking)))
        missing.append(_advice(level, ended.removeprefix("not entered: ")))
    return Report(NONE, tuple(missing))


def _try_levels() -> None:
    print(json.dumps({level: _try(level) for level in (FULL, REDUCED)}))


def _try(level: str) -> tuple[str, list[str] | None]:
    """How the box ended, and what it lacked (None: it could not be built)."""
    ours, talk = socket.socketpair()
    held, leash = socket.socketpair()
    pid = os.fork()
    if not pid:
        ours.close()
        held.close()
        enter(level, Limits(), [talk.fileno()], leash.fileno())
        os.write(talk.fileno(), json.dumps(_lacking).encode())
        os._exit(0)
    talk.close()
    leash.close()
    with ours, held:
        said, ended = ours.makefile().read(), held.makefile().read()
    os.waitpid(pid, 0)
    return (json.loads(ended)["ended"] if ended else "no answer"), (json.loads(said) if said else None)


_LACKING = {
    "landlock": "Landlock, the second fence around files: add landlock to the kernel's lsm= boot parameter",
    "seccomp": "a seccomp filter, the second fence around system calls: use a kernel with seccomp on x86_64 or aarch64",
    "proc": "a /proc of its own: the box has none. In a container: --security-opt systempaths=unconfined",
    "user": f"a user of its own: {sys.prefix} or a folder above is closed to other users. Install Python and the course "
            "package where everybody may read them, or do not grade as root",
}
_SWITCHES = {  # file below /proc/sys: (value that forbids, what to do)
    "user/max_user_namespaces": ("0", "sudo sysctl user.max_user_namespaces=15000"),
    "kernel/unprivileged_userns_clone": ("0", "sudo sysctl kernel.unprivileged_userns_clone=1"),
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile with 'userns' for Python"),
}


def _advice(level: str, error: str) -> str:
    if level == REDUCED:
        if not linux.landlock_version():
            return f"Landlock: not in this kernel ({platform.release()}; since 5.13) or not in its lsm= boot parameter"
        return f"the reduced sandbox ({error})"
    wrong = f"namespaces for processes, files and network ({error})"
    if "cannot be read by" in error:
        return f"{wrong}: install Python and the course package where everybody may read them, or do not grade as root"
    for name, (forbids, cure) in _SWITCHES.items():
        try:
            if Path("/proc/sys", name).read_text().strip() == forbids:
                return f"{wrong}: {cure}"
        except OSError:
            pass  # not this kind of system
    if "not implemented" in error:
        return f"{wrong}: Linux 5.12 or newer is needed, this is {platform.release()}"
    if any(os.path.exists(mark) for mark in ("/.dockerenv", "/run/.containerenv")):
        return (f"{wrong}: this container forbids them. Start it with --security-opt seccomp=unconfined "
                "--security-opt apparmor=unconfined --security-opt systempaths=unconfined --cap-add SYS_ADMIN")
    return f"{wrong}: ask the administrator whether unprivileged user namespaces are allowed here"


# ---- entering


def enter(level: str, limits: Limits, keep: list[int], leash: int) -> None:
    """Split into keeper and boxed child; return in the child only.

    Must be called in a process with a single thread. The child has an empty scratch folder as its current folder,
    ``keep`` and nothing else open (0, 1 and 2 lead to /dev/null), a clean environment and default signal handlers.

    The keeper lives until the child ends or the other end of ``leash`` is closed, then makes sure that nothing of the
    child is left and writes one JSON line to ``leash``: {"ended": "exit 3"}, "signal 9", "memory", "cpu", "processes"
    or "disk"; "not entered: WHY" when the box could not be built, and then no student code has run.
    """
    scratch = None
    try:
        _let_go([*keep, leash])
        _default_signals()
        os.setsid()
        python, user = _python_paths(), _spare_user()
        trouble, tell = os.pipe()
        if level == FULL:
            user = _own_process_ids(user)
        else:
            scratch = tempfile.mkdtemp(prefix="manyheads-")
            if sys.platform == "linux":
                linux.adopt_orphans()
        child = os.fork()
    except BaseException as error:
        if scratch:
            os.rmdir(scratch)
        _say(leash, f"not entered: {_plainly(error)}")
        os._exit(1)
    if child:
        try:
            for each in (tell, *keep):
                os.close(each)
            _watch(level, child, leash, limits, trouble, scratch)
        finally:
            os._exit(0)
    try:
        os.setsid()  # a signal to its own group must not reach the keeper
        for each in (trouble, leash):
            os.close(each)
        _confine(level, limits, python, user, scratch or _SCRATCH)
        os.close(tell)
    except BaseException as error:
        os.write(tell, _plainly(error).encode()[:1000])
        os._exit(1)


def _plainly(error: BaseException) -> str:
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"{said}: {error.filename}" if getattr(error, "filename", None) else said


def _let_go(keep: list[int]) -> None:
    """Close every descriptor but ``keep``; 0, 1 and 2 lead to /dev/null."""
    for each in os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd"):
        if int(each) > 2 and int(each) not in keep:
            try:
                os.close(int(each))
            except OSError:
                pass  # the listing's own
    null = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    if null > 2:
        os.close(null)


def _default_signals() -> None:
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    python = {signal.SIGINT: signal.default_int_handler, signal.SIGPIPE: signal.SIG_IGN, signal.SIGXFSZ: signal.SIG_IGN}
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, python.get(number, signal.SIG_DFL))
        except (OSError, ValueError):
            pass  # the C library's own


def _spare_user() -> int | None:
    """For root: a user id that nobody has, another one for each submission, so that its processes count apart."""
    if os.name != "posix" or os.geteuid() != 0 or sys.platform != "linux":
        return None
    last = 2**32
    for kind in ("uid", "gid"):
        ranges = [[int(n) for n in line.split()] for line in Path(f"/proc/self/{kind}_map").read_text().splitlines()]
        wanted = _FIRST_SPARE_USER + os.getpid()
        if any(first <= wanted < first + count for first, _, count in ranges):
            continue
        last = min(last, max(first + count - 1 for first, _, count in ranges))  # inside a container
    if last == 2**32:
        return wanted
    return last - os.getpid() % 4096 if last > 8192 else None


def _become(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    linux.own_proc_files()


def _own_process_ids(user: int | None) -> int | None:
    """The next fork begins a process namespace. Root needs nothing else; others, a user namespace that allows it."""
    try:
        linux.unshare(linux.NEWPID)
        return user
    except OSError:
        if user is not None:
            _become(user)
    uid, gid = os.getuid(), os.getgid()
    linux.unshare(linux.NEWUSER | linux.NEWPID)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    return None


# ---- inside


def _confine(level: str, limits: Limits, python: list[str], user: int | None, scratch: str) -> None:
    already = _tasks_of_mine(level) if user is None else 0
    mapped = mapped_bytes()
    _first_for_the_oom_killer()
    if level == FULL:
        linux.unshare(linux.NEWNS | linux.NEWNET | linux.NEWIPC | linux.NEWUTS | linux.NEWCGROUP)
        socket.sethostname("student")
        readable = _new_root([*python, *_SYSTEM], user, limits)
    elif level == REDUCED:
        readable = _without_hidden([*python, *_SYSTEM])
        if user is not None and not _reachable_for_all(python):
            user = None
            _lacking.append("user")
    else:
        user = None
    os.chdir(scratch)
    if level != NONE:
        linux.empty_bounding_set()
        if user is not None:
            os.chown(scratch, user, user)
            _become(user)
        linux.drop_capabilities()
    if sys.platform == "linux":
        linux.die_with_parent(signal.SIGKILL)
    _set_rlimits(limits, already, mapped)
    _clean_python(scratch)
    if level != NONE:
        linux.no_new_privileges()
        _landlock(level, readable, scratch)
        _seccomp(level)
        for path in python:
            if not os.access(path, os.R_OK):
                raise OSError(f"{path} cannot be read by the user {os.getuid()} that student code runs as")


def _landlock(level: str, readable: list[tuple[str, int]], scratch: str) -> None:
    if level == FULL and not linux.landlock_version():
        _lacking.append("landlock")
        return
    rules = [*readable, (scratch, linux.EVERYTHING)]
    rules += [(device, linux.READ | linux.WRITE) for device in _DEVICES]
    if level == FULL:
        rules += [("/proc", linux.READ | linux.LIST), ("/dev/shm", linux.EVERYTHING)]
    linux.landlock(rules)


def _seccomp(level: str) -> None:
    if level == REDUCED:
        fenced = linux.landlock_version() >= 6
        linux.seccomp([], alone=False, signals_to=None if fenced else os.getpid())
        return
    try:  # the network is empty, the files are ours
        linux.seccomp([socket.AF_UNIX, socket.AF_INET, socket.AF_INET6])
    except OSError:
        _lacking.append("seccomp")


def _first_for_the_oom_killer() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def mapped_bytes() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _tasks_of_mine(level: str) -> int:
    """What RLIMIT_NPROC counts before the student has started anything: threads of this user."""
    release = tuple(int(n) for n in re.findall(r"\d+", platform.release())[:2])
    if sys.platform != "linux":
        return 0
    if level == FULL and release >= (5, 14):
        return 1  # a user namespace counts its own: the keeper
    count = 0
    for pid in _process_ids():
        try:
            if os.stat(f"/proc/{pid}").st_uid == os.getuid():
                count += int(_stat_fields(pid)[17])
        except (OSError, IndexError):
            pass
    return count


def _set_rlimits(limits: Limits, already: int, mapped: int) -> None:
    mb = 2**20
    wanted = {
        "RLIMIT_AS": mapped + limits.memory_mb * mb,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_NPROC": already + limits.processes,
        "RLIMIT_FSIZE": limits.file_mb * mb,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 1,  # 0 would still start a core handler such as apport; 1 means: nothing at all
        "RLIMIT_MSGQUEUE": 0,
    }
    for name, value in wanted.items():
        if sys.platform != "linux" and name in ("RLIMIT_AS", "RLIMIT_NPROC", "RLIMIT_MSGQUEUE"):
            continue  # there they mean something else or nothing
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def _clean_python(scratch: str) -> None:
    """A small environment; and no file of the student's is importable in place of a library."""
    kept = {name: value for name, value in os.environ.items()
            if name in ("LANG", "NBGRADER_EXECUTION") or name.startswith("LC_")}
    os.environ.clear()
    os.environ.update(kept)
    os.environ.update({
        "PATH": f"{sys.prefix}/bin:/usr/bin:/bin", "HOME": scratch, "TMPDIR": scratch, "USER": "student",
        "IPYTHONDIR": scratch, "MPLCONFIGDIR": scratch, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
    })
    if sys.platform == "linux" and os.path.exists("/proc/self/stat"):
        linux.forget_first_environment()
    tempfile.tempdir = None
    sys.dont_write_bytecode = True
    sys.path[:] = [entry for entry in sys.path if os.path.isabs(entry)]
    for entry in [e for e in sys.path_importer_cache if not os.path.isabs(e)]:
        del sys.path_importer_cache[entry]
    os.umask(0o077)


# ---- the files a student sees


def _python_paths() -> list[str]:
    """Python, its packages and this one, as they are named, links and all."""
    wanted = [os.path.join(prefix, part) for prefix in (sys.prefix, sys.base_prefix) for part in _PYTHON]
    wanted += [entry for entry in sys.path if entry.endswith("-packages")]
    return [path for path in dict.fromkeys([*wanted, os.path.dirname(os.__file__), str(_PACKAGE)]) if os.path.exists(path)]


def _real(path: str, links: dict[str, str]) -> str:
    """The path without links; every link on the way is added to ``links``."""
    place, parts = "/", path.split("/")[::-1]
    while parts:
        part = parts.pop()
        if part == "..":
            place = os.path.dirname(place)
        elif part not in ("", "."):
            step = os.path.join(place, part)
            if not os.path.islink(step):
                place = step
                continue
            if len(links) > 200:
                raise OSError(f"too many links in {path}")
            links[step] = target = os.readlink(step)
            parts += target.split("/")[::-1]
            place = "/" if target.startswith("/") else place
    return place


def _outermost(paths: list[str]) -> list[str]:
    return [path for path in sorted(set(paths)) if not any(path.startswith(f"{other}/") for other in paths)]


def _new_root(wanted: list[str], user: int | None, limits: Limits) -> list[tuple[str, int]]:
    """Build a file system of read-only copies of mounts and an empty scratch folder, and move into it."""
    links: dict[str, str] = {}
    paths = _outermost([real for real in (_real(path, links) for path in wanted) if os.path.exists(real)])
    linux.keep_mounts_to_ourselves()
    shown = linux.RDONLY | linux.NOSUID
    trees = [(path, os.path.isdir(path), linux.take_tree(path, shown | linux.NODEV)) for path in paths]
    trees += [(device, False, linux.take_tree(device, shown | linux.NOEXEC))
              for device in _DEVICES if os.path.exists(device)]

    base = tempfile.gettempdir()  # some folder that exists: only we see what is mounted on it
    plain = linux.NOSUID | linux.NODEV
    linux.mount("tmpfs", base, "tmpfs", plain, "size=1m,mode=755")
    os.umask(0o022)
    for path, is_folder, tree in trees:
        place = base + path
        os.makedirs(place if is_folder else os.path.dirname(place), exist_ok=True)
        if not is_folder:
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o644))
        linux.place_tree(tree, place)
    for path, target in links.items():
        if not os.path.lexists(base + path):
            os.makedirs(os.path.dirname(base + path), exist_ok=True)
            os.symlink(target, base + path)
    for hidden in _HIDDEN:
        if os.path.isdir(base + hidden):
            linux.mount("tmpfs", base + hidden, "tmpfs", plain | linux.RDONLY, "size=4k,mode=755")
    uid, gid = (os.getuid(), os.getgid()) if user is None else (user, user)
    own = f"size={limits.scratch_mb}m,nr_inodes=20000,mode=700,uid={uid},gid={gid}"
    for folder in (_SCRATCH, "/dev/shm"):
        os.makedirs(base + folder)
        linux.mount("tmpfs", base + folder, "tmpfs", plain | linux.NOEXEC, own)
    if not os.path.lexists(f"{base}/tmp"):  # there is one if Python lies below it
        os.symlink(_SCRATCH, f"{base}/tmp")
    os.mkdir(f"{base}/proc")
    try:
        linux.mount("proc", f"{base}/proc", "proc", plain | linux.NOEXEC | linux.RDONLY)
    except OSError:
        _lacking.append("proc")  # some containers refuse it
    linux.become_root_folder(base)
    linux.make_readonly("/")
    return [(path, linux.READ_TREE) for path in paths]


def _without_hidden(paths: list[str]) -> list[tuple[str, int]]:
    """Landlock can only allow: a folder that holds a hidden one is listed, and allowed child by child."""
    rules, todo = [], _outermost([os.path.realpath(path) for path in paths])
    while todo:
        path = todo.pop()
        if path in _HIDDEN:
            continue
        if any(hidden.startswith(f"{path}/") for hidden in _HIDDEN):
            rules.append((path, linux.LIST))
            todo += [entry.path for entry in os.scandir(path) if not entry.is_symlink()]
        else:
            rules.append((path, linux.READ_TREE))
    return rules


def _reachable_for_all(paths: list[str]) -> bool:
    """Whether a user with no rights of its own can get at these files."""
    real = {Path(os.path.realpath(path)) for path in paths}
    folders = {folder for path in real for folder in path.parents}
    return (all(folder.stat().st_mode & stat.S_IXOTH for folder in folders)
            and all(path.stat().st_mode & stat.S_IROTH for path in real))


# ---- the keeper


def _say(leash: int, ended: str) -> None:
    try:
        os.write(leash, json.dumps({"ended": ended}).encode() + b"\n")
    except OSError:
        pass  # nobody listens any more


def _watch(level: str, child: int, leash: int, limits: Limits, trouble: int, scratch: str | None) -> None:
    poll = select.poll()
    poll.register(leash, select.POLLIN)
    try:
        poll.register(os.pidfd_open(child), select.POLLIN)
        tick = _TICK
    except (AttributeError, OSError):  # not on this system: look more often
        tick = 20
    why, turn, status = "", 0, None
    try:
        while status is None and not why:
            ready = {descriptor for descriptor, _ in poll.poll(tick)}
            status, used = _waited(child, os.WNOHANG)
            if leash in ready and not _still_held(leash):
                why = "let go"
            turn += 1
            why = why or _too_much(limits, scratch if turn % _DISK_TICKS == 0 else None)
            if not why and level == FULL and select.select([trouble], [], [], 0)[0] and _sockets(child) > _MOST_SOCKETS:
                why = "memory"  # looked at only after the child has closed the pipe: it has a network of its own then
    except Exception as error:  # whatever a student made us stumble over: it ends here
        why = f"not watched: {_plainly(error)}"
    if status is None:
        _kill(child)
        status, used = _waited(child, 0)
    _end_the_rest(child)
    if scratch:
        _remove(scratch)
    os.set_blocking(trouble, False)
    try:
        problem = os.read(trouble, 1000).decode(errors="replace")
    except BlockingIOError:
        problem = ""
    code = os.waitstatus_to_exitcode(status)
    if problem:
        why = f"not entered: {problem}"
    elif not why and code in (-signal.SIGKILL, -signal.SIGXCPU) and used >= limits.cpu_seconds * 0.75:  # counted in two ways
        why = "cpu"
    _say(leash, why or (f"exit {code}" if code >= 0 else f"signal {-code}"))


def _waited(child: int, options: int) -> tuple[int | None, float]:
    pid, status, usage = os.wait4(child, options)
    return (status if pid else None), usage.ru_utime + usage.ru_stime


def _still_held(leash: int) -> bool:
    try:
        return bool(os.read(leash, 4096))
    except OSError:
        return False


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def _end_the_rest(child: int) -> None:
    """At the full level the kernel has done it: the child was the first process of its namespace."""
    if sys.platform != "linux":
        try:
            os.killpg(child, signal.SIGKILL)
        except OSError:
            pass
        return
    while left := _tree():
        for pid in left:
            _kill(pid)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _remove(scratch: str) -> None:
    try:
        shutil.rmtree(scratch)
    except (OSError, RecursionError):  # a folder closed to its owner, or a thousand folders deep
        subprocess.run(["chmod", "-R", "u+rwx", scratch], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["rm", "-rf", "--", scratch], stderr=subprocess.DEVNULL, check=False)


def _too_much(limits: Limits, scratch: str | None) -> str:
    if sys.platform != "linux":
        return ""
    tree = _tree()
    if len(tree) > limits.processes:
        return "processes"
    seconds = pages = 0
    for pid in tree:
        try:
            fields = _stat_fields(pid)
        except (OSError, IndexError):
            continue
        seconds += sum(int(n) for n in fields[11:15])
        pages += int(fields[21])
    if seconds / os.sysconf("SC_CLK_TCK") > limits.cpu_seconds:
        return "cpu"
    if pages * resource.getpagesize() > limits.total_memory_mb * 2**20 and _own_memory_mb(tree) > limits.total_memory_mb:
        return "memory"
    if scratch and _size(scratch) > limits.scratch_mb * 2**20:
        return "disk"
    return ""


def _sockets(pid: int) -> int:
    """Sockets in the network namespace of a process, whoever holds them."""
    try:
        with open(f"/proc/{pid}/net/unix", "rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return 0  # gone


def _own_memory_mb(tree: list[int]) -> float:
    """Resident memory, with pages that several processes share counted once."""
    kilobytes = 0
    for pid in tree:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                kilobytes += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.MULTILINE)[1])
        except PermissionError:
            kilobytes += int(_stat_fields(pid)[21]) * resource.getpagesize() // 1024
        except (OSError, TypeError):
            pass  # gone
    return kilobytes / 1024


def _size(folder: str) -> float:
    """Bytes on disk; without end where folders are nested deeper than a path can say."""
    total = 0
    try:
        for where, _, names in os.walk(folder):
            for name in (".", *names):
                try:
                    total += os.lstat(os.path.join(where, name)).st_blocks * 512
                except FileNotFoundError:
                    pass  # removed while we look
    except (OSError, RecursionError):
        return float("inf")
    return total


def _stat_fields(pid: int) -> list[bytes]:
    """Of /proc/PID/stat, from the state on: the name before it may hold anything."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def _process_ids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _tree() -> list[int]:
    """All living descendants of this process."""
    children = _children if os.path.exists("/proc/thread-self/children") else _children_by_scan()
    found, todo = [], [int(os.readlink("/proc/self"))]
    while todo:
        new = children(todo.pop())
        found += new
        todo += new
    return found


def _children(pid: int) -> list[int]:
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += [int(n) for n in file.read().split()]
    except OSError:
        pass  # gone
    return found


def _children_by_scan() -> Callable[[int], list[int]]:
    """For kernels that do not list children: who says of itself whose child it is."""
    of: dict[int, list[int]] = {}
    for pid in _process_ids():
        try:
            of.setdefault(int(_stat_fields(pid)[1]), []).append(pid)
        except (OSError, IndexError):
            pass  # gone
    return lambda pid: of.get(pid, [])
