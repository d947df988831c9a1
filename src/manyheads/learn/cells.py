"""Where each number of a tensor goes when it is split: cells labelled (token, feature)."""

from html import escape

from .mode import demonstration
from .palette import head_colour, ink_on
from .pictures import show_svg

_CELL, _HIGH, _GAP = 46, 26, 18
_MARGIN, _INK = 16, "#1A1A1A"

Cell = tuple[int, int]


@demonstration
def split_cells(seq: int = 5, num_heads: int = 2, d_k: int = 3) -> None:
    """Show V (seq, num_heads · d_k) cell by cell, then the heads by ``view`` + ``transpose`` and by ``view`` alone.

    A cell is labelled (token, feature), counted from 0, and coloured by the head it belongs to. In the heads a cell
    that belongs somewhere else is struck out (paper, section 3.2.2).
    """
    words = split_words(seq, num_heads, d_k)
    show_svg(split_cells_svg(seq, num_heads, d_k), words)


def right_heads(seq: int, num_heads: int, d_k: int) -> list[list[list[Cell]]]:
    """Heads, rows, cells of a right split: head i holds features i · d_k to (i + 1) · d_k - 1 of every token."""
    return [[[(t, i * d_k + j) for j in range(d_k)] for t in range(seq)] for i in range(num_heads)]


def view_only_heads(seq: int, num_heads: int, d_k: int) -> list[list[list[Cell]]]:
    """The same cells dealt out in the order of memory, as ``view(num_heads, seq, d_k)`` does."""
    memory = [(t, f) for t in range(seq) for f in range(num_heads * d_k)]
    rows = [memory[start : start + d_k] for start in range(0, len(memory), d_k)]
    return [rows[i * seq : (i + 1) * seq] for i in range(num_heads)]


def split_words(seq: int, num_heads: int, d_k: int) -> str:
    """What the picture says, in words."""
    right, view_only = right_heads(seq, num_heads, d_k), view_only_heads(seq, num_heads, d_k)
    stay = sum(cell == theirs for mine, its in zip(view_only[0], right[0], strict=True)
               for cell, theirs in zip(mine, its, strict=True))
    first = f"features 0 to {d_k - 1} of all {seq} tokens"
    rows = "; ".join(" ".join(f"({t},{f})" for t, f in row) for row in view_only[0])
    return (
        f"{seq} tokens with {num_heads * d_k} features each, cut into {num_heads} heads of {d_k}. A cell is "
        f"(token, feature).\n"
        f"view, then transpose: head 1 (index 0) holds {first}.\n"
        f"view alone: head 1 (index 0) holds these rows: {rows}. Only {stay} of its {seq * d_k} cells are where they "
        f"belong."
    )


def split_cells_svg(seq: int, num_heads: int, d_k: int) -> str:
    """The picture as an SVG string."""
    wide = num_heads * d_k * _CELL
    panel = wide + (num_heads - 1) * _GAP
    width = max(2 * panel + 3 * _GAP, wide) + 2 * _MARGIN
    middle = 40 + seq * _HIGH + 44
    height = middle + 46 + seq * _HIGH + 14
    right, view_only = right_heads(seq, num_heads, d_k), view_only_heads(seq, num_heads, d_k)
    title, *description = split_words(seq, num_heads, d_k).split("\n")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" width="{width}"'
        f' style="max-width: 100%; height: auto" font-family="DejaVu Sans, Verdana, Arial, sans-serif">',
        f"<title>{escape(title)}</title><desc>{escape(' '.join(description))}</desc>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#FFFFFF"/>',
        _text(_MARGIN, 26, f"V after the projection: (seq, d_model) = ({seq}, {num_heads * d_k})", bold=True),
    ]
    whole = [[(t, f) for f in range(num_heads * d_k)] for t in range(seq)]
    parts += _grid(_MARGIN, 40, whole, whole, d_k)
    beside = _MARGIN + wide + 20
    parts.append(_text(beside, 58, "a cell = (token, feature), counted from 0"))
    for i in range(num_heads):
        y = 58 + 20 * (i + 1)
        parts.append(f'<rect x="{beside}" y="{y - 12}" width="14" height="14" fill="{head_colour(i)}"/>')
        parts.append(_text(beside + 22, y, f"features {i * d_k} to {(i + 1) * d_k - 1} belong to head {i + 1}"))
    parts.append(_text(beside, 58 + 20 * (num_heads + 1), "struck out = in the wrong place"))
    for x, heading, heads in (
        (_MARGIN, "view, then transpose: right", right),
        (_MARGIN + panel + 3 * _GAP, "view alone: same shape, wrong cells", view_only),
    ):
        parts.append(_text(x, middle, heading, bold=True))
        for i, rows in enumerate(heads):
            at = x + i * (d_k * _CELL + _GAP)
            parts.append(_text(at, middle + 24, f"head {i + 1} (index {i})"))
            parts += _grid(at, middle + 34, rows, right[i], d_k)
    return "".join(parts) + "</svg>"


def _grid(x: float, y: float, rows: list[list[Cell]], belongs: list[list[Cell]], d_k: int) -> list[str]:
    drawn = []
    for r, row in enumerate(rows):
        for c, (token, feature) in enumerate(row):
            fill = head_colour(feature // d_k)
            left, top = x + c * _CELL, y + r * _HIGH
            drawn.append(f'<rect x="{left}" y="{top}" width="{_CELL}" height="{_HIGH}" fill="{fill}" stroke="#FFFFFF"'
                         f' data-token="{token}" data-feature="{feature}"/>')
            if (token, feature) != belongs[r][c]:
                drawn.append(f'<path d="M{left + 5} {top + _HIGH - 5}L{left + _CELL - 5} {top + 5}"'
                             f' stroke="{ink_on(fill)}" stroke-width="3" stroke-opacity="0.4"/>')
            drawn.append(f'<text x="{left + _CELL / 2}" y="{top + 17}" text-anchor="middle" font-size="12"'
                         f' fill="{ink_on(fill)}">{token},{feature}</text>')
    return drawn


def _text(x: float, y: float, text: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="13" fill="{_INK}"{weight}>{escape(text)}</text>'
