"""The choices of a question as programs show them, and the keys that choose."""

import re

import pytest

from adapters.cli_profile import Profile, Program
from adapters.profiles.generic import LOOK, GenericSettings, generic_profile
from adapters.reading.choices import keys_on
from adapters.reading.queries import ScreenChoice, choice_on
from adapters.reading.question import DOWN, UP
from adapters.reading.standing import SettledQuestions
from adapters.screen.screen import Screen
from adapters.turn_signs import Permission, Shown

ASKS = Profile(
    name="x",
    title="X",
    agent="x",
    program=Program(begin=("x",)),
    shown=Shown(look=LOOK, permission=Permission(re.compile(""))),
)


def choice(text: str, profile: Profile = ASKS) -> ScreenChoice | None:
    screen = Screen(60, 20)
    screen.feed(text.strip("\n").replace("\n", "\r\n").encode())
    return choice_on(screen, profile)


def read(text: str) -> tuple[str, list[tuple[str, bool, bytes]]]:
    found = choice(text)
    assert found
    options = found.question.options
    listed = [(o.label, o.refuses, key) for o, key in zip(options, found.keys, strict=True)]
    return found.question.title, listed


@pytest.mark.parametrize(
    ("text", "title", "labels", "keys"),
    [
        ("rm x\nRun it? [y/N] ", "Run it? [y/N]", ["Yes", "No"], [b"y", b"n"]),
        ("Run it? (y/n/a): ", "Run it? (y/n/a):", ["Yes", "No", "Always"], [b"y", b"n", b"a"]),
        (
            "Add it? (Y)es/(N)o/(D)on't ask again [Yes]: ",
            "Add it? (Y)es/(N)o/(D)on't ask again [Yes]",
            ["Yes", "No", "Don't ask again"],
            [b"y", b"n", b"d"],
        ),
        ("Run it?\n❯ 1. Yes\n  2. No", "Run it?", ["Yes", "No"], [b"1", b"2"]),
        (
            "│ Run it?      │\n│   Always     │\n│ > Allow once │\n│   Deny       │".replace(
                ">", "❯"
            ),
            "Run it?",
            ["Always", "Allow once", "Deny"],
            [UP, b"", DOWN],
        ),
    ],
)
def test_choices_are_read_as_they_are_shown(
    text: str, title: str, labels: list[str], keys: list[bytes]
) -> None:
    asked, options = read(text)
    assert asked == title
    assert [label for label, _, _ in options] == labels
    assert [key for _, _, key in options] == keys
    refusing = {label for label, refuses, _ in options if refuses}
    assert refusing & set(labels) == {label for label in labels if label[:2] in ("No", "De", "Do")}


def test_a_letter_that_was_typed_waits_for_enter() -> None:
    found = choice("Run it? [y/N] y")
    assert found
    assert (found.question.title, found.typed) == ("Run it? [y/N]", "y")


def test_a_text_without_choices_is_no_question() -> None:
    assert choice("An answer.\n\nIt has two lines.") is None
    assert choice("❯ alone") is None


HERMES = """
│ Danger                               │
│                                      │
│   1. Allow once                      │
│ ❯ 2. Deny                            │
│                                      │
│ other-writable permissions           │
╰──────────────────────────────────────╯
  💻 touch x  (  0.0s)
  ↑/↓ to select, Enter to confirm
 ⚕ double │ 1K/128K
────────────────────────────────────────
⚠ ❯
────────────────────────────────────────
"""


def test_frames_and_rules_below_the_choices_are_no_hints() -> None:
    assert read(HERMES)[1] == [("Allow once", False, b"1"), ("Deny", True, b"2")]


def test_choices_may_be_described() -> None:
    settings = GenericSettings.model_validate(
        {
            "command": ["x"],
            "permission": "^Proceed",
            "choices": [
                {"label": "Go on", "press": ["g", "enter"]},
                {"label": "Leave it", "press": ["esc"], "refuses": True},
            ],
        }
    )
    found = choice("delete all\nProceed?\n", generic_profile("mine", settings))
    assert found
    assert (found.question.title, found.question.detail) == ("Proceed?", "delete all")
    assert [option.refuses for option in found.question.options] == [False, True]
    assert found.keys == (b"g\r", b"\x1b")


SPACED = [("allow", b"y"), ("allow always", b"a"), ("deny", b"n")]


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("(y) yes   (a) always   (n) no", [("yes", b"y"), ("always", b"a"), ("no", b"n")]),
        ("Go on? [Y/n]  (Esc leaves)", [("Yes", b"y"), ("No", b"n")]),
        ("[A]llow  [D]eny", [("Allow", b"a"), ("Deny", b"d")]),
        ("  1. Yes   2. Yes, always   3. No", [("Yes", b"1"), ("Yes", b"2"), ("No", b"3")]),
        ("y = run it, n = no", [("run it", b"y"), ("no", b"n")]),
        ("Press y to allow, d to deny.", [("allow", b"y"), ("deny", b"d")]),
        ("Press y to run it, n to refuse", [("run", b"y"), ("refuse", b"n")]),
        ("│ y allow   a allow always   n deny │", SPACED),
        ("a file is there, deny it", []),
        ("Run it now? Say so.", []),
    ],
)
def test_keys_are_read_from_a_row_that_names_them(row: str, named: list[tuple[str, bytes]]) -> None:
    found = keys_on(["Run `rm x`?", row])
    assert [(option.label, key) for option, key in found] == named
    assert not found or sum(option.refuses for option, _ in found) == 1


ASKED = "Run it?   (y) yes   (n) no"


def standing(settled: SettledQuestions, *rows: str) -> str:
    """The row that waits, in a program whose prompt is `> `."""
    settings = {"command": ["x"], "permission": "Run it", "ready": "^> ?$", "echo": "> (.+)"}
    screen = Screen(60, 20)
    screen.feed("\r\n".join(rows).encode())
    profile = generic_profile("mine", GenericSettings.model_validate(settings))
    found = settled.standing(screen, profile)
    if found:
        settled.answer(found, b"y")
    return found.asking if found else ""


def test_a_question_stands_until_something_follows_its_answer() -> None:
    settled = SettledQuestions()
    for rows in [(ASKED,), (f"{ASKED} y",)]:
        assert standing(settled, "Hello", *rows)
    assert not standing(settled, "Hello", f"{ASKED} y", "done", "> ")
    assert standing(settled, "Hello", f"{ASKED} y", "done", ASKED)


def test_another_question_in_the_place_of_an_answered_one_stands() -> None:
    settled = SettledQuestions()
    assert standing(settled, ASKED, "rm x", "> ")
    assert standing(settled, ASKED, "rm y", "rm z", "> ")


def test_words_of_a_prompt_ask_nothing_where_they_are_marked_as_its_echo() -> None:
    settled = SettledQuestions()
    settled.type("say: Run it?")
    assert not standing(settled, "> say: Run it?", "Hello", "> ")
    assert standing(settled, "> say: Run it?", "Run it?", "> ")
    assert standing(settled, "> Run it? rm -rf", "Hello", "> ")
    assert standing(settled, "> Run it?")


def test_what_a_question_shows_begins_behind_the_prompt_that_led_to_it() -> None:
    settled = SettledQuestions()
    settled.type("[HEADER]\n\nRespond to Andi in room #lab.")
    settings = {"command": ["x"], "permission": "OK\\?", "ready": "^> ?$"}
    profile = generic_profile("mine", GenericSettings.model_validate(settings))
    screen = Screen(60, 20)
    rows = ["> [HEADER]", "… Respond to Andi in room #lab.", "┃ $ rm x      ┃", "┃ OK? y = do ┃"]
    screen.feed("\r\n".join(rows).encode())
    found = settled.standing(screen, profile)
    assert found
    assert (found.raw.split("\n"), found.asking) == (rows[2:], "OK? y = do")
    screen.feed(
        b"\x1b[H\x1b[J" + "\r\n".join(["$ rm x # Respond to Andi in room #lab.", "OK?"]).encode()
    )
    found = settled.standing(screen, profile)
    assert found
    assert found.raw.startswith("$ rm x")


def test_lines_that_name_their_own_keys_are_chosen_by_these() -> None:
    found = choice(
        "Fetch it?\n\n  ❯ Allow once (y)\n    Allow always (a)\n    Deny (n)\n",
        generic_profile(
            "mine", GenericSettings.model_validate({"command": ["x"], "permission": "Fetch"})
        ),
    )
    assert found
    assert (found.keys, found.moves) == ((b"y", b"a", b"n"), False)
