"""The border between the examiner and a student's process: what crosses it, unchanged, and what cannot harm."""

import copy
import datetime
import json
import math
import socket
import struct
import threading
import time
from collections import Counter, OrderedDict, deque, namedtuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from torch import nn

from manyheads.grade import frames, wire
from manyheads.grade.frames import Malformed, NotPlain, receive, send
from manyheads.grade.wire import Decoder, Encoder, fingerprint, restore

FEW = settings(deadline=None, max_examples=60)
MANY = settings(deadline=None, max_examples=120)


@pytest.fixture
def ends():
    """Two ends of a stream."""
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def cross(value, **how):
    """The value as the other side gets it, by way of real JSON text."""
    encoder = Encoder(**how)
    tree = json.loads(json.dumps(encoder.tree(value), allow_nan=False))
    decoder = Decoder(encoder.buffers)
    arrived = decoder.value(tree)
    assert len(decoder.mutable) == len(encoder.mutable)
    return arrived


def alike(one, other) -> bool:
    """Whether two values have the same type and content, nan and -0.0 and the order of a dict included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return (one.dtype, one.shape, one.requires_grad) == (other.dtype, other.shape, other.requires_grad) and (
            wire._tensor_bytes(one) == wire._tensor_bytes(other))
    if isinstance(one, np.ndarray | np.generic):
        same = (one.dtype.str, one.shape, one.tobytes()) == (other.dtype.str, other.shape, other.tobytes())
        return same and repr(one) == repr(other)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return alike(list(one.items()), list(other.items()))
    if isinstance(one, set | frozenset):
        return len(one) == len(other) and all(any(alike(a, b) for b in other) for a in one)
    if isinstance(one, slice):
        return alike((one.start, one.stop, one.step), (other.start, other.stop, other.step))
    return repr(one) == repr(other) if isinstance(one, float | complex) else one == other


# ---- what crosses ----

integers = st.integers() | st.integers(min_value=-(2**70), max_value=2**70) | st.integers(-(10**3999), 10**3999)
atoms = (
    st.none() | st.booleans() | integers | st.floats() | st.complex_numbers() | st.text() | st.binary()
    | st.builds(lambda text: text * 700, st.text(min_size=1, max_size=5))
    | st.sampled_from([..., torch.float32, torch.bfloat16])
    | st.builds(range, st.integers(), st.integers(), st.integers(min_value=1))
    | st.builds(torch.Size, st.lists(st.integers(0, 9), max_size=4)) | st.just(torch.device("cpu"))
    | st.sampled_from([np.float32(0.1), np.float64("nan"), np.int8(-3), np.bool_(True), np.complex64(1j), np.uint64(7)])
)
keys = st.deferred(lambda: st.recursive(
    atoms, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=3))
shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)
tensors = st.builds(
    lambda name, shape, turn: (lambda t: t.mT if turn and t.dim() > 1 else t)(
        torch.arange(math.prod(shape)).reshape(shape).to(wire.TENSOR_DTYPES[name])),
    st.sampled_from(sorted(wire.TENSOR_DTYPES)), shapes, st.booleans(),
)
arrays = npst.arrays(
    npst.boolean_dtypes() | npst.integer_dtypes() | npst.unsigned_integer_dtypes() | npst.floating_dtypes()
    | npst.complex_number_dtypes(), npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
values = st.recursive(
    keys | tensors | arrays,
    lambda inner: st.lists(inner, max_size=5) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(keys, inner, max_size=4) | st.sets(keys, max_size=4) | st.builds(slice, inner, inner, inner),
    max_leaves=12,
)


@FEW
@given(values)
def test_a_plain_value_arrives_as_it_was(value):
    assert alike(cross(value), value)


@pytest.mark.parametrize("value", [
    -0.0, math.inf, -math.inf, math.nan, complex(-0.0, math.nan), 2**63, -(2**63) - 1, 10**3999, b"", "x" * 5000,
    {True: 1, 2.5: 2, None: 3, (): 4, frozenset({1}): 5, (1, ("a", b"b")): 6, ...: 7}, {"b": 1, "a": 2},
    {math.nan, -1, -2}, slice(None, 3, [1]), range(10, -4, -3), np.longdouble("0.1"), np.arange(3, dtype=">f4"),
    np.zeros((3, 0)), np.array(2.5),
    np.broadcast_to(np.float32(1), (2, 3)), torch.zeros(0, 4), torch.tensor(True), torch.rand(3, 4).t(),
    torch.ones(1, 2).expand(3, 2), torch.rand(3, dtype=torch.complex64).conj(), torch.tensor([math.nan, -0.0]),
], ids=lambda value: f"{type(value).__name__} {str(value)[:20]}")
def test_awkward_values_arrive_as_they_were(value):
    assert alike(cross(value), value)


def test_a_parameter_and_a_wish_for_gradients_arrive():
    frozen = nn.Parameter(torch.rand(2), requires_grad=False)
    for value in (nn.Parameter(torch.rand(2, 3)), frozen, torch.rand(3, requires_grad=True)):
        assert alike(cross(value), value)
    result = cross(torch.rand(3, requires_grad=True) * 2)
    assert result.requires_grad and result.is_leaf


def test_what_is_decoded_owns_its_memory_and_moves_no_random_numbers():
    encoder = Encoder(modules_as_data=True)
    tree = encoder.tree([torch.zeros(3), np.zeros(3), nn.Linear(2, 2)])
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    tensor, array, _ = Decoder(encoder.buffers).value(tree)
    assert torch.equal(torch.rand(1), expected)
    tensor += 1
    tensor.resize_(5)
    encoder.mutable[1].resize_(5)
    array += 1
    again = Decoder(encoder.buffers).value(tree)
    assert torch.equal(again[0], torch.zeros(3)) and not again[1].any()


def test_lone_surrogates_are_written_out():
    assert cross("a\ud800") == "a\\ud800"
    assert cross("é😀" * 2000) == "é😀" * 2000


def test_subclasses_arrive_as_subclasses_of_the_same_name():
    Point = namedtuple("Point", "x y")

    class Shouting(list):
        def __iter__(self):
            raise AssertionError("the code of a subclass runs")

    for value, base in [(Point(1, 2), tuple), (torch.rand(3, 2).max(0), tuple), (Shouting([1, 2]), list),
                        (Counter("aab"), dict)]:
        arrived = cross(value)
        assert type(arrived) is not base and isinstance(arrived, base)
        assert type(arrived).__name__ == type(value).__name__
        assert alike(base(arrived), base(value) if base is not list else [1, 2])
    odd = type("évil <b>" + "x" * 99, (tuple,), {})
    assert type(cross(odd())).__name__.isidentifier()


def test_an_ordered_dict_arrives_as_a_dict_in_its_order():
    value = OrderedDict(a=1, b=2)
    value.move_to_end("a")
    arrived = cross(value)
    assert type(arrived) is dict and list(arrived) == ["b", "a"]
    assert list(cross(nn.Linear(2, 3).state_dict())) == ["weight", "bias"]


def test_iterators_and_views_arrive_as_lists():
    words = {"a": 1, "b": 2}
    given = [(i * i for i in range(3)), map(str, [1]), zip([1], [2], strict=True), words.keys(), words.items(),
             iter(torch.arange(2))]
    assert cross(given)[:5] == [[0, 1, 4], ["1"], [(1, 2)], ["a", "b"], [("a", 1), ("b", 2)]]
    squares = (i for i in range(3))
    one, other = cross((squares, squares))
    assert one == [0, 1, 2] and other is one


def test_an_endless_iterator_is_refused_and_a_failing_one_fails():
    def endless():
        while True:
            yield 1

    def failing():
        yield 1
        raise LookupError("mine")

    with pytest.raises(NotPlain, match="a generator of more than 200000 items"):
        cross(endless())
    with pytest.raises(LookupError, match="mine"):
        cross([failing()])


def test_the_same_object_arrives_as_one():
    tensor, inner, table = torch.rand(2), [1], {"k": 1}
    encoder = Encoder()
    trees = [encoder.tree(part) for part in ((tensor, inner, [inner, table]), {"again": table, "x": tensor})]
    decoder = Decoder(encoder.buffers)
    one, two = map(decoder.value, trees)
    assert one[2][0] is one[1] and two["again"] is one[2][1] and two["x"] is one[0]
    assert [type(item) for item in decoder.mutable] == [type(item) for item in encoder.mutable]
    assert encoder.mutable[0] is tensor and decoder.mutable[0] is one[0]


def test_equal_objects_stay_apart():
    one, other = cross(([1], [1]))
    assert one is not other
    assert len({id(item) for item in cross([[i] for i in (7, 7, 7)])}) == 3  # made on the way, freed on the way


class Foo:
    pass


@pytest.mark.parametrize("value", [
    Foo(), Foo, len, datetime.date(2020, 1, 1), deque([1]), bytearray(b"x"), memoryview(b"x"), np.array([None]),
    np.array(["text"]), np.datetime64("2020-01-01"), np.ma.masked_array([1]), torch.rand(2).to_sparse(),
    torch.rand(2, device="meta"),
    torch.zeros(2, dtype=torch.uint16), torch.rand(2).as_subclass(type("T", (torch.Tensor,), {})),
    torch.device("meta"), nn.Linear(2, 2), nn.Module(), 10**4000, type("I", (int,), {})(3),
    {Foo(): 1}, {torch.zeros(1): 1}, type("F", (frozenset,), {})(), range(10**4001), torch.Size([1] * 17),
    np.zeros(2, dtype=[("a", int)]),
], ids=lambda value: type(value).__name__)
def test_anything_else_is_refused_in_one_sentence(value):
    with pytest.raises(NotPlain) as refused:
        cross(value)
    assert "cannot be handed over" in str(refused.value) and "\n" not in str(refused.value)


def test_numbers_that_cannot_be_read_are_refused():
    def look(row):
        with pytest.raises(NotPlain):
            cross(row)
        return row

    torch.vmap(look)(torch.rand(2, 3))


def test_what_is_not_plain_goes_through_a_handle():
    foo = Foo()
    encoder = Encoder(handle=lambda obj: {"kind": type(obj).__name__})
    tree = encoder.tree([foo, {"a": foo}])
    assert Decoder([], handle=lambda content: content["kind"]).value(tree) == ["Foo", {"a": "Foo"}]
    with pytest.raises(Malformed):
        Decoder([]).value(tree)


def test_nothing_an_object_says_of_itself_is_believed():
    class Liar:
        @property
        def __class__(self):
            raise AssertionError("the code of a value runs")

        def __iter__(self):
            raise AssertionError("the code of a value runs")

    with pytest.raises(NotPlain, match="a Liar"):
        cross(Liar())


# ---- modules ----

def test_a_linear_layer_travels_as_its_weights():
    layer = nn.Linear(3, 2).eval()
    layer.bias.requires_grad_(False)
    arrived = cross(layer, modules_as_data=True)
    x = torch.rand(4, 3)
    assert type(arrived) is nn.Linear and torch.equal(arrived(x), layer(x)) and repr(arrived) == repr(layer)
    assert not arrived.training and not arrived.bias.requires_grad and arrived.weight.requires_grad
    assert cross(nn.Linear(3, 2, bias=False), modules_as_data=True).bias is None


def test_a_bare_module_travels_with_its_attributes_and_layers():
    layer = nn.Linear(4, 4)
    stand_in = nn.Module()
    stand_in.num_heads, stand_in.sizes, stand_in.W_q, stand_in.W_k = 2, [1, 2], layer, layer
    arrived = cross(stand_in, modules_as_data=True)
    assert (arrived.num_heads, arrived.sizes) == (2, [1, 2]) and arrived.W_q is arrived.W_k
    assert torch.equal(arrived.W_q.weight, layer.weight)
    assert arrived.state_dict().keys() == stand_in.state_dict().keys()


def hooked():
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda *_: None)
    return layer


def own_forward():
    layer = nn.Linear(2, 2)
    layer.forward = lambda x: x
    return layer


def other_weight():
    layer = nn.Linear(2, 2)
    layer.weight = nn.Parameter(torch.rand(5))
    return layer


def with_buffer():
    module = nn.Module()
    module.register_buffer("mask", torch.ones(2))
    return module


@pytest.mark.parametrize("make", [hooked, own_forward, other_weight, with_buffer, lambda: nn.ReLU(),
                                  lambda: nn.Sequential(nn.Linear(2, 2))])
def test_a_module_with_more_to_it_does_not_travel_as_data(make):
    with pytest.raises(NotPlain):
        cross(make(), modules_as_data=True)


# ---- limits ----

def nested(depth, wrap=lambda value: [value]):
    value = 1
    for _ in range(depth):
        value = wrap(value)
    return value


def laughs(levels):
    value = [1]
    for _ in range(levels):
        value = [value, value]
    return value


def around():
    value = []
    value.append({"in": (value,)})
    return value


def test_values_up_to_the_limits_cross():
    assert cross(nested(32)) == nested(32)
    assert len(cross([1] * (wire.MOST_ITEMS - 1))) == wire.MOST_ITEMS - 1
    assert cross(torch.zeros((1,) * 16)).dim() == 16


@pytest.mark.parametrize("make", [
    lambda: nested(33), lambda: nested(10_000), lambda: nested(5000, lambda value: (value,)), around,
    lambda: laughs(25), lambda: [1] * wire.MOST_ITEMS, lambda: [torch.zeros(1) for _ in range(5001)],
    lambda: torch.zeros((1,) * 17), lambda: torch.zeros(1).expand(10**12), lambda: torch.zeros(0, 10**12),
    lambda: np.broadcast_to(np.int8(1), (2**40,)), lambda: [bytes(2**20) for _ in range(65)],
    lambda: "x" * (frames.MOST_BYTES + 1), lambda: {nested(40, lambda value: (value,)): 1},
    lambda: [type(f"C{i}", (list,), {})() for i in range(101)],
], ids=range(15))
def test_values_beyond_the_limits_are_refused_before_they_are_copied(make):
    with pytest.raises(NotPlain, match="cannot be handed over"):
        Encoder().tree(make())


NESTED_SAME = {"list": [{"list": []}, *({"list": [{"same": i}]} for i in range(1, 40))]}
FORGED = {
    "true for an integer": {"tensor": ["float32", [True], 0, False, False]},
    "too large a tensor": {"tensor": ["float32", [2**40], 0, False, False]},
    "a negative size": {"tensor": ["float32", [-1], 0, False, False]},
    "two negative sizes": {"tensor": ["float32", [-1, -1], 0, False, False]},
    "an empty tensor of huge strides": {"tensor": ["float32", [0, 2**62, 2**62], 0, False, False]},
    "too many dimensions": {"tensor": ["float32", [1] * 17, 0, False, False]},
    "another length": {"tensor": ["float32", [2], 0, False, False]},
    "a dtype of torch that is none": {"tensor": ["save", [1], 0, False, False]},
    "a dtype that is a list": {"tensor": [["float32"], [1], 0, False, False]},
    "a gradient of integers": {"tensor": ["int32", [1], 0, True, False]},
    "a flag that is a number": {"tensor": ["float32", [1], 0, 1, False]},
    "a bool of other bits": {"tensor": ["bool", [4], 0, False, False]},
    "no such buffer": {"tensor": ["float32", [1], 7, False, False]},
    "a negative buffer": {"tensor": ["float32", [1], -1, False, False]},
    "a buffer used twice": {"list": [{"tensor": ["float32", [1], 0, False, False]}] * 2},
    "an array of objects": {"array": ["|O", [1], 0]},
    "an array of dates": {"array": ["<M8[D]", [1], 0]},
    "a number of other bytes": {"scalar": ["<f4", "00"]},
    "a text that is no UTF-8": {"text": 0},
    "a long text in the tree": "x" * 5000,
    "a lone surrogate": "\ud800",
    "an integer beyond 64 bits": 2**63,
    "a huge integer": {"int": "0x" + "f" * 3330},
    "underscores": {"int": "0x1_0"},
    "a float out of range": float("inf"),
    "nan by name": {"float": "NaN"},
    "complex of integers": {"complex": [1, 2]},
    "a bare list": [1],
    "a second key": {"list": [], "tuple": []},
    "of where it cannot be": {"set": [], "of": "X"},
    "a bad name": {"tuple": [], "of": "not a name"},
    "a long name": {"tuple": [], "of": "x" * 61},
    "no kind": {},
    "an unknown kind": {"pickle": "x"},
    "half a pair": {"dict": [1]},
    "a key that comes twice": {"dict": [1, 2, 1.0, 3]},
    "a list as a key": {"dict": [{"list": []}, 1]},
    "a list in a key": {"set": [{"tuple": [{"list": []}]}]},
    "a handle as a key": {"set": [{"h": {}}]},
    "a handle that is no dict": {"h": 1},
    "met before": {"same": 0},
    "true met before": {"list": [{"list": []}, {"same": True}]},
    "a list in itself": {"list": [{"same": 0}]},
    "a list in its part": {"list": [{"tuple": [{"same": 0}]}]},
    "nested too deep": nested(33, lambda node: {"tuple": [node]}),
    "nested much too deep": nested(5000, lambda node: {"tuple": [node]}),
    "nested too deep step by step": NESTED_SAME,
    "a range without a step": {"range": [0, 1, 0]},
    "a range of texts": {"range": ["0", "1", "1"]},
    "half a slice": {"slice": [1]},
    "a device": {"device": "cuda"},
    "a dtype": {"dtype": "float33"},
    "an odd size": {"size": [1.0]},
    "keys that collide": {"set": [{"int": hex((2**61 - 1) * i)} for i in range(2**70, 2**70 + 1000)]},
    "numbers beside tuples": {"set": [{"tuple": [1, {"list": []}]}, {"scalar": ["<f4", "0000803f"]}]},
    "a layer without a weight": {"linear": [1, 1, True, None, None]},
    "a layer of another size": {"linear": [2, 1, True, {"tensor": ["float32", [1, 1], 0, True, True]}, None]},
    "a layer of huge size": {"linear": [2**40, 2**40, True, {"tensor": ["float32", [1, 1], 0, True, True]}, None]},
    "a method of a module": {"module": [True, ["forward", 1], []]},
    "the weights of a module": {"module": [True, ["_parameters", 1], []]},
    "the class of a module": {"module": [True, ["__class__", 1], []]},
    "a part that is no layer": {"module": [True, [], ["a", 1]]},
    "a part that is the module": {"module": [True, [], ["a", {"same": 0}]]},
    "a name twice": {"module": [True, ["a", 1, "a", 2], []]},
}


@pytest.mark.parametrize("tree", FORGED.values(), ids=FORGED)
def test_forged_trees_are_malformed(tree):
    with pytest.raises(Malformed):
        Decoder([b"\xff\xfe\xfd\xfc"], handle=lambda content: Foo()).value(tree)


def test_a_value_that_unfolds_without_end_is_malformed():
    node = {"list": [{"list": [1]}]}
    for number in range(1, 30):
        node["list"].append({"list": [{"same": number}, {"same": number}]})
    with pytest.raises(Malformed):
        Decoder([]).value(node)


def test_too_many_tensors_classes_and_modules_are_malformed():
    tensor = {"list": [{"tensor": ["float32", [0], number, False, False]} for number in range(5001)]}
    classes = {"list": [{"list": [], "of": f"C{number}"} for number in range(101)]}
    modules = {"list": [{"module": [True, [], []]}] * 5001}
    for tree in (tensor, classes, modules):
        with pytest.raises(Malformed):
            Decoder([b""] * 5001).value(tree)


json_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
    | st.sampled_from(["float32", "<f4", "00"]),
    lambda inner: st.lists(inner, max_size=5)
    | st.dictionaries(st.sampled_from([*wire._READERS, "of", "x"]), inner, max_size=2),
    max_leaves=15,
)


@settings(deadline=None, max_examples=300)
@given(json_trees)
def test_any_tree_gives_a_value_or_is_malformed(tree):
    try:
        Decoder([b"", b"1234"], handle=lambda content: Foo()).value(tree)
    except Malformed:
        pass


def places(tree):
    """The containers of a JSON tree, each with one of its keys."""
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from places(tree[key])


@MANY
@given(values, json_trees, st.data())
def test_a_valid_tree_with_one_part_exchanged_gives_a_value_or_is_malformed(value, other, data):
    encoder = Encoder()
    tree = {"list": [copy.deepcopy(encoder.tree(value))]}
    found = list(places(tree))
    container, key = found[data.draw(st.integers(0, len(found) - 1))]
    container[key] = other
    try:
        Decoder(encoder.buffers).value(tree)
    except Malformed:
        pass


# ---- changes seen and put back ----

def linear(fill=1.0, **how):
    layer = nn.Linear(2, 2, **how)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(fill)
    return layer


def bare(**attributes):
    module = nn.Module()
    for name, value in attributes.items():
        setattr(module, name, value)
    return module


CHANGES = {
    "numbers": (lambda: torch.zeros(2), lambda t: t.add_(1)),
    "shape": (lambda: torch.zeros(2, 3), lambda t: t.resize_(4, 3).fill_(1)),
    "turned": (lambda: torch.zeros(2, 3), lambda t: t.t_()),
    "sign of zero": (lambda: torch.zeros(2), lambda t: t.neg_()),
    "dtype": (lambda: torch.zeros(2), lambda t: setattr(t, "data", t.double())),
    "wish for a gradient": (lambda: torch.zeros(2), lambda t: t.requires_grad_()),
    "parameter": (lambda: nn.Parameter(torch.zeros(2)), lambda p: p.data.add_(1)),
    "list": (lambda: [1, [2]], lambda values: values[1].append(3)),
    "list of a subclass": (lambda: type("L", (list,), {})([1]), lambda values: values.append(2)),
    "type": (lambda: [1], lambda values: values.__setitem__(0, True)),
    "dict": (lambda: {"a": 1, "b": 2}, lambda words: words.update({"a": words.pop("a")})),
    "ordered dict": (lambda: OrderedDict(a=1, b=2), lambda words: words.move_to_end("a")),
    "set": (lambda: {1, 2}, lambda members: members.add(3)),
    "array": (lambda: np.zeros((2, 3)), lambda array: array.fill(1)),
    "array turned": (lambda: np.zeros((2, 3)), lambda array: setattr(array, "shape", (3, 2))),
    "weights": (linear, lambda layer: nn.init.zeros_(layer.weight)),
    "no bias": (linear, lambda layer: setattr(layer, "bias", None)),
    "mode": (linear, lambda layer: layer.eval()),
    "frozen": (linear, lambda layer: layer.requires_grad_(False)),
    "attribute": (lambda: bare(a=1), lambda module: setattr(module, "b", [2])),
    "attribute gone": (lambda: bare(a=1), lambda module: delattr(module, "a")),
    "layer of a module": (lambda: bare(a=1, q=linear()), lambda module: nn.init.zeros_(module.q.weight)),
    "layer more": (lambda: bare(a=1), lambda module: setattr(module, "q", linear())),
}


@pytest.mark.parametrize(("make", "change"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen_and_put_back_in_place(make, change):
    target, theirs = make(), make()
    assert fingerprint(target) == fingerprint(target)
    change(theirs)
    after = cross(theirs, modules_as_data=True)
    assert fingerprint(target) != fingerprint(theirs)
    inside = getattr(target, "weight", None)
    restore(target, after)
    assert fingerprint(target) == fingerprint(theirs)
    assert getattr(target, "weight", None) is inside


def test_arguments_come_back_as_a_call_left_them():
    x, table, layer = torch.zeros(2), {"x": [1]}, linear()
    ours = Encoder(modules_as_data=True)
    tree = ours.tree((x, table, layer, 7))
    theirs = Decoder(ours.buffers)
    their_x, their_table, their_layer, _ = theirs.value(tree)
    before = list(map(fingerprint, theirs.mutable))
    their_x += 1
    their_table["x"].append(2)
    nn.init.zeros_(their_layer.bias)
    changed = [number for number, seen in enumerate(before) if fingerprint(theirs.mutable[number]) != seen]
    back = Encoder(modules_as_data=True)
    trees = [back.tree(theirs.mutable[number]) for number in changed]
    arriving = Decoder(back.buffers)
    inner = table["x"]
    for number, content in zip(changed, trees, strict=True):
        restore(ours.mutable[number], arriving.value(content))
    assert torch.equal(x, torch.ones(2)) and table == {"x": [1, 2]} and inner == [1, 2]
    assert not layer.bias.any() and layer.weight.all()


def test_looking_at_a_value_changes_nothing():
    squares = (i * i for i in range(3))
    values = [squares, Foo(), len]
    assert fingerprint(values) == fingerprint(values)
    assert list(squares) == [0, 1, 4]


def test_the_order_of_a_set_is_no_change():
    one, other = {1, 1 + 2**20, "é" * 2000}, set()
    for member in reversed(list(one)):
        other.add(member)
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(("target", "value"), [
    ([1], torch.zeros(1)), (torch.zeros(1), [1]), (torch.zeros(1), np.zeros(1)), (1, 2), ((1,), (2,)),
    (nn.Linear(1, 1), nn.Module()),
    (np.zeros(2), np.zeros(3)), (np.zeros(2), np.zeros(2, dtype=int)), (np.broadcast_to(0.0, 3), np.ones(3)),
    (torch.zeros(1).expand(3), torch.ones(3)),
], ids=range(10))
def test_what_cannot_be_put_back_says_so(target, value):
    with pytest.raises(NotPlain):
        restore(target, value)


# ---- frames ----

def soon(seconds=5.0):
    return time.monotonic() + seconds


@FEW
@given(st.dictionaries(st.text(), st.text() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False)),
       st.lists(st.binary(max_size=50), max_size=5))
def test_messages_arrive_one_after_another(message, buffers):
    one, other = socket.socketpair()
    with one, other:
        send(one, message, buffers)
        send(one, {"next": True})
        assert receive(other, soon()) == (message, buffers)
        assert receive(other, soon()) == ({"next": True}, [])


def test_a_large_message_with_many_buffers_arrives(ends):
    one, other = ends
    buffers = [bytes([number % 256]) * 1000 for number in range(3000)] + [b"", bytes(10 * 2**20)]
    sender = threading.Thread(target=send, args=(one, {"text": "é" * 100_000}, buffers))
    sender.start()
    assert receive(other, soon(30)) == ({"text": "é" * 100_000}, buffers)
    sender.join()


def test_no_text_of_a_message_has_lone_surrogates(ends):
    one, other = ends
    send(one, {"said": "a\ud800😀"})
    body = b'{"said": ["\\ud800", {"\\udfff": "\\ud83d\\ude00"}]}'
    one.sendall(frames.HEADER.pack(frames.MAGIC, len(body), 0) + body)
    assert receive(other, soon())[0] == {"said": "a\\ud800😀"}
    assert receive(other, soon())[0] == {"said": ["\\ud800", {"\\udfff": "😀"}]}


@pytest.mark.parametrize("message", [{"x": math.nan}, {"x": object()}, {"x": "y" * (frames.MOST_JSON + 1)}, around()[0]],
                         ids=["nan", "an object", "too large", "endless"])
def test_a_message_that_cannot_be_sent_leaves_the_stream_usable(ends, message):
    one, other = ends
    with pytest.raises(NotPlain):
        send(one, message)
    with pytest.raises(NotPlain):
        send(one, {}, [b""] * (frames.MOST_BUFFERS + 1))
    send(one, {"fine": 1})
    assert receive(other, soon()) == ({"fine": 1}, [])


BODIES = {
    "no object": b"[]",
    "no JSON": b"{",
    "NaN": b'{"a": NaN}',
    "a float that is infinite": b'{"a": 1e999}',
    "many digits": b'{"a": 123456789012345678901234567890}',
    "too many digits": b'{"a": ' + b"1" * 10_000 + b"}",
    "no UTF-8": b'{"a": "\xff"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "nested too deep": b'{"a": ' + b"[" * 100_000,
    "too many parts": b'{"a": [' + b"[]," * 600_000 + b"[]]}",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_bodies_that_are_malformed(body):
    one, other = socket.socketpair()
    with one, other:
        sender = threading.Thread(target=one.sendall, args=(frames.HEADER.pack(frames.MAGIC, len(body), 0) + body,))
        sender.start()
        with pytest.raises(Malformed):
            receive(other, soon())
        sender.join()


@pytest.mark.parametrize("head", [
    frames.HEADER.pack(b"HTTP", 2, 0), frames.HEADER.pack(frames.MAGIC, 2**32 - 1, 0),
    frames.HEADER.pack(frames.MAGIC, 2, 2**32 - 1),
    frames.HEADER.pack(frames.MAGIC, 2, 1) + struct.pack("!I", 2**32 - 1) + b"{}",
    frames.HEADER.pack(frames.MAGIC, 2, 3) + struct.pack("!III", 2**25, 2**25, 1) + b"{}",
], ids=range(5))
def test_sizes_beyond_the_limits_are_malformed_before_anything_is_read(ends, head):
    one, other = ends
    one.sendall(head)  # and nothing more: the answer is there at once
    with pytest.raises(Malformed):
        receive(other, soon(60))


def test_a_smaller_limit_holds(ends):
    one, other = ends
    send(one, {}, [bytes(100)])
    with pytest.raises(Malformed):
        receive(other, soon(), most_bytes=50)


@MANY
@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_give_a_message_or_one_of_three_errors(data, begun):
    one, other = socket.socketpair()
    with one, other:
        one.sendall((frames.MAGIC if begun else b"") + data)
        one.close()
        with pytest.raises((Malformed, EOFError, TimeoutError)):
            while True:
                receive(other, soon())


def frame(message, buffers=()):
    one, other = socket.socketpair()
    with one, other:
        send(one, message, buffers)
        return other.recv(10**6)


@MANY
@given(st.data())
def test_a_message_with_bytes_exchanged_gives_a_message_or_one_of_three_errors(data):
    encoder = Encoder()
    tree = encoder.tree({"a": torch.rand(2), "b": [1, (2.5, "é")]})
    sent = bytearray(frame({"value": tree}, encoder.buffers))
    for _ in range(data.draw(st.integers(1, 3))):
        sent[data.draw(st.integers(0, len(sent) - 1))] = data.draw(st.integers(0, 255))
    one, other = socket.socketpair()
    with one, other:
        one.sendall(sent)
        one.close()
        try:
            message, buffers = receive(other, soon())
            Decoder(buffers).value(message.get("value"))
        except (Malformed, EOFError):
            pass


@pytest.mark.parametrize("kept", [0, 3, 14, 30, -1])
def test_a_closed_end_is_the_end_also_within_a_message(ends, kept):
    one, other = ends
    one.sendall(frame({"a": "text"}, [b"12345"])[:kept])
    one.close()
    with pytest.raises(EOFError):
        receive(other, soon())
    with pytest.raises(EOFError):
        for _ in range(3):
            send(other, {"a": 1})


def test_a_peer_that_trickles_does_not_outlive_the_deadline(ends):
    one, other = ends
    stop = threading.Event()

    def trickle():
        for byte in frame({"a": "x" * 10_000}):
            if stop.wait(0.005):
                return
            one.sendall(bytes([byte]))

    sender = threading.Thread(target=trickle)
    sender.start()
    other.settimeout(77)
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        receive(other, soon(0.3))
    assert time.monotonic() - begun < 10  # the whole message would take 50
    assert other.gettimeout() == 77
    stop.set()
    sender.join()


def test_a_peer_that_does_not_read_does_not_outlive_the_deadline(ends):
    one, _ = ends
    with pytest.raises(TimeoutError):
        send(one, {}, [bytes(2**20)] * 20, deadline=soon(0.2))


def test_a_deadline_that_has_passed_is_a_timeout(ends):
    one, other = ends
    send(one, {"a": 1})
    with pytest.raises(TimeoutError):
        receive(other, soon(-1))
    assert receive(other, soon()) == ({"a": 1}, [])
