"""Quiz, flashcards, hints, symptoms and mentor: what they show, and that every content file is whole."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from manyheads import learn
from manyheads.learn import content, mentoring
from manyheads.learn.mentoring import look_up

LESSONS = Path(__file__).parents[1] / "lessons"
CONTENT = content.lesson_names()

SAMPLE = """
[[quiz]]
question = "For $d_k < 4$, is `X` split?"
  [[quiz.choice]]
  text = "Yes"
  right = false
  why = "Every head sees all of X, <b>always</b>."
  [[quiz.choice]]
  text = "No"
  right = true
  why = "The projection is divided."
[[flashcard]]
term = "d_k"
meaning = "The features of one head: d_model / num_heads."
[hints]
split_heads = ["Look at the last axis.", "Which axis must move?", "Cut, then transpose."]
[symptoms]
split_heads = [["RuntimeError: view size is not compatible", "the memory is not contiguous"]]
"""


@pytest.fixture
def sample(tmp_path, monkeypatch):
    (tmp_path / "02_head_split.toml").write_text(SAMPLE)
    (tmp_path / "01_motivation.toml").write_text('[hints]\none_head = ["Scores first."]\n')
    monkeypatch.setattr(content, "FOLDER", tmp_path)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)


@pytest.fixture
def displayed(monkeypatch):
    """Collects what is handed to IPython's display."""
    things = []
    for module in (content, mentoring):
        monkeypatch.setattr(module, "display", lambda thing, raw=False: things.append(thing))
    return things


@pytest.fixture
def shown(sample, displayed):
    def call(function, name) -> tuple[Details, str]:
        """What a call displays: its HTML, parsed, and its text twin."""
        assert function(name) is None
        page = Details()
        page.feed(displayed[-1]["text/html"])
        assert not page.open, "every element is closed"
        return page, displayed[-1]["text/plain"]

    return call


class Details(HTMLParser):
    """Collects (depth among <details>, text of the summary, text of the body outside inner details)."""

    def __init__(self):
        super().__init__()
        self.open, self.folds, self.tags, self.all_text = [], [], [], ""
        self.stack, self.in_summary = [], False

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag == "details":
            fold = {"depth": len(self.stack), "summary": "", "body": "", "open": "open" in dict(attrs)}
            self.folds.append(fold)
            self.stack.append(fold)
        self.in_summary = self.in_summary or tag == "summary"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "details":
            self.stack.pop()
        if tag == "summary":
            self.in_summary = False

    def handle_data(self, data):
        self.all_text += data
        if self.stack:
            self.stack[-1]["summary" if self.in_summary else "body"] += data


def test_a_quiz_choice_opens_to_its_verdict_and_reason(shown):
    page, text = shown(learn.quiz, "02_head_split")
    yes, no = page.folds
    assert yes["summary"] == "A. Yes" and yes["body"].startswith("Not right.")
    assert "<b>always</b>" in yes["body"], "HTML in a text is shown, not obeyed"
    assert no["body"] == "Right. The projection is divided."
    assert not yes["open"] and not no["open"]
    assert "$d_k < 4$" in page.all_text and ("code", {}) in page.tags
    assert "B. No" in text and "Right" not in text and "divided" not in text


def test_flashcards_hold_the_meaning_back(shown):
    page, text = shown(learn.flashcards, "02_head_split")
    assert [(fold["summary"], fold["open"]) for fold in page.folds] == [("d_k", False)]
    assert "features of one head" in page.folds[0]["body"]
    assert "d_k" in text and "features of one head" not in text


def test_hints_open_one_by_one(shown):
    page, text = shown(learn.hints, "split_heads")
    assert [fold["depth"] for fold in page.folds] == [0, 1, 2], "each hint lies inside the one before it"
    assert [fold["summary"] for fold in page.folds] == ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3"]
    assert [fold["body"].strip() for fold in page.folds][1] == "Which axis must move?"
    assert "3 hints" in text and "transpose" not in text


def test_symptoms_show_what_is_seen_and_fold_what_to_look_at(shown):
    page, text = shown(learn.symptoms, "split_heads")
    assert page.folds[0]["summary"].startswith("RuntimeError")
    assert "RuntimeError: view size is not compatible -> the memory is not contiguous" in text


def test_nothing_needs_a_script_or_the_network(shown):
    for function, name in [(learn.quiz, "02_head_split"), (learn.flashcards, "02_head_split")]:
        page, _ = shown(function, name)
        assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe"}
        assert not [attrs for _, attrs in page.tags if "src" in attrs or "href" in attrs or "onclick" in attrs]


@pytest.mark.parametrize(
    "function, name, said",
    [
        (learn.quiz, "02_headsplit", "Did you mean 02_head_split? There is: 01_motivation, 02_head_split."),
        (learn.mentor, "zzz", "There is: 01_motivation, 02_head_split."),
        (learn.hints, "split_head", "Did you mean split_heads? There is: one_head, split_heads."),
        (learn.symptoms, "one_head", "There is: split_heads."),
    ],
)
def test_an_unknown_name_is_one_line_that_lists_what_exists(sample, function, name, said):
    with pytest.raises(content.UnknownName) as error:
        function(name)
    [line] = error.value._render_traceback_()
    assert said in line and "\n" not in line


def test_grading_pays_for_none_of_it(displayed, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    for function in (learn.quiz, learn.flashcards, learn.mentor, learn.hints, learn.symptoms):
        assert function("no such name") is None
    assert not displayed


def test_the_mentor_finds_a_passage_by_its_words(sample):
    best = look_up("02_head_split", "Why do I get a RuntimeError about a view?")[0]
    assert best.source == "Symptom of split_heads" and "not contiguous" in best.text
    assert look_up("02_head_split", "what is d_k?")[0].source == "Flashcard d_k"
    assert look_up("02_head_split", "transposing")[0].text == "Cut, then transpose.", "endings do not matter"


@pytest.mark.parametrize(("lesson", "question", "source"), [
    ("01_motivation", "my weights do not sum to one", "Symptom of softmax_row"),
    ("01_motivation", "what is a head?", "Flashcard head"),
    ("01_motivation", "why do we divide by sqrt d_k?", "Flashcard √d_k"),
    ("02_head_split", "what is d_k?", "Flashcard d_k"),
    ("02_head_split", "view size is not compatible", "Symptom of merge_heads"),
])
def test_the_mentor_finds_in_the_lessons_what_a_student_asks(lesson, question, source):
    assert look_up(lesson, question)[0].source == source


def test_the_mentor_says_nothing_rather_than_anything(sample):
    assert look_up("02_head_split", "what is the weather like?") == []
    assert look_up("02_head_split", "") == []


def test_the_mentor_shows_three_passages_at_most_and_folds_spoilers(sample):
    found = look_up("02_head_split", "split heads axis projection")
    assert len(found) == 3
    assert all(passage.spoiler == passage.source.startswith(("Hint", "Quiz")) for passage in found)


def test_the_mentor_answers_below_its_box_and_says_what_it_is(sample, displayed):
    learn.mentor("02_head_split")
    note, widget = displayed
    assert "in the cell below" in note["text/plain"] and "does not think" in note["text/plain"]
    (box, button), answer = widget.children[0].children, widget.children[1]
    box.value = "contiguous memory?"
    assert "Symptom of split_heads" in answer.value
    box.value = "<script>weather</script>"
    assert "No text of this lesson" in answer.value and "<script>" not in answer.value
    button.click()
    assert "No text of this lesson" in answer.value


# ------------------------------------------------------------------ the course's own content files


@pytest.mark.parametrize("lesson", CONTENT)
def test_every_content_file_is_whole(lesson):
    texts = content.lesson_texts(lesson)
    for question in texts.quiz:
        assert len(question.choices) >= 2, question
        assert [choice.right for choice in question.choices].count(True) == 1, f"one right choice: {question.question}"
        assert all(choice.why.strip() and type(choice.right) is bool for choice in question.choices), question
    terms = [card.term for card in texts.flashcards]
    assert len(terms) == len(set(terms))
    for exercise, hints in texts.hints.items():
        assert 1 <= len(hints) <= 3 and all(hint.strip() for hint in hints), exercise
    for exercise, pairs in texts.symptoms.items():
        assert pairs and all(len(pair) == 2 and all(pair) for pair in pairs), exercise


@pytest.mark.parametrize("lesson", CONTENT)
def test_code_and_formulas_of_a_content_file_are_closed(lesson):
    raw = (content.FOLDER / f"{lesson}.toml").read_text(encoding="utf-8")
    for line in raw.splitlines():
        assert line.count("`") % 2 == 0, line
        assert re.sub(r"`[^`]*`", "", line).count("$") % 2 == 0, line


def test_an_exercise_has_its_help_in_one_lesson_only():
    for kind in ("hints", "symptoms"):
        names = [name for lesson in CONTENT for name in getattr(content.lesson_texts(lesson), kind)]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("lesson", sorted(LESSONS.glob("*.md")), ids=lambda path: path.stem)
def test_every_name_a_lesson_asks_for_exists(lesson):
    text = lesson.read_text(encoding="utf-8")
    for function, name in re.findall(r"learn\.(quiz|flashcards|mentor|hints|symptoms)\(\"([^\"]*)\"\)", text):
        if function in ("hints", "symptoms"):
            assert content.exercise_texts(function, name)
        else:
            assert content.lesson_texts(name)
