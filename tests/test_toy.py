"""The running example: every number that the lessons print, worked out here anew."""

import math

import pytest
import torch

from manyheads.learn import palette, running_example, sentence


def attend(example, X, heads):
    """Multi-head attention by slices of columns: (weights, blends, output)."""
    d_k = X.shape[1] // heads
    weights, blends = [], []
    for i in range(heads):
        piece = slice(i * d_k, (i + 1) * d_k)
        scores = (X @ example.W_Q[:, piece]) @ (X @ example.W_K[:, piece]).T / math.sqrt(d_k)
        weights.append(scores.softmax(-1))
        blends.append(weights[-1] @ (X @ example.W_V[:, piece]))
    return torch.stack(weights), torch.stack(blends), torch.cat(blends, 1) @ example.W_O


def swapped(example):
    X = example.X.clone()
    X[0, 3:], X[2, 3:] = example.X[2, 3:], example.X[0, 3:]
    return X


def near(got, wanted):
    torch.testing.assert_close(got, torch.tensor(wanted, dtype=got.dtype), atol=0.01, rtol=0)


def test_projections_are_those_of_the_table():
    example = running_example()
    Q, K, V = (example.X @ W for W in (example.W_Q, example.W_K, example.W_V))
    near(Q[:3], [[0, 1, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]])
    near(K[:3], [[3.1, 0, 0, 0, 0, 0], [0, 3.1, 0, 0, 3.1, 0], [0, 0, 0, 3.1, 0, 0]])
    near(Q[3:], [[0] * 6] * 2)
    near(K[3:], [[0] * 6] * 2)
    rows = [
        [10, 0, 0, 0, 0, 10],
        [10, 5, 0, 0, 5, 10],
        [0, 10, 0, 0, 10, 0],
        [0, 0, 10, 10, 0, 0],
        [0, 5, 10, 10, 5, 0],
    ]
    near(V, rows)


def test_two_heads():
    example = running_example()
    weights, blends, output = attend(example, example.X, heads=2)
    even = [0.2] * 5
    near(weights[0], [[0.1, 0.6, 0.1, 0.1, 0.1], [0.6, 0.1, 0.1, 0.1, 0.1], even, even, even])
    near(weights[1], [even, [0.1, 0.1, 0.6, 0.1, 0.1], [0.1, 0.6, 0.1, 0.1, 0.1], even, even])
    near(blends[0], [[7, 4.5, 2], [7, 2, 2], [4, 4, 4], [4, 4, 4], [4, 4, 4]])
    near(blends[1], [[4, 4, 4], [2, 7, 2], [2, 4.5, 7], [4, 4, 4], [4, 4, 4]])
    place_and_time = [[4, 4, 4, 0, 0, 0]] * 2
    near(output[:3], [[5.5, 4.25, 3, 1.5, 0.25, -1], [4.5, 4.5, 2, 2.5, -2.5, 0], [5.5, 4.25, 3, -1.5, -0.25, 1]])
    near(output[3:], place_and_time)


def test_one_head_cannot_pass_the_swap_test_and_two_can():
    example = running_example()
    weights, blends, output = attend(example, example.X, heads=1)
    near(weights[0, 1], [0.35, 0.10, 0.35, 0.10, 0.10])
    near(blends[0, 1], [4.5, 4.5, 1.98, 1.98, 4.5, 4.5])
    near(output[1], [4.5, 4.5, 1.98, 0, 0, 0])
    torch.testing.assert_close(attend(example, swapped(example), heads=1)[2][1], output[1])

    _, blends, output = attend(example, swapped(example), heads=2)
    near(blends[:, 1], [[2, 7, 2], [2, 2, 7]])
    near(output[1], [4.5, 4.5, 2, -2.5, 2.5, 0])


@pytest.mark.parametrize("heads", [1, 2])
def test_agrees_with_torch(heads):
    example = running_example()
    layer = torch.nn.MultiheadAttention(6, heads, bias=False, batch_first=True).eval()
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([example.W_Q.T, example.W_K.T, example.W_V.T]))
        layer.out_proj.weight.copy_(example.W_O.T)
        X = example.X[None]
        output, weights = layer(X, X, X, average_attn_weights=False)
    ours = attend(example, example.X, heads)
    torch.testing.assert_close(weights[0], ours[0])
    torch.testing.assert_close(output[0], ours[2])


@pytest.mark.parametrize(("name", "words"), [("book", 9), ("bank", 9)])
def test_sentences_are_fixed_and_words_differ(name, words):
    one, again = sentence(name), sentence(name)
    assert len(one.tokens) == words and one.X.shape == (words, len(one.features))
    assert torch.equal(one.X, again.X)
    assert one.X.unique(dim=0).shape[0] == len(set(one.tokens)), "two different words share one embedding"


def test_unknown_sentence():
    with pytest.raises(ValueError, match="'book' and 'bank'"):
        sentence("boat")


def test_colours_can_be_read_on_white_and_on_dark():
    for colour in (*palette.HEAD_COLOURS, *palette.QKV_COLOURS.values()):
        assert palette.contrast(colour, "#FFFFFF") >= 3 and palette.contrast(colour, "#111111") >= 3, colour
        assert palette.contrast(colour, palette.ink_on(colour)) >= 4.5, colour
    assert palette.contrast("#000000", "#FFFFFF") == pytest.approx(21)
