"""The warm process that others are forked from.

It imports torch and all that notebooks use, once, and then only forks: an examiner for each submission, and a student
process whenever an examiner asks for one. It never runs student code and never reads a notebook, so a fork of it holds
nothing worth stealing.
"""

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterator

from . import frames, linux, sandbox
from .sandbox import Limits

SECONDS_IDLE = 900  # then it goes home; the client starts another when it needs one
MODULES = (
    "torch", "numpy", "matplotlib.pyplot", "ipywidgets", "manyheads.check.lesson01", "manyheads.check.lesson02",
    "manyheads.check.lesson03", "manyheads.check.lesson04", "manyheads.check.lesson05", "manyheads.learn",
    "manyheads.grade.examiner", "manyheads.grade.student",
)


def main(control: int) -> None:
    """Serve the client at the other end of the descriptor ``control`` until it hangs up."""
    line = socket.socket(fileno=control)
    shell = warm_up()
    with contextlib.suppress(BrokenPipeError):  # the client has gone meanwhile
        line.send(b'{"ready": true}')
        _Zygote(line, shell).serve()


def warm_up():
    """Import what notebooks use, and use it once: torch and IPython do a part of their own set-up at first use."""
    import torch

    torch.set_num_threads(1)
    from .shell import make

    shell = make()
    for name in MODULES:
        importlib.import_module(name)
    from manyheads.check.notebook import tell_stubs_in_one_line

    tell_stubs_in_one_line()
    _use_once(shell)
    gc.collect()
    gc.freeze()  # the children share these pages as long as nobody counts references in them anew
    return shell


def _use_once(shell) -> None:
    import torch
    from torch import nn

    from manyheads import learn

    shell.run("print(1 / 1)\ndef _f(x):\n    return x\n_f(0.5)", 1)
    shell.run("raise ValueError('warm')", 1)
    layer = nn.Linear(3, 2)
    layer(torch.randn(4, 3)).softmax(-1).sum().backward()
    mha = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    mha(*[torch.zeros(2, 3, 4)] * 3, need_weights=True, average_attn_weights=False)
    mha.load_state_dict(mha.state_dict())
    torch.einsum("nd,md->nm", torch.zeros(2, 3), torch.zeros(4, 3))
    torch.nn.functional.scaled_dot_product_attention(*[torch.zeros(2, 2, 3, 4)] * 3)
    learn.running_example()
    learn.patient("A")
    learn.trained_layer(0, "The student delivered the book to the library.")
    shell.user_ns.pop("_f", None)


class _Zygote:
    def __init__(self, line: socket.socket, shell):
        self.line, self.shell = line, shell
        self.select = selectors.DefaultSelector()
        self.select.register(line, selectors.EVENT_READ)
        self.asking: set[socket.socket] = set()  # examiners that may want a student process
        self.examiners: set[int] = set()

    def serve(self) -> None:
        try:
            idle_since = time.monotonic()
            while True:
                ready = [key.fileobj for key, _ in self.select.select(timeout=5)]
                self._reap()
                if self.examiners or ready:
                    idle_since = time.monotonic()
                elif time.monotonic() - idle_since > SECONDS_IDLE:
                    return
                for line in ready:
                    if not self._serve(line) and line is self.line:
                        return
        finally:
            for child in self.examiners:  # their students go with them: a keeper acts on its broken leash
                os.kill(child, signal.SIGKILL)

    def _serve(self, line: socket.socket) -> bool:
        """Do what one message asks; False if there is none because the other end has gone."""
        try:
            message, fds, *_ = socket.recv_fds(line, 65536, 2)
        except OSError:
            message, fds = b"", []
        if not message:
            self.select.unregister(line)
            self.asking.discard(line)
            line.close()
            return False
        order = json.loads(message)
        if order["start"] == "examiner":
            self._start_examiner(fds)
        else:
            self._start_student(order, fds)
        for fd in fds:
            os.close(fd)
        return True

    def _start_examiner(self, fds: list[int]) -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, frames.PACKETS)
        child = os.fork()
        if child:
            theirs.close()
            self.select.register(mine, selectors.EVENT_READ)
            self.asking.add(mine)
            self.examiners.add(child)
            return
        with _only_here():
            if sys.platform == "linux":
                linux.die_with_parent(signal.SIGKILL)
            self._close_all(mine, *self.asking, self.line)
            from .examiner import serve

            serve(socket.socket(fileno=fds[0]), theirs, self.shell)

    def _start_student(self, order: dict, fds: list[int]) -> None:
        talk, leash = fds
        if os.fork():
            return  # the keeper is reaped with the others
        with _only_here():
            self._close_all(*self.asking, self.line)
            sandbox.enter(order["level"], Limits.from_dict(order["limits"]), [talk], leash)
            from .student import serve

            serve(socket.socket(fileno=talk), self.shell)

    def _close_all(self, *lines: socket.socket) -> None:
        self.select.close()
        for line in lines:
            line.close()
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def _reap(self) -> None:
        while True:
            try:
                child, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            self.examiners.discard(child)


@contextlib.contextmanager
def _only_here() -> Iterator[None]:
    """Whatever happens in a forked child ends there: it must never return into the zygote's loop."""
    status = 1
    try:
        yield
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)
