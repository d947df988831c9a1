"""The flashcards of all lessons as a file for Anki, or for any program that reads CSV."""

import csv
import io
import re
from pathlib import Path

import click

from .content import inline, lesson_names, lesson_texts

#: Anki reads these lines as settings; elsewhere they are four lines to skip.
_HEADER = "#separator:comma\n#html:true\n#columns:term,meaning,tags\n#tags column:3\n"


def cards_csv() -> str:
    """One row a card: term, meaning (both HTML, formulas as Anki writes them) and the tag manyheads::LESSON."""
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    for lesson in lesson_names():
        for card in lesson_texts(lesson).flashcards:
            writer.writerow([_html(card.term), _html(card.meaning), f"manyheads::{lesson}"])
    return _HEADER + rows.getvalue()


def _html(text: str) -> str:
    r"""As in the lesson, with $...$ turned into the \(...\) of Anki."""
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", inline(text))


@click.command()
@click.option("--csv", "file", type=click.Path(dir_okay=False, path_type=Path), help="Where to write; else to the screen.")
def flashcards(file: Path | None) -> None:
    """Export the flashcards of all lessons as CSV: term, meaning, tag.

    Anki takes the file as it is (File, Import). Other programs skip the four lines that begin with #.

    \b
    Example:
        manyheads flashcards --csv cards.csv
    """
    cards = cards_csv()
    if file is None:
        click.echo(cards, nl=False)
        return
    file.write_text(cards, encoding="utf-8")
    click.echo(f"{file}: {len(cards.splitlines()) - _HEADER.count(chr(10))} cards")
