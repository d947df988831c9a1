"""docs/mistakes.md, made from the catalogue.      python -m manyheads.check.document > docs/mistakes.md"""

from .catalogue import Mistake, mistakes
from .exercises import exercises
from .probes import SAYS

_HEAD = """# What students are told

Made from the catalogue by `python -m manyheads.check.document > docs/mistakes.md`; do not edit.

The visible checks in the notebooks, `manyheads check` and the graded tests judge with the same code and use the same
sentences. A wrong answer is matched with the mistakes listed here, on the student's own output. Where none fits, the
student reads the nearest true statement: see [the last section](#where-no-listed-mistake-fits). No sentence holds an
expected number, unless the exercise printed it. A student's own exception is shown with the line it comes from.

## When is an answer right?

| what | how exact |
|---|---|
| float32 tensors | 1e-5, relative and absolute |
| float64 tensors | as float32: the inputs are float32, so an answer to them is no more exact |
| float16, bfloat16 tensors | 1e-2 |
| numbers worked out by hand | 0.01, or as the exercise says |
| shapes, letters, booleans, whole numbers | exactly, and of exactly the type asked for; a letter may be small |

No points are lost for another style, for layers made in another order, for extra random numbers, for warnings or printed
text, for another floating dtype, or for working in place on tensors of one's own. Names that an exercise asks for (`W_q`,
`attention_weights`) are needed, since weights are loaded and read by them; the text says so.
"""

_PROBES = """## Where no listed mistake fits

The first of these that is true of the student's tensor is said. Words in *italics* stand for the call, its axes and its
places. The report calls such a finding `probe:` and its name.

| name | what the student reads |
|---|---|"""


def document() -> str:
    """The whole page, sorted by lesson and exercise."""
    parts, lesson = [_HEAD], None
    for exercise in exercises():
        if exercise.lesson != lesson:
            lesson = exercise.lesson
            parts.append(f"## {lesson}\n")
        known = mistakes(exercise.name)
        if known:
            parts.append(f"### {exercise.name}\n\n| mistake | what the student reads | seen in |\n|---|---|---|\n"
                         + "\n".join(_row(entry) for entry in known) + "\n")
    parts.append(_PROBES + "\n" + "\n".join(
        f"| {name} | {_cell(sentence.format_map(_Italics()))} |" for name, sentence in SAYS.items()) + "\n")
    return "\n".join(parts)


class _Italics(dict):
    def __missing__(self, key: str) -> str:
        return f"*{key}*"


def _row(entry: Mistake) -> str:
    return f"| {_cell(entry.name)} | {_cell(entry.sentence)} | {_cell(entry.source) or '–'} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


if __name__ == "__main__":
    print(document(), end="")
