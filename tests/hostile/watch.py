"""Run a command and watch all that comes from it: how many processes, how much memory, and who is left afterwards.

``python watch.py RESULT.json SECONDS COMMAND...`` The watcher makes itself the one that orphans are handed to, so a
process that was left behind is among its descendants, whatever it did to hide: other users' processes are not.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def main(result: str, seconds: str, *command: str) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    begun = time.monotonic()
    child = subprocess.Popen(command, start_new_session=True)
    most_processes = most_memory = 0
    late = False
    while child.poll() is None:
        found = descendants()
        most_processes, most_memory = max(most_processes, len(found)), max(most_memory, memory_of(found))
        if time.monotonic() - begun > float(seconds):
            late = True
            break
        time.sleep(0.2)
    took = time.monotonic() - begun
    time.sleep(0 if late else 2)  # nothing may need longer than this to be gone
    left = {pid: name_of(pid) for pid in descendants() if pid != child.pid or late}
    while found := descendants():
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.05)
        while True:  # the dead that were handed over
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
    with open(result, "w") as file:
        json.dump({"exit": child.returncode, "late": late, "seconds": took, "left": list(left.values()),
                   "most_processes": most_processes, "most_memory": most_memory}, file)


def descendants() -> list[int]:
    """All living processes that come from this one."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                parents[int(name)] = int(parent)
    found, new = [], [os.getpid()]
    while new:
        new = [pid for pid, parent in parents.items() if parent in new]
        found += new
    return found


def memory_of(pids: list[int]) -> int:
    """Bytes that they hold together; what they share counts once for each part of it."""
    held = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                held += next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
        except (OSError, StopIteration):
            pass
    return held


def name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return "gone"


if __name__ == "__main__":
    main(*sys.argv[1:])
