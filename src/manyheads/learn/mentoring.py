"""The mentor: a look-up in the lesson's own texts. No network, no model, no invented answers."""

import math
import re
from collections import Counter
from dataclasses import dataclass

from IPython.display import display

from .content import LessonTexts, block, fold, inline, lesson_texts, show
from .mode import demonstration

MOST_PASSAGES = 3

# Words that say nothing about the subject, and those that every source begins with.
STOP_WORDS = frozenset(
    """a about an and any are as at be because been but by can could did do does flashcard for from get gets give gives
    got had has have help hint how i if in into is it its just many me mean means much my no not of on one or
    please question quiz should so some symptom tell than that the their them then there these they this to too
    use used was we what when where which who why will with would you your""".split()
)


@dataclass(frozen=True)
class Passage:
    """A piece of the course's text: ``source`` says where it stands; ``spoiler`` text is shown closed.

    ``names`` say what it is about: the term, the exercise, what a person with this symptom sees.
    """

    source: str
    text: str
    spoiler: bool
    names: tuple[str, ...]


def look_up(lesson: str, question: str) -> list[Passage]:
    """At most three passages of ``lesson`` that share words with ``question``, the best first; [] when none does.

    A word counts more the rarer it is in the lesson (inverse document frequency), and a passage up to three times as
    much when its term, exercise or symptom is named. Raises UnknownName for a lesson that is not there.
    """
    passages = _passages(lesson_texts(lesson))
    names = [[set(_words(name)) for name in passage.names] for passage in passages]
    bags = [set(_words(f"{passage.source} {passage.text}")) for passage in passages]
    frequency = Counter(word for bag in bags for word in bag)
    asked = set(_words(question))

    def score(names: list[set[str]], bag: set[str]) -> float:
        shared = sum(math.log(1 + len(bags) / frequency[word]) for word in asked & bag)
        named = max((len(asked & name) / len(name) for name in names if name), default=0)
        return shared * (1 + 2 * named) / math.sqrt(5 + len(bag))  # a long text must not win by its length alone

    ranked = sorted(zip(map(score, names, bags), passages, strict=True), key=lambda pair: -pair[0])
    return [passage for points, passage in ranked[:MOST_PASSAGES] if points > 0]


@demonstration
def mentor(lesson: str) -> None:
    """Show a text box that looks a question up in the texts of ``lesson``. Raises UnknownName as ``look_up`` does."""
    import ipywidgets as widgets  # here: grading does not pay for it

    lesson_texts(lesson)  # a wrong name fails here, not at the first question
    note = (
        "The mentor looks your words up in this lesson's own hints, symptoms, flashcards and quiz. "
        "It does not think, and it can miss. It needs a running kernel. "
        "Write a question for your instructor in the cell below."
    )
    show(block("Mentor", [f"<p>{note}</p>"]), note)

    box = widgets.Text(
        description="Question",
        placeholder="what went wrong? then press Enter",
        continuous_update=False,
        layout=widgets.Layout(width="34em"),
    )
    button = widgets.Button(description="Look up")
    answer = widgets.HTMLMath()

    def ask(_) -> None:
        if box.value.strip():
            answer.value = answer_html(box.value, look_up(lesson, box.value))

    box.observe(ask, "value")
    button.on_click(ask)
    display(widgets.VBox([widgets.HBox([box, button]), answer]))


def answer_html(question: str, passages: list[Passage]) -> str:
    if not passages:
        return block(
            "Answer",
            [f"<p>No text of this lesson shares a word with “{inline(question)}”. Try the name of a tensor, "
             "a term or an error, or ask your instructor in the cell below.</p>"],
        )  # fmt: skip
    parts = [f"<p>From the lesson, on “{inline(question)}”:</p>"]
    parts += [fold(inline(p.source), f"<p>{inline(p.text)}</p>", opened=not p.spoiler) for p in passages]
    return block("Answer", parts)


def _passages(texts: LessonTexts) -> list[Passage]:
    found = []
    for exercise, pairs in texts.symptoms.items():
        found += [Passage(f"Symptom of {exercise}", f"{seen} → {look}", False, (exercise, seen)) for seen, look in pairs]
    found += [Passage(f"Flashcard {card.term}", card.meaning, False, (card.term,)) for card in texts.flashcards]
    for exercise, hints in texts.hints.items():
        found += [
            Passage(f"Hint {number} of {len(hints)} for {exercise}", hint, True, (exercise,))
            for number, hint in enumerate(hints, start=1)
        ]
    for number, question in enumerate(texts.quiz, start=1):
        for choice in question.choices:
            found.append(Passage(f"Quiz question {number}", f"“{choice.text}” {choice.why}", True, ()))
    return found


def _words(text: str) -> list[str]:
    """Stems of the words that matter, without numbers and letters; split_heads gives split_heads, split and head."""
    words = []
    for token in re.findall(r"\w+", text.lower()):
        words += [token, *token.split("_")] if "_" in token else [token]
    return [_stem(word) for word in words if len(word) > 1 and word not in STOP_WORDS and not word.isdigit()]


def _stem(word: str) -> str:
    """Light: heads -> head; scale, scaled, scaling -> scal; splits, splitting -> split. Short words stay."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            stem = word.removesuffix(ending)
            return stem[:-1] if ending in ("ing", "ed") and stem[-1] == stem[-2] and stem[-1] != "s" else stem
    return word
