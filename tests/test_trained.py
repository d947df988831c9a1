"""The trained heads: the committed weights are the ones that were cut, and they do what the lessons say."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from manyheads import learn
from manyheads.learn import real, trained
from manyheads.learn.pictures import NotDrawable
from manyheads.learn.tokens import word_pieces

SHA256 = "31213d2aa2e67627f360c9e7ac0b638271f78c8bc6e243abbe4f17ab99998e40"
REPORT = json.loads(real.STORE.read_text())


@pytest.fixture(scope="module")
def measuring():
    """benchmarks/real_heads.py, which holds the annotated relations and the measure."""
    folder = str(Path(__file__).parents[1] / "benchmarks")
    sys.path.insert(0, folder)
    import real_heads

    yield real_heads
    sys.path.remove(folder)


@pytest.fixture(scope="module")
def readings():
    return [learn.read_sentence(text) for text in learn.annotated_sentences()]


# --- the file ---------------------------------------------------------------------------------------------------


def test_the_committed_weights_are_those_of_the_script():
    data = trained.STORE.read_bytes()
    assert hashlib.sha256(data).hexdigest() == SHA256
    assert len(data) <= 16_000_000


def test_the_file_tells_where_it_comes_from_and_what_was_changed():
    with safe_open(trained.STORE, "pt") as file:
        about = json.loads(file.metadata()["about"])
    assert REPORT["model"] in about["source"] and REPORT["sha256"] in about["source"]
    assert "Apache-2.0" in about["licence"] and "float16" in about["changes"]
    licence = trained.STORE.with_name("LICENSE-Apache-2.0.txt").read_text()
    assert "Apache License" in licence and "TERMS AND CONDITIONS" in licence
    tokens = about["vocabulary"].split(" ")
    assert f"{len(tokens):,} of the 30,522 tokens" in " ".join(trained.STORE.with_name("README.md").read_text().split())


# --- the tokeniser ----------------------------------------------------------------------------------------------


def vocabulary():
    return trained._model()[1]


@given(st.text())
def test_any_text_is_read_and_every_token_is_known(text):
    pieces = [piece for word in word_pieces(text, vocabulary()) for piece in word]
    assert all(piece in vocabulary() for piece in pieces)


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789", min_size=1))
def test_a_word_loses_no_letter_and_stays_whole_if_it_is_known(word):
    (pieces,) = word_pieces(word, vocabulary())
    assert pieces[0] + "".join(piece.removeprefix("##") for piece in pieces[1:]) == word
    assert all(piece.startswith("##") for piece in pieces[1:])
    if word in vocabulary():
        assert pieces == [word]


@given(st.lists(st.sampled_from(sorted(w for w in trained._model()[1] if w.isascii() and w.isalpha())), max_size=9))
def test_known_words_stay_whole_in_a_sentence(words):
    assert word_pieces(" ".join(words).title() + ".", vocabulary()) == [[word] for word in (*words, ".")]


def test_pieces_worked_out_by_hand():
    few = {"un", "##able", "##a", "##b", "play", "##ing", "cafe", "'", "don", "t", "_"}
    assert word_pieces("Unable PLAYING", few) == [["un", "##able"], ["play", "##ing"]]
    assert word_pieces("Café, don't_", few) == [["cafe"], ["[UNK]"], ["don"], ["'"], ["t"], ["_"]]
    assert word_pieces("unaz", few) == [["[UNK]"]], "a word with an unknown part is unknown as a whole"
    assert word_pieces("pl\u200bay\n\t un", few) == [["play"], ["un"]]


# --- reading ----------------------------------------------------------------------------------------------------


def test_shapes_and_rows():
    reading = learn.read_sentence("Two clever heads see more than one.")
    assert reading.tokens == ("[CLS]", "two", "clever", "heads", "see", "more", "than", "one", ".", "[SEP]")
    assert reading.hidden.shape == (4, 10, 384) and reading.attention.shape == (3, 12, 10, 10)
    torch.testing.assert_close(reading.attention.sum(-1), torch.ones(3, 12, 10))
    assert reading.notes == () and "Note" not in repr(reading)


def test_notes_say_what_the_reader_should_know():
    broken = learn.read_sentence("The zebrafish swims.")
    (note,) = broken.notes
    assert "read in pieces: zebra ##f ##ish, swim ##s." in note and note in repr(broken)
    assert "[UNK]" in learn.read_sentence("a 漢 b").notes[0]
    assert "no word" in learn.read_sentence("  ").notes[0]
    assert len(learn.read_sentence("word " * 46).tokens) == 48 and not learn.read_sentence("word " * 46).notes
    long = learn.read_sentence("word " * 47)
    assert len(long.tokens) == 48 and "47 tokens" in long.notes[0] and long.attention.shape[-1] == 48
    with pytest.raises(TypeError, match="one string"):
        learn.read_sentence(["the", "book"])


def test_the_sentences_of_the_lessons_stay_whole(readings):
    assert len(readings) == REPORT["sentences"]
    assert [reading.notes for reading in readings] == [()] * len(readings)


def test_rounding_moves_attention_by_no_more_than_a_thousandth(readings):
    """Against weights of the whole model at full precision, stored with three decimals."""
    by_tokens = {reading.tokens: reading for reading in readings}
    for drawn in REPORT["drawn"]:
        layer, head = (int(number) - 1 for number in drawn["head"][1:].split("H"))
        mine = by_tokens[tuple(drawn["tokens"])].attention[layer, head]
        assert (mine - torch.tensor(drawn["weights"])).abs().max() < 0.001 + 0.0005, drawn["head"]


# --- the scores that the lessons tell ---------------------------------------------------------------------------


def mean_weight(readings, keys_of):
    """Mean over the words that have such keys, of the weight (3, 12) on them."""
    rows = []
    for reading in readings:
        for place in range(1, len(reading.tokens) - 1):
            keys = keys_of(place, reading.tokens)
            if keys:
                rows.append(sum(reading.attention[:, :, place, key] for key in keys))
    return torch.stack(rows).mean(0)


@pytest.mark.parametrize(
    ("pattern", "keys_of"),
    [
        ("word before", lambda place, tokens: [place - 1]),
        ("word after", lambda place, tokens: [place + 1]),
        ("itself", lambda place, tokens: [place]),
        ("first token", lambda place, tokens: [0]),
        ("same word", lambda place, tokens: [k for k in range(len(tokens)) if tokens[k] == tokens[place] and k != place]),
    ],
)
def test_stored_pattern_scores_are_those_of_the_heads(readings, pattern, keys_of):
    stored = learn.pattern_scores()[pattern]
    assert stored.shape == (6, 12)
    torch.testing.assert_close(mean_weight(readings, keys_of), stored[:3], atol=0.002, rtol=0)


def test_the_heads_that_students_find():
    scores = learn.pattern_scores()
    for pattern, place in {"word before": (0, 2), "word after": (1, 8), "same word": (0, 8)}.items():
        assert divmod(scores[pattern].argmax().item(), 12) == place, pattern
    assert divmod(scores["first token"][:3].argmax().item(), 12) == (2, 9)
    assert scores["word before"][0, 2] > 0.99 and scores["word after"][1, 8] == pytest.approx(0.65, abs=0.005)
    assert divmod(scores["spread"].argmax().item(), 12) == (0, 3)


def test_relations_reach_their_stored_hits_with_the_cut_model(measuring, monkeypatch, readings):
    monkeypatch.setattr(measuring, "LAYERS", 3)
    seen = [
        (list(reading.tokens), reading.attention.numpy(), measuring.relations(list(reading.tokens), marks))
        for reading, (_, marks) in zip(readings, measuring.ANNOTATED, strict=True)
    ]
    names = ["same", "det", "vobj_back", "pobj_back", "vobj", "coref"]
    for name, stored in zip(names, REPORT["relations"], strict=True):
        hits, asked, offset = measuring.hits(seen, name)
        assert asked == stored["asked"] and offset == pytest.approx(stored["best_offset"], abs=0.006)
        assert hits[measuring.at(stored["head"])] == pytest.approx(stored["hit"], abs=0.03), stored["says"]


def test_what_is_not_there(measuring):
    for relation in REPORT["not_found"]:
        assert relation["hit"] - relation["best_offset"] < 0.06
    right = [head for pair in REPORT["pairs"] for head in pair["heads_right_on_both"]]
    assert len(set(right)) == len(right), "a head is right in two pairs: the table says none is"
    for pair, (text, nouns) in zip(REPORT["pairs"], measuring.PAIRS, strict=True):
        passes = np.ones((3, 12), dtype=bool)
        for sentence, noun in zip(pair["sentences"], nouns.values(), strict=True):
            reading = learn.read_sentence(sentence)
            words = list(reading.tokens)
            row = reading.attention[:, :, words.index("it")].clone()
            row[..., [0, words.index("it"), -1]] = 0
            passes &= (row.argmax(-1) == words.index(noun)).numpy()
        assert not passes.any(), text


# --- a trained layer for the student's module -------------------------------------------------------------------


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_trained_layer_agrees_with_torch(layer):
    given_ = learn.trained_layer(layer, "The doctor told the nurse that she was very tired.")
    theirs = torch.nn.MultiheadAttention(384, given_.num_heads, batch_first=True)
    stacked = {part: torch.cat([given_.weights[f"W_{x}.{part}"] for x in "qkv"]) for part in ("weight", "bias")}
    theirs.load_state_dict(
        {
            "in_proj_weight": stacked["weight"],
            "in_proj_bias": stacked["bias"],
            "out_proj.weight": given_.weights["W_o.weight"],
            "out_proj.bias": given_.weights["W_o.bias"],
        }
    )
    x = given_.hidden
    output, weights = theirs(x, x, x, average_attn_weights=False)
    assert x.shape == (1, len(given_.tokens), 384) and given_.attention_weights.shape == weights.shape
    torch.testing.assert_close(weights, given_.attention_weights, atol=1e-5, rtol=0)
    torch.testing.assert_close(output, given_.output, atol=1e-5, rtol=1e-5)


def test_a_trained_layer_works_while_graded_and_may_be_changed(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    before = learn.trained_layer(1)
    assert set(before.weights) == {f"W_{x}.{part}" for x in "qkvo" for part in ("weight", "bias")}
    assert all(tensor.dtype == torch.float32 for tensor in before.weights.values())
    kept = {name: tensor.clone() for name, tensor in before.weights.items()}
    for tensor in (*before.weights.values(), before.hidden, before.attention_weights, before.output):
        tensor.zero_()
    after = learn.trained_layer(1)
    assert all(torch.equal(after.weights[name], kept[name]) for name in kept) and after.hidden.abs().max() > 0


@pytest.mark.parametrize("layer", [-1, 3])
def test_there_are_three_layers(layer):
    with pytest.raises(ValueError, match="counted from 0 to 2"):
        learn.trained_layer(layer)


# --- what is shown ----------------------------------------------------------------------------------------------


@pytest.fixture
def shown(monkeypatch):
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    bundles = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, **_: bundles.append(bundle))
    return bundles


def test_a_head_is_drawn_with_its_name_its_sentence_and_the_notes(shown):
    learn.attention_of(0, 2, "The zebrafish swims.")
    said = shown[1]["text/plain"]  # three lines: folded, not printed
    assert "L1H3 (indices 0, 2): each word looks at the word before it" in said and "Note:" in said
    assert "Largest weights between two words:" in said and "zebra -> the 1.00" in " ".join(said.split())
    assert "data:image/png" in shown[0]["text/html"]
    learn.attention_of(1, 3, "Mary lost her keys and she looked for them in the garden.")
    line = " ".join(shown[-1]["text/plain"].split()).partition("between two words:")[2]
    assert "them -> keys 0.60" in line and "[CLS]" not in line
    with pytest.raises(NotDrawable, match="head 12 is not there: in code the heads are counted from 0 to 11"):
        learn.attention_of(0, 12)


def test_the_table_tells_scores_controls_and_limits(shown):
    learn.named_heads()
    table = shown[0]["text/markdown"]
    assert table == shown[0]["text/plain"]
    for relation in REPORT["relations"]:
        assert f"| {relation['says']} | hits {relation['hit']:.2f} (n = {relation['asked']})" in table
        assert f"fixed distance {relation['best_offset']:.2f}" in table
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {7}
    assert "| **L1H3** | layer 0, head 2 | each word looks at the word before it | mean weight 1.00 |" in table
    assert "Not there:" in table and "verb -> its subject" in table and "No head solves this" in table


def test_nothing_is_shown_while_graded(monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    assert learn.attention_of(0, 12) is None, "it looked at its input"
    assert learn.attention_of(0, 2) is None and learn.named_heads() is None and not capsys.readouterr().out
