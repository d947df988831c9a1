"""Help with one exercise: hints that open one by one, and what a symptom points to."""

from .content import block, exercise_texts, fold, inline, show
from .mode import demonstration


@demonstration
def hints(exercise: str) -> None:
    """Show the hints of ``exercise`` ("split_heads"), closed. Raises UnknownName for an exercise without hints."""
    texts = exercise_texts("hints", exercise)
    how_many = "1 hint" if len(texts) == 1 else f"{len(texts)} hints, to be opened one by one"
    show(hints_html(exercise, texts), f"{exercise}: {how_many}.")


@demonstration
def symptoms(exercise: str) -> None:
    """Show what to look at for each symptom of ``exercise``. Raises UnknownName for one without symptoms."""
    pairs = exercise_texts("symptoms", exercise)
    lines = [f"{exercise}: what you see -> what to look at", *(f"  {seen} -> {look}" for seen, look in pairs)]
    show(symptoms_html(exercise, pairs), "\n".join(lines))


def hints_html(exercise: str, texts: list[str]) -> str:
    """Each hint holds the next one, so that none can be read before the one in front of it."""
    inner = ""
    for number in range(len(texts), 0, -1):
        inner = fold(f"Hint {number} of {len(texts)}", f"<p>{inline(texts[number - 1])}</p>{inner}")
    return block(f"Hints for {exercise}", [inner])


def symptoms_html(exercise: str, pairs: list[list[str]]) -> str:
    parts = ["<p>What do you see? Open it for what to look at.</p>"]
    parts += [fold(inline(seen), f"<p>{inline(look)}</p>") for seen, look in pairs]
    return block(f"Symptoms of {exercise}", parts)
