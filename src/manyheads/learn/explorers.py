"""What all explorers share: controls above a picture that follows them, and a static twin for readers without a kernel."""

import html
from collections.abc import Callable, Sequence

from IPython.display import display

from .content import STYLE, show
from .drawing import WIDTH
from .pictures import svg_image

#: An SVG and the sentence that says the same.
Picture = tuple[str, str]

# Runs in the browser when the explorer appears; it is part of the live widget and never of a saved notebook.
# ipywidgets gives the handle of a slider no name for screen readers, so it gets the one beside it. JupyterLab takes
# the arrow keys of a list or a slider to walk through the cells, unless it is told not to. Pointing at a map shows
# (query word, key word, weight). A click on a part of the picture marked data-pick="head=3" chooses entry 3 of the list
# called "head". The keyboard has all of this in the lists themselves, and the sentence below the picture tells the weights.
_SCRIPT = """
const box = this.closest('.manyheads-live');
const label = row => row.querySelector('.widget-label')?.textContent;
const name = () => {
  box.querySelectorAll('.widget-slider').forEach(row => row.querySelectorAll('.noUi-handle, .widget-readout').forEach(part => {
    part.setAttribute('aria-label', label(row));
    if (part.matches('.widget-readout')) part.setAttribute('role', 'textbox');
  }));
  box.querySelectorAll('select, .noUi-handle').forEach(part => part.setAttribute('data-lm-suppress-shortcuts', 'true'));
};
new MutationObserver(name).observe(box, {childList: true, subtree: true});
box.addEventListener('click', event => {
  const [what, entry] = (event.target.closest('[data-pick]')?.dataset.pick || '').split('=');
  const list = [...box.querySelectorAll('.widget-dropdown')].find(row => label(row) === what)?.querySelector('select');
  if (!list) return;
  list.selectedIndex = list.selectedIndex == entry ? 0 : entry;
  list.dispatchEvent(new Event('change', {bubbles: true}));
});
box.addEventListener('pointermove', event => {
  const readout = box.querySelector('[data-readout]'), map = event.target.closest('[data-percent]');
  if (!readout) return;
  readout.textContent = '';
  if (!map) return;
  const words = map.dataset.words.split(' '), area = map.getBoundingClientRect();
  const place = (at, start, size) => Math.min(words.length - 1, Math.floor((at - start) / size * words.length));
  const query = place(event.clientY, area.top, area.height), key = place(event.clientX, area.left, area.width);
  const weight = map.dataset.percent.split(' ')[query * words.length + key] / 100;
  readout.textContent = `${words[query]} → ${words[key]} ${weight.toFixed(2)}`;
});
name();
"""
_STYLE = """
.manyheads-live .noUi-handle:focus, .manyheads-live select:focus-visible, .manyheads-live input:focus-visible,
.manyheads-live button:focus-visible, .manyheads-live .widget-readout:focus {
  outline: 3px solid var(--jp-brand-color1, #1565c0); outline-offset: 2px; }
.manyheads-live [data-pick] { cursor: pointer; }
.manyheads-live .widget-readout { color: var(--jp-ui-font-color1, #1f1f1f); }
"""


def explore(
    controls: Sequence,
    picture: Callable[..., Picture],
    adjust: Callable[[], None] | None = None,
    below: Sequence = (),
    min_height: str = "0",
) -> Callable[[], None]:
    """Show ``controls`` above ``picture(*their values)``, and a static twin of the start; returns a function that redraws.

    ``adjust`` is called before each drawing: it fits lists and limits to the other controls. ``below``: more widgets,
    between the controls and the picture. A ``min_height`` keeps what stands below from jumping.
    """
    import ipywidgets as widgets  # here: grading does not pay for it

    shown = widgets.HTML(layout=widgets.Layout(min_height=min_height))
    drawing = False

    # The browser holds changes back while the kernel is busy and sends the newest only, so every call may draw.
    def draw(_=None) -> None:
        nonlocal drawing
        if drawing:  # a change that adjust made itself
            return
        drawing = True
        try:
            if adjust:
                adjust()
            svg, sentence = picture(*(control.value for control in controls))
            shown.value = f"{svg}\n{_paragraphs(sentence)}"
        finally:
            drawing = False

    draw()
    for control in controls:
        control.observe(draw, "value")
    start = widgets.HTML(f'<style onload="{html.escape(_SCRIPT)}">{_STYLE}</style>')
    explorer = widgets.VBox([*controls, *below, shown, start])
    explorer.add_class("manyheads-live")
    display(explorer)

    told = [control for control in controls if not isinstance(control, widgets.Text)]
    values = [f"{control.description} = {getattr(control, 'label', control.value)}" for control in told]
    label = f"Static picture ({', '.join(values)})"
    svg, sentence = picture(*(control.value for control in controls))
    folded = f"<summary>{html.escape(label)}</summary>{_static(svg, sentence)}"
    show(f'{STYLE}\n<details open class="manyheads manyheads-static">{folded}</details>', f"{label}: {sentence}")
    return draw


def show_static(svg: str, sentence: str) -> None:
    """Show a picture and its sentence without controls."""
    show(_static(svg, sentence), sentence)


def slider(description: str, value: int, least: int, most: int, width: str = "30em"):
    """A slider for a whole number."""
    import ipywidgets as widgets

    return widgets.IntSlider(value, least, most, description=description, layout=widgets.Layout(width=width))


def sentence_box(value: str):
    import ipywidgets as widgets

    return widgets.Text(value, description="sentence", layout=widgets.Layout(width="40em"))


def choice(description: str, options: Sequence, value=None):
    """A list to choose from; ``options`` are values, or pairs of what is shown and a value."""
    import ipywidgets as widgets

    chosen = {} if value is None else {"value": value}
    return widgets.Dropdown(options=options, description=description, layout=widgets.Layout(width="20em"), **chosen)


def offer(chooser, options: Sequence[tuple[str, int]]) -> None:
    """Give a list its new options; what was chosen stays chosen if it is still there, else the first."""
    options = tuple(options)
    if options != chooser.options:
        kept = chooser.value
        chooser.options = options
        values = [value for _, value in options]
        chooser.value = kept if kept in values else values[0]


def numbered(none: str, names: Sequence[str]) -> list[tuple[str, int]]:
    """Entries of a list: 0 for ``none`` (a None would be no choice at all to ipywidgets), then 1, 2, … for the names."""
    return [(none, 0), *((name, number) for number, name in enumerate(names, start=1))]


def words_to_mark(words: Sequence[str]) -> list[tuple[str, int]]:
    """Entries of the list "word": a word by its place, since it may come twice."""
    return numbered("none", [f"{number} {word}" for number, word in enumerate(words, start=1)])


def _static(svg: str, sentence: str) -> str:
    return f"{svg_image(svg, sentence, width=WIDTH)}\n{_paragraphs(sentence)}"


def _paragraphs(sentence: str) -> str:
    return "".join(f"<p>{html.escape(line, quote=False)}</p>" for line in sentence.splitlines())
