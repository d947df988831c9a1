"""What may cross the border between the examiner and a student's process: plain data, and nothing else.

The other end may send any bytes at all, so nothing here is pickled and nothing is looked up by a name that came
along. A value becomes a tree of JSON nodes plus a list of buffers with the raw bytes of tensors, arrays and long
texts. ``None``, ``bool``, ``str``, small ``int`` and finite ``float`` stand for themselves; everything else is an
object with one key, the kind:

======================= ==================================================================================
``int``                 hexadecimal text of an integer beyond 64 bits
``float``               ``"inf"``, ``"-inf"`` or ``"nan"``
``complex``             ``[real, imaginary]``
``text``, ``bytes``     the number of a buffer; short ``bytes`` as hexadecimal text
``tuple``, ``list``     the items' nodes; with a second key ``of`` (a name) it was a subclass of that name
``dict``                key, value, key, value, ...; may have ``of`` too
``set``, ``frozenset``  the members' nodes
``range``, ``slice``    ``[start, stop, step]``
``ellipsis``            ``null``
``size``                a ``torch.Size``: its integers
``dtype``, ``device``   its name
``tensor``              ``[dtype, shape, buffer, requires grad, is a parameter]``
``array``               ``[dtype, shape, buffer]``, a numpy array
``scalar``              ``[dtype, hexadecimal bytes]``, a numpy number
``linear``              ``[in, out, training, weight, bias]``, an ``nn.Linear``
``module``              ``[training, attributes, children]``, a bare ``nn.Module``; name, node, name, node, ...
``same``                the number of a mutable object met before
``h``                   what a handle function made of anything else
======================= ==================================================================================

Both sides count in the same way, so what one may send the other takes.
"""

import json
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b

import numpy as np
import torch
from torch import nn

from .frames import MOST_BUFFERS, MOST_BYTES, Malformed, NotPlain, readable

MOST_DEPTH = 32  # containers inside one another
MOST_ITEMS = 200_000  # nodes of a message; an object met again counts in full, so that no value unfolds without end
MOST_TENSORS = 5_000  # and arrays and modules
MOST_DIMENSIONS = 16
MOST_SUBCLASSES = 100
MOST_SAME_HASH = 100  # keys of a dict with a hash that another has too; each costs time in proportion to the others
BEYOND_INT = 10**4000
SHORT = 1024  # longer texts and bytes travel in buffers
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}")
HEX_INT = re.compile(r"-?0x[0-9a-f]{1,3330}")
HEX_BYTES = re.compile(r"(?:[0-9a-f]{2})*")

TENSOR_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                  torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128)
}
TENSOR_NAMES = {dtype: name for name, dtype in TENSOR_DTYPES.items()}
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in vars(torch).values() if type(dtype) is torch.dtype}
ARRAY_CODES = "?bBhHiIlLqQefdgFDG"
ARRAY_DTYPES = {
    dtype.str: np.dtype(dtype.str) for code in ARRAY_CODES for dtype in (np.dtype(code), np.dtype(code).newbyteorder())
}
SCALARS = {np.dtype(code).type for code in ARRAY_CODES}
INFINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
ATOMS = {type(None), bool, int, float, complex, str, bytes, range, type(...), torch.Size, torch.dtype, torch.device}
KEYS = ATOMS | SCALARS  # what may be a key or a member, with tuples and frozensets of these
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
MODULE = vars(nn.Module())  # what every module has, with its value in a fresh one

_class_name = type.__dict__["__name__"].__get__  # a metaclass may have another idea of __name__


def _name(cls: type) -> str:
    """The name of a class, fit for a message and for ``of``."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", _class_name(cls))[:60]
    return name if NAME.fullmatch(name) else f"_{name}"[:60]


def _is_key(value: object) -> bool:
    """Whether a value may be a key: hashing and comparing it runs nobody's code."""
    cls = type(value)
    if cls in KEYS:
        return True
    if issubclass(cls, tuple):
        return all(map(_is_key, tuple.__iter__(value)))
    return cls is frozenset and all(map(_is_key, value))


class _Counted:
    """What an encoder and a decoder count alike: items, bytes, tensors, depth, and the mutable objects met."""

    error: type[Exception]

    def __init__(self):
        self.mutable: list[object] = []
        self._sizes: list[tuple[int, int] | None] = []  # of each mutable: items, levels; None while it is being done
        self._subclasses: dict[tuple[str, type], type] = {}  # by name and base
        self._items = self._bytes = self._tensors = self._deepest = 0

    def _count(self, depth: int, items: int = 1) -> None:
        self._items += items
        if self._items > MOST_ITEMS:
            raise self.error(f"more than {MOST_ITEMS} items cannot be handed over")
        if depth > self._deepest:
            if depth > MOST_DEPTH:
                raise self.error(f"containers nested more than {MOST_DEPTH} deep cannot be handed over")
            self._deepest = depth

    def _note_subclass(self, name: str, base: type, cls: type) -> None:
        self._subclasses[name, base] = cls
        if len(self._subclasses) > MOST_SUBCLASSES:
            raise self.error(f"objects of more than {MOST_SUBCLASSES} classes cannot be handed over")

    def _spend(self, size: int) -> None:
        self._bytes += size
        if self._bytes > MOST_BYTES:
            raise self.error(f"more than {MOST_BYTES // 2**20} MiB cannot be handed over")

    def _count_tensor(self) -> None:
        self._tensors += 1
        if self._tensors > MOST_TENSORS:
            raise self.error(f"more than {MOST_TENSORS} tensors, arrays and modules cannot be handed over")

    def _array_size(self, shape: Sequence[int], itemsize: int) -> int:
        """The bytes of one more tensor or array, counted before anything is allocated."""
        self._count_tensor()
        if len(shape) > MOST_DIMENSIONS:
            raise self.error(f"a tensor of more than {MOST_DIMENSIONS} dimensions cannot be handed over")
        size = extent = itemsize
        for length in shape:
            size *= length
            extent *= max(length, 1)  # strides of an empty tensor may overflow too
            if extent > MOST_BYTES:
                raise self.error(f"a tensor of more than {MOST_BYTES // 2**20} MiB cannot be handed over")
        self._spend(size)
        return size

    def _begin(self, value: object, depth: int) -> tuple[int, int, int, int]:
        """Note a mutable object met for the first time, before its content."""
        self.mutable.append(value)
        self._sizes.append(None)
        opened = len(self._sizes) - 1, self._items, self._deepest, depth
        self._deepest = depth
        return opened

    def _end(self, opened: tuple[int, int, int, int]) -> None:
        number, items, deepest, depth = opened
        self._sizes[number] = self._items - items, self._deepest - depth
        self._deepest = max(self._deepest, deepest)

    def _again(self, number: int, depth: int) -> None:
        """Count a mutable object met again as if its content came again."""
        size = self._sizes[number]
        if size is None:
            raise self.error("a container that contains itself cannot be handed over")
        items, levels = size
        self._count(depth + levels, items)


class Encoder(_Counted):
    """Writes values as trees; one encoder a message.

    ``handle(obj)`` may give a JSON-able dict for an object that is not plain; without it such an object raises
    NotPlain. With ``modules_as_data`` a plain ``nn.Linear`` and a bare ``nn.Module`` travel with their content.
    """

    error = NotPlain

    def __init__(self, handle: Callable[[object], dict] | None = None, modules_as_data: bool = False):
        super().__init__()
        self.buffers: list[bytes] = []
        self._handle = handle
        self._modules_as_data = modules_as_data
        self._numbers: dict[int, tuple[int, object]] = {}  # of an id: the place in self.mutable, and the object itself

    def tree(self, value: object) -> object:
        """The JSON-able tree of a value. Raises NotPlain, and whatever an iterator raises."""
        return self._node(value, 0)

    def _node(self, value, depth):
        self._count(depth)
        cls = type(value)
        write = _WRITERS.get(cls)
        if write is not None:
            return write(self, value, depth)
        if issubclass(cls, tuple):
            return {"tuple": self._nodes(tuple.__iter__(value), depth), "of": self._of(cls, tuple)}
        if issubclass(cls, list):
            return self._mutable(value, depth, Encoder._list)
        if issubclass(cls, dict):
            return self._mutable(value, depth, Encoder._dict)
        if issubclass(cls, VIEWS) or issubclass(cls, Iterator):
            return self._iterator(value, depth)
        return self._other(value)

    def _nodes(self, values, depth):
        return [self._node(value, depth + 1) for value in values]

    def _of(self, cls, base):
        name = _name(cls)
        self._note_subclass(name, base, cls)
        return name

    def _other(self, value, kind=""):
        if self._handle is None:
            name = _name(type(value))
            raise NotPlain(f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}{kind} cannot be handed over")
        return {"h": self._handle(value)}

    def _mutable(self, value, depth, write, listed=None):
        number, _ = self._numbers.get(id(value), (None, None))
        if number is not None:
            self._again(number, depth)
            return {"same": number}
        self._numbers[id(value)] = len(self.mutable), value
        opened = self._begin(value if listed is None else listed, depth)
        node = write(self, value, depth)
        self._end(opened)
        return node

    def _buffer(self, data: bytes) -> int:
        if len(self.buffers) >= MOST_BUFFERS:
            raise NotPlain(f"more than {MOST_BUFFERS} long texts and tensors cannot be handed over")
        self.buffers.append(data)
        return len(self.buffers) - 1

    def _itself(self, value, depth):
        return value

    def _int(self, value, depth):
        if -(2**63) <= value < 2**63:
            return value
        if not -BEYOND_INT < value < BEYOND_INT:
            raise NotPlain("an integer of more than 4000 digits cannot be handed over")
        text = hex(value)
        self._spend(len(text))
        return {"int": text}

    def _float(self, value, depth):
        return value if math.isfinite(value) else {"float": str(value)}

    def _complex(self, value, depth):
        return {"complex": [self._float(value.real, depth), self._float(value.imag, depth)]}

    def _str(self, value, depth):
        value = readable(value) if len(value) <= MOST_BYTES else value
        if len(value) <= SHORT:
            self._spend(len(value))
            return value
        self._spend(len(value))
        data = value.encode("utf-8")
        self._spend(len(data) - len(value))
        return {"text": self._buffer(data)}

    def _raw(self, value, depth):
        self._spend(len(value))
        return {"bytes": value.hex() if len(value) <= SHORT else self._buffer(value)}

    def _tuple(self, value, depth):
        return {"tuple": self._nodes(value, depth)}

    def _list(self, value, depth):
        node = {"list": self._nodes(list.__iter__(value), depth)}
        if type(value) is not list:
            node["of"] = self._of(type(value), list)
        return node

    def _dict(self, value, depth):
        cls = type(value)
        pairs = OrderedDict.items(value) if issubclass(cls, OrderedDict) else dict.items(value)
        flat = []
        for key, item in pairs:
            flat.append(self._key(key, depth + 1))
            flat.append(self._node(item, depth + 1))
        return {"dict": flat} if cls in (dict, OrderedDict) else {"dict": flat, "of": self._of(cls, dict)}

    def _key(self, value, depth):
        node = self._node(value, depth)
        if not _is_key(value):
            raise NotPlain(f"a {_name(type(value))} as a key or a member of a set cannot be handed over")
        return node

    def _members(self, value, depth):
        return [self._key(member, depth + 1) for member in value]

    def _set(self, value, depth):
        return {"set": self._members(value, depth)}

    def _frozenset(self, value, depth):
        return {"frozenset": self._members(value, depth)}

    def _iterator(self, value, depth):
        """An iterator, or a view of a dict, as a list of what it gives; this uses an iterator up."""
        made: list = []

        def write(_, value, depth):
            nodes = []
            for item in value:
                if self._items >= MOST_ITEMS:
                    raise NotPlain(f"a {_name(type(value))} of more than {MOST_ITEMS} items cannot be handed over")
                nodes.append(self._node(item, depth + 1))
                made.append(item)
            return {"list": nodes}

        return self._mutable(value, depth, write, made)

    def _range(self, value, depth):
        return {"range": [self._int(part, depth) for part in (value.start, value.stop, value.step)]}

    def _slice(self, value, depth):
        return {"slice": self._nodes((value.start, value.stop, value.step), depth)}

    def _ellipsis(self, value, depth):
        return {"ellipsis": None}

    def _size(self, value, depth):
        lengths = list(map(int, value))
        if len(lengths) > MOST_DIMENSIONS or not all(-(2**63) <= length < 2**63 for length in lengths):
            raise NotPlain(f"a torch.Size of more than {MOST_DIMENSIONS} dimensions cannot be handed over")
        return {"size": lengths}

    def _dtype(self, value, depth):
        return {"dtype": str(value).removeprefix("torch.")}

    def _device(self, value, depth):
        return {"device": "cpu"} if str(value) == "cpu" else self._other(value)

    def _tensor(self, value, depth):
        plain = value.layout is torch.strided and value.device.type == "cpu" and not value.is_nested
        if not plain or value.dtype not in TENSOR_NAMES:
            return self._other(value, f" ({value.dtype}, {value.layout}, {value.device})")
        return self._mutable(value, depth, Encoder._tensor_content)

    def _tensor_content(self, value, depth):
        size = self._array_size(value.shape, value.element_size())
        try:
            data = _tensor_bytes(value) if size else b""
        except RuntimeError as problem:  # inside torch.func.vmap, for instance, there are no numbers to read
            raise NotPlain(f"this tensor cannot be handed over: {problem}".splitlines()[0]) from None
        return {"tensor": [TENSOR_NAMES[value.dtype], list(value.shape), self._buffer(data), value.requires_grad,
                           type(value) is nn.Parameter]}

    def _array(self, value, depth):
        if value.dtype.str not in ARRAY_DTYPES:
            return self._other(value, f" of dtype {str(value.dtype)[:60]}")
        return self._mutable(value, depth, Encoder._array_content)

    def _array_content(self, value, depth):
        self._array_size(value.shape, value.itemsize)
        return {"array": [value.dtype.str, list(value.shape), self._buffer(value.tobytes())]}

    def _scalar(self, value, depth):
        return {"scalar": [value.dtype.str, value.tobytes().hex()]}

    def _linear(self, value, depth):
        if not self._modules_as_data or not _is_plain_linear(value):
            return self._other(value)
        return self._mutable(value, depth, Encoder._linear_content)

    def _linear_content(self, value, depth):
        self._count_tensor()
        return {"linear": [value.in_features, value.out_features, value.training,
                           *self._nodes((value.weight, value.bias), depth)]}

    def _module(self, value, depth):
        if not self._modules_as_data or not _is_bare(value):
            return self._other(value)
        return self._mutable(value, depth, Encoder._module_content)

    def _module_content(self, value, depth):
        self._count_tensor()
        attributes = [part for name, item in _attributes(value).items() for part in (name, self._node(item, depth + 1))]
        children = [part for name, item in value._modules.items() for part in (name, self._node(item, depth + 1))]
        return {"module": [value.training, attributes, children]}


_WRITERS = {
    type(None): Encoder._itself,
    bool: Encoder._itself,
    int: Encoder._int,
    float: Encoder._float,
    complex: Encoder._complex,
    str: Encoder._str,
    bytes: Encoder._raw,
    tuple: Encoder._tuple,
    list: lambda encoder, value, depth: encoder._mutable(value, depth, Encoder._list),
    dict: lambda encoder, value, depth: encoder._mutable(value, depth, Encoder._dict),
    set: lambda encoder, value, depth: encoder._mutable(value, depth, Encoder._set),
    frozenset: Encoder._frozenset,
    range: Encoder._range,
    slice: Encoder._slice,
    type(...): Encoder._ellipsis,
    torch.Size: Encoder._size,
    torch.dtype: Encoder._dtype,
    torch.device: Encoder._device,
    torch.Tensor: Encoder._tensor,
    nn.Parameter: Encoder._tensor,
    np.ndarray: Encoder._array,
    **dict.fromkeys(SCALARS, Encoder._scalar),
    nn.Linear: Encoder._linear,
    nn.Module: Encoder._module,
}


def _tensor_bytes(tensor: torch.Tensor) -> bytes:
    """The numbers in row-major order. Of a copy: a tensor that numpy has seen can never be resized again."""
    copy = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    return copy.reshape(-1).view(torch.uint8).numpy().tobytes()


def _is_as_made(module: nn.Module, *changed: str) -> bool:
    """Whether a module has no hook, buffer or mode of its own, but for what is named as changed."""
    own = vars(module)
    return type(own.get("training")) is bool and all(
        own.get(name) == fresh for name, fresh in MODULE.items() if name not in (*changed, "training"))


def _is_plain_linear(module: nn.Linear) -> bool:
    """Whether a linear layer is its sizes and weights and nothing else, not even a method of its own."""
    sizes, own = _attributes(module), vars(module).get("_parameters", {})
    if sizes.keys() != {"in_features", "out_features"} or own.keys() != {"weight", "bias"}:
        return False
    wide, out, weight, bias = sizes["in_features"], sizes["out_features"], own["weight"], own["bias"]
    return (
        type(wide) is type(out) is int
        and type(weight) is nn.Parameter and tuple(weight.shape) == (out, wide)
        and (bias is None or type(bias) is nn.Parameter and tuple(bias.shape) == (out,))
        and _is_as_made(module, "_parameters")
    )


def _attributes(module: nn.Module) -> dict[str, object]:
    return {name: value for name, value in vars(module).items() if name not in MODULE}


def _is_bare(module: nn.Module) -> bool:
    """Whether a module is a mere holder of plain attributes and linear layers."""
    attributes, children = _attributes(module), vars(module).get("_modules", {})
    return (
        all(map(_is_attribute, (*attributes, *children)))
        and not any(issubclass(type(item), (nn.Module, nn.Parameter)) for item in attributes.values())
        and all(type(child) in (nn.Linear, nn.Module) for child in children.values())
        and _is_as_made(module, "_modules")
    )


def _is_attribute(name: str) -> bool:
    """Whether an attribute of this name takes nothing away from a module."""
    return (
        type(name) is str and NAME.fullmatch(name) is not None and not name.startswith("__")
        and not hasattr(nn.Module, name) and name not in MODULE
    )


class Decoder(_Counted):
    """Reads trees whose every node may be forged; one decoder a message.

    ``handle(content)`` gives the object for a handle's dict, and raises Malformed where there is none.
    """

    error = Malformed

    def __init__(self, buffers: Sequence[bytes], handle: Callable[[dict], object] | None = None):
        super().__init__()
        self._buffers: list[bytes | None] = list(buffers)  # None: used
        self._handle = handle

    def value(self, tree: object) -> object:
        """The value of a tree. Raises Malformed for anything that is not exactly what the format allows."""
        try:
            return self._node(tree, 0)
        except (RecursionError, MemoryError, OverflowError) as problem:
            raise Malformed("a value that is too large") from problem

    def _node(self, node, depth):
        self._count(depth)
        cls = type(node)
        if cls is dict:
            return self._object(node, depth)
        if cls is str:
            self._spend(len(node))
            return node if len(node) <= SHORT and readable(node) == node else self._refuse("a text")
        if cls is bool or node is None:
            return node
        if cls is int and -(2**63) <= node < 2**63:
            return node
        if cls is float and math.isfinite(node):
            return node
        raise Malformed("a node of an unknown kind")

    def _object(self, node, depth):
        kinds = list(node)
        if len(kinds) == 1:
            read = _READERS.get(kinds[0])
            if read is not None:
                return read(self, node[kinds[0]], depth)
        elif len(kinds) == 2 and "of" in node:
            kind = kinds[0] if kinds[1] == "of" else kinds[1]
            if kind in ("tuple", "list", "dict"):
                return _READERS[kind](self, node[kind], depth, self._subclass(node["of"], kind))
        raise Malformed("a node of an unknown kind")

    def _refuse(self, what):
        raise Malformed(f"{what} that is not as the format asks")

    def _parts(self, content, length, what):
        """A list of exactly so many parts."""
        if type(content) is not list or len(content) != length:
            raise Malformed(f"{what} has {length} parts")
        return content

    def _nodes(self, content, depth):
        if type(content) is not list:
            raise Malformed("items that are no list")
        return [self._node(node, depth + 1) for node in content]

    def _subclass(self, name, kind):
        base = {"tuple": tuple, "list": list, "dict": dict}[kind]
        if type(name) is not str or not NAME.fullmatch(name):
            raise Malformed("the name of a class that is no name")
        if (name, base) not in self._subclasses:
            cls = type(name, (base,), {"__slots__": (), "__module__": "__main__"})
            self._note_subclass(name, base, cls)
        return self._subclasses[name, base]

    def _buffer(self, number):
        if type(number) is not int or not 0 <= number < len(self._buffers):
            raise Malformed("a buffer that is not there")
        data, self._buffers[number] = self._buffers[number], None
        if data is None:
            raise Malformed("a buffer used twice")
        return data

    def _int(self, content, depth):
        if type(content) is not str or not HEX_INT.fullmatch(content):
            raise Malformed("an integer that is no hexadecimal text")
        self._spend(len(content))
        value = int(content, 16)
        return value if -BEYOND_INT < value < BEYOND_INT else self._refuse("an integer")

    def _float(self, content, depth):
        if type(content) is not str or content not in INFINITE:
            raise Malformed("a float that is none")
        return float(content)  # a new object: two nans are two keys

    def _complex(self, content, depth):
        return complex(*map(self._real, self._parts(content, 2, "a complex number")))

    def _real(self, node):
        if type(node) is float and math.isfinite(node):
            return node
        if type(node) is dict and list(node) == ["float"]:
            return self._float(node["float"], 0)
        raise Malformed("a complex number of other parts than floats")

    def _text(self, content, depth):
        data = self._buffer(content)
        self._spend(len(data))
        try:
            return str(data, "utf-8")
        except UnicodeDecodeError:
            raise Malformed("a text that is no UTF-8") from None

    def _raw(self, content, depth):
        if type(content) is str:
            self._spend(len(content) // 2)
            short = len(content) <= 2 * SHORT and HEX_BYTES.fullmatch(content)
            return bytes.fromhex(content) if short else self._refuse("a bytes object")
        data = self._buffer(content)
        self._spend(len(data))
        return bytes(data)

    def _tuple(self, content, depth, cls=tuple):
        values = self._nodes(content, depth)
        return tuple(values) if cls is tuple else tuple.__new__(cls, values)

    def _list(self, content, depth, cls=list):
        values = cls()
        opened = self._begin(values, depth)
        values.extend(self._nodes(content, depth))
        self._end(opened)
        return values

    def _dict(self, content, depth, cls=dict):
        values = cls()
        opened = self._begin(values, depth)
        parts = self._nodes(content, depth)
        if len(parts) % 2:
            raise Malformed("a dict with a key without a value")
        self._gather(values, parts[::2], lambda: values.update(zip(parts[::2], parts[1::2], strict=True)))
        self._end(opened)
        return values

    def _set(self, content, depth):
        values = set()
        opened = self._begin(values, depth)
        members = self._nodes(content, depth)
        self._gather(values, members, lambda: values.update(members))
        self._end(opened)
        return values

    def _frozenset(self, content, depth):
        values = set()
        members = self._nodes(content, depth)
        self._gather(values, members, lambda: values.update(members))
        return frozenset(values)

    def _gather(self, values, keys, fill):
        """Fill a dict or a set, having looked at its keys: all plain, all different, and their hashes too."""
        if not all(map(_is_key, keys)):
            raise Malformed("a key that cannot be one")
        if len(keys) - len({hash(key) for key in keys}) > MOST_SAME_HASH:
            raise Malformed("keys made to collide")
        try:
            fill()
        except (TypeError, ValueError):  # comparing a numpy number with a tuple gives an array
            raise Malformed("keys that cannot be compared") from None
        if len(values) != len(keys):
            raise Malformed("a key that comes twice")

    def _range(self, content, depth):
        start, stop, step = map(self._whole, self._parts(content, 3, "a range"))
        return range(start, stop, step) if step else self._refuse("a range")

    def _whole(self, node):
        if type(node) is int and -(2**63) <= node < 2**63:
            return node
        if type(node) is dict and list(node) == ["int"]:
            return self._int(node["int"], 0)
        raise Malformed("a range of other parts than integers")

    def _slice(self, content, depth):
        return slice(*self._nodes(self._parts(content, 3, "a slice"), depth))

    def _ellipsis(self, content, depth):
        return ... if content is None else self._refuse("an Ellipsis")

    def _size(self, content, depth):
        return torch.Size(self._shape(content, least=-(2**63)))

    def _shape(self, content, least=0):
        if type(content) is not list or len(content) > MOST_DIMENSIONS:
            raise Malformed("a shape that is none")
        if not all(type(length) is int and least <= length < 2**63 for length in content):
            raise Malformed("a shape of other things than lengths")
        return content

    def _dtype(self, content, depth):
        return DTYPES[content] if type(content) is str and content in DTYPES else self._refuse("a dtype")

    def _device(self, content, depth):
        return torch.device("cpu") if content == "cpu" else self._refuse("a device")

    def _tensor(self, content, depth):
        dtype, shape, number, requires_grad, parameter = self._parts(content, 5, "a tensor")
        if type(dtype) is not str or dtype not in TENSOR_DTYPES:
            raise Malformed("a tensor of an unknown dtype")
        if type(requires_grad) is not bool or type(parameter) is not bool:
            raise Malformed("a flag of a tensor that is not true or false")
        dtype = TENSOR_DTYPES[dtype]
        if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
            raise Malformed("a tensor of whole numbers that asks for a gradient")
        data = self._content(shape, dtype.itemsize, number, dtype is torch.bool)
        if data.size:  # the clone is torch's own memory, which can be resized
            value = torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape).clone()
        else:
            value = torch.empty(shape, dtype=dtype, device="cpu")
        if parameter:
            value = nn.Parameter(value, requires_grad=requires_grad)
        elif requires_grad:
            value.requires_grad_()
        self._end(self._begin(value, depth))
        return value

    def _content(self, shape, itemsize, number, is_bool):
        """The bytes of a tensor or an array: as many as its shape asks for."""
        size = self._array_size(self._shape(shape), itemsize)
        data = np.frombuffer(self._buffer(number), dtype=np.uint8)
        if data.size != size:
            raise Malformed("a tensor of another size than its bytes")
        if is_bool and size and data.max() > 1:
            raise Malformed("a bool that is neither true nor false")
        return data

    def _array(self, content, depth):
        code, shape, number = self._parts(content, 3, "an array")
        dtype = self._array_dtype(code)
        data = self._content(shape, dtype.itemsize, number, dtype.kind == "b")
        value = np.empty(shape, dtype=dtype)
        if data.size:
            value.reshape(-1).view(np.uint8)[:] = data
        self._end(self._begin(value, depth))
        return value

    def _array_dtype(self, code):
        if type(code) is not str or code not in ARRAY_DTYPES:
            raise Malformed("an array of an unknown dtype")
        return ARRAY_DTYPES[code]

    def _scalar(self, content, depth):
        code, text = self._parts(content, 2, "a numpy number")
        dtype = self._array_dtype(code)
        if type(text) is not str or len(text) != 2 * dtype.itemsize or not HEX_BYTES.fullmatch(text):
            raise Malformed("a numpy number of another size than its bytes")
        if dtype.kind == "b" and text not in ("00", "01"):
            raise Malformed("a bool that is neither true nor false")
        return np.frombuffer(bytes.fromhex(text), dtype=dtype)[0]

    def _same(self, content, depth):
        if type(content) is not int or not 0 <= content < len(self.mutable):
            raise Malformed("an object met before that was not")
        self._again(content, depth)
        return self.mutable[content]

    def _handled(self, content, depth):
        if self._handle is None or type(content) is not dict:
            raise Malformed("a handle where there can be none")
        return self._handle(content)

    def _linear(self, content, depth):
        wide, out, training, weight, bias = self._parts(content, 5, "a linear layer")
        if type(wide) is not int or type(out) is not int or type(training) is not bool:
            raise Malformed("a linear layer without its sizes")
        value = self._fresh(nn.Linear, training)
        opened = self._begin(value, depth)
        weight, bias = self._node(weight, depth + 1), self._node(bias, depth + 1)
        if type(weight) is not nn.Parameter or list(weight.shape) != [out, wide]:
            raise Malformed("a linear layer with a weight of another shape")
        if bias is not None and (type(bias) is not nn.Parameter or list(bias.shape) != [out]):
            raise Malformed("a linear layer with a bias of another shape")
        value.in_features, value.out_features = wide, out
        value.register_parameter("weight", weight)
        value.register_parameter("bias", bias)
        self._end(opened)
        return value

    def _fresh(self, cls, training):
        """A module as its class makes it, without weights: drawing them would move the random numbers on."""
        self._count_tensor()
        value = cls.__new__(cls)
        nn.Module.__init__(value)
        value.training = training
        return value

    def _module(self, content, depth):
        training, attributes, children = self._parts(content, 3, "a module")
        if type(training) is not bool:
            raise Malformed("a module that neither trains nor does not")
        value = self._fresh(nn.Module, training)
        opened = self._begin(value, depth)
        attributes, children = self._named(attributes, depth), self._named(children, depth)
        if attributes.keys() & children.keys():
            raise Malformed("an attribute that comes twice")
        if any(issubclass(type(item), (nn.Module, nn.Parameter)) for item in attributes.values()):
            raise Malformed("an attribute that is no plain value")
        if not all(type(child) in (nn.Linear, nn.Module) for child in children.values()):
            raise Malformed("a part of a module that is no layer")
        vars(value).update(attributes)
        value._modules.update(children)
        self._end(opened)
        return value

    def _named(self, content, depth):
        if type(content) is not list or len(content) % 2:
            raise Malformed("attributes that are no names and values")
        values = {}
        for name, node in zip(content[::2], content[1::2], strict=True):
            if not _is_attribute(name) or name in values:
                raise Malformed("the name of an attribute that cannot be one")
            values[name] = self._node(node, depth + 1)
        return values


_READERS = {
    "int": Decoder._int,
    "float": Decoder._float,
    "complex": Decoder._complex,
    "text": Decoder._text,
    "bytes": Decoder._raw,
    "tuple": Decoder._tuple,
    "list": Decoder._list,
    "dict": Decoder._dict,
    "set": Decoder._set,
    "frozenset": Decoder._frozenset,
    "range": Decoder._range,
    "slice": Decoder._slice,
    "ellipsis": Decoder._ellipsis,
    "size": Decoder._size,
    "dtype": Decoder._dtype,
    "device": Decoder._device,
    "tensor": Decoder._tensor,
    "array": Decoder._array,
    "scalar": Decoder._scalar,
    "same": Decoder._same,
    "h": Decoder._handled,
    "linear": Decoder._linear,
    "module": Decoder._module,
}


class _Digest(Encoder):
    """An encoder for a look at a value: buffers by their hash, what cannot travel by its identity, nothing used up."""

    def __init__(self):
        super().__init__(handle=lambda obj: {"id": id(obj)}, modules_as_data=True)

    def _buffer(self, data):
        return blake2b(data, digest_size=16).hexdigest()

    def _iterator(self, value, depth):
        return super()._iterator(value, depth) if isinstance(value, VIEWS) else self._other(value)

    def _members(self, value, depth):
        return sorted(super()._members(value, depth), key=json.dumps)  # the order of a set is nobody's doing


def fingerprint(value: object) -> bytes:
    """A digest of a value's content, to see within one process whether a call changed it. Raises NotPlain."""
    return blake2b(json.dumps(_Digest().tree(value)).encode(), digest_size=16).digest()


def restore(target: object, value: object) -> None:
    """Put the content of ``value`` into ``target``, which stays the object it is. Raises NotPlain if that cannot be."""
    kind = _kind(target)
    if kind is None or kind is not _kind(value):
        raise NotPlain(f"a {_name(type(value))} cannot be put in the place of a {_name(type(target))}")
    try:
        _PUTTERS[kind](target, value)
    except (RuntimeError, ValueError, TypeError) as problem:
        raise NotPlain(f"a changed {_name(type(target))} cannot be put back: {problem}") from problem


def _kind(value):
    return next((cls for cls in _PUTTERS if issubclass(type(value), cls)), None)


def _put_tensor(target, value):
    with torch.no_grad():
        if target.shape == value.shape and target.dtype == value.dtype:
            target.copy_(value)
        elif value.numel() > 2 * target.numel() + 1000:  # a test goes on to compute with it
            raise NotPlain("an argument that has become much larger")
        else:
            target.data = value.detach().clone()
    if target.is_leaf:
        target.requires_grad_(value.requires_grad)


def _put_list(target, value):
    list.__setitem__(target, slice(None), list(list.__iter__(value)))


def _put_dict(target, value):
    items = list(dict.items(value))
    cls = OrderedDict if issubclass(type(target), OrderedDict) else dict
    cls.clear(target)
    for key, item in items:
        cls.__setitem__(target, key, item)


def _put_set(target, value):
    members = list(value)
    target.clear()
    target.update(members)


def _put_array(target, value):
    if target.dtype != value.dtype:
        raise ValueError(f"its dtype was {target.dtype} and is {value.dtype}")
    if target.shape != value.shape:
        target.resize(value.shape)
    target[...] = value


def _put_linear(target, value):
    target.in_features, target.out_features = value.in_features, value.out_features
    target.train(value.training)
    for name in ("weight", "bias"):
        old, new = getattr(target, name), getattr(value, name)
        if old is None or new is None:
            setattr(target, name, new)
        else:
            restore(old, new)


def _put_module(target, value):
    own, new = vars(target), vars(value)
    for name in own.keys() - MODULE.keys():
        del own[name]
    own.update(_attributes(value))
    target.training = value.training
    parts = {}
    for name, child in new["_modules"].items():
        old = own["_modules"].get(name)
        if type(old) is type(child):
            restore(old, child)
            child = old
        parts[name] = child
    own["_modules"].clear()
    own["_modules"].update(parts)


_PUTTERS = {
    torch.Tensor: _put_tensor,
    list: _put_list,
    dict: _put_dict,
    set: _put_set,
    np.ndarray: _put_array,
    nn.Linear: _put_linear,
    nn.Module: _put_module,  # after nn.Linear, which is one
}
