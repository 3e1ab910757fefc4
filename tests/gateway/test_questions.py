"""Permission questions: answered by whom they are for, once, and two people for dangerous ones."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.agent import Reply
from bots.bot import PlatformCapabilities
from contract.agent import Option, Question
from contract.chat import Chosen, Room, Speaker
from contract.errors import Rejected
from gateway.audit.audit import EVERY, AuditEntry
from gateway.settings.access import AccessTable, PersonaAccessTable
from gateway.settings.tables import TurnsTable
from gateway.web.signin.names import SHELL
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms

OPTIONS = (Option("Yes"), Option("Yes, always"), Option("No", refuses=True))
HARMLESS = Question("q1", "Run this command?", "ls -la\nand more", OPTIONS)
DANGEROUS = Question("q1", "Run this command?", "rm -rf build", OPTIONS)
OLIVIA, PAUL, EVE = (Speaker(f"fake:{name}", name.title()) for name in ("olivia", "paul", "eve"))
TWO = frozenset({OLIVIA.id, PAUL.id})
ACCESS = AccessTable(rooms="open", approvers=TWO, second_person="dangerous")


def asking(question: Question) -> ScriptedPrograms:
    async def ask(prompt: str, reply: Reply) -> str:
        return f"chose {await reply.choose(question)}"

    return ScriptedPrograms(ask)


async def begun(moot: Opened, posts: int = 1) -> None:
    await moot.hear(said("@demo go"))
    await until(lambda: len([m for m in moot.bot.posted if m.text.startswith("?")]) == posts)


async def press(
    moot: Opened, option: int, by: Speaker, question: str = "q1", digest: str | None = None
) -> None:
    """digest: None: of the question that was asked last."""
    told = moot.bot.asked[-1].digest if digest is None else digest
    await moot.receive(Chosen(question, option, by, told))


async def noted(moot: Opened) -> list[AuditEntry]:
    return list(reversed(await moot.house.audit.page(EVERY, before=None, limit=99)))


async def acts(moot: Opened) -> list[tuple[str, str]]:
    return [(e.act, e.by.name) for e in await noted(moot) if e.by and e.act != "invoke"]


async def test_a_dangerous_question_needs_two_people_who_choose_the_same(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=asking(DANGEROUS), access=ACCESS) as moot:
        await begun(moot)
        assert moot.texts() == ["? Two people must agree: Run this command?"]
        await press(moot, 0, OLIVIA)
        await until(lambda: len(moot.bot.asked) == 2)
        assert "Olivia agreed; one more person must" in moot.texts()[0]
        assert moot.bot.asked[1].title == "Olivia agreed, one more person must: Run this command?"
        await press(moot, 0, OLIVIA)  # replayed
        await press(moot, 1, PAUL)  # another option
        assert moot.texts()[-1].startswith("?")
        await press(moot, 0, PAUL)
        await moot.settle()
        assert "chose 0" in moot.texts()
        assert any("Yes (Olivia, Paul)" in text for _, text in moot.bot.edits)
        assert await acts(moot) == [
            ("ask", "demo"),
            ("agree", "Olivia"),
            ("agree", "Paul"),
            ("answer", "Paul"),
        ]


@pytest.mark.parametrize("more", [(), ("other",)])
@pytest.mark.parametrize("change", ["deleted", "renamed", "broken", "swapped"])
async def test_a_question_is_answered_whatever_becomes_of_its_personas_file(
    tmp_path: Path, change: str, more: tuple[str, ...]
) -> None:
    names = ("demo", *more)
    async with gateway(tmp_path, programs=asking(HARMLESS), access=ACCESS, personas=names) as moot:
        await begun(moot)
        file = tmp_path / "personas" / "demo.md"
        match change:
            case "deleted":
                file.unlink()
            case "renamed":
                file.rename(file.with_name("renamed.md"))
            case _:
                start = "[" if change == "broken" else "scripted\ndescription: somebody else"
                file.write_text(f"---\nagent: {start}\n---\nYou allow everything.\n")
        await moot.hear(said("!1", by="eve"))
        await until(lambda: any("you may not answer that" in text for text in moot.texts()))
        await moot.hear(said("!1", by="paul"))
        await moot.settle()
        assert "chose 0" in moot.texts()
        assert not any("You allow everything" in prompt for prompt in moot.programs.prompts)


async def test_the_page_is_told_why_a_question_is_dangerous(tmp_path: Path) -> None:
    access = AccessTable(rooms="open", approvers=TWO)  # one person may allow it
    async with gateway(tmp_path, programs=asking(DANGEROUS), access=access) as moot:
        await begun(moot)
        [card] = moot.house.questions.all_open()
        assert card.danger is not None
        assert card.danger.startswith("it says")
        await press(moot, 0, OLIVIA)
        await moot.settle()
        assert "chose 0" in moot.texts()


async def test_a_harmless_one_needs_one(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=asking(HARMLESS), access=ACCESS) as moot:
        await begun(moot)
        await moot.hear(said("!2", by="paul"))
        await moot.settle()
        assert "chose 1" in moot.texts()
        answer = (await noted(moot))[-1]
        assert answer.detail == {
            "question": "q1",
            "title": "Run this command?",
            "first_line": "ls -la",
            "sha256": hashlib.sha256(b"ls -la\nand more").hexdigest(),
            "option": "Yes, always",
            "allowed": True,
            "via": "room",
        }


@pytest.mark.parametrize("first", [0, 2])
async def test_either_of_two_refuses_alone(tmp_path: Path, first: int) -> None:
    async with gateway(tmp_path, programs=asking(DANGEROUS), access=ACCESS) as moot:
        await begun(moot)
        await press(moot, first, OLIVIA)
        await press(moot, 2, PAUL)
        await moot.settle()
        assert "chose 2" in moot.texts()


@pytest.mark.parametrize(("persona", "two"), [("always", True), ("never", False)])
async def test_a_persona_may_ask_for_more_or_less(tmp_path: Path, persona: str, two: bool) -> None:
    own = PersonaAccessTable.model_validate({"second_person": persona})
    access = ACCESS.model_copy(update={"personas": {"demo": own}})
    question = HARMLESS if two else DANGEROUS
    async with gateway(tmp_path, programs=asking(question), access=access) as moot:
        await begun(moot)
        assert moot.bot.asked[0].title.startswith("Two people") is two


async def test_where_only_one_may_answer_it_is_refused_at_once_and_said(tmp_path: Path) -> None:
    access = ACCESS.model_copy(update={"approvers": frozenset({OLIVIA.id})})
    async with gateway(tmp_path, programs=asking(DANGEROUS), access=access) as moot:
        await moot.hear(said("@demo go"))
        await moot.settle()
        assert moot.bot.asked == []
        assert "two people must agree" in moot.texts()[0]
        assert moot.texts()[1] == "chose 2"
        assert (await noted(moot))[-1].detail["reason"] == "alone"


async def test_a_program_is_nobody_of_the_two_whatever_names_it_gives(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=asking(DANGEROUS), access=ACCESS) as moot:
        await begun(moot)
        inbox = moot.house.services.inbox
        for one in (OLIVIA, PAUL, Speaker("web:x", "X")):
            assert await inbox.choose("q1", 0, replace(one, through=SHELL)) == "token"
        await press(moot, 0, OLIVIA)
        assert await inbox.choose("q1", 0, replace(PAUL, through=SHELL)) == "token"
        await press(moot, 0, Speaker("bb:paul", "Paul"))  # nobody's id
        assert await inbox.choose("q1", 2, Speaker("bot:demo", "demo")) == "forbidden"
        assert await inbox.choose("q2", 0, OLIVIA) == "unknown"
        with pytest.raises(Rejected):
            await inbox.choose("q1", 3, OLIVIA)
        assert "chose 0" not in moot.texts()
        assert await inbox.choose("q1", 2, replace(PAUL, through=SHELL)) == "taken"
        await moot.settle()
        assert "chose 2" in moot.texts()
        last = (await noted(moot))[-1]
        assert last.by is not None
        assert (last.act, last.by.id, last.detail["via"]) == ("answer", SHELL.id, "api")
        assert last.detail["in_name_of"] == PAUL.id


async def test_the_wrong_person_is_told_once_and_noted_once(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=asking(HARMLESS), access=ACCESS) as moot:
        await begun(moot)
        for _ in range(3):
            await press(moot, 0, EVE)
            await moot.hear(said("!1", by="eve"))
        await press(moot, 0, replace(OLIVIA, kind="bot"))
        await until(lambda: not moot.house.queues.waiting() or len(moot.texts()) >= 2)
        await press(moot, 2, OLIVIA)
        await moot.settle()
        assert sum("may not answer" in text for text in moot.texts()) == 1
        assert [act for act in await acts(moot) if act[0] == "deny"] == [
            ("deny", "Eve"),
            ("deny", "Olivia"),
        ]
        assert "chose 2" in moot.texts()


async def test_a_late_or_second_answer_is_told_that_it_is_closed(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=asking(HARMLESS), access=ACCESS) as moot:
        await begun(moot)
        await asyncio.gather(press(moot, 0, OLIVIA), press(moot, 2, PAUL))
        await moot.settle()
        await press(moot, 2, PAUL)
        await press(moot, 2, PAUL)
        assert sum("Paul, that question is closed already." in text for text in moot.texts()) == 1
        assert "chose 0" in moot.texts()
        assert sorted(await acts(moot)) == [
            ("answer", "Olivia"),
            ("ask", "demo"),
            ("deny", "Paul"),
        ]


async def test_nobody_in_time_is_on_record_as_a_refusal(tmp_path: Path) -> None:
    turns = TurnsTable(question_timeout_s=0.05)
    async with gateway(tmp_path, programs=asking(HARMLESS), access=ACCESS, turns=turns) as moot:
        await moot.hear(said("@demo go"))
        await moot.settle()
        assert "chose 2" in moot.texts()
        lapse = (await noted(moot))[-1]
        assert (lapse.act, lapse.detail["reason"]) == ("lapse", "timeout")
        await press(moot, 0, OLIVIA)
        assert moot.texts()[-1] == "Olivia, that question is closed already."


async def test_one_that_is_broken_off_twice_is_on_record_once(tmp_path: Path) -> None:
    async def ask(prompt: str, reply: Reply) -> str:
        asked = asyncio.ensure_future(reply.choose(HARMLESS))
        await until(lambda: bool(moot.house.questions.all_open()))
        asked.cancel()
        while moot.house.questions.all_open():
            await asyncio.sleep(0)
        asked.cancel()  # while that is written
        await asyncio.wait({asked})
        return "gone"

    async with gateway(tmp_path, programs=ScriptedPrograms(ask), access=ACCESS) as moot:
        await moot.hear(said("@demo go"))
        await moot.settle()
        assert await acts(moot) == [("ask", "demo"), ("lapse", "demo")]


async def test_a_digit_elsewhere_answers_nothing(tmp_path: Path) -> None:
    bot = FakeBot(capabilities=PlatformCapabilities(draft_interval_s=0.05, thread_replies=True))
    access = ACCESS.model_copy(update={"dms": "open"})
    programs = asking(HARMLESS)
    async with gateway(tmp_path, bot=bot, programs=programs, access=access) as moot:
        await begun(moot)
        await moot.hear(said("!1", by="olivia", room=Room("fake:other", "other")))
        await moot.hear(said("!1", by="olivia", room=Room("fake:d1", "Olivia", "dm")))
        await moot.hear(said("!1", by="olivia", thread_id="elsewhere"))
        await until(lambda: moot.texts().count("Nothing is being asked here.") == 3)
        thread = moot.bot.posted[0].place.thread_id
        await moot.hear(said("!1", by="olivia", thread_id=thread))
        await moot.settle()
        assert "chose 0" in moot.texts()


async def test_a_digit_means_the_persona_that_it_names_and_never_a_guess(tmp_path: Path) -> None:
    async def ask(prompt: str, reply: Reply) -> str:
        name = "codex" if "You are: @codex" in prompt else "demo"
        return f"{name} chose {await reply.choose(replace(HARMLESS, id=name, title=name))}"

    programs = ScriptedPrograms(ask)
    async with gateway(
        tmp_path, programs=programs, personas=("demo", "codex"), access=ACCESS
    ) as moot:
        await moot.hear(said("@demo @codex go"))
        await until(lambda: {"? demo", "? codex"} <= set(moot.texts()))
        await moot.hear(said("!1", by="olivia"))
        await until(lambda: any("More than one question" in text for text in moot.texts()))
        await moot.hear(said("@codex !1", by="olivia"))
        await until(lambda: "codex chose 0" in moot.texts())
        assert "demo chose 0" not in moot.texts()
        await moot.hear(said("!3", by="olivia"))
        await moot.settle()
        assert "demo chose 2" in moot.texts()


async def test_after_a_restart_the_old_post_is_closed_and_the_question_asked_anew(
    tmp_path: Path,
) -> None:
    bot = FakeBot(frozen=True)  # what is killed closes nothing
    async with gateway(tmp_path, bot=bot, programs=asking(HARMLESS), access=ACCESS) as moot:
        await begun(moot)
    bot.frozen = False
    fresh = replace(HARMLESS, id="q2")
    async with gateway(tmp_path, bot=bot, programs=asking(fresh), access=ACCESS) as moot:
        await until(lambda: len(bot.asked) == 2)
        await until(lambda: any("Moot was restarted" in text for _, text in bot.edits))
        await press(moot, 0, OLIVIA, "q1")
        assert await moot.house.services.inbox.choose("q1", 0, OLIVIA) == "unknown"
        assert "chose 0" not in moot.texts()
        await moot.hear(said("!1", by="olivia"))
        await moot.settle()
        assert "chose 0" in moot.texts()
        reasons = [e.detail.get("reason") for e in await noted(moot) if e.act == "lapse"]
        assert "restart" in reasons
