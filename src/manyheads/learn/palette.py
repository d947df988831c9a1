"""The colours of the course: a head keeps its colour and its number, Q, K and V keep theirs.

Every colour keeps a contrast of at least 3:1 against white and against a dark page, so it may be drawn as a line on both.
Pairs stay apart for readers who see no red, no green or no blue. Colour is never alone: a number or a letter stands beside it.
"""

#: Head 1, head 2, … From head 13 on the colours come round again; the number does not.
HEAD_COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#C2599B", "#B28147", "#CA5CE6"),
    *("#B21B94", "#858ECC", "#5252CC", "#807153", "#537180", "#CC0000"),
)

#: Query, key and value.
QKV_COLOURS = {"Q": "#8A22E6", "K": "#805C33", "V": "#666666"}

#: Colour map of attention weights: lightness rises evenly, blue to yellow, no red against green.
WEIGHT_MAP = "cividis"


def head_colour(index: int) -> str:
    """Colour of the head with this index, counted from 0 as in code."""
    return HEAD_COLOURS[index % len(HEAD_COLOURS)]


def luminance(colour: str) -> float:
    """Relative luminance of ``#RRGGBB`` (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, from 1 to 21 (WCAG 2.2); text needs 4.5, lines need 3."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def ink_on(fill: str) -> str:
    """White or black, whichever reads better on ``fill``; at least 4.5:1 on every colour above."""
    return max("#FFFFFF", "#000000", key=lambda ink: contrast(fill, ink))
