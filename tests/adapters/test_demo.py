"""The demo agent's parts: what it makes of a header, of keys, of a long line."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from adapters.demo.answers import REPLIES, Ask, Say, Session, answer
from adapters.demo.header import Header
from adapters.demo.keys import Keys
from adapters.demo.turn import Turn
from adapters.demo.wrap import decorate, rows, width
from adapters.profiles.demo import DEMO, PROGRAM, read_row, read_state
from adapters.pty.terminal import Terminal
from adapters.screen.screen import Screen
from adapters.turn_events import ReplyEnded, ReplyFailed

HEADER = """\
[SESSION CONTEXT]
Room: #auth-team (project: saga-ai)
Participants: Andi (backend lead), Budi (frontend), Carol
You are: @claude (Claude Code CLI agent)
Time: 2026-04-21 14:02 Asia/Jakarta

[RECALL — from long-term memory]
- Andi previously stated a preference for 30 min JWT expiry (fact, 2026-04-15, DM)
- Project saga-ai uses NestJS + Prisma (project memory)

[LANDMARKS — pinned decisions]
- [2026-04-10] Team agreed on refresh-token rotation (by Budi)

[EPISODIC SUMMARY — last session]
Yesterday Andi & Budi discussed a race-condition bug in the auth
middleware; Andi is investigating, not yet resolved.

[RAW TRANSCRIPT — most recent 40 messages]
[14:02 | Andi (<@U1>)] @claude why is the token expiry only 15 minutes?
  It annoys people.
[14:02 | Budi] I'd suggest 30 minutes
[14:03 | Andi (<@U1>)] yes, users complained

[CURRENT INVOCATION]
Respond to Andi and Budi in room #auth-team, to the message of 14:02.
"""


def said(prompt: str, session: Session | None = None, choices: list[int] | None = None) -> str:
    """The whole reply."""
    steps = answer(Header(prompt), session or Session("x", [], resumed=False))
    text, value = "", None
    while True:
        try:
            step = steps.send(value)
        except StopIteration:
            return text
        value = (choices or [2]).pop(0) if isinstance(step, Ask) else None
        text += step.text if isinstance(step, Say) else ""


def with_question(question: str) -> str:
    return HEADER.replace("why is the token expiry only 15 minutes?\n  It annoys people.", question)


def test_a_newcomer_sees_what_an_agent_is_told() -> None:
    text = said(HEADER)
    assert "Andi and Budi" in text
    assert "> why is the token expiry only 15 minutes?\n> It annoys people." in text
    assert "| Room | #auth-team (project: saga-ai) |" in text
    assert "| Recall | 2 facts |" in text
    assert "| Landmarks | 1 decision |" in text
    assert "| Summary | 2 lines |" in text
    assert "| Transcript | 3 messages |" in text
    assert "`help`" in text


def test_the_question_is_of_the_time_that_the_invocation_says_else_the_last_one() -> None:
    assert Header(HEADER).question().startswith("why is the token")
    last = HEADER.replace(", to the message of 14:02", "")
    assert Header(last).question() == "yes, users complained"


def test_the_question_is_the_one_among_those_of_a_minute_that_the_invocation_says() -> None:
    twice = HEADER.replace("[14:02 | Budi]", "[14:02 | Andi] @claude another thing\n[14:02 | Budi]")
    first = "the message of 14:02 (1 of theirs follows in that minute)"
    assert Header(twice.replace("the message of 14:02", first)).question().startswith("why is the")
    last = twice.replace("the message of 14:02", "the message of 14:02 (their last in that minute)")
    assert Header(last).question() == "another thing"
    unaddressed = last.replace("] @claude another", "] another")  # in a thread it needs no mention
    assert Header(unaddressed).question() == "another thing"


def test_a_direct_message_needs_no_mention() -> None:
    header = Header(
        "[SESSION CONTEXT]\nRoom: direct message with Andi\n\n[RAW TRANSCRIPT — 1 message since"
        " your last reply]\n[14:02 | Andi] hello there\n\n[CURRENT INVOCATION]\n"
        "Respond to Andi in this direct message.\n"
    )
    assert (header.asked_by(), header.question()) == ("Andi", "hello there")


@pytest.mark.parametrize("name", ["claude7: ", "Claude Bot, "])
def test_a_name_before_a_command_is_no_part_of_it(name: str) -> None:
    last = HEADER.replace(", to the message of 14:02", "")
    prompt = last.replace("yes, users", f"{name}echo yes, users")
    assert said(prompt) == "yes, users complained"


@pytest.mark.parametrize(
    "mention",
    [
        "@claude ",
        "<@UBOT> ",
        "@claude: ",
        "<@UBOT>, ",
        "hey @claude ",
        "@\u2060claude7:moot.test ",
    ],
)
def test_a_mention_is_no_part_of_the_question(mention: str) -> None:
    assert said(HEADER.replace("@claude why", f"{mention}help why")) == said("help")


def test_a_text_without_a_header_is_the_question() -> None:
    assert "> is anybody there?" in said("is anybody there?")


@pytest.mark.parametrize("question", ["help", "Help!", "please show me the `help`", "HELP me"])
def test_words_steer_it(question: str) -> None:
    assert said(with_question(question)) == said("help")


def test_a_word_in_the_middle_does_not_steer_it() -> None:
    assert "> why did the app crash?" in said(with_question("why did the app crash?"))


def test_echo_is_exact() -> None:
    assert said(with_question("echo  two  blanks\n  and a line")) == " two  blanks\nand a line"


def test_header_shows_every_word_in_a_block_that_cannot_be_closed_by_it() -> None:
    prompt = with_question("header ```` fence")
    text = said(prompt)
    assert prompt in text
    assert "\n`````text\n" in text


def test_a_long_answer_has_two_hundred_lines_with_a_fence_and_a_table() -> None:
    lines = said("long").split("\n")
    assert len(lines) == 200
    assert lines.count("```") == 1
    assert "|--:|-------:|" in lines


def test_every_word_of_the_help_is_one_it_knows() -> None:
    assert all(f"`{word}`" in said("help") for word in REPLIES)


def test_it_says_no_when_it_was_told_no() -> None:
    assert "You said no" in said("permission", choices=[2])
    assert "You allowed it" in said("permission", choices=[0])


# ── Keys ────────────────────────────────────────────────────────────────────────────────


def names(data: list[bytes]) -> list[tuple[str, str]]:
    keys = Keys()
    return [(key.name, key.text) for piece in data for key in keys.feed(piece)]


def test_a_paste_is_one_key_wherever_it_is_torn() -> None:
    data = "\x1b[200~a\rb\x1b[A é\x03\x1b[201~\r".encode()
    whole = names([data])
    assert whole == [("paste", "a\rb\x1b[A é\x03"), ("enter", "")]
    assert names([data[i : i + 1] for i in range(len(data))]) == whole
    assert all(names([data[:i], data[i:]]) == whole for i in range(len(data)))


def test_answers_to_queries_are_no_keys() -> None:
    assert names([b"\x1b[?62;22c\x1b]11;rgb:0/0/0\x1b\\\x1bP>|moot\x1b\\x"]) == [("text", "x")]


def test_an_escape_alone_is_a_key_once_nothing_follows() -> None:
    keys = Keys()
    assert keys.feed(b"\x1b") == []
    assert [key.name for key in keys.flush()] == ["esc"]
    assert keys.flush() == []
    assert [key.name for key in keys.feed(b"\x1b[A")] == ["up"]


# ── Rows ────────────────────────────────────────────────────────────────────────────────


def test_lines_are_wrapped_at_words_and_wide_characters_count_twice() -> None:
    assert rows("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert rows("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert rows("日本語日本語", 6) == ["日本語", "日本語"]
    assert rows("", 10) == [""]
    assert width("e\u0301👍") == 3


def test_marks_become_colours() -> None:
    assert decorate("**a** `b`") == "\x1b[1ma\x1b[22m \x1b[36mb\x1b[39m"


# ── Turns ───────────────────────────────────────────────────────────────────────────────


def test_a_turn_streams_at_its_pace() -> None:
    turn = Turn(1, answer(Header("slow"), Session("x", [], resumed=False)), pace=1.0)
    due = turn.advance(0.0)
    assert due
    assert 0.0 < due < 0.5
    half = turn.visible(2.5)
    assert turn.advance(5.1) is None
    assert turn.text.startswith(half)
    assert 0.4 < len(half) / len(turn.text) < 0.6
    assert turn.over
    assert turn.over.how == "done"


def test_without_a_pace_all_is_said_at_once() -> None:
    turn = Turn(1, answer(Header("slow"), Session("x", [], resumed=False)), pace=0.0)
    assert turn.advance(0.0) is None
    assert turn.over


# ── The profile ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("osc", "state"),
    [
        ("7501;state=done:app=demo", "done"),
        ("7501;state=blocked:kind=permission:app=demo", "blocked"),
        ("7501;state=dancing", None),
        ("9;hello", None),
        ("", None),
    ],
)
def test_states_are_read(osc: str, state: str | None) -> None:
    assert read_state(osc) == state


def test_rows_that_mean_nothing_are_passed_over() -> None:
    assert read_row({}) == []
    assert read_row({"type": "reply", "text": 3}) == []
    assert read_row({"type": "end", "how": "done", "turn": 4}) == [ReplyEnded(turn="4")]
    (failed,) = read_row({"type": "end", "how": "error", "message": "529", "turn": 1})
    assert isinstance(failed, ReplyFailed)


async def test_it_runs_on_the_standard_library_alone(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1]); import adapters.demo.program;"
        "print(sorted({n.partition('.')[0] for n in sys.modules} - set(sys.stdlib_module_names)))"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", code, str(PROGRAM.parent.parent)),
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.defpath},
    )
    out, _ = await process.communicate()
    assert out.decode().strip() == "['__main__', 'adapters']"


async def test_it_draws_anew_when_its_window_changes(tmp_path: Path) -> None:
    screen = Screen(100, 30)
    drawn = asyncio.Event()

    def take(data: bytes) -> None:
        screen.feed(data)
        drawn.set()

    async def until_rule(columns: int) -> None:
        async with asyncio.timeout(20):
            while "─" * columns not in screen.display():
                drawn.clear()
                await drawn.wait()

    async with Terminal.open(
        [sys.executable, "-I", "-S", str(PROGRAM)],
        env={"HOME": str(tmp_path), "PATH": os.defpath, "LANG": "C.UTF-8"},
        cwd=tmp_path,
        cols=100,
        rows=30,
        on_output=take,
    ) as terminal:
        await until_rule(100)
        screen.resize(60, 20)
        terminal.resize(60, 20)
        await until_rule(60)
        assert "❯" in screen.display()


def test_it_has_two_signs_of_the_end() -> None:
    assert DEMO.signs.record
    assert DEMO.signs.states
