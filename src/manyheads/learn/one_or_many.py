"""One head or many: the stored sweep with one setting lit, its heads' maps, and a button that trains it live."""

import threading

from .drawing import INK, MARGIN, PAPER, badge, counted, escaped, svg_picture, text, weight_colour
from .experiment import D_MODEL, ROLES, STEPS, Stopped, Trained, stored_sweep, train_in_background
from .explorers import explore
from .mode import demonstration
from .palette import ink_on

HEADS = (1, 2, 4, 8, 16, 32)
_LEFT, _TOP, _WIDE, _HIGH = 90, 60, 560, 150
_MOST_DRAWN = 16

THREAD = "one or many: training"


@demonstration
def one_or_many_explorer(num_heads: int = 4, seed: int = 1) -> None:
    """Show accuracy against the number of heads and the maps of the chosen count; a button trains that count live.

    Moving the slider shows stored runs. Training takes some seconds in the background and can be stopped.
    The saved notebook keeps a static picture of the start.
    """
    import ipywidgets as widgets

    wide = widgets.Layout(width="30em")
    heads = widgets.SelectionSlider(options=HEADS, value=num_heads, description="num_heads", layout=wide)
    seeds = widgets.BoundedIntText(seed, 0, 999, description="seed", layout=widgets.Layout(width="12em"))
    train, stop = widgets.Button(description="Train it live"), widgets.Button(description="Stop", disabled=True)
    bar = widgets.IntProgress(0, 0, STEPS, description="training", layout=wide)
    said = widgets.HTML("<p>Not trained yet: the picture shows stored runs.</p>")
    fresh: dict[tuple[int, int], Trained] = {}
    halt = threading.Event()

    def run(count: int, seed: int) -> None:
        def step(number: int) -> None:
            if number % 25 == 0:
                bar.value = number
            if halt.is_set():
                raise Stopped

        try:
            fresh[count, seed] = train_in_background(count, seed, STEPS, step)
            said.value = f"<p>Trained live: {escaped(fresh[count, seed]).replace(chr(10), '; ')}</p>"
        except Stopped:
            said.value = f"<p>Stopped after {bar.value} of {STEPS} steps: nothing to show from this run.</p>"
        finally:
            train.disabled, stop.disabled = False, True
        redraw()

    def start(_) -> None:
        halt.clear()
        bar.value, train.disabled, stop.disabled = 0, True, False
        said.value = f"<p>Training {counted(heads.value, 'head')}, seed {seeds.value} …</p>"
        threading.Thread(target=run, args=(heads.value, seeds.value), name=THREAD, daemon=True).start()

    train.on_click(start)
    stop.on_click(lambda _: halt.set())

    def picture(count: int, seed: int) -> tuple[str, str]:
        live = fresh.get((count, seed))
        return one_or_many_svg(count, seed, live), one_or_many_sentence(count, seed, live)

    redraw = explore([heads, seeds], picture, below=[widgets.HBox([train, stop]), bar, said], min_height="440px")


def _chosen(num_heads: int, seed: int, live: Trained | None) -> tuple[Trained, str]:
    """The run that is drawn, and where it comes from: live, else the stored one of this seed, else of seed 1."""
    if live:
        return live, f"trained live, seed {seed}"
    stored = {run.seed: run for run in stored_sweep() if run.num_heads == num_heads}
    run = stored.get(seed, stored[1])
    return run, f"stored, seed {run.seed}" + ("" if run.seed == seed else f"; seed {seed} is not stored, train it")


def one_or_many_sentence(num_heads: int, seed: int = 1, live: Trained | None = None) -> str:
    """The chosen run in words."""
    run, source = _chosen(num_heads, seed, live)
    roles = ", ".join(f"{role} {accuracy:.2f}" for role, accuracy in run.accuracy_by_role.items())
    looks: dict[str, list[str]] = {}
    for head, role in enumerate(run.role_of_head):
        looks.setdefault(role, []).append(str(head + 1))
    told = "; ".join(f"{role}: head {', '.join(who)}" for role, who in looks.items())
    return (
        f"num_heads = {num_heads}, d_k = {D_MODEL // num_heads}, {run.parameters:,} parameters as for every count"
        f" ({source}). Accuracy {run.accuracy:.2f}, chance 0.02: {roles}.\nWhere each head looks most: {told}."
    )


def one_or_many_svg(num_heads: int, seed: int = 1, live: Trained | None = None) -> str:
    """Accuracy of all stored runs with the chosen count lit, and below it each head's mean weight on the four roles."""
    run, source = _chosen(num_heads, seed, live)
    parts = _curve(num_heads, live) + _maps(run)
    shown = min(num_heads, _MOST_DRAWN)
    rows = -(-shown // 8)
    title = f"num_heads = {num_heads}, accuracy {run.accuracy:.2f} ({source})"
    return svg_picture(title, one_or_many_sentence(num_heads, seed, live), 292 + 112 * rows, parts)


def _curve(num_heads: int, live: Trained | None) -> list[str]:
    """Dots for single runs, a line through their means, a frame and a bold number for the chosen count."""
    parts, means = [text(MARGIN, 48, "accuracy", "font-size: 12px")], []
    for share in (0, 0.5, 1):
        y = _TOP + _HIGH * (1 - share)
        parts.append(f'<path d="M{_LEFT} {y}h{_WIDE}" style="stroke: {INK}; opacity: 0.25"/>')
        parts.append(text(_LEFT - 10, y + 4, f"{share:g}", "text-anchor: end; font-size: 12px"))
    for place, count in enumerate(HEADS):
        x, runs = _LEFT + _WIDE * (place + 0.5) / len(HEADS), [run for run in stored_sweep() if run.num_heads == count]
        means.append((x, _TOP + _HIGH * (1 - sum(run.accuracy for run in runs) / len(runs))))
        for run in runs:
            y = _TOP + _HIGH * (1 - run.accuracy)
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" data-heads="{count}" style="fill: {PAPER}; stroke: {INK}; stroke-width: 1.5">'
                f"<title>{count} heads, seed {run.seed}: accuracy {run.accuracy:.2f}</title></circle>"
            )
        style = "text-anchor: middle; font-size: 12px" + ("; font-weight: bold" if count == num_heads else "")
        parts.append(text(x, _TOP + _HIGH + 20, count, style))
        if count == num_heads:
            parts.append(
                f'<rect x="{x - 38:.1f}" y="{_TOP - 8}" width="76" height="{_HIGH + 36}" rx="4" data-chosen="{count}" '
                f'style="fill: none; stroke: {INK}; stroke-width: 2"/>'
            )
            if live:
                y = _TOP + _HIGH * (1 - live.accuracy)
                parts.append(
                    f'<path d="M{x + 12:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z" data-live="{live.accuracy:.4f}" style="fill: {INK}"/>'
                    + text(x + 18, y + 4, "live", "font-size: 10px")
                )
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in means)
    parts.insert(1, f'<path d="M{line}" style="fill: none; stroke: {INK}; opacity: 0.6"/>')
    legend = "number of heads · circle: a stored run, line: mean of 3 seeds · all with 6,336 parameters"
    return [*parts, text(_LEFT, _TOP + _HIGH + 40, legend, "font-size: 12px")]


def _maps(run: Trained) -> list[str]:
    """Four cells a head: the mean weight of a verb on its own subject, object, recipient, companion."""
    shown = min(run.num_heads, _MOST_DRAWN)
    more = f" (the first {shown} of {run.num_heads} heads)" if shown < run.num_heads else ""
    parts = [text(MARGIN, 278, f"mean weight of a verb on its own four people, head by head{more}", "font-weight: bold")]
    for head in range(shown):
        down, across = divmod(head, 8)
        x, y = MARGIN + 76 + 76 * across, 292 + 112 * down
        parts.append(f'<g data-head="{head + 1}">{badge(x, y, head)}')
        for place, (role, weight) in enumerate(zip(ROLES, run.weights[head].tolist(), strict=True)):
            top, colour = y + 20 + 20 * place, weight_colour(min(weight, 1))
            if across == 0:
                parts.append(text(MARGIN + 70, top + 14, role, "text-anchor: end; font-size: 11.5px"))
            parts.append(
                f'<rect x="{x}" y="{top}" width="62" height="20" style="fill: {colour}" data-weight="{weight:.2f}">'
                f"<title>head {head + 1} on the {role}: {weight:.2f}</title></rect>"
                + text(x + 31, top + 14, f"{weight:.2f}", f"text-anchor: middle; font-size: 11.5px; fill: {ink_on(colour)}")
            )
        parts.append("</g>")
    return parts
