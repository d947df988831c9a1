"""Explorers: sliders and a picture drawn as SVG, with a static twin for readers without a kernel.

SVG in an ``HTML`` widget answers a slider faster than a matplotlib figure, follows JupyterLab's theme, and carries
its summary in the DOM, for a screen reader and for a test.
"""

import html

from IPython.display import display

from .content import STYLE, show
from .mode import demonstration
from .palette import head_colour, ink_on
from .pictures import svg_image

WIDTH, MARGIN = 720, 20
BAR = WIDTH - 2 * MARGIN
MOST_CELLS = 34  # more features than this: their numbers are written at the head boundaries only
MOST_MAPS = 20  # so many squares fit into one row

# Colours for text and card follow JupyterLab's theme; the fallbacks make a light card that can stand anywhere.
INK = "var(--jp-content-font-color1, #1f1f1f)"
PAPER = "var(--jp-layout-color0, #ffffff)"
REST = "var(--jp-layout-color3, #bdbdbd)"


@demonstration
def split_picture(d_model: int, num_heads: int) -> None:
    """Show how ``d_model`` features are cut into ``num_heads`` heads: an SVG and one sentence (paper, section 3.2.2).

    Raises ValueError unless both are whole numbers of at least 1. A head count that does not divide is no error:
    the picture says why it cannot be.
    """
    show(_static_panel(d_model, num_heads), split_sentence(d_model, num_heads))


@demonstration
def split_explorer(d_model: int = 16, num_heads: int = 4) -> None:
    """Show sliders for ``d_model`` and ``num_heads`` above the picture of ``split_picture``.

    The saved notebook keeps a static picture of the start values. It hides itself while the live one stands above it.
    """
    import ipywidgets as widgets  # here: grading does not pay for it

    wide = widgets.Layout(width="30em")
    sliders = [
        widgets.IntSlider(value=d_model, min=2, max=64, description="d_model", layout=wide),
        widgets.IntSlider(value=num_heads, min=1, max=16, description="num_heads", layout=wide),
    ]
    # A steady height: what stands below must not jump while a slider moves.
    picture = widgets.HTML(_live_panel(d_model, num_heads), layout=widgets.Layout(min_height="530px"))

    # The browser holds changes back while the kernel is busy and sends the newest only, so every call may draw.
    def draw(_) -> None:
        picture.value = _live_panel(*(slider.value for slider in sliders))

    for slider in sliders:
        slider.observe(draw, "value")
    explorer = widgets.VBox([*sliders, picture])
    explorer.add_class("manyheads-live")
    display(explorer)

    label = f"Static picture (d_model = {d_model}, num_heads = {num_heads})"
    folded = f"<summary>{label}</summary>{_static_panel(d_model, num_heads)}"
    show(
        f'{STYLE}\n<details open class="manyheads manyheads-static">{folded}</details>',
        f"{label}: {split_sentence(d_model, num_heads)}",
    )


def _live_panel(d_model: int, num_heads: int) -> str:
    return f"{split_svg(d_model, num_heads)}\n<p>{split_sentence(d_model, num_heads)}</p>"


def _static_panel(d_model: int, num_heads: int) -> str:
    sentence = split_sentence(d_model, num_heads)
    return f"{svg_image(split_svg(d_model, num_heads), sentence, width=720)}\n<p>{sentence}</p>"


def split_sentence(d_model: int, num_heads: int) -> str:
    """What the picture says, in words."""
    _demand_counts(d_model, num_heads)
    d_k, rest = divmod(d_model, num_heads)
    if rest:
        return _refusal(d_model, num_heads)
    return (
        f"d_model = {d_model} and num_heads = {num_heads}: d_k = {d_model} / {num_heads} = {d_k}. "
        f"Each head gets {_count(d_k, 'feature')} of every token. The {_parameters(d_model):,} parameters stay the same "
        f"for every head count; the attention weights are {_count(num_heads, 'map')} of seq × seq numbers, one map a head."
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
    summary = html.escape(split_sentence(d_model, num_heads))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{summary}" '
        f'style="width: 100%; max-width: {WIDTH}px; font: 13px sans-serif; fill: {INK}">\n<title>{title}</title>\n'
        f'<rect width="{WIDTH}" height="{height}" rx="4" style="fill: {PAPER}"/>\n'
        f"{_text(MARGIN, 24, title, 'font-weight: bold; font-size: 15px')}\n" + "\n".join(drawn) + "\n</svg>"
    )


# ------------------------------------------------------------------ parts of the picture


def _axis(d_model: int, num_heads: int) -> list[str]:
    """The features of one token as a bar. Every head is one coloured piece; what no head gets stays grey."""
    d_k, rest = divmod(d_model, num_heads)
    step = BAR / d_model
    top, high = 56, 28
    drawn = [_text(MARGIN, top - 8, f"one token: {_count(d_model, 'feature')}, counted from 0")]
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
    for feature in range(d_model if d_model <= MOST_CELLS else 0):
        x = MARGIN + (feature + 0.5) * step
        owner = feature // d_k if d_k and feature < d_k * num_heads else None
        ink = INK if owner is None else ink_on(head_colour(owner))
        drawn.append(_text(x, top + 18, feature, f"text-anchor: middle; font-size: 11px; fill: {ink}"))
        if feature:
            x = MARGIN + feature * step
            drawn.append(f'<path d="M{x:.2f} {top}v{high}" style="stroke: {PAPER}; stroke-width: 0.7"/>')
    return drawn


def _heads(d_model: int, num_heads: int) -> list[str]:
    """One box a head under its piece of the axis."""
    d_k = d_model // num_heads
    width = BAR / num_heads
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
                drawn.append(_text(middle, 154, head + 1, "text-anchor: middle; font-size: 11px"))
            continue
        label = f"head {head + 1}" if width >= 56 else head + 1
        drawn.append(_text(middle, 129, label, f"text-anchor: middle; fill: {ink_on(colour)}"))
        first, last = head * d_k, (head + 1) * d_k - 1
        covers = f"{first}" if first == last else f"{first}–{last}"
        if _labelled(head, num_heads, width, 6.2 * len(covers) + 8):
            covers = f"features {covers}" if width >= 110 and d_k > 1 else covers
            drawn.append(_text(middle, 154, covers, "text-anchor: middle; font-size: 11px"))
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
    drawn = [_text(MARGIN, 186, "Shapes on the way", "font-weight: bold")]
    for row, (step, named, numbers) in enumerate(rows):
        y = 208 + 21 * row
        drawn += [_text(MARGIN, y, step), _code(300, y, named), _code(534, y, numbers)]
    return drawn


def _sizes(d_model: int, num_heads: int) -> list[str]:
    """Parameters in words; the weights as one square a head, since they grow with num_heads."""
    y = 338
    drawn = [
        _text(MARGIN, y, "Sizes", "font-weight: bold"),
        _text(MARGIN, y + 22, "parameters, the same for every num_heads"),
        _code(300, y + 22, f"4 · {d_model}² + 4 · {d_model} = {_parameters(d_model):,}"),
        _text(MARGIN, y + 44, "attention weights: one seq × seq map a head, so they grow with num_heads"),
    ]
    shown = num_heads if num_heads <= MOST_MAPS else MOST_MAPS - 2
    for head in range(shown):
        x, colour = MARGIN + 34 * head, head_colour(head)
        drawn.append(
            f'<rect x="{x}" y="{y + 56}" width="28" height="28" style="fill: {colour}; stroke: {INK}"/>'
            + _text(x + 14, y + 75, head + 1, f"text-anchor: middle; fill: {ink_on(colour)}")
        )
    if shown < num_heads:
        drawn.append(_text(MARGIN + 34 * shown, y + 75, f"… {num_heads}"))
    return drawn


def _refusal(d_model: int, num_heads: int) -> str:
    """Why ``num_heads`` cannot be, and what could."""
    d_k, rest = divmod(d_model, num_heads)
    if d_k == 0:
        why = "there are more heads than features"
    else:
        why = f"with {_count(d_k, 'feature')} each, {_count(rest, 'feature')} would be left over"
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


def _text(x: float, y: float, content: object, style: str = "") -> str:
    styled = f' style="{style}"' if style else ""
    return f'<text x="{x:.2f}" y="{y}"{styled}>{html.escape(str(content))}</text>'


def _code(x: float, y: float, content: str) -> str:
    return _text(x, y, content, "font-family: monospace; font-size: 12.5px")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _parameters(d_model: int) -> int:
    """W_Q, W_K, W_V and W_O with their biases."""
    return 4 * d_model**2 + 4 * d_model


def _demand_counts(d_model: int, num_heads: int) -> None:
    if not all(type(count) is int and count >= 1 for count in (d_model, num_heads)):
        raise ValueError("d_model and num_heads are whole numbers of at least 1")
