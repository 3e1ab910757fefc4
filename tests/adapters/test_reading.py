"""A reply is read from the screen: nothing of the program's frame, nothing of earlier turns."""

import pytest

from adapters.profiles import looks
from adapters.profiles.generic import LOOK as GENERIC
from adapters.reading.reply import find_dialog, read_error, read_reply
from adapters.screen.screen import Screen
from adapters.screen_profile import ScreenProfile

CLAUDE_CODE, CODEX, GEMINI, LLM, OPENCODE, QWEN, VIBE = (
    looks()[name] for name in ("claude-code", "codex", "gemini", "llm", "opencode", "qwen", "vibe")
)
GREY, WHITE, GREEN, BOLD, END = "\x1b[90m", "\x1b[97m", "\x1b[32m", "\x1b[1m", "\x1b[m"


def screen(*rows: str, cols: int = 60, height: int = 12) -> Screen:
    made = Screen(cols, height)
    made.feed("\r\n".join(rows).encode())
    return made


def box(cols: int = 60) -> list[str]:
    rule = GREY + "─" * cols + END
    return ["", rule, "❯\xa0", rule, f"  {GREY}? for shortcuts{END}"]


def claude(*rows: str, cols: int = 60) -> Screen:
    return screen("Welcome", "", *rows, *box(cols), cols=cols)


def said(text: str) -> str:
    """As Claude Code shows a message of one line."""
    return f"{WHITE}●{END} {text}"


def tool(call: str, *output: str) -> list[str]:
    name, _, rest = call.partition("(")
    results = [f"  {GREY}⎿ \xa0{END}{line}" for line in output]
    return [f"{GREEN}●{END} {BOLD}{name}{END}({rest}", *results, ""]


# ── Which rows ──────────────────────────────────────────────────────────────────────────


def test_the_reply_stands_between_the_prompt_and_the_box() -> None:
    shown = claude("❯ hello", "", said("Hi there."), "", f"{GREY}✻{END} {GREY}Baked for 2s{END}")
    assert read_reply(shown, CLAUDE_CODE, "hello") == "Hi there."


def test_blank_lines_within_it_are_kept() -> None:
    shown = claude("❯ hello", "", said("One."), "", "  Two.", "", "", "  Three.")
    assert read_reply(shown, CLAUDE_CODE) == "One.\n\nTwo.\n\n\nThree."


def test_only_what_came_behind_the_last_tool_is_the_last_reply() -> None:
    shown = claude("❯ do", "", said("Let me."), "", *tool("Bash(ls)", "a.txt"), said("Done."))
    assert read_reply(shown, CLAUDE_CODE) == "Done."


def test_a_tool_that_was_refused_leaves_no_reply() -> None:
    refused = "Interrupted · What should Claude do instead?"
    shown = claude("❯ do", "", said("Let me."), "", *tool("Bash(rm -rf x)", refused))
    assert read_reply(shown, CLAUDE_CODE) == ""


def test_a_reply_that_was_interrupted_is_what_came_until_then() -> None:
    shown = claude("❯ tell", "", said("Once upon"), f"  {GREY}⎿ \xa0Interrupted · What{END}")
    assert read_reply(shown, CLAUDE_CODE) == "Once upon"


def test_an_answer_that_repeats_the_one_before_is_not_taken_for_it() -> None:
    turns = ["❯ again", "", said("Yes."), "", "❯ again", "", said("Yes."), "  Again yes."]
    assert read_reply(claude(*turns), CLAUDE_CODE, "again") == "Yes.\nAgain yes."


def test_no_answer_yet_is_not_the_answer_before() -> None:
    shown = claude("❯ one", "", said("Yes."), "", "❯ two", "", f"{GREY}✻ Baking… (2s){END}")
    assert read_reply(shown, CLAUDE_CODE, "two") == ""


def test_the_prompt_before_is_read_when_it_is_asked_for() -> None:
    shown = claude("❯ one", "", said("Yes."), "", "❯ two", "", said("No."))
    assert read_reply(shown, CLAUDE_CODE, "one") == "Yes."


def test_a_command_of_the_programs_own_has_no_reply() -> None:
    shown = claude("❯ one", "", said("Yes."), "", "❯ /clear", "  ⎿ \xa0(no content)")
    assert read_reply(shown, CLAUDE_CODE) == "Yes."


def test_the_prompts_own_lines_are_not_the_reply() -> None:
    prompt = "first\n● second\n\n- third"
    shown = claude("❯ first", "  ● second", "", "  - third", "", said("Reply."))
    assert read_reply(shown, CLAUDE_CODE, prompt) == "Reply."


@pytest.mark.parametrize(
    "reply", [">", "❯ a", "> b", "⎿ c", "● d", "────────────", "$ e", "✻ Baked for 2s", "esc to go"]
)
def test_a_reply_may_look_like_the_program(reply: str) -> None:
    shown = claude("❯ show", "", said("So:"), "", f"  {reply}", "", "  Done.")
    assert read_reply(shown, CLAUDE_CODE) == f"So:\n\n{reply}\n\nDone."


@pytest.mark.parametrize(
    ("look", "rows", "words"),
    [
        (CLAUDE_CODE, ["❯ q", "", said("Hmm…"), "", "  Thought for 5 minutes."], "Hmm…"),
        (CODEX, ["› q", "", "• Starting from version 2", "  Worked for 5 people", "  › so"], "so"),
        (CODEX, ["› q", "", "• Ran into 3 problems.", "", "  Searched on."], "Ran into"),
        (GEMINI, [" > q", "", "✦ So:", "", "  ✓ done", "  ⚠ careful", "  > x"], "careful"),
        (OPENCODE, ["  \x1b[34m┃\x1b[m  q", "", "     So:", "     $ npm i", "     → b"], "So:"),
        (QWEN, ["  > q", "", "  ◆ So:", "    ✓ done", "    ● so"], "✓ done"),
        (VIBE, ["> q", "─" * 30, "", "  So:", "  ✓ done", "  > x"], "✓ done"),
    ],
)
def test_what_only_looks_like_the_program_stays(
    look: ScreenProfile, rows: list[str], words: str
) -> None:
    box = {"codex": ["› "], "vibe": ["─" * 30, "> "]}.get(look.name, [])
    reply = read_reply(screen(*rows, "", *box), look, "q")
    assert words in reply
    shown = [row for row in rows[1:] if row.strip("─")]
    assert len([line for line in reply.split("\n") if line]) == len(shown)


def test_an_error_in_the_replys_place_is_the_reply() -> None:
    shown = claude("❯ hello", f"  {GREY}⎿ \xa0{END}Invalid API key · Fix external API key")
    assert read_reply(shown, CLAUDE_CODE) == "Invalid API key · Fix external API key"
    assert read_error(shown, CLAUDE_CODE) == "Invalid API key · Fix external API key"


def test_codex_tells_its_errors_apart_from_replies() -> None:
    shown = screen("› hello", "", "■ stream error: 429", "", "› Ask Codex to do anything")
    assert read_reply(shown, CODEX, "hello") == ""
    assert read_error(shown, CODEX, "hello") == "stream error: 429"


def test_only_codexs_last_message_is_its_reply() -> None:
    shown = screen("› hello", "", "• I look.", "", "• It is so.", "", "› Ask Codex")
    assert read_reply(shown, CODEX, "hello") == "It is so."


def test_a_plain_program_is_read_by_what_was_typed() -> None:
    rows = ["Chatting", "> !multi", "What?", "!end", "> a quotation", "", "So it is.", "> "]
    assert read_reply(screen(*rows), LLM, "What?") == "> a quotation\n\nSo it is."


def test_an_unknown_program_is_read_by_what_was_typed() -> None:
    rows = ["Welcome", "╭──────╮", "│ what? │", "╰──────╯", "", "◆ It is so.", "  And so.", ""]
    shown = screen(*rows, f"{GREY}12 tokens{END}", "─" * 60, "> ", "─" * 60)
    assert read_reply(shown, GENERIC, "what?") == "It is so.\nAnd so."
    assert read_reply(shown, GENERIC) == ""


def test_a_reply_that_scrolled_away_is_read_from_the_scrollback() -> None:
    lines = [f"  line {i}" for i in range(50)]
    shown = claude("❯ count", "", said("So:"), *lines)
    assert read_reply(shown, CLAUDE_CODE).count("\n") == 50


# ── How they read ───────────────────────────────────────────────────────────────────────


def reply(*rows: str, cols: int = 30, look: ScreenProfile = CLAUDE_CODE) -> str:
    first, *rest = rows
    return read_reply(claude("❯ q", "", said(first), *(f"  {r}" for r in rest), cols=cols), look)


def test_what_was_broken_to_fit_is_joined() -> None:
    assert reply("A line that is so long that", "it has to go on below") == (
        "A line that is so long that it has to go on below"
    )


def test_a_line_that_was_not_full_is_a_line_of_its_own() -> None:
    assert reply("A short line", "and another one") == "A short line\nand another one"


def test_a_word_longer_than_a_row_is_joined_without_a_blank() -> None:
    assert (
        reply("see http://example.com/a/b/c", "/d/e/f/g") == "see http://example.com/a/b/c/d/e/f/g"
    )


def test_scripts_without_blanks_are_joined_without_one() -> None:
    assert reply("日本語の文章はここで折り返し", "ます。") == "日本語の文章はここで折り返します。"
    assert (
        reply("한국어 문장은 띄어쓰기가", "있습니다 네") == "한국어 문장은 띄어쓰기가 있습니다 네"
    )


def test_what_goes_on_below_an_item_belongs_to_it() -> None:
    assert reply("- an item that is too long", "for one row, and more", "- the next") == (
        "- an item that is too long for one row, and more\n- the next"
    )
    assert reply("1. an item that is so long", "   that it hangs") == (
        "1. an item that is so long that it hangs"
    )


def test_code_keeps_its_lines_and_blanks() -> None:
    code = ["def f(argument, other):", "    return argument + other", "", "print(f(1,  2))"]
    assert reply(*code) == "\n".join(code)


def test_a_drawn_table_is_a_table_again() -> None:
    rows = ["┌─────┬────────┐", "│ key │ value  │", "├─────┼────────┤", "│ a   │ a long │"]
    rows += ["│     │ one    │", "├─────┼────────┤", "│ b   │ x | y  │", "└─────┴────────┘"]
    assert reply(*rows) == "| key | value |\n| --- | --- |\n| a | a long one |\n| b | x \\| y |"


def test_a_ruled_table_is_a_table_again() -> None:
    rows = ["• So:", "", "   key   value", "  ━━━━━  ━━━━━━━━━", "   a     a long", "         one"]
    rows += ["  ─────  ─────────", "   漢字  x"]
    shown = screen("› q", "", *rows, "", "› Ask Codex")
    assert read_reply(shown, CODEX) == (
        "So:\n\n| key | value |\n| --- | --- |\n| a | a long one |\n| 漢字 | x |"
    )


def test_drawn_marks_become_markdown() -> None:
    assert reply("• one", "  ◦ two", "▎ quoted", "☑ done", "☐ open") == (
        "- one\n  - two\n> quoted\n- [x] done\n- [ ] open"
    )


def test_a_quotation_is_joined_behind_its_bar() -> None:
    assert reply("▎ quoted words that are long,", "▎ longer than a row", "▎", "▎ end") == (
        "> quoted words that are long, longer than a row\n>\n> end"
    )


def test_a_list_of_boxes_in_code_is_no_table() -> None:
    assert reply("┌── a", "│ b", "└── c") == "┌── a\n> b\n└── c"


# ── Questions ───────────────────────────────────────────────────────────────────────────


def asking(*rows: str) -> Screen:
    return screen("❯ do", "", said("Let me."), "", "─" * 60, " Bash command", "", *rows)


def test_a_question_has_its_title_its_details_and_its_choices() -> None:
    shown = asking(
        "   ls", "", " Proceed?", "   1. Yes", " ❯ 2. No, and tell why", "", " Esc to cancel"
    )
    dialog = find_dialog(shown, CLAUDE_CODE)
    assert dialog
    assert (dialog.title, dialog.detail, dialog.selected) == ("Proceed?", "Bash command\nls", 1)
    assert [(o.label, o.refuses) for o in dialog.options] == [
        ("Yes", False),
        ("No, and tell why", True),
    ]


def test_a_choice_may_take_two_rows() -> None:
    shown = asking(
        " Proceed?", " ❯ 1. Yes, and do not ask again for", "      commands like this", "   2. No"
    )
    dialog = find_dialog(shown, CLAUDE_CODE)
    assert dialog
    assert dialog.options[0].label == "Yes, and do not ask again for commands like this"


@pytest.mark.parametrize(
    "rows",
    [
        ["  1. one", "  2. two"],  # a list, nothing selected
        [" ❯ 1. one"],  # one choice is none
        [" ❯ 1. one", " ❯ 2. two"],
        [" ❯ 1. one", "   3. three"],
    ],
)
def test_a_list_is_no_question(rows: list[str]) -> None:
    assert find_dialog(asking(*rows), CLAUDE_CODE) is None


def test_a_question_above_the_input_box_is_over() -> None:
    assert find_dialog(claude(" Proceed?", " ❯ 1. Yes", "   2. No"), CLAUDE_CODE) is None


def test_a_question_is_no_part_of_the_reply() -> None:
    shown = asking("   ls", " Proceed?", " ❯ 1. Yes", "   2. No")
    assert read_reply(shown, CLAUDE_CODE) == "Let me."


def test_what_llm_reports_behind_a_word_is_none_of_the_reply() -> None:
    client = "/v/site-packages/httpcore/_exceptions.py"
    rows = ("Two.", "", "half aTraceback (most recent call last):", f'  File "{client}", line 12')
    shown = screen("> !multi", "hello", "!end", "One.", *rows, "    yield", "oops", cols=80)
    assert read_reply(shown, LLM, "hello") == "One.\nTwo.\n\nhalf a"
