"""The quiz of a lesson: each choice opens to say whether it is right, and why."""

from .content import Question, block, fold, inline, lesson_texts, show
from .mode import demonstration


@demonstration
def quiz(lesson: str) -> None:
    """Show the ungraded quiz of ``lesson`` ("02_head_split"). Raises UnknownName for a lesson that is not there."""
    questions = lesson_texts(lesson).quiz
    show(quiz_html(lesson, questions), quiz_text(questions))


def quiz_html(lesson: str, questions: tuple[Question, ...]) -> str:
    parts = ["<p>Choose an answer and open it: it says whether it is right, and why. Nothing is graded here.</p>"]
    for number, question in enumerate(questions, start=1):
        parts.append(f"<p><strong>Question {number} of {len(questions)}.</strong> {inline(question.question)}</p>")
        for letter, choice in zip("ABCDEFGH", question.choices, strict=False):
            verdict = "Right." if choice.right else "Not right."
            why = f"<p><strong>{verdict}</strong> {inline(choice.why)}</p>"
            parts.append(fold(f"{letter}. {inline(choice.text)}", why))
    return block(f"Quiz of {lesson}", parts)


def quiz_text(questions: tuple[Question, ...]) -> str:
    """Questions and choices only: the answers must not be told all at once."""
    lines = []
    for number, question in enumerate(questions, start=1):
        lines.append(f"Question {number} of {len(questions)}. {question.question}")
        lines += [f"  {letter}. {choice.text}" for letter, choice in zip("ABCDEFGH", question.choices, strict=False)]
    return "\n".join(lines)
