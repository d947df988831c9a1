"""What runs in the student process: the student's cells, and answers to the examiner's questions.

Nothing here is trusted. Student code shares this process and may change all of it, so the examiner checks what comes
out: the form by :mod:`.wire`, and the values by the tests.
"""

import builtins
import os
import random
import socket
import sys
import traceback
from collections.abc import Callable

import numpy as np
import torch

from manyheads import check

from . import frames, wire
from .shell import Shell

# What `check` runs beside the student's function, because it needs more than data: gradients, strides, shared memory.
BESIDE = ("gradient", "parameter_gradients", "on_non_contiguous", "shares_parameters")
MOST_CALLBACKS = 20_000  # in one call
MOST_SAID = 10_000  # characters of an exception's message


def serve(line: socket.socket, shell: Shell) -> None:
    """Answer until the examiner hangs up."""
    try:
        _Student(line, shell).serve()
    except (EOFError, OSError, wire.Malformed):
        pass
    os._exit(0)


class _Student:
    def __init__(self, line: socket.socket, shell: Shell):
        self.line, self.shell = line, shell
        self.shown: dict[int, object] = {}  # what the examiner holds a handle of
        self.numbers: dict[int, int] = {}  # id -> handle
        self.callbacks = self.turn = 0

    def serve(self) -> None:
        while True:
            order, buffers = frames.receive(self.line)
            match order["do"]:
                case "files":
                    for name, data in zip(order["names"], buffers, strict=True):
                        _write(name, data)
                    if any(name.endswith(".py") for name in order["names"]):
                        sys.path.append(os.getcwd())  # at the end: no file of theirs hides a package
                case "seed":
                    torch.manual_seed(order["seed"])
                    random.seed(order["seed"])
                    np.random.seed(order["seed"] % 2**32)
                case "run":
                    outputs, problem = self.shell.run(order["source"], order["number"])
                    frames.send(self.line, {"turn": order["turn"], "outputs": outputs, "fine": problem is None})
                case _:
                    self.callbacks = 0
                    self._answer(order, buffers)

    def _answer(self, order: dict, buffers: list[bytes]) -> None:
        turn, self.turn = self.turn, order["turn"]
        kept, dtype = (sys.stdout, sys.stderr), torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)  # as in the examiner, whose inputs a test hands over
        sys.stdout = sys.stderr = _Nowhere()  # what a function prints while a test calls it is nobody's answer
        try:
            given = wire.Decoder(buffers, self._known)
            before = []
            result = self._do(order, given, before)
            outputs = wire.Encoder(self._handle)
            answer = {"value": outputs.tree(result)}
            changed = [(place, item) for place, (item, was) in enumerate(zip(given.mutable, before, strict=True))
                       if wire.fingerprint(item) != was]
        except BaseException as problem:
            answer, changed = {"raised": self._raised(problem)}, []
            outputs = wire.Encoder()
        finally:
            sys.stdout, sys.stderr = kept
            torch.set_default_dtype(dtype)
        back = wire.Encoder(self._handle, modules_as_data=True)
        if changed:
            answer["changed"] = [[place, back.tree(item)] for place, item in changed]
        answer |= {"turn": order["turn"], "own": len(outputs.buffers)}
        try:
            frames.send(self.line, answer, [*outputs.buffers, *back.buffers], most_bytes=frames.MOST_OF_AN_ANSWER)
        except frames.NotPlain as problem:
            frames.send(self.line, {"turn": order["turn"], "own": 0, "raised": self._raised(problem)})
        self.turn = turn

    def _do(self, order: dict, given: wire.Decoder, before: list[bytes]) -> object:
        if order["do"] == "name":
            if order["name"] not in self.shell.user_ns:
                raise NameError(f"name {order['name']!r} is not defined")
            return self.shell.user_ns[order["name"]]
        target = self.shown[order["of"]]
        if order["do"] == "attribute":
            return getattr(target, order["name"])
        args, named = given.value(order["args"]), given.value(order["named"])
        before += [wire.fingerprint(item) for item in given.mutable]
        if order["do"] == "call":
            return target(*args, **named)
        if order["do"] == "beside" and order["name"] in BESIDE:
            return getattr(check, order["name"])(target, *args, **named)
        raise ValueError(f"unknown order {order['do']!r}")

    def _handle(self, thing: object) -> dict:
        """A number that the examiner can name a thing by: for functions, classes, modules, objects of any other class."""
        number = self.numbers.get(id(thing))
        if number is None:
            number = self.numbers[id(thing)] = len(self.shown)
            self.shown[number] = thing  # kept alive, so that the id stays its own
        return {"number": number, "kind": type(thing).__name__, "callable": callable(thing)}

    def _known(self, node: dict) -> object:
        if "number" in node:
            return self.shown[node["number"]]
        return self._callback(node["callback"])

    def _callback(self, number: int) -> Callable:
        def call(*args, **named):
            self.callbacks += 1
            if self.callbacks > MOST_CALLBACKS:
                raise RuntimeError(f"the function was called more than {MOST_CALLBACKS} times")
            out = wire.Encoder(self._handle)
            frames.send(self.line, {"turn": self.turn, "callback": number, "args": out.tree(args), "named": out.tree(named)}, out.buffers)
            answer, buffers = frames.receive(self.line)
            while "do" in answer:  # the function itself asks for something here
                self._answer(answer, buffers)
                answer, buffers = frames.receive(self.line)
            if "raised" in answer:
                kind = getattr(builtins, answer["raised"]["kind"], RuntimeError)
                raise kind(answer["raised"]["said"])
            return wire.Decoder(buffers, self._known).value(answer["value"])

        return call

    def _raised(self, problem: BaseException) -> dict:
        kinds = [kind.__name__ for kind in type(problem).__mro__]
        try:
            said = str(problem)
        except BaseException as another:
            said = f"(its message cannot be shown: {type(another).__name__})"
        told = {"kinds": kinds, "said": said[:MOST_SAID]}
        if isinstance(getattr(problem, "mistake", None), str):
            told["mistake"] = problem.mistake
        numbers = self.shell.compile._filename_map  # file name of a cell's code -> its number
        for frame, line in traceback.walk_tb(problem.__traceback__):
            if (number := numbers.get(frame.f_code.co_filename)) is not None:
                told["frame"] = [number, line, frame.f_code.co_name]
        return told


class _Nowhere:
    encoding = "utf-8"

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


def _write(name: str, data: bytes) -> None:
    """A file of the hand-in, into the scratch folder."""
    if os.path.isabs(name) or ".." in name.split("/"):
        return
    if folder := os.path.dirname(name):
        os.makedirs(folder, exist_ok=True)
    with open(name, "wb") as file:
        file.write(data)
