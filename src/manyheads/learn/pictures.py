"""Showing a picture in a notebook: it stays in the saved output, and its words stand below it.

Few words are printed. Many are folded away: they say what the picture says, for those who cannot see it.
"""

import base64
import html
import io
import textwrap

#: Pixels a figure may take in a notebook; pictures are drawn twice as fine, for sharp screens.
NOTEBOOK_WIDTH = 900
_FINENESS = 2


class NotDrawable(ValueError):
    """The input cannot be drawn; a notebook shows the one line that says why, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"Cannot draw this: {self}"]


def new_figure(width: float, height: float):
    """An empty matplotlib figure of this many notebook pixels, outside pyplot: nothing is left open afterwards."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def figure_png(figure) -> bytes:
    """The figure as PNG with 256 colours (a third of the bytes in a saved notebook), margins cut to what is drawn."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=100 * _FINENESS, bbox_inches="tight", pad_inches=0.06)
    # So no colour is off by more than about 20 of 255; with the default method single cells are off by 60.
    fewer = Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, 3, dither=Image.Dither.NONE)
    fewer.save(small, "PNG", optimize=True)
    return small.getvalue()


def show_png(png: bytes, words: str) -> None:
    """Display a PNG, and below it the words that say the same."""
    width = int.from_bytes(png[16:20], "big") // _FINENESS  # from the PNG header
    _show_image(_image("image/png", png, words, width), words)


def show_svg(svg: str, words: str) -> None:
    """Display an SVG, and below it the words that say the same."""
    _show_image(svg_image(svg, words), words)


def svg_image(svg: str, words: str, width: int = NOTEBOOK_WIDTH) -> str:
    """An SVG as <img> of at most ``width`` pixels, with ``words`` as its alternative text.

    In a notebook it has not run itself, JupyterLab takes inline SVG and SVG outputs out, and lets an image stand.
    """
    return _image("image/svg+xml", svg.encode(), words, width)


def _image(kind: str, data: bytes, words: str, width: int) -> str:
    """As HTML: JupyterLab and nbconvert show an output of type image/png without its alternative text."""
    return (f'<img src="data:{kind};base64,{base64.b64encode(data).decode()}" alt="{html.escape(words)}" '
            f'style="width: 100%; max-width: {width}px">')


def _show_image(image: str, words: str) -> None:
    from IPython.display import display

    display({"text/html": image, "text/plain": _first_line(words)}, raw=True)
    _show_words(words)


def _show_words(words: str) -> None:
    """Print up to two lines; fold more of them into a native <details>."""
    from IPython.display import display

    from .content import STYLE, fold

    text = wrapped(words)
    if text.count("\n") < 2:
        print(text)
        return
    lines = "<br>".join(html.escape(line, quote=False) for line in words.splitlines())
    folded = f'{STYLE}\n<div class="manyheads">{fold("The picture in words", f"<p>{lines}</p>")}</div>'
    display({"text/html": folded, "text/plain": text}, raw=True)


def wrapped(words: str) -> str:
    """Text folded at 100 characters, which a notebook beside a file list has room for; line breaks kept."""
    return "\n".join(textwrap.fill(line, 100, subsequent_indent="  ") for line in words.splitlines())


def _first_line(words: str) -> str:
    return f"[picture] {words.splitlines()[0]}"
