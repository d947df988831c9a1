"""The texts of a lesson that are not notebook cells: quiz, flashcards, hints and symptoms.

They live in ``content/NN_name.toml``, one file a lesson. This module reads them and turns them into native
``<details>``: that works with the keyboard, without JavaScript, without network, and in a saved HTML export.
"""

import difflib
import html
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from IPython.display import display

FOLDER = Path(__file__).parent / "content"


class UnknownName(LookupError):
    """A lesson or an exercise that the course does not have. A notebook shows it as one line."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class Choice:
    text: str
    right: bool
    why: str


@dataclass(frozen=True)
class Question:
    question: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Card:
    term: str
    meaning: str


@dataclass(frozen=True)
class LessonTexts:
    """All texts of one lesson; ``hints`` and ``symptoms`` are keyed by exercise."""

    name: str
    quiz: tuple[Question, ...]
    flashcards: tuple[Card, ...]
    hints: dict[str, list[str]]
    symptoms: dict[str, list[list[str]]]


def read(path: Path) -> LessonTexts:
    """Read one content file; an unknown or a missing key of a question or card is a TypeError."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    questions = (
        Question(q["question"], tuple(Choice(**choice) for choice in q["choice"])) for q in data.get("quiz", [])
    )
    cards = (Card(**card) for card in data.get("flashcard", []))
    return LessonTexts(path.stem, tuple(questions), tuple(cards), data.get("hints", {}), data.get("symptoms", {}))


def lesson_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def lesson_texts(lesson: str) -> LessonTexts:
    """The texts of ``lesson`` ("02_head_split"). Raises UnknownName, saying which lessons there are."""
    names = lesson_names()
    if lesson not in names:
        raise UnknownName(_unknown("lesson", lesson, names))
    return read(FOLDER / f"{lesson}.toml")


def exercise_texts(kind: str, exercise: str) -> list:
    """The "hints" or "symptoms" (``kind``) of ``exercise``. Raises UnknownName, saying what there is."""
    found = {}
    for name in lesson_names():
        found |= getattr(read(FOLDER / f"{name}.toml"), kind)
    if exercise not in found:
        raise UnknownName(_unknown(f"exercise with {kind}", exercise, sorted(found)))
    return found[exercise]


def _unknown(kind: str, name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(str(name), known, n=2, cutoff=0.7)
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    return f"There is no {kind} {name!r}.{meant} There is: {', '.join(known) or 'nothing yet'}."


# ------------------------------------------------------------------ HTML

# The --jp-* variables follow JupyterLab's theme; the fallbacks serve a saved HTML page without them.
STYLE = """<style>
.manyheads { color: var(--jp-content-font-color1, #1f1f1f); line-height: 1.5; max-width: 50em; }
.manyheads p { margin: 0.5em 0; }
.manyheads details {
  background: var(--jp-layout-color1, #ffffff); border: 1px solid var(--jp-border-color1, #8a8a8a);
  border-radius: 3px; margin: 0.4em 0; padding: 0.3em 0.8em;
}
.manyheads summary { cursor: pointer; display: list-item; }
.manyheads summary:focus-visible { outline: 3px solid var(--jp-brand-color1, #1565c0); outline-offset: 2px; }
/* the static picture of an explorer gives way to the live one in the same output */
.jp-OutputArea:has(.manyheads-live) .manyheads-static { display: none; }
</style>"""


def inline(text: str) -> str:
    """Escape HTML and turn `code` into <code>; $...$ stays as it is, for MathJax."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def fold(summary: str, body: str, opened: bool = False) -> str:
    """One native <details>; both arguments are HTML already."""
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>{body}</details>"


def block(label: str, parts: Iterable[str]) -> str:
    """One labelled region with its style. ``parts`` are HTML."""
    inside = "\n".join(parts)
    return f'{STYLE}\n<section class="manyheads" aria-label="{html.escape(label)}">\n{inside}\n</section>'


def show(rich: str, plain: str) -> None:
    """Display HTML with its plain text twin."""
    display({"text/html": rich, "text/plain": plain}, raw=True)
