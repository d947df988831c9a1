"""The few kernel calls the sandbox needs and Python 3.11 has no function for: namespaces, mounts, Landlock, seccomp.

Everything here raises OSError with the name of the call that failed. The module can be imported on any system.
"""

import ctypes
import functools
import os
import platform
import struct
from collections.abc import Iterable

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000

RDONLY, NOSUID, NODEV, NOEXEC = 1, 2, 4, 8  # both as mount flags and as mount attributes
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH, _MNT_DETACH = 1, 4, 2

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38

# These three families have one number on every architecture.
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def _call(name: str, *arguments: object) -> int:
    return _check(getattr(_libc(), name)(*arguments), name)


def _syscall(what: str, number: int, *arguments: object) -> int:
    long = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _check(_libc().syscall(ctypes.c_long(number), *long), what)


def _prctl(what: str, option: int, *arguments: int) -> int:
    padded = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    return _check(_libc().prctl(option, *padded), what)


# ---- processes


def unshare(flags: int) -> None:
    _call("unshare", flags)


def die_with_parent(signal_number: int) -> None:
    _prctl("PR_SET_PDEATHSIG", _PR_SET_PDEATHSIG, signal_number)


def adopt_orphans() -> None:
    """Descendants whose parent ends become children of this process, not of init."""
    _prctl("PR_SET_CHILD_SUBREAPER", _PR_SET_CHILD_SUBREAPER, 1)


def own_proc_files() -> None:
    """After a change of user the kernel gives /proc/self to root: take it back."""
    _prctl("PR_SET_DUMPABLE", _PR_SET_DUMPABLE, 1)


def forget_first_environment() -> None:
    """/proc/self/environ shows what this process was started with, whatever was done to os.environ since: blank it."""
    with open("/proc/self/stat", "rb") as file:
        start, end = (int(n) for n in file.read().rpartition(b")")[2].split()[47:49])
    if start:  # the kernel hides it from those who may not look
        ctypes.memset(start, 0, end - start)


def no_new_privileges() -> None:
    _prctl("PR_SET_NO_NEW_PRIVS", _PR_SET_NO_NEW_PRIVS, 1)


def empty_bounding_set() -> None:
    """No capability can come back, not even by running a program that has one."""
    for capability in range(64):
        try:
            _prctl("PR_CAPBSET_DROP", _PR_CAPBSET_DROP, capability)
        except OSError:
            return  # past the last one, or not ours to drop


def drop_capabilities() -> None:
    version_3 = struct.pack("=Ii", 0x20080522, 0)
    _call("capset", version_3, bytes(24))


# ---- mounts


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    try:
        _call("mount", source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode())
    except OSError as error:
        raise OSError(error.errno, f"mount {kind} on {target}: {os.strerror(error.errno)}") from None


def keep_mounts_to_ourselves() -> None:
    _call("mount", None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None)


def take_tree(path: str, attributes: int) -> int:
    """A descriptor of a copy of the mounts at ``path``, with the attributes set on all of them."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | os.O_CLOEXEC
    tree = _syscall(f"open_tree {path}", _OPEN_TREE, _AT_FDCWD, os.fsencode(path), flags)
    wanted = struct.pack("=QQQQ", attributes, 0, 0, 0)
    _syscall(f"mount_setattr {path}", _MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, wanted, len(wanted))
    return tree


def place_tree(tree: int, target: str) -> None:
    _syscall(f"move_mount {target}", _MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
    os.close(tree)


def make_readonly(path: str) -> None:
    wanted = struct.pack("=QQQQ", RDONLY, 0, 0, 0)
    _syscall(f"mount_setattr {path}", _MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), 0, wanted, len(wanted))


def become_root_folder(path: str) -> None:
    """``path``, a mount, becomes /; the old / is gone for this process."""
    os.chdir(path)
    number = _FORBIDDEN["pivot_root"][_ARCHITECTURES.get(platform.machine(), (1, 0))[0]]
    _syscall("pivot_root", number, b".", b".")
    _call("umount2", b".", _MNT_DETACH)
    os.chdir("/")


# ---- Landlock

EXECUTE, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FOR_FILES = EXECUTE | WRITE | READ | _TRUNCATE | _IOCTL_DEV
_MAKE_DEVICES = 1 << 6 | 1 << 11
READ_TREE = EXECUTE | READ | LIST
EVERYTHING = 0xFFFF & ~_MAKE_DEVICES & ~EXECUTE & ~_IOCTL_DEV


def landlock_version() -> int:
    """The kernel's Landlock version, 0 where it is missing or switched off."""
    try:
        return _syscall("landlock", _LANDLOCK_CREATE, None, 0, 1)
    except (OSError, AttributeError, TypeError):
        return 0


def landlock(rules: Iterable[tuple[str, int]]) -> None:
    """Allow what ``rules`` (path, rights) name, nothing else; no TCP; no signals and no abstract sockets to others."""
    version = landlock_version()
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    attributes = [files]
    if version >= 4:
        attributes.append(0b11)  # bind and connect TCP
    if version >= 6:
        attributes.append(0b11)  # abstract sockets and signals
    packed = struct.pack(f"={len(attributes)}Q", *attributes)
    ruleset = _syscall("landlock_create_ruleset", _LANDLOCK_CREATE, packed, len(packed), 0)
    try:
        for path, rights in rules:
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # what cannot be opened need not be allowed
            try:
                allowed = rights & files if os.path.isdir(path) else rights & files & _FOR_FILES
                _syscall(f"landlock_add_rule {path}", _LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", allowed, place), 0)
            finally:
                os.close(place)
        _syscall("landlock_restrict_self", _LANDLOCK_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


# ---- seccomp: calls that a notebook never needs, with their numbers on x86_64 and aarch64

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_FORBIDDEN = {
    # other processes, the kernel
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "kcmp": (312, 272), "perf_event_open": (298, 241), "bpf": (321, 280),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142),
    "syslog": (103, 116), "acct": (163, 89), "swapon": (167, 224), "personality": (135, 92),
    # mounts and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # keys that outlive the process
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # memory that belongs to no process, so that nobody would count it
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "semget": (64, 190),
    "msgget": (68, 186),
}
_CLONE, _CLONE3, _SOCKET, _SETSOCKOPT = (56, 220), 435, (41, 198), (54, 208)
_SOL_SOCKET, _SO_SNDBUF, _SO_RCVBUF = 1, 7, 8
_KILL, _TGKILL = (62, 129), (234, 131)
_SIGNALS_TO_ANYBODY = ((200, 130), (129, 138), (297, 240), (424, 424))  # tkill, rt_(tg)sigqueueinfo, pidfd_send_signal
_OF_OTHERS = ((302, 261), (203, 122), (144, 119), (142, 118), (314, 274))  # prlimit64, sched_set*: 0 is oneself
_PRIORITIES = ((141, 140), (251, 30))
_PRCTL = (157, 167)
_EPERM, _ENOSYS = 1, 38
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 24, 32


def seccomp(sockets: Iterable[int], alone: bool = True, signals_to: int | None = None) -> None:
    """Refuse the calls above and sockets of other families than ``sockets``.

    Not ``alone``, other processes of the same user are in reach: their limits and priorities are refused too, and,
    given ``signals_to``, all signals to others than that process.
    """
    if platform.machine() not in _ARCHITECTURES:
        raise OSError(_ENOSYS, f"seccomp: no list of calls for {platform.machine()}")
    which, architecture = _ARCHITECTURES[platform.machine()]
    refuse = (_RETURN, 0, 0, _REFUSE | _EPERM)
    allow = (_RETURN, 0, 0, _ALLOW)
    program = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), refuse, (_LOAD, 0, 0, _NUMBER)]
    program += [(_AT_LEAST, 0, 1, 0x40000000), refuse]  # the x32 way to the same calls
    program += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _REFUSE | _ENOSYS)]  # glibc then takes clone, read below

    forbidden = [numbers[which] for numbers in _FORBIDDEN.values()]
    forbidden += [numbers[which] for numbers in _PRIORITIES if not alone]
    forbidden += [numbers[which] for numbers in _SIGNALS_TO_ANYBODY if signals_to is not None]
    for number in forbidden:
        program += [(_EQUAL, 0, 1, number), refuse]

    def judged(number: int, tests: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
        return [(_EQUAL, 0, len(tests) + 1, number), (_LOAD, 0, 0, _FIRST_ARGUMENT), *tests]

    namespaces = NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
    program += judged(_CLONE[which], [(_ANY_BIT, 0, 1, namespaces), refuse, allow])
    families = [step for family in sockets for step in ((_EQUAL, 0, 1, family), allow)]
    program += judged(_SOCKET[which], [*families, refuse])
    # A socket's buffer stays as small as it is made: it is memory of the kernel's, which nobody counts.
    program += judged(_SETSOCKOPT[which], [
        (_LOAD, 0, 0, _SECOND_ARGUMENT), (_EQUAL, 0, 3, _SOL_SOCKET), (_LOAD, 0, 0, _THIRD_ARGUMENT),
        (_EQUAL, 2, 0, _SO_SNDBUF), (_EQUAL, 1, 0, _SO_RCVBUF), allow, refuse])
    program += judged(_PRCTL[which], [(_EQUAL, 0, 1, _PR_SET_PDEATHSIG), refuse, allow])  # dies with its keeper
    for numbers in () if alone else _OF_OTHERS:
        program += judged(numbers[which], [(_EQUAL, 0, 1, 0), allow, refuse])
    if signals_to is not None:
        for number in (_KILL[which], _TGKILL[which]):
            program += judged(number, [(_EQUAL, 0, 1, signals_to), allow, refuse])
    program.append(allow)

    code = b"".join(struct.pack("=HBBI", *step) for step in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(buffer)))
    _prctl("seccomp", _PR_SET_SECCOMP, 2, ctypes.addressof(header))
