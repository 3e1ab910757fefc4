"""Only words of this turn are its answer: a program that says nothing is quoted with nothing."""

import asyncio
from dataclasses import replace

import pytest

from adapters.cli.session import CliAgent
from adapters.profiles.generic import GenericSettings, generic_profile
from adapters.reading.transcript import first_new
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import program
from tests.doubles.replies import Replies

# ── Programs with a record ──────────────────────────────────────────────────────────────

CHROME = r"""
def answer(text):
    # A turn as programs draw it: the echo, a row that looks like a reply's, the reply.
    out("\r\x1b[J> " + text + "\r\n\r\n* Build - model\r\n")
"""


async def test_what_the_record_does_not_hold_was_not_said(open_agent: OpenAgent) -> None:
    body = """
ready()
for turn, said in enumerate(("First.", "", " \\n\\n", "First."), 1):
    text = paste(); enter()
    record(type="prompt", turn=turn); state("working"); answer(text)
    if said:
        record(type="reply", turn=turn, text=said)
    record(type="end", turn=turn, how="done"); out("\\r\\n> "); state("done")
time.sleep(60)
"""
    agent = open_agent(program(CHROME + body))
    answers = [await agent.ask(prompt, Replies()) for prompt in ("one", "two", "three", "four")]
    assert [answer.text for answer in answers] == ["First.", "", "", "First."]


async def test_where_the_record_is_silent_only_rows_since_the_prompt_count(
    open_agent: OpenAgent,
) -> None:
    """Not even an echo shows where the turn begins."""
    profile = program("""
ready()
for said in ("* First.", "", "* First."):
    text = paste(); enter()
    state("working"); out("\\r\\x1b[J" + said + "\\r\\n\\r\\n> "); state("done")
time.sleep(60)
""")
    agent = open_agent(replace(profile, signs=replace(profile.signs, record=None)))
    answers = [await agent.ask(prompt, Replies()) for prompt in ("one", "two", "three")]
    assert [answer.text for answer in answers] == ["First.", "", "First."]


async def test_a_reply_that_is_drawn_late_is_none_of_the_next_turn_s(
    open_agent: OpenAgent,
) -> None:
    """The record ended its turn before."""
    body = """
out("Double 1.0\\r\\n")
ready()
text = paste(); enter(); out("\\r\\x1b[J> one\\r\\n\\r\\n> ")
record(type="prompt", turn=1); record(type="reply", turn=1, text="First.")
record(type="end", turn=1, how="done"); state("done")
text = paste(); enter()
record(type="prompt", turn=2); state("working")
out("\\r\\x1b[J* First.\\r\\n\\r\\n> ")
time.sleep(1.5)
record(type="end", turn=2, how="done"); state("done")
time.sleep(60)
"""
    agent = open_agent(program(body))
    reply = Replies()
    assert (await agent.ask("one", Replies())).text == "First."
    assert (await agent.ask("two", reply)).text == ""
    assert reply.drafts == []


# ── Programs that only their screen tells of ────────────────────────────────────────────

REPL = r"""
import sys, time
while True:
    text = input("you> ")
    if "nothing" in text:
        continue
    if "wait" in text:
        print("thinking ...", flush=True)
        time.sleep(60)
    print("bot: It is " + ("late." if "time" in text else "so."))
"""
DRAWN_AGAIN = r"""
import os, select, sys, termios, time, tty
tty.setraw(0)
rows, held, until, said = [], "", 0, ""
def draw():
    shown = rows[-14:]
    lines = ["Chat  " + str(int(time.time() * 20))] + shown + [""] * (14 - len(shown))
    lines.append("working" if until else "waiting")
    lines.append("> " + held)
    out = "".join(f"\x1b[{y};1H\x1b[2K{line}" for y, line in enumerate(lines, 1))
    os.write(1, out.encode())
while True:
    draw()
    if until and time.time() > until:
        rows += ["* " + said, ""] if said else []
        until = 0
    if not select.select([0], [], [], 0.05)[0]:
        continue
    for key in os.read(0, 4096).decode():
        if key == "\x1b":
            until = 0
        elif key == "\r":
            rows += ["you " + held, ""]
            said = "" if "nothing" in held else "It is late." if "time" in held else "It is so."
            until, held = time.time() + (60 if "wait" in held else 0.4), ""
        else:
            held += key
"""
SETTINGS = {
    REPL: {
        "ready": "^you>",
        "reply": "bot: ",
        "aside": "thinking",
        "interrupt": ["ctrl-c"],
        "echo": "you> (.+)",
        "quiet_s": 0.5,
    },
    DRAWN_AGAIN: {
        "ready": "^waiting",
        "busy": "^working",
        "box": "> ",
        "reply": r"\* ",
        "margin": 2,
        "echo": "you (.+)",
        "aside": "Chat|waiting|working",
        "quiet_s": 0.3,
        "ready_quiet_s": 0,
        "paste": False,
    },
}


@pytest.fixture(params=[REPL, DRAWN_AGAIN], ids=["lines", "drawn again and again"])
def described(request: pytest.FixtureRequest, open_agent: OpenAgent) -> CliAgent:
    command = [program("").program.begin[0], "-c", request.param]
    given = {"command": command, "paste": False, "settle_s": 0, **SETTINGS[request.param]}
    return open_agent(generic_profile("mine", GenericSettings.model_validate(given)))


async def test_a_program_that_prints_nothing_repeats_nothing(described: CliAgent) -> None:
    said = [
        (await described.ask(f"[HEADER]\nsay {prompt}", Replies())).text
        for prompt in ("the time", "the time", "nothing", "something else", "nothing")
    ]
    assert said == ["It is late.", "It is late.", "", "It is so.", ""]


async def test_what_is_stopped_before_a_word_has_said_none(described: CliAgent) -> None:
    assert (await described.ask("say the time", Replies())).text == "It is late."
    reply = Replies()
    asking = asyncio.create_task(described.ask("wait for it", reply))
    async with asyncio.timeout(20):
        while not any(
            "working" in text or "thinking" in text
            for row in described.picture()
            for text, _ in row
        ):
            await asyncio.sleep(0.05)
    await described.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert (caught.value.kind, caught.value.partial, reply.drafts) == ("stopped", "", [])
    assert (await described.ask("say the time", Replies())).text == "It is late."


# ── Which rows are new ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        ("", "a b", "a b"),
        ("a b", "a b", ""),
        ("a b", "a b a b", "a b"),
        ("a b c d", "c d a b c d", "a b c d"),  # it has scrolled
        ("clock:1 a b c", "clock:2 a b c d", "d"),
        ("a b c hint", "a b c d e", "d e"),
        ("- - - a b c", "- - - a b c a b c", "a b c"),
        ("- - - - a b c", "- a b c a b c", "a b c"),  # anchored at the bottom
        ("h a b c d e", "h c d e x", "x"),  # below a header that stays
        ("p s 1 r ok p s 1 r ok", "p s 1 r ok p s 2 r no", "p s 2 r no"),  # it repeats itself
        ("p s 1 r ok p s 1 r ok", "p s 1 r ok p s 1 r ok p s 1 r ok", "p s 1 r ok"),
        ("a b c d", "e f g h", "e f g h"),  # cleared
        ("a b c d", "d e f g", "d e f g"),  # one row alone proves nothing
    ],
)
def test_rows_that_were_there_before_the_prompt_are_told_apart(
    before: str, now: str, new: str
) -> None:
    rows = [row.strip("-") for row in now.split()]
    assert rows[first_new([row.strip("-") for row in before.split()], rows) :] == new.split()
