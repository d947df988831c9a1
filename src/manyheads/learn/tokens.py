"""Text into the word pieces of uncased BERT (Devlin et al. 2019; Wu et al. 2016, section 4.1)."""

import re
import unicodedata
from collections.abc import Collection

UNKNOWN = "[UNK]"
_WORDS = re.compile(r"[^\W_]+|[^\w\s]|_")  # runs of letters and digits; every other mark stands alone


def word_pieces(text: str, vocabulary: Collection[str]) -> list[list[str]]:
    """The pieces of each word of ``text``, in lower case and without accents; ``##`` marks a piece that continues a word.

    A word in the vocabulary stays whole. Another is cut by the longest match from the left. A word with
    a part that matches nothing is one ``[UNK]``.
    """
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if c.isspace() or _is_kept(c))
    return [_cut(word, vocabulary) for word in _WORDS.findall(plain)]


def _is_kept(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind != "Mn" and not kind.startswith("C")  # neither an accent nor a control character


def _cut(word: str, vocabulary: Collection[str]) -> list[str]:
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            if piece in vocabulary:
                break
        else:
            return [UNKNOWN]
        pieces.append(piece)
        start = end
    return pieces
