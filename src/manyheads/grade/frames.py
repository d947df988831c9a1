"""Messages over a stream socket: a fixed header, the lengths of the buffers, one JSON object, the buffers.

Who listens need not trust who speaks: everything is measured before it is taken in.
"""

import json
import math
import socket
import struct
import sys
import time
from collections.abc import Sequence

MOST_BYTES = 64 * 2**20  # of a message
MOST_JSON = 8 * 2**20  # reading it takes a second or two at worst
MOST_OPENINGS = 500_000  # "[" and "{" in the JSON: what makes a small text large in memory
MOST_BUFFERS = 10_000
MOST_OF_AN_ANSWER = 16 * 2**20  # of student code; the largest right one, the weights of a trained layer, has 2.4 MB
MOST_WITH_A_NOTEBOOK = 256 * 2**20  # between client and examiner, who trust each other

# For orders with descriptors, one a packet. macOS has only streams; what comes with descriptors arrives alone there too.
PACKETS = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_STREAM


class NotPlain(TypeError):
    """A value that cannot be handed over, or that cannot be put in another's place."""


class Malformed(ValueError):
    """Bytes or nodes that are not exactly what the format allows."""


def readable(text: str) -> str:
    """The text with lone surrogates written out: they could be neither printed nor saved."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


HEADER = struct.Struct("!4sII")  # magic, length of the JSON, number of buffers
MAGIC = b"MHw1"
PIECES = 500  # buffers a system call; the system's own limit is 1024


def send(sock: socket.socket, message: dict, buffers: Sequence[bytes] = (), deadline: float | None = None,
         most_bytes: int = MOST_BYTES) -> None:
    """Send one message. Raises NotPlain (nothing was sent), TimeoutError, EOFError (the other end is closed)."""
    try:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as problem:
        raise NotPlain(f"this message cannot be sent: {problem}") from None
    body = readable(text).encode("utf-8")
    if len(body) > MOST_JSON or len(buffers) > MOST_BUFFERS or len(body) + sum(map(len, buffers)) > most_bytes:
        raise NotPlain("a message that is too large to be sent")
    head = HEADER.pack(MAGIC, len(body), len(buffers)) + struct.pack(f"!{len(buffers)}I", *map(len, buffers)) + body
    pieces = [memoryview(piece) for piece in (head, *buffers) if len(piece)]
    first = 0
    with _Until(sock, deadline) as until:
        while first < len(pieces):
            until.wait()
            sent = sock.sendmsg(pieces[first:first + PIECES])
            while first < len(pieces) and sent >= len(pieces[first]):
                sent -= len(pieces[first])
                first += 1
            if sent:
                pieces[first] = pieces[first][sent:]


def receive(
    sock: socket.socket, deadline: float | None = None, most_bytes: int = MOST_BYTES
) -> tuple[dict, list[bytes]]:
    """The next message: its JSON object and its buffers.

    Raises TimeoutError (``deadline``, a time of ``time.monotonic()``, has passed), EOFError (the other end is
    closed) and Malformed. After any of them the stream is of no use any more. Every text in the message can be
    printed and saved: lone surrogates are written out.
    """
    with _Until(sock, deadline) as until:
        magic, length, count = HEADER.unpack(_read(sock, HEADER.size, until))
        if magic != MAGIC or length > min(MOST_JSON, most_bytes) or count > MOST_BUFFERS:
            raise Malformed("a message without a proper beginning")
        head = _read(sock, 4 * count + length, until)
        lengths = struct.unpack(f"!{count}I", head[:4 * count])
        if length + sum(lengths) > most_bytes:
            raise Malformed("a message that is too large")
        message = _parse(bytes(head[4 * count:]))
        content = _read(sock, sum(lengths), until)
    buffers, start = [], 0
    for size in lengths:
        buffers.append(bytes(content[start:start + size]))
        start += size
    return message, buffers


class _Until:
    """The socket's time limit moved along with a deadline, and put back at the end; a closed end is EOFError."""

    def __init__(self, sock, deadline):
        self.sock, self.deadline = sock, deadline

    def __enter__(self):
        self.before = self.sock.gettimeout()
        return self

    def wait(self):
        if self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("the time for a message is over")
            self.sock.settimeout(left)

    def __exit__(self, cls, problem, trace):
        if self.deadline is not None:
            self.sock.settimeout(self.before)
        if isinstance(problem, ConnectionError):
            raise EOFError("the other end is closed") from problem


def _read(sock, size, until) -> memoryview:
    data = memoryview(bytearray(size))
    done = 0
    while done < size:
        until.wait()
        got = sock.recv_into(data[done:])
        if not got:
            raise EOFError("the other end is closed")
        done += got
    return data


def _parse(body: bytes) -> dict:
    if body.count(b"[") + body.count(b"{") > MOST_OPENINGS:
        raise Malformed("a message of too many parts")
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_no_number, parse_float=_a_float, parse_int=_an_int)
        if b"\\u" in body:
            message = _allreadable(message)
    except (ValueError, RecursionError):
        raise Malformed("a message that is no JSON") from None
    if type(message) is not dict:
        raise Malformed("a message that is no object")
    return message


def _no_number(text):
    raise ValueError(f"{text} is no number of JSON")


def _a_float(text):
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _an_int(text):
    return int(text) if len(text) <= 20 else _no_number("an integer of more than 20 digits")


def _allreadable(part):
    if type(part) is str:
        return readable(part)
    if type(part) is list:
        return [_allreadable(item) for item in part]
    if type(part) is dict:
        return {readable(key): _allreadable(item) for key, item in part.items()}
    return part
