"""The examiner's end of the border: a student process, and stand-ins for what lives in it."""

import builtins
import contextlib
import json
import re
import select
import socket
import time
from collections.abc import Callable

from manyheads.check.errors import NotAttempted, NotRight

from . import frames, wire
from .isolation import Settings

MOST_ITEMS = 10_000  # handles of one student process
MOST_KINDS = 1000  # names of classes that these may have
MOST_CALLED_BACK = 2 * frames.MOST_BYTES  # in the callbacks of one call: a test's function may keep what it is given
_MISTAKE = re.compile(r"[\w =:,;.'()√·-]{1,80}")
_NAME = re.compile(r"[A-Za-z_]\w{0,59}")


class CellTimeoutError(BaseException):
    """Student code did not come back in time. Not an Exception: no test may take it for an answer."""


class StudentProcessDied(BaseException):
    """The student process is gone. Not an Exception: no test may take it for an answer."""


_OURS = (CellTimeoutError.__name__, StudentProcessDied.__name__)  # what the feedback goes by


class Process:
    """A student process and the line to it; :meth:`end` kills it with all that it started."""

    def __init__(self, ask: socket.socket, settings: Settings, deadline: float):
        self.settings, self.deadline = settings, deadline
        self.line, talk = socket.socketpair()
        self.leash, leash = socket.socketpair()
        order = {"start": "student", "level": settings.level, "limits": settings.limits.to_dict()}
        with talk, leash:
            socket.send_fds(ask, [json.dumps(order).encode()], [talk.fileno(), leash.fileno()])
        self.gone: str | None = None  # why, once it is dead
        self.turn = 0  # number of the last order; an answer says which it answers
        self.callbacks: list[Callable] = []
        self.kinds: dict[tuple[str, bool], type] = {}

    def run(self, source: str, number: int) -> tuple[list[dict], bool]:
        """Run a cell. Returns its outputs, cleaned, and whether it ended well."""
        try:
            until = self._until(self.settings.seconds_a_cell)
            order = self._numbered({"do": "run", "source": source, "number": number})
            frames.send(self.line, order, (), until)
            answer, _ = self._answer_to(order, until)
            return clean(answer.get("outputs")), answer.get("fine") is True
        except Exception as problem:
            raise self._lost(problem) from None

    def tell(self, order: dict, buffers=()) -> None:
        """Send an order that is not answered."""
        with contextlib.suppress(OSError, EOFError):  # found out at the next question
            frames.send(self.line, order, buffers, self._until(self.settings.seconds_a_cell))

    def ask(self, order: dict, args: tuple = (), named: dict | None = None) -> object:
        """Ask for a name, an attribute or the result of a call; raises what the student's code raised."""
        out = wire.Encoder(self._handle, modules_as_data=True)
        if order["do"] in ("call", "beside"):
            order = {**order, "args": out.tree(args), "named": out.tree(named or {})}
        order = self._numbered(order)
        until = self._until(self.settings.seconds_a_call)
        try:
            frames.send(self.line, order, out.buffers, until)
            given = 0
            while True:
                answer, buffers = self._answer_to(order, until)
                if "callback" not in answer:
                    break
                given += sum(map(len, buffers)) + 1000
                if given > MOST_CALLED_BACK:
                    raise wire.Malformed("more than a function can be given")
                self._call_back(answer, buffers, until)
            return self._result(answer, buffers, out.mutable)
        except _Raised as told:
            raise told.problem from None
        except CellTimeoutError:  # from outside: looking at the answer took too long, and the line is in the middle of it
            if self.gone is None:  # a callback may have asked for more, and found out
                self.gone = "timed out"
                self.end()
            raise
        except (Exception, RecursionError) as problem:
            raise self._lost(problem) from None

    def end(self) -> str:
        """Kill it; returns what its keeper says of its end."""
        said = ""
        with contextlib.suppress(OSError):
            self.line.close()
            self.leash.shutdown(socket.SHUT_WR)
            if select.select([self.leash], [], [], 5)[0]:
                said = json.loads(self.leash.recv(4096) or b"{}").get("ended", "")
        self.leash.close()
        return said if isinstance(said, str) else ""

    def _numbered(self, order: dict) -> dict:
        self.turn += 1
        return {**order, "turn": self.turn}

    def _answer_to(self, order: dict, until: float) -> tuple[dict, list[bytes]]:
        """The next message, which must be about this order: made-up ones would be taken for answers to later orders."""
        answer, buffers = frames.receive(self.line, until, frames.MOST_OF_AN_ANSWER)
        if answer.get("turn") != order["turn"]:
            raise wire.Malformed("an answer to another question")
        return answer, buffers

    def _until(self, seconds: float) -> float:
        return min(time.monotonic() + seconds, self.deadline)

    def _lost(self, problem: Exception) -> BaseException:
        """What a broken line means; the process is not used again."""
        if isinstance(problem, TimeoutError):
            self.gone = "timed out"
            self.end()
            return CellTimeoutError("your code did not finish in the time that it may take.")
        self.gone = "crashed"
        ended = isinstance(problem, EOFError | OSError)
        said = self._last_words() if ended else ""
        self.end()
        if said.startswith("not entered"):  # no student code has run
            return RuntimeError(f"the sandbox could not be built ({said.removeprefix('not entered: ')})")
        return StudentProcessDied(_ending(said) if ended else "your code answered in a form that cannot be read.")

    def _last_words(self) -> str:
        """What the keeper says after the process ended by itself."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if select.select([self.leash], [], [], 2)[0]:
                return str(json.loads(self.leash.recv(4096)).get("ended", ""))
        return ""

    def _handle(self, thing: object) -> dict:
        if isinstance(thing, Remote):
            return {"number": thing._number}
        if not callable(thing):
            raise wire.NotPlain(f"a test cannot hand over a {type(thing).__name__}")
        self.callbacks.append(thing)
        return {"callback": len(self.callbacks) - 1}

    def _stand_in(self, node: dict) -> "Remote":
        match node:
            case {"number": int(number), "kind": str(kind), "callable": bool(can)} if 0 <= number < MOST_ITEMS:
                name = kind if _NAME.fullmatch(kind) and len(self.kinds) < MOST_KINDS else "object"
                made = self.kinds.get((name, can))
                if made is None:
                    made = self.kinds[name, can] = type(name, (Callable_ if can else Remote,), {"__slots__": ()})
                return made(self, number)
        raise wire.Malformed("not a handle")

    def _call_back(self, answer: dict, buffers: list[bytes], until: float) -> None:
        try:
            given = wire.Decoder(buffers, self._stand_in)
            args, named = given.value(answer["args"]), given.value(answer["named"])
            function = self.callbacks[int(answer["callback"])]
        except (KeyError, IndexError, TypeError, ValueError) as problem:
            raise wire.Malformed(f"not a callback: {problem}") from None
        out = wire.Encoder(self._handle)
        try:
            back = {"value": out.tree(function(*args, **named))}
        except Exception as problem:
            back, out = {"raised": {"kind": _builtin(type(problem)).__name__, "said": str(problem)}}, wire.Encoder()
        frames.send(self.line, back, out.buffers, until)

    def _result(self, answer: dict, buffers: list[bytes], sent: list[object]) -> object:
        if "raised" in answer:
            raise _Raised(_rebuilt(answer["raised"]))
        own = answer.get("own")
        if type(own) is not int or not 0 <= own <= len(buffers):
            raise wire.Malformed("wrong count of buffers")
        value = wire.Decoder(buffers[:own], self._stand_in).value(answer["value"])
        changed = answer.get("changed", [])
        back = wire.Decoder(buffers[own:], self._stand_in)
        for place, tree in changed if type(changed) is list else ():
            if type(place) is not int or not 0 <= place < len(sent):
                raise wire.Malformed("not an argument")
            wire.restore(sent[place], back.value(tree))
        return value


class _Raised(Exception):
    def __init__(self, problem: Exception):
        self.problem = problem


class Remote:
    """A thing in the student process that is not plain data: it equals nothing, and only its attributes can be read."""

    __slots__ = ("_process", "_number")

    def __init__(self, process: Process, number: int):
        object.__setattr__(self, "_process", process)
        object.__setattr__(self, "_number", number)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._process.ask({"do": "attribute", "of": self._number, "name": name})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a test cannot set {name} in the student process: use load_state_dict")

    def __repr__(self) -> str:
        return f"<a {type(self).__name__} of the student's>"

    def on_their_side(self, helper: str, *args: object, **named: object) -> object:
        """Run a function of manyheads.check beside the thing itself, with the thing as its first argument."""
        return self._process.ask({"do": "beside", "of": self._number, "name": helper}, args, named)


class Callable_(Remote):
    """A function, class, method or module in the student process."""

    __slots__ = ()

    def __call__(self, *args: object, **named: object) -> object:
        return self._process.ask({"do": "call", "of": self._number}, args, named)


def _builtin(kind: type) -> type[Exception]:
    return next(base for base in kind.__mro__ if base.__module__ == "builtins" and issubclass(base, Exception))


def _rebuilt(told: object) -> Exception:
    """An exception of the student's: a built-in one as its own type, another as its nearest built-in one by its own name."""
    match told:
        case {"kinds": list(kinds), "said": str(said)} if kinds and all(type(kind) is str for kind in kinds):
            pass
        case _:
            raise wire.Malformed("not an exception")
    mistake = told.get("mistake")
    mistake = mistake if type(mistake) is str and _MISTAKE.fullmatch(mistake) else None
    if "NotRight" in kinds:
        problem = NotRight(said, mistake=mistake)
    elif "NotAttempted" in kinds:
        problem = NotAttempted(said)
    else:
        kind = next((kind for kind in (getattr(builtins, name, None) for name in kinds)
                     if isinstance(kind, type) and issubclass(kind, Exception)), RuntimeError)
        if issubclass(kind, StopIteration | StopAsyncIteration):  # would end a loop of the test's without a word
            kind = RuntimeError
        if kinds[0] != kind.__name__:
            fine = _NAME.fullmatch(kinds[0]) and kinds[0] not in _OURS
            kind = type(kinds[0] if fine else "Error", (kind,), {})
        try:
            problem = kind(said)
        except TypeError:  # UnicodeDecodeError and its like want more
            problem = type(kind.__name__, (RuntimeError,), {})(said)
    match told.get("frame"):
        case [int(number), int(line), str(function)]:
            problem.student_frame = (number, line, function if _NAME.fullmatch(function) else "a cell")
    return problem


_ENDINGS = {
    "memory": "your code used more memory than it may.",
    "cpu": "your code used more processor time than it may.",
    "processes": "your code started more processes than it may.",
    "disk": "your code wrote more to disk than it may.",
}


def _ending(said: str) -> str:
    """The keeper's word in the student's terms."""
    plain = f" ({said})" if re.fullmatch(r"(exit|signal) -?\d{1,4}", said) else ""
    return _ENDINGS.get(said, f"your code ended the Python process{plain}.")


_KINDS = {"stream": ("name", "text"), "error": ("ename", "evalue"), "display_data": (), "execute_result": ()}
_MOST = 4_000_000  # characters of one part of an output
_MIMES = ("text/plain", "image/png", "image/jpeg")


def clean(outputs: object) -> list[dict]:
    """The outputs of a student's cell in nbformat's form; whatever is not, is left out."""
    kept = []
    for output in outputs[:200] if type(outputs) is list else ():
        kind = output.get("output_type") if type(output) is dict else None
        if kind not in _KINDS or not all(type(output.get(key)) is str for key in _KINDS[kind]):
            continue
        new = {"output_type": kind} | {key: output[key][:_MOST] for key in _KINDS[kind]}
        if kind == "stream":
            new["name"] = "stderr" if new["name"] == "stderr" else "stdout"
        elif kind == "error":
            lines = output.get("traceback")
            new["traceback"] = [line[:_MOST] for line in lines[:200] if type(line) is str] if type(lines) is list else []
        else:
            data = output.get("data")
            data = data if type(data) is dict else {}
            new |= {"data": {mime: data[mime][:_MOST] for mime in _MIMES if type(data.get(mime)) is str}, "metadata": {}}
            if kind == "execute_result":
                count = output.get("execution_count")
                new["execution_count"] = count if type(count) is int else None
        kept.append(new)
    return kept
