"""manyheads flashcards: every card arrives, in the form that Anki reads."""

import csv
import html
import io
import re

from click.testing import CliRunner

from manyheads.cli import main
from manyheads.learn import content

CARD = """
[[flashcard]]
term = "`d_k`, \\"width\\""
meaning = "$d_k = d_{model} / h$, for h < 8"
"""


def exported(file) -> list[list[str]]:
    done = CliRunner().invoke(main, ["flashcards", "--csv", str(file)])
    assert done.exit_code == 0, done.output
    text = file.read_text(encoding="utf-8")
    settings = [line for line in text.splitlines() if line.startswith("#")]
    assert settings == ["#separator:comma", "#html:true", "#columns:term,meaning,tags", "#tags column:3"]
    rows = list(csv.reader(io.StringIO(text.split("#tags column:3\n")[1])))
    assert done.output == f"{file}: {len(rows)} cards\n"
    return rows


def test_all_cards_of_all_lessons_are_there(tmp_path):
    cards = [(card, lesson) for lesson in content.lesson_names() for card in content.lesson_texts(lesson).flashcards]
    rows = exported(tmp_path / "cards.csv")
    assert len({tag for _, _, tag in rows}) == 5
    for (card, lesson), (term, meaning, tag) in zip(cards, rows, strict=True):
        assert tag == f"manyheads::{lesson}"
        for was, is_now in ((card.term, term), (card.meaning, meaning)):
            assert html.unescape(re.sub(r"</?code>", "`", is_now)) == re.sub(r"\$([^$]+)\$", r"\\(\1\\)", was)


def test_code_formulas_quotes_and_signs_survive(tmp_path, monkeypatch):
    (tmp_path / "09_sample.toml").write_text(CARD)
    monkeypatch.setattr(content, "FOLDER", tmp_path)
    assert exported(tmp_path / "cards.csv") == [
        ['<code>d_k</code>, "width"', r"\(d_k = d_{model} / h\), for h &lt; 8", "manyheads::09_sample"]
    ]
    assert CliRunner().invoke(main, ["flashcards"]).output == (tmp_path / "cards.csv").read_text()
