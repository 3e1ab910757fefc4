"""An agent's work in a chat: a draft while it goes on, and a line under the answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adapters.agent import Reply
from contract.errors import AgentError, PlatformError
from contract.work import FileChange, Todo, ToolStep, Work
from gateway.settings.tables import TurnsTable
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import gateway, until
from tests.doubles.scripted import ScriptedPrograms

EDIT = ToolStep("Edit", "a.py", "done", changes=(FileChange("a.py", 3, 1),))
WORK = Work((ToolStep("Bash", "make ``` @all", "failed", "exit 1"), EDIT), (Todo("Rest", "doing"),))
SUMMARY = "2 tools, 1 file changed, 0 of 1 to-do done"
LOST = PlatformError("the line went dead", outcome="unknown")


async def worked(prompt: str, reply: Reply) -> str:
    reply.work(WORK)
    return "Done."


async def test_the_draft_has_the_work_and_the_answer_has_only_the_words(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def script(prompt: str, reply: Reply) -> str:
        reply.work(WORK)
        reply.draft("So far")
        await gate.wait()
        return "Done."

    async with gateway(tmp_path, programs=ScriptedPrograms(script)) as moot:
        await moot.hear(said("@demo go"))
        await until(lambda: len(moot.texts()) == 1)
        lines = "✗ Bash make ``` @all → exit 1\n✓ Edit a.py +3 −1\n▸ Rest"
        assert moot.texts() == [f"````\n{lines}\n````\n\nSo far"]
        gate.set()
        await moot.settle()
        assert moot.texts() == ["Done.", f"({SUMMARY})"]
        await moot.hear(said("@demo again"))
        await moot.settle()
        assert "Bash" not in moot.programs.prompts[1]
        assert "tools" not in moot.programs.prompts[1]


@pytest.mark.parametrize("faults", [[None, LOST], [LOST]], ids=["of the line", "of the answer"])
async def test_an_answer_and_its_line_are_posted_once(
    tmp_path: Path, faults: list[PlatformError | None]
) -> None:
    bot = FakeBot(faults=faults)
    async with gateway(tmp_path, bot=bot, programs=ScriptedPrograms(worked)) as moot:
        await moot.hear(said("@demo go"))
        await moot.settle()
        assert moot.texts() == ["Done.", f"({SUMMARY})"]


async def test_a_platform_that_refuses_the_line_has_the_answer(tmp_path: Path) -> None:
    bot = FakeBot(faults=[None, PlatformError("no embeds here", outcome="refused")])
    async with gateway(tmp_path, bot=bot, programs=ScriptedPrograms(worked)) as moot:
        await moot.hear(said("@demo go"))
        await moot.settle()
        assert moot.texts() == ["Done."]
        assert moot.bot.notes == [SUMMARY]


async def test_after_a_kill_the_line_is_posted_once(tmp_path: Path) -> None:
    bot = FakeBot()
    held = asyncio.Event()

    async def tell(posted: object) -> None:
        held.set()
        await asyncio.Event().wait()

    bot.tell = tell
    async with gateway(tmp_path, bot=bot, programs=ScriptedPrograms(worked)) as moot:
        await moot.hear(said("@demo go"))
        await held.wait()
    bot.tell = None
    async with gateway(tmp_path, bot=bot, programs=ScriptedPrograms(worked)) as moot:
        await moot.settle()
        assert moot.texts() == ["Done.", f"({SUMMARY})"]


async def test_a_turn_that_failed_tells_what_was_done(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        reply.work(WORK)
        raise AgentError("api", "overloaded", say="The API is overloaded.")

    async with gateway(tmp_path, programs=ScriptedPrograms(script)) as moot:
        await moot.hear(said("@demo go"))
        await moot.settle()
        assert moot.texts() == ["⚠️ The API is overloaded.", f"({SUMMARY})"]


@pytest.mark.parametrize(("table", "own", "shown"), [
    ("words", "", False), ("words", "show: work\n", True), ("work", "show: words\n", False),
])  # fmt: skip
async def test_where_only_words_are_shown_nobody_sees_the_work(
    tmp_path: Path, table: str, own: str, shown: bool
) -> None:
    turns = TurnsTable.model_validate({"show": table})
    async with gateway(tmp_path, programs=ScriptedPrograms(worked), turns=turns) as moot:
        (tmp_path / "personas" / "demo.md").write_text(
            f"---\nagent: scripted\n{own}---\nYou help.\n"
        )
        await moot.hear(said("@demo go"))
        await moot.settle()
        assert moot.texts() == ["Done.", *([f"({SUMMARY})"] if shown else [])]
