"""Programs that behave badly, each a real one in a real terminal."""

import asyncio
import re
from dataclasses import replace

import pytest

from adapters.agent import Launch
from adapters.cli_profile import ReadySigns
from adapters.profiles.generic import GenericSettings, generic_profile
from adapters.turn_signs import DialogRule, Permission
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import program
from tests.doubles.replies import Replies


async def test_an_enter_that_was_swallowed_is_pressed_again(open_agent: OpenAgent) -> None:
    agent = open_agent(
        program("""
ready("")
text = paste(); out("> " + text)
enter()
enter()
out("\\r\\x1b[J")
state("working"); reply(text); state("done")
time.sleep(60)
""")
    )
    assert (await agent.ask("hello", Replies())).text == "hello"


async def test_enter_is_not_pressed_again_when_the_box_is_empty(
    open_agent: OpenAgent, launch: Launch
) -> None:
    agent = open_agent(
        program("""
ready()
text = paste(); enter()
waited, _, _ = select.select([0], [], [], 1)
reply("enter" if waited or pending else "nothing")
time.sleep(60)
""")
    )
    assert (await agent.ask("hello", Replies())).text == "nothing"


async def test_a_program_that_never_takes_the_enter_is_told(open_agent: OpenAgent) -> None:
    agent = open_agent(program("ready('')\nout('> ' + paste())\nwhile True: key()"))
    with pytest.raises(AgentError, match="Enter was not taken") as caught:
        await agent.ask("hello", Replies())
    assert caught.value.kind == "timeout"


async def test_a_program_that_never_gets_ready_is_told_with_its_screen(
    open_agent: OpenAgent,
) -> None:
    profile = program(
        "out('Loading the moon ...')\ntime.sleep(60)", ready=ReadySigns(timeout_s=0.5)
    )
    agent = open_agent(profile)
    with pytest.raises(AgentError) as caught:
        await agent.ask("hello", Replies())
    assert caught.value.kind == "startup"
    assert "Loading the moon" in caught.value.say
    assert not agent.alive()


async def test_a_program_that_ends_at_its_start_is_told_with_its_last_words(
    open_agent: OpenAgent,
) -> None:
    agent = open_agent(program("out('No licence found\\n')\nsys.exit(4)"))
    with pytest.raises(AgentError) as caught:
        await agent.ask("hello", Replies())
    assert caught.value.kind == "startup"
    assert "code 4" in caught.value.say
    assert "No licence found" in caught.value.say


async def test_a_program_that_ends_in_mid_answer_leaves_what_it_had_said(
    open_agent: OpenAgent,
) -> None:
    agent = open_agent(
        program("""
ready()
paste(); enter()
state("working")
record(type="reply", text="Half of it")
sys.exit(9)
""")
    )
    for _ in range(2):  # the second one starts it again
        with pytest.raises(AgentError) as caught:
            await agent.ask("hello", Replies())
        assert caught.value.kind == "crash"
        assert caught.value.partial == "Half of it"


async def test_an_answer_that_was_recorded_counts_though_the_program_ended(
    open_agent: OpenAgent,
) -> None:
    agent = open_agent(program("ready()\npaste(); enter()\nreply('all of it')\nsys.exit(1)"))
    assert (await agent.ask("hello", Replies())).text == "all of it"


async def test_a_program_that_hangs_is_stopped_after_its_time(open_agent: OpenAgent) -> None:
    agent = open_agent(
        program("ready()\npaste(); enter()\nstate('working')\ntime.sleep(60)", timeout_s=0.5)
    )
    with pytest.raises(AgentError) as caught:
        await agent.ask("hello", Replies())
    assert caught.value.kind == "timeout"
    assert "did not finish" in caught.value.say


async def test_a_program_that_does_not_hear_an_interrupt_is_ended_and_started_anew(
    open_agent: OpenAgent,
) -> None:
    body = """
ready()
text = paste(); enter()
state("working")
if text == "hang": time.sleep(60)
reply(text); state("done")
time.sleep(60)
"""
    agent = open_agent(program(body))
    replies = Replies()
    asking = asyncio.create_task(agent.ask("hang", replies))
    await asyncio.sleep(0.3)
    async with asyncio.timeout(20):
        await agent.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    assert (await agent.ask("hello", Replies())).text == "hello"


async def test_output_without_end_neither_blocks_the_loop_nor_fills_the_memory(
    open_agent: OpenAgent,
) -> None:
    agent = open_agent(
        program("""
ready()
paste(); enter()
state("working")
while not select.select([0], [], [], 0)[0]: out("flood " * 500 + "\\r\\n")
record(type="end", how="interrupted")
state("idle")
text = paste(); enter()
state("working"); reply(text); state("done")
time.sleep(60)
""")
    )
    asking = asyncio.create_task(agent.ask("hello", Replies()))
    for _ in range(50):
        await asyncio.sleep(0.02)
        assert agent.waiting_bytes() < 2_000_000
    async with asyncio.timeout(20):
        await agent.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    assert (await agent.ask("after the flood", Replies())).text == "after the flood"


async def test_a_program_that_reads_slowly_gets_everything(open_agent: OpenAgent) -> None:
    agent = open_agent(
        program("""
ready(": ")
got = b""
while not got.endswith(b"\\x1b[201~\\r"):
    got += os.read(0, 512)
    time.sleep(0.002)
    out(".")
state("working"); reply(got[6:-7].decode()); state("done")
time.sleep(60)
""")
    )
    prompt = "".join(f"line {n} of a long text\n" for n in range(2600))
    assert len(prompt) > 60_000
    assert (await agent.ask(prompt, Replies())).text == prompt


async def test_a_paste_that_is_stopped_half_way_does_not_reach_the_next_prompt(
    open_agent: OpenAgent,
) -> None:
    agent = open_agent(
        program("""
ready()
time.sleep(1)
text = paste()
if key() == b"\\x15": text = paste(); enter()
state("working"); reply(text); state("done")
time.sleep(60)
""")
    )
    asking = asyncio.create_task(agent.ask("secret " * 20_000, Replies()))
    await asyncio.sleep(0.3)
    async with asyncio.timeout(20):
        await agent.interrupt()
    with pytest.raises(AgentError, match="stopped"):
        await asking
    assert (await agent.ask("hello", Replies())).text == "hello"


async def test_silence_does_not_end_a_turn(open_agent: OpenAgent) -> None:
    agent = open_agent(
        program("""
ready()
paste(); enter()
state("working")
record(type="reply", text="One.")
out("* One.\\r\\n")
time.sleep(1.5)
record(type="reply", text="Two.")
record(type="end", how="done")
time.sleep(60)
""")
    )
    answer = await agent.ask("hello", Replies())
    assert answer.text == "One.\n\nTwo."
    assert answer.ended_by == "record"


async def test_the_title_ends_a_turn_whose_record_says_nothing(open_agent: OpenAgent) -> None:
    agent = open_agent(
        program("""
ready()
text = paste(); out(text); enter()
title("busy")
out("\\r\\n\\r\\n* Hello to **you**.\\r\\n\\r\\n> ")
time.sleep(0.3)
title("idle")
time.sleep(60)
""")
    )
    answer = await agent.ask("hello", Replies())
    assert "Hello to" in answer.text
    assert (answer.source, answer.ended_by) == ("screen", "title")


async def test_a_state_without_a_record_is_answered_from_the_screen(open_agent: OpenAgent) -> None:
    profile = program("""
ready()
text = paste(); out(text); enter()
state("working")
out("\\r\\n\\r\\n* Read me.\\r\\n\\r\\n> ")
state("done")
time.sleep(60)
""")
    signs = replace(profile.signs, record=None)
    answer = await open_agent(replace(profile, signs=signs)).ask("hello", Replies())
    assert (answer.text, answer.source, answer.ended_by) == ("Read me.", "screen", "state")


async def test_a_late_event_of_an_earlier_turn_is_not_the_answer(open_agent: OpenAgent) -> None:
    agent = open_agent(
        program("""
ready()
paste(); enter()
record(type="prompt", turn=1); state("working")
record(type="reply", turn=1, text="first"); record(type="end", turn=1, how="done"); state("done")
paste(); enter()
state("working")
record(type="reply", turn=1, text="late"); record(type="end", turn=1, how="done")
time.sleep(0.2)
record(type="prompt", turn=2)
record(type="reply", turn=2, text="second"); record(type="end", turn=2, how="done"); state("done")
time.sleep(60)
""")
    )
    assert (await agent.ask("one", Replies())).text == "first"
    assert (await agent.ask("two", Replies())).text == "second"


async def test_a_dialog_that_nobody_asked_for_is_answered_once_by_its_rule(
    open_agent: OpenAgent,
) -> None:
    trust = DialogRule(re.compile("Do you trust this folder"), keys=b"1\r", when="start")
    agent = open_agent(
        program(
            """
out("Do you trust this folder?\\r\\n 1. Yes\\r\\n")
pressed = key() + key()
out("\\x1b[2J\\x1b[H")
time.sleep(0.3)
ready()
text = paste(); enter()
reply(repr(pressed) + text)
time.sleep(60)
""",
            dialogs=(trust,),
        )
    )
    assert (await agent.ask("hello", Replies())).text == "b'1\\r'hello"


async def test_a_login_that_is_wanted_at_the_start_is_told(open_agent: OpenAgent) -> None:
    login = DialogRule(re.compile("Please log in"), fault="login")
    agent = open_agent(
        program(
            "out('Please log in')\ntime.sleep(60)", dialogs=(login,), login="Run `double login`."
        )
    )
    with pytest.raises(AgentError) as caught:
        await agent.ask("hello", Replies())
    assert caught.value.kind == "login"
    assert caught.value.say == "The double is not logged in. Run `double login`."


async def test_a_program_that_tries_for_ever_is_interrupted(open_agent: OpenAgent) -> None:
    tries = DialogRule(
        re.compile(r"^! (?P<seen>.+) \[attempt 3\]", re.MULTILINE),
        fault="api",
        say="{title}: {seen}",
        when="turn",
        breaks=True,
    )
    agent = open_agent(
        program(
            """
ready()
paste(); enter()
state("working")
out("\\r\\n! Overloaded [attempt 3]\\r\\n")
assert key() == b"\\x1b"
out("\\x1b[2J\\x1b[H> "); state("idle")
reply(paste()); state("done")
time.sleep(60)
""",
            dialogs=(tries,),
        )
    )
    with pytest.raises(AgentError) as caught:
        await agent.ask("hello", Replies())
    assert (caught.value.kind, caught.value.say) == ("api", "The double: Overloaded.")
    assert (await agent.ask("again", Replies())).text == "again"


async def test_a_choice_that_takes_a_text_is_given_a_word(open_agent: OpenAgent) -> None:
    profile = program(
        """
ready()
paste(); enter()
state("working")
asks = "\\x1b[2J\\x1b[H" + "-" * 40 + "\\r\\nMay I?\\r\\n> 1. Yes\\r\\n  2. No, and say why"
out(asks)
pressed = [key()]
out(asks + ": ")
while pressed[-1] != b"\\r":
    pressed.append(key()); out(pressed[-1].decode())
out("\\x1b[2J\\x1b[H")
reply(repr(b"".join(pressed))); state("done")
time.sleep(60)
""",
        permission=Permission(re.compile(r"May I\?"), worded=re.compile("say why")),
    )
    replies = Replies([1])
    assert (await open_agent(profile).ask("hello", replies)).text == repr(b"2No.\r")
    assert len(replies.questions) == 1


async def test_a_fault_in_the_words_of_an_answer_is_no_fault(open_agent: OpenAgent) -> None:
    login = DialogRule(re.compile("Please log in"), fault="login")
    agent = open_agent(
        program(
            """
ready()
paste(); enter()
state("working")
out("* Please log in to see it.\\r\\n")
time.sleep(0.6)
reply("Please log in to see it."); state("done")
time.sleep(60)
""",
            dialogs=(login,),
        )
    )
    assert (await agent.ask("hello", Replies())).text == "Please log in to see it."


async def test_a_prompt_that_somebody_answers_in_the_terminal_is_withdrawn(
    open_agent: OpenAgent,
) -> None:
    profile = program(
        """
ready()
paste(); enter()
state("working")
out("\\x1b[2J\\x1b[H" + "-" * 40 + "\\r\\nMay I?\\r\\n> 1. Yes\\r\\n  2. No\\r\\n")
time.sleep(1.2)
out("\\x1b[2J\\x1b[H")
time.sleep(0.6)
reply("somebody said yes"); state("done")
time.sleep(60)
""",
        permission=Permission(re.compile(r"May I\?")),
    )
    replies = Replies()
    assert (await open_agent(profile).ask("hello", replies)).text == "somebody said yes"
    assert len(replies.questions) == 1
    assert replies.withdrawn == 1


@pytest.mark.parametrize(("choice", "key"), [(0, b"1"), (1, b"n")])
async def test_a_prompt_that_cannot_be_read_is_asked_all_the_same(
    open_agent: OpenAgent, choice: int, key: bytes
) -> None:
    profile = program(
        """
ready()
paste(); enter()
state("blocked:kind=permission")
out("hm?")
pressed = key()
state("working")
reply(repr(pressed)); state("done")
time.sleep(60)
""",
        permission=Permission(re.compile("never shown"), refuse=b"n"),
    )
    assert (await open_agent(profile).ask("hello", Replies([choice]))).text == repr(key)


async def test_the_programs_queries_are_answered(open_agent: OpenAgent) -> None:
    agent = open_agent(
        program("""
out("\\x1b[3;5H\\x1b[6n\\x1b[c")
got = b""
while not got.endswith(b"c"): got += os.read(0, 100)
out("\\x1b[H")
ready()
paste(); enter()
reply(repr(got))
time.sleep(60)
""")
    )
    assert (await agent.ask("hello", Replies())).text == repr(b"\x1b[3;5R\x1b[?62;22c")


async def test_a_program_without_signs_but_its_prompt_is_driven_too(open_agent: OpenAgent) -> None:
    body = (
        program("").program.begin[-1]
        + r"""
out("\r\n$ ")
while True:
    text = b""
    while not text.endswith(b"\n"): text += os.read(0, 100)
    out(text.decode())
    time.sleep(0.3)
    out("\r\n* you said: " + text.decode().strip() + "\r\n\r\n$ ")
"""
    )
    settings = GenericSettings.model_validate(
        {
            "command": [program("").program.begin[0], "-c", body],
            "ready": r"^\$ ?$",
            "ready_quiet_s": 0.1,
            "paste": False,
            "submit": "ctrl-j",
            "quiet_s": 0.6,
            "echo": r"\$ (.+)",
            "reply": r"\* ",
            "margin": 2,
        }
    )
    agent = open_agent(generic_profile("mine", settings))
    first = await agent.ask("hello\nthere", Replies())
    assert (first.text, first.source, first.ended_by) == (
        "you said: hello there",
        "screen",
        "footer",
    )
    assert (await agent.ask("again", Replies())).text == "you said: again"


async def test_a_reply_that_was_there_before_anybody_saw_it_busy_ends_the_turn(
    open_agent: OpenAgent,
) -> None:
    body = (
        program("").program.begin[-1]
        + r"""
import tty; tty.setraw(0)
out("\x1b[?2004h\r\n$ ")
while True:
    text = paste(); enter()
    out("\r\x1b[J$ " + text + "\r\n\r\n")
    if text == "late":
        time.sleep(0.8)
    out("at work\r\x1b[K* done\r\n\r\n$ ")
"""
    )
    settings = GenericSettings.model_validate(
        {
            "command": [program("").program.begin[0], "-c", body],
            "ready": r"^\$ ?$",
            "ready_quiet_s": 0.1,
            "busy": "at work",
            "quiet_s": 0.3,
            "echo": r"\$ (.+)",
            "reply": r"\* ",
            "margin": 2,
        }
    )
    agent = open_agent(generic_profile("mine", settings))
    for prompt in ("first", "the same again", "late"):
        answer = await agent.ask(prompt, Replies())
        assert (answer.text, answer.ended_by) == ("done", "footer")
