"""Where posts go, and in whose voice."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from adapters.agent import Reply
from contract.agent import Option, Question
from contract.chat import Destination, PersonaIdentity
from contract.errors import AgentError
from gateway.settings.access import AccessTable
from tests.doubles.platform import ROOM, FakeBot, said
from tests.doubles.running import gateway, until
from tests.doubles.scripted import ScriptedPrograms

AVATAR = "https://example.org/claude.png"
FACE = f"---\nagent: scripted\navatar: {AVATAR}\n---\nYou are claude.\n"
QUESTION = Question("q1", "Run ls?", "ls -la", (Option("Yes"), Option("No", refuses=True)))


@dataclass
class Recorder(FakeBot):
    """Keeps the voice of everything that it is told to post or to change."""

    voices: dict[str, PersonaIdentity | None] = field(default_factory=dict)

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        self.voices[f"edit {message_id}"] = place.voice
        await super().edit(place, message_id, text)

    async def upload(
        self, place: Destination, name: str, data: bytes, comment: str, key: str
    ) -> str:
        self.voices["upload"] = place.voice
        return await super().upload(place, name, data, comment, key)


async def test_an_account_of_several_personas_speaks_as_the_one_whose_turn_it_is(
    tmp_path: Path,
) -> None:
    bot = Recorder(limit=100)
    gate = asyncio.Event()

    async def script(prompt: str, reply: Reply) -> str:
        reply.draft("Let me")
        await gate.wait()
        await reply.choose(QUESTION)
        return "x" * 2000

    access = AccessTable(rooms="open", approvers=frozenset({"fake:ash"}))
    programs = ScriptedPrograms(script)
    names = ("claude", "codex")
    async with gateway(tmp_path, bot=bot, programs=programs, personas=names, access=access) as moot:
        (tmp_path / "personas" / "claude.md").write_text(FACE)
        await moot.hear(said("@claude hello"))
        await until(lambda: bool(bot.posted))
        gate.set()
        await until(lambda: bool(bot.asked))
        await moot.hear(said("!1"))
        await moot.settle()
        claude = PersonaIdentity("claude", AVATAR)
        assert {post.place.voice for post in bot.posted} == {claude}
        assert set(bot.voices.values()) == {claude}
        assert "upload" in bot.voices
        await moot.hear(said("@codex hello"))
        await until(lambda: len(bot.asked) == 2)
        await moot.hear(said("!1"))
        await moot.settle()
        assert bot.posted[-1].place.voice == PersonaIdentity("codex")


async def test_moots_own_words_have_no_voice_and_a_failure_has_its_personas(
    tmp_path: Path,
) -> None:
    programs = ScriptedPrograms()
    programs.failures.append(AgentError("missing", "not there", say="Install it."))
    async with gateway(tmp_path, programs=programs, personas=("claude", "codex")) as moot:
        for text in ("!help", "@codex hello", "!pin tea at four"):
            await moot.hear(said(text))
            await moot.settle()
        voices = [post.place.voice for post in moot.bot.posted]
        assert voices == [None, PersonaIdentity("codex"), None]


async def test_an_account_of_one_persona_speaks_as_itself(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo hello", thread_id="t1"))
        await moot.settle()
        assert [post.place for post in moot.bot.posted] == [Destination(ROOM, "t1", is_answer=True)]
