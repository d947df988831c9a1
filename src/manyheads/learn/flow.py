"""The map of the course: multi-head attention in five steps."""

from collections.abc import Sequence
from html import escape

from .mode import demonstration
from .palette import QKV_COLOURS, head_colour, ink_on
from .pictures import NotDrawable, show_svg

#: Name, shape that comes out (as lines of a narrow box), and what happens, in words.
_STEPS = (
    ("project", ("Q, K, V, each", "(batch, seq, d_model)"), "the whole X is multiplied by W_Q, W_K and W_V"),
    ("split", ("(batch, num_heads,", "seq, d_k)"), "the features of each token are cut into num_heads pieces of d_k"),
    (
        "attend",
        ("(batch, num_heads,", "seq, d_k)"),
        "each head makes its own weights (batch, num_heads, seq_q, seq_k) and blends its own values",
    ),
    ("concat", ("(batch, seq,", "num_heads · d_k)"), "the pieces are put side by side again"),
    ("W_O", ("(batch, seq, d_model)",), "one matrix mixes what the heads found"),
)
STEPS = tuple(name for name, _, _ in _STEPS)

_WIDTH, _HEIGHT = 900, 236
_BOX, _GAP, _LEFT, _TOP = 160, 18, 14, 44
_INK, _GREY = "#1A1A1A", "#6B6B6B"


@demonstration
def flow_map(step: str | int | Sequence[str | int] | None = None) -> None:
    """Draw the five steps project, split, attend, concat, W_O, the shape after each, and where this lesson is.

    ``step`` is a name, a number from 1 to 5, or several of them; None draws the whole map.
    Raises ValueError with one clear line for any other step.
    """
    here = _numbers(step)
    words = _words(here)
    show_svg(_svg(here, words), words)


def _numbers(step) -> set[int]:
    if step is None:
        return set()
    several = [step] if isinstance(step, str | int) else list(step)
    names = {name.lower(): number for number, name in enumerate(STEPS, 1)}
    numbers = {names.get(one.lower()) if isinstance(one, str) else one for one in several}
    if not numbers <= set(range(1, len(STEPS) + 1)):
        raise NotDrawable(f"the steps are {', '.join(STEPS)}, or 1 to {len(STEPS)}, not {step!r}")
    return numbers


def _words(here: set[int]) -> str:
    steps = [f"{n} {name}: {what}: {' '.join(shape)}" for n, (name, shape, what) in enumerate(_STEPS, 1)]
    where = f" You are here: {' and '.join(f'step {n}, {STEPS[n - 1]}' for n in sorted(here))}." if here else ""
    return "\n".join([f"Multi-head attention in five steps, from X (batch, seq, d_model).{where}", *steps])


def _svg(here: set[int], words: str) -> str:
    title, description = words.split("\n", 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}"'
        f' style="max-width: 100%; height: auto" font-family="DejaVu Sans, Verdana, Arial, sans-serif">',
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="#FFFFFF"/>',
    ]
    for number, (name, shape, _) in enumerate(_STEPS, 1):
        x = _LEFT + (number - 1) * (_BOX + _GAP)
        lit = number in here
        quiet = bool(here) and not lit
        parts.append(
            f'<rect x="{x}" y="{_TOP}" width="{_BOX}" height="112" rx="8" fill="{"#FFF4CC" if lit else "#F6F6F6"}"'
            f' stroke="{_INK if lit else _GREY}" stroke-width="{4 if lit else 1.5}" data-step="{name}"/>'
        )
        if lit:
            parts.append(_text(x + _BOX / 2, 24, "▼ you are here", 13, bold=True))
        parts.append(_text(x + _BOX / 2, _TOP + 24, f"{number} {name}", 16, bold=not quiet))
        parts.append(_DRAWINGS[number - 1](x + 14, _TOP + 38))
        for line, text in enumerate(shape):
            parts.append(_text(x + _BOX / 2, _TOP + 134 + 17 * line, text, 12.5, mono=True))
        if number < len(_STEPS):
            at = x + _BOX + _GAP / 2
            parts.append(f'<path d="M{at - 5} {_TOP + 50} l10 6 l-10 6 z" fill="{_INK}"/>')
    parts.append(_text(_WIDTH / 2, _HEIGHT - 12, "below each step: the shape that comes out of it", 12))
    return "".join(parts) + "</svg>"


def _text(x: float, y: float, text: str, size: float, bold=False, mono=False, ink=_INK) -> str:
    family = ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace"' if mono else ""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="middle" font-size="{size}" fill="{ink}"{weight}{family}>{escape(text)}</text>'


def _bar(x: float, y: float, width: float, fill: str, label: str, height: float = 16) -> str:
    bar = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" stroke="#FFFFFF"/>'
    return bar + _text(x + width / 2, y + height / 2 + 4, label, 11, ink=ink_on(fill))


def _project(x, y) -> str:
    return "".join(_bar(x, y + 21 * row, 132, fill, letter) for row, (letter, fill) in enumerate(QKV_COLOURS.items()))


def _split(x, y) -> str:
    return "".join(
        _bar(x + 70 * head, y + 21 * row, 62, head_colour(head), f"{letter} {head + 1}")
        for row, letter in enumerate(QKV_COLOURS)
        for head in range(2)
    )


def _attend(x, y) -> str:
    """A small grid of weights for each of two heads; the darker cell is the greater weight."""
    cells = []
    for head, strong in enumerate(({(0, 1), (1, 0)}, {(1, 2), (2, 1)})):
        for row in range(3):
            for column in range(3):
                dark = (row, column) in strong
                cells.append(
                    f'<rect x="{x + 70 * head + 8 + 15 * column}" y="{y + 15 * row}" width="15" height="15"'
                    f' fill="{head_colour(head)}" fill-opacity="{1 if dark else 0.2}" stroke="{head_colour(head)}"/>'
                )
        cells.append(_text(x + 70 * head + 31, y + 60, f"head {head + 1}", 11))
    return "".join(cells)


def _concat(x, y) -> str:
    return "".join(_bar(x + 66 * head, y + 21, 66, head_colour(head), f"head {head + 1}") for head in range(2))


def _mix(x, y) -> str:
    crossing = "".join(
        f'<path d="M{x + 33 + 66 * start} {y + 18} L{x + 33 + 66 * end} {y + 42}" stroke="{head_colour(start)}" stroke-width="2"/>'
        for start in range(2)
        for end in range(2)
    )
    heads = "".join(_bar(x + 66 * head, y, 66, head_colour(head), f"head {head + 1}") for head in range(2))
    return heads + crossing + _bar(x, y + 44, 132, "#333333", "output")


_DRAWINGS = (_project, _split, _attend, _concat, _mix)
