"""Flashcards: the terms of a lesson, each opens to its meaning."""

from .content import Card, block, fold, inline, lesson_texts, show
from .mode import demonstration


@demonstration
def flashcards(lesson: str) -> None:
    """Show the flashcards of ``lesson`` ("02_head_split"). Raises UnknownName for a lesson that is not there."""
    cards = lesson_texts(lesson).flashcards
    show(cards_html(lesson, cards), cards_text(cards))


def cards_html(lesson: str, cards: tuple[Card, ...]) -> str:
    parts = ["<p>Say what the term means, then open it and compare.</p>"]
    parts += [fold(f"<strong>{inline(card.term)}</strong>", f"<p>{inline(card.meaning)}</p>") for card in cards]
    return block(f"Flashcards of {lesson}", parts)


def cards_text(cards: tuple[Card, ...]) -> str:
    return "\n".join([f"Flashcards, {len(cards)} terms:", *(f"  {card.term}" for card in cards)])
