"""How d_model features are cut into heads: a picture, and an explorer with sliders."""

from .drawing import INK, MARGIN, PAPER, REST, WIDTH, counted, svg_picture, text
from .explorers import explore, show_static, slider
from .mode import demonstration
from .palette import head_colour, ink_on

_BAR = WIDTH - 2 * MARGIN
_MOST_CELLS = 34  # more features than this: their numbers are written at the head boundaries only
_MOST_MAPS = 20  # so many squares fit into one row


@demonstration
def split_picture(d_model: int, num_heads: int) -> None:
    """Show how ``d_model`` features are cut into ``num_heads`` heads: an SVG and one sentence (paper, section 3.2.2).

    Raises ValueError unless both are whole numbers of at least 1. A head count that does not divide is no error:
    the picture says why it cannot be.
    """
    show_static(*_picture(d_model, num_heads))


@demonstration
def split_explorer(d_model: int = 16, num_heads: int = 4) -> None:
    """Show sliders for ``d_model`` and ``num_heads`` above the picture of ``split_picture``.

    The saved notebook keeps a static picture of the start values. It hides itself while the live one stands above it.
    """
    explore(
        [slider("d_model", d_model, 2, 64), slider("num_heads", num_heads, 1, 16)], _picture, min_height="530px"
    )


def _picture(d_model: int, num_heads: int) -> tuple[str, str]:
    return split_svg(d_model, num_heads), split_sentence(d_model, num_heads)


def split_sentence(d_model: int, num_heads: int) -> str:
    """What the picture says, in words."""
    _demand_counts(d_model, num_heads)
    d_k, rest = divmod(d_model, num_heads)
    if rest:
        return _refusal(d_model, num_heads)
    return (
        f"d_model = {d_model} and num_heads = {num_heads}: d_k = {d_model} / {num_heads} = {d_k}. "
        f"Each head gets {counted(d_k, 'feature')} of every token. The {_parameters(d_model):,} parameters stay the same "
        f"for every head count; the attention weights are {counted(num_heads, 'map')} of seq × seq numbers, one map a head."
    )


def nearest_head_counts(d_model: int, num_heads: int) -> list[int]:
    """The nearest counts below and above ``num_heads`` that divide ``d_model``; one of them when only one exists."""
    divisors = [count for count in range(1, d_model + 1) if d_model % count == 0]
    below = [count for count in divisors if count < num_heads]
    above = [count for count in divisors if count > num_heads]
    return below[-1:] + above[:1]


def split_svg(d_model: int, num_heads: int) -> str:
    """The feature axis cut into heads, the shapes on the way and what grows with num_heads, as an SVG string.

    Raises ValueError unless both are whole numbers of at least 1.
    """
    _demand_counts(d_model, num_heads)
    d_k, rest = divmod(d_model, num_heads)
    title = f"d_model = {d_model}, num_heads = {num_heads}, "
    drawn = _axis(d_model, num_heads)
    if rest:  # the sentence beside the picture says why
        title += "d_k: not a whole number"
        height = 100
    else:
        title += f"d_k = {d_k}"
        drawn += _heads(d_model, num_heads) + _shapes(d_model, num_heads) + _sizes(d_model, num_heads)
        height = 440
    return svg_picture(title, split_sentence(d_model, num_heads), height, drawn)


# ------------------------------------------------------------------ parts of the picture


def _axis(d_model: int, num_heads: int) -> list[str]:
    """The features of one token as a bar. Every head is one coloured piece; what no head gets stays grey."""
    d_k, rest = divmod(d_model, num_heads)
    step = _BAR / d_model
    top, high = 56, 28
    drawn = [text(MARGIN, top - 8, f"one token: {counted(d_model, 'feature')}, counted from 0")]
    for head in range(num_heads if d_k else 0):
        x = MARGIN + head * d_k * step
        drawn.append(
            f'<rect data-head="{head + 1}" data-start="{head * d_k}" data-stop="{(head + 1) * d_k}" '
            f'x="{x:.2f}" y="{top}" width="{d_k * step:.2f}" height="{high}" '
            f'style="fill: {head_colour(head)}; stroke: {PAPER}"/>'
        )
    if rest:
        x = MARGIN + (d_model - rest) * step
        drawn.append(
            f'<rect data-left-over="{rest}" x="{x:.2f}" y="{top}" width="{rest * step:.2f}" height="{high}" '
            f'style="fill: {REST}; stroke: {INK}; stroke-dasharray: 4 3"/>'
        )
    for feature in range(d_model if d_model <= _MOST_CELLS else 0):
        x = MARGIN + (feature + 0.5) * step
        owner = feature // d_k if d_k and feature < d_k * num_heads else None
        ink = INK if owner is None else ink_on(head_colour(owner))
        drawn.append(text(x, top + 18, feature, f"text-anchor: middle; font-size: 11px; fill: {ink}"))
        if feature:
            x = MARGIN + feature * step
            drawn.append(f'<path d="M{x:.2f} {top}v{high}" style="stroke: {PAPER}; stroke-width: 0.7"/>')
    return drawn


def _heads(d_model: int, num_heads: int) -> list[str]:
    """One box a head under its piece of the axis."""
    d_k = d_model // num_heads
    width = _BAR / num_heads
    gap = min(8, width / 5)
    drawn = []
    for head in range(num_heads):
        left, right, colour = MARGIN + head * width, MARGIN + (head + 1) * width, head_colour(head)
        a, b = left + gap / 2, right - gap / 2
        drawn.append(
            f'<path d="M{left:.2f} 84L{a:.2f} 112H{b:.2f}L{right:.2f} 84Z" style="fill: {colour}; opacity: 0.35"/>'
        )
        drawn.append(
            f'<rect x="{a:.2f}" y="112" width="{b - a:.2f}" height="26" rx="3" style="fill: {colour}; stroke: {INK}"/>'
        )
        middle = (a + b) / 2
        if width < 22:  # too narrow for a number inside: some numbers below instead
            if _labelled(head, num_heads, width, 24):
                drawn.append(text(middle, 154, head + 1, "text-anchor: middle; font-size: 11px"))
            continue
        label = f"head {head + 1}" if width >= 56 else head + 1
        drawn.append(text(middle, 129, label, f"text-anchor: middle; fill: {ink_on(colour)}"))
        first, last = head * d_k, (head + 1) * d_k - 1
        covers = f"{first}" if first == last else f"{first}–{last}"
        if _labelled(head, num_heads, width, 6.2 * len(covers) + 8):
            covers = f"features {covers}" if width >= 110 and d_k > 1 else covers
            drawn.append(text(middle, 154, covers, "text-anchor: middle; font-size: 11px"))
    return drawn


def _shapes(d_model: int, num_heads: int) -> list[str]:
    d_k = d_model // num_heads
    rows = [
        ("X, then Q, K, V = X W_Q, X W_K, X W_V", "(batch, seq, d_model)", f"(batch, seq, {d_model})"),
        ("cut the last axis", "(batch, seq, num_heads, d_k)", f"(batch, seq, {num_heads}, {d_k})"),
        ("move the heads in front of seq", "(batch, num_heads, seq, d_k)", f"(batch, {num_heads}, seq, {d_k})"),
        ("attention weights, one map a head", "(batch, num_heads, seq, seq)", f"(batch, {num_heads}, seq, seq)"),
        ("concat, then W_O", "(batch, seq, d_model)", f"(batch, seq, {d_model})"),
    ]
    drawn = [text(MARGIN, 186, "Shapes on the way", "font-weight: bold")]
    for row, (step, named, numbers) in enumerate(rows):
        y = 208 + 21 * row
        drawn += [text(MARGIN, y, step), _code(300, y, named), _code(534, y, numbers)]
    return drawn


def _sizes(d_model: int, num_heads: int) -> list[str]:
    """Parameters in words; the weights as one square a head, since they grow with num_heads."""
    y = 338
    drawn = [
        text(MARGIN, y, "Sizes", "font-weight: bold"),
        text(MARGIN, y + 22, "parameters, the same for every num_heads"),
        _code(300, y + 22, f"4 · {d_model}² + 4 · {d_model} = {_parameters(d_model):,}"),
        text(MARGIN, y + 44, "attention weights: one seq × seq map a head, so they grow with num_heads"),
    ]
    shown = num_heads if num_heads <= _MOST_MAPS else _MOST_MAPS - 2
    for head in range(shown):
        x, colour = MARGIN + 34 * head, head_colour(head)
        drawn.append(
            f'<rect x="{x}" y="{y + 56}" width="28" height="28" style="fill: {colour}; stroke: {INK}"/>'
            + text(x + 14, y + 75, head + 1, f"text-anchor: middle; fill: {ink_on(colour)}")
        )
    if shown < num_heads:
        drawn.append(text(MARGIN + 34 * shown, y + 75, f"… {num_heads}"))
    return drawn


def _refusal(d_model: int, num_heads: int) -> str:
    """Why ``num_heads`` cannot be, and what could."""
    d_k, rest = divmod(d_model, num_heads)
    if d_k == 0:
        why = "there are more heads than features"
    else:
        why = f"with {counted(d_k, 'feature')} each, {counted(rest, 'feature')} would be left over"
    near = nearest_head_counts(d_model, num_heads)
    counts = "head counts that divide" if len(near) > 1 else "head count that divides"
    return (
        f"d_model = {d_model} cannot be shared equally by num_heads = {num_heads}: {why}. "
        f"The nearest {counts} {d_model}: {' and '.join(map(str, near))}."
    )


def _labelled(head: int, num_heads: int, width: float, needed: float) -> bool:
    """Where not every label fits: the first head, the last, and evenly spaced ones between that leave it room."""
    every = max(1, -(-needed // width))
    return head == num_heads - 1 or (head % every == 0 and num_heads - 1 - head >= every)


def _code(x: float, y: float, content: str) -> str:
    return text(x, y, content, "font-family: monospace; font-size: 12.5px")


def _parameters(d_model: int) -> int:
    """W_Q, W_K, W_V and W_O with their biases."""
    return 4 * d_model**2 + 4 * d_model


def _demand_counts(d_model: int, num_heads: int) -> None:
    if not all(type(count) is int and count >= 1 for count in (d_model, num_heads)):
        raise ValueError("d_model and num_heads are whole numbers of at least 1")
