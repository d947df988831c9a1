"""Pictures of the last two steps: how W_O mixes the heads, where a head's block lies, and what a cut costs."""

from collections.abc import Sequence
from html import escape

from .explorers import explore
from .mode import demonstration
from .palette import head_colour, ink_on
from .pictures import show_svg

_INK, _PALE, _MARGIN = "#1A1A1A", "#F1F1F1", 16
_WORD = "delivered"


@demonstration
def mixing_picture() -> None:
    """Show the row *delivered* of the running example times W_O: each head times its rows, then the sum.

    Paper, section 3.2.2: Concat(head_1, head_2) W^O, read as head_1 W_1^O + head_2 W_2^O.
    """
    show_svg(mixing_svg(), mixing_words())


@demonstration
def mixing_explorer() -> None:
    """Show ``mixing_picture`` with a switch for each head: what the output loses when a head is cut (ablation).

    The saved notebook keeps a static picture with head 2 cut.
    """
    import ipywidgets as widgets

    switches = [widgets.Checkbox(head == 0, description=f"head {head + 1} (index {head})") for head in range(2)]
    explore(switches, lambda *on: (mixing_svg(on), mixing_words(on)), min_height="420px")


@demonstration
def orientation_picture(num_heads: int, d_v: int, d_model: int) -> None:
    """Show where the heads' blocks lie: rows of W_O in the formula, columns of ``nn.Linear.weight``.

    All sizes are whole numbers of at least 1; the picture is to scale.
    """
    show_svg(_orientation_svg(num_heads, d_v, d_model), _orientation_words(num_heads, d_v, d_model))


@demonstration
def ablation_picture(accuracy: Sequence[Sequence[float]], roles: Sequence[str]) -> None:
    """Show the accuracy for each role, (num_heads + 1, roles): row 0 with all heads, row j with head j cut.

    A tensor is welcome too. Raises ValueError if a row has not one number for each role.
    """
    rows = [[float(value) for value in row] for row in accuracy]
    if any(len(row) != len(roles) for row in rows):
        raise ValueError("ablation_picture needs one number for each role in every row")
    show_svg(_ablation_svg(rows, roles), _ablation_words(rows, roles))


# --- mixing -----------------------------------------------------------------------------------------------------


def _delivered() -> tuple[list[list[float]], list[list[float]]]:
    """What the two heads found for *delivered*, and the part of the output that comes from each."""
    from .toy import running_example

    rows = running_example().W_O.tolist()
    found = [[7.0, 2.0, 2.0], [2.0, 7.0, 2.0]]
    shares = [
        [sum(x * rows[3 * head + j][column] for j, x in enumerate(numbers)) for column in range(6)]
        for head, numbers in enumerate(found)
    ]
    return found, shares


def mixing_words(on: Sequence[bool] = (True, True)) -> str:
    """The picture in words; ``on`` has one switch for each head."""
    found, shares = _delivered()
    lines = [f"The row {_WORD} of the concatenation times W_O, head by head."]
    for head, (numbers, share) in enumerate(zip(found, shares, strict=True)):
        rows = f"rows {3 * head} to {3 * head + 2} of W_O"
        cut = "" if on[head] else ": cut, so nothing of it reaches the output"
        lines.append(f"head {head + 1} (index {head}): {_list(numbers)} times {rows} gives {_list(share)}{cut}")
    lines.append(f"output, the sum: {_list(_total(shares, on))}")
    for head, share in enumerate(shares):
        if not on[head]:
            changed = [str(feature) for feature, number in enumerate(share) if number]
            lines.append(
                f"lost with head {head + 1}: {_list(share)}. Features {', '.join(changed)} change; no other head brings it back."
            )
    return "\n".join(lines)


def _total(shares: list[list[float]], on: Sequence[bool]) -> list[float]:
    return [sum(number for number, kept in zip(column, on, strict=True) if kept) for column in zip(*shares, strict=True)]


def mixing_svg(on: Sequence[bool] = (True, True)) -> str:
    """Each head's piece of the concatenation times its rows of W_O, and the sum of the heads that are switched on."""
    from .toy import running_example

    found, shares = _delivered()
    rows = running_example().W_O.tolist()
    cell, high = 42, 26
    width, height = 886, 312
    left, middle, right = _MARGIN, _MARGIN + 3 * cell + 62, _MARGIN + 9 * cell + 130
    parts = [
        _text(left, 24, "its piece of the concat", bold=True),
        _text(middle, 24, "W_O (6, 6), cut into blocks of rows", bold=True),
        _text(right, 24, f"its part of the output for {_WORD}", bold=True),
    ]
    for head, (numbers, share) in enumerate(zip(found, shares, strict=True)):
        top, colour = 40 + head * 106, head_colour(head)
        centre = top + high * 1.5 - high / 2
        parts.append(f'<g data-head="{head + 1}" data-on="{int(on[head])}">')
        parts.append(_text(left, centre - 8, f"head {head + 1} (index {head})" + ("" if on[head] else ": cut")))
        parts += _cells(left, centre, [numbers], cell, high, colour)
        parts.append(_text(left + 3 * cell + 24, centre + 18, "×", big=True))
        parts += _cells(middle, top, rows[3 * head:3 * head + 3], cell, high, colour, faint_zero=True)
        parts.append(_text(middle + 6 * cell + 22, centre + 18, "=", big=True))
        parts += _cells(right, centre, [share], cell, high, colour if on[head] else _PALE)
        if not on[head]:  # the frame and the word say it, not the colour alone
            parts.append(f'<rect x="{right - 3}" y="{centre - 3}" width="{6 * cell + 6}" height="{high + 6}" fill="none"'
                         f' stroke="{_INK}" stroke-width="1.5" stroke-dasharray="6 4"/>')
            parts.append(_text(right, centre + high + 20, "lost: not in the sum below"))
        parts.append("</g>")
    bottom = 40 + 2 * 106 + 14
    said = "output: the parts added up" if all(on) else "output: what is left, added up"
    parts += [
        f'<path d="M{right - 20} {bottom - 12}H{right + 6 * cell}" stroke="{_INK}" stroke-width="2"/>',
        _text(right - 22, bottom - 20, "+", big=True),
        _text(right - 216, bottom + 18, said),
        *_cells(right, bottom, [_total(shares, on)], cell, high, "#333333"),
    ]
    return _svg(width, height, mixing_words(on), parts)


# --- orientation ------------------------------------------------------------------------------------------------


def _orientation_words(num_heads: int, d_v: int, d_model: int) -> str:
    width = num_heads * d_v
    return (
        f"The same {width * d_model:,} numbers in two ways, for {num_heads} heads of d_v = {d_v} and d_model = {d_model}.\n"
        f"In the formula W_O is ({width}, {d_model}): head 1 (index 0) owns rows 0 to {d_v - 1}.\n"
        f"nn.Linear.weight is ({d_model}, {width}): head 1 (index 0) owns columns 0 to {d_v - 1}."
    )


def _orientation_svg(num_heads: int, d_v: int, d_model: int) -> str:
    width = num_heads * d_v
    scale = 190 / max(width, d_model)
    long, short = width * scale, d_model * scale
    block, top, second = d_v * scale, 62, _MARGIN + 90 + short + 110
    right = second + 90
    parts = [
        _text(_MARGIN, 24, f"formula: concat @ W_O, W_O is ({width}, {d_model})", bold=True),
        _text(second, 24, f"nn.Linear: concat @ weight.T + bias, weight is ({d_model}, {width})", bold=True),
        _text(_MARGIN + 90, top - 8, f"{d_model} columns: features of the output"),
        _text(right, top - 8, f"{width} columns: numbers of the concat"),
    ]
    for head in range(num_heads):
        colour, at = head_colour(head), head * block
        ink = ink_on(colour)
        for x, y, w, h in ((_MARGIN + 90, top + at, short, block), (right, top, block, short)):
            x += at if (w, h) == (block, short) and x == right else 0
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="{colour}" stroke="#FFFFFF"'
                         f' data-head="{head + 1}"/>')
            parts.append(_text(x + w / 2, y + h / 2 + 5, str(head + 1), ink=ink, middle=True))
    parts += [
        _text(_MARGIN, top + 14, f"{width} rows:"),
        _text(_MARGIN, top + 32, "numbers of"),
        _text(_MARGIN, top + 50, "the concat"),
        _text(second, top + 14, f"{d_model} rows:"),
        _text(second, top + 32, "features of"),
        _text(second, top + 50, "the output"),
        _text(_MARGIN, top + max(long, short) + 26, f"colour and number: the head. Each owns {d_v} rows on the left, {d_v} "
              "columns on the right."),
    ]
    return _svg(round(right + max(long, 330) + _MARGIN), round(top + max(long, short) + 42),
                _orientation_words(num_heads, d_v, d_model), parts)


# --- ablation ---------------------------------------------------------------------------------------------------


def _ablation_words(rows: list[list[float]], roles: Sequence[str]) -> str:
    lines = ["Accuracy for each role, with all heads and with one head cut."]
    for number, row in enumerate(rows):
        who = "all heads" if number == 0 else f"without head {number} (index {number - 1})"
        lines.append(f"{who}: " + ", ".join(f"{role} {value:.2f}" for role, value in zip(roles, row, strict=True)))
    return "\n".join(lines)


def _ablation_svg(rows: list[list[float]], roles: Sequence[str]) -> str:
    cell, high, label = 108, 27, 190
    parts = [_text(_MARGIN, 24, "accuracy for each role, one head cut at a time", bold=True)]
    parts += [_text(label + cell * (c + 0.5), 50, role, middle=True) for c, role in enumerate(roles)]
    for number, row in enumerate(rows):
        top = 60 + number * high + (6 if number else 0)
        if number:
            parts.append(f'<rect x="{_MARGIN}" y="{top + 6}" width="14" height="14" fill="{head_colour(number - 1)}"/>')
        parts.append(_text(_MARGIN + 22, top + 18, f"without head {number}" if number else "all heads"))
        for c, (role, value) in enumerate(zip(roles, row, strict=True)):
            # A bar and its number: length, not only colour, says how much is left.
            x = label + c * cell
            parts.append(f'<rect x="{x + 4}" y="{top + 4}" width="{cell - 8}" height="{high - 8}" fill="{_PALE}"/>')
            parts.append(f'<rect x="{x + 4}" y="{top + 4}" width="{(cell - 8) * value:.1f}" height="{high - 8}"'
                         f' fill="#C9CDD6" data-row="{number}" data-role="{escape(role)}"/>')
            parts.append(_text(x + cell / 2, top + 19, f"{value:.2f}", middle=True, bold=value < 0.9))
    return _svg(label + cell * len(roles) + _MARGIN, 60 + len(rows) * high + 18, _ablation_words(rows, roles), parts)


# --- parts of the pictures --------------------------------------------------------------------------------------


def _svg(width: float, height: float, words: str, parts: Sequence[str]) -> str:
    title, description = words.split("\n", 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" width="{width}"'
        f' style="max-width: 100%; height: auto" font-family="DejaVu Sans, Verdana, Arial, sans-serif">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
        f'<rect width="{width}" height="{height}" rx="8" fill="#FFFFFF"/>' + "".join(parts) + "</svg>"
    )


def _cells(x: float, y: float, rows: list[list[float]], cell: float, high: float, fill: str, faint_zero=False) -> list[str]:
    parts = []
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            faint = faint_zero and value == 0
            ink = _INK if faint else ink_on(fill)
            left, top = x + c * cell, y + r * high
            parts.append(f'<rect x="{left}" y="{top}" width="{cell}" height="{high}" fill="{fill}"'
                         f'{" fill-opacity=" + chr(34) + "0.15" + chr(34) if faint else ""} stroke="#FFFFFF"/>')
            parts.append(_text(left + cell / 2, top + 17, _number(value), ink=ink, middle=True))
    return parts


def _text(x: float, y: float, text: str, bold=False, big=False, middle=False, ink=_INK) -> str:
    weight = ' font-weight="bold"' if bold else ""
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{20 if big else 13}" fill="{ink}"{weight}{anchor}>{escape(text)}</text>'


def _number(value: float) -> str:
    return f"{value + 0.0:g}".replace("-", "−")  # + 0.0 makes 0 of -0


def _list(numbers: Sequence[float]) -> str:
    return "[" + ", ".join(f"{value + 0.0:g}" for value in numbers) + "]"
