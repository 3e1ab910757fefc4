"""`!why`: what somebody in a chat reads of the last answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contract.chat import Attachment, Inbound
from contract.language import LANGUAGES
from gateway.settings.access import AccessTable
from tests.doubles.index import WordIndex
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway
from tests.gateway.test_remember_commands import SCOPE, know

NINE = datetime(2026, 3, 3, 9, 0, tzinfo=UTC)
PLAN = Attachment(name="plan, second.pdf", mime="application/pdf", size_bytes=1200)


def at(minute: int, text: str, **more: str) -> Inbound:
    """A message of 9 o'clock and so many minutes."""
    return replace(said(text, **more), sent_at=NINE + timedelta(minutes=minute))  # type: ignore[arg-type]


async def why(moot: Opened, *messages: Inbound, command: str = "!why") -> list[str]:
    """The lines of its reply when these have been said."""
    for message in (*messages, said(command)):
        await moot.hear(message)
        await moot.settle()
    return moot.texts()[-1].splitlines()


async def test_it_says_in_a_few_lines_what_the_agent_knew(tmp_path: Path) -> None:
    async with gateway(tmp_path, index=WordIndex()) as moot:
        await know(moot, "Andi drinks green tea", SCOPE["room"], first_seq=None, last_seq=None)
        told = await why(
            moot,
            at(0, "tea at four", by="budi"),
            at(1, "!pin tea at four"),
            replace(at(2, "@demo who drinks green tea?"), attachments=(PLAN,)),
        )
        said_line = told.pop(2)
        assert said_line.startswith("- What was said: the last 4 messages, 09:00 to ")
        assert told[:-1] == [
            "@demo's last answer, with version 1 of its persona, was made from:",
            "- Who was there: Budi, Ash",
            "- Files: plan, second.pdf",
            "- What was remembered: 1 fact about Andi, 1 pinned decision",
        ]
        assert told[-1].startswith("- It took ")


async def test_later_answers_of_a_session_say_since_when(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        first = await why(moot, at(0, "@demo one"))
        assert "- What was said: the message of 09:00" in first
        assert "- What was remembered: nothing that fits" in first
        later = await why(moot, at(9, "and this"), at(10, "@demo two"))
        [what] = [line for line in later if line.startswith("- What was said")]
        assert what.endswith("it knew the earlier ones from its session")
        assert " messages since its answer before, " in what


async def test_what_did_not_fit_is_named_with_its_reason(tmp_path: Path) -> None:
    budget = {"window_messages": 2, "message": 200}
    async with gateway(tmp_path, options={"budget": budget}) as moot:
        talk = [at(n, f"number {n}", by="budi") for n in range(3)]
        told = await why(moot, *talk, at(3, "@demo and?"))
        assert told[2] == "- What was said: the last 2 messages, 09:02 to 09:03"
        assert "- Left out, because a prompt has a limit: the oldest messages" in told
        told = await why(moot, at(4, f"@demo {'long ' * 100}"))
        assert "- Left out, because a prompt has a limit: parts of long texts" in told
        assert "- Files: whole-message.txt" in told
        assert len(told) <= 8


async def test_its_thread_counts(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        talk = (at(0, "begins", message_id="t1"), at(1, "goes on", thread_id="t1", by="budi"))
        told = await why(moot, *talk, at(2, "@demo and?", thread_id="t1"))
        assert "earlier message" in told[2]
        assert " of the thread" in told[2]


@pytest.mark.parametrize(
    ("public_url", "links"),
    [(None, False), ("https://moot.example.org", True), ("https://moot.example.org/", True)],
)
async def test_it_links_to_the_page_only_where_people_can_reach_it(
    tmp_path: Path, public_url: str | None, links: bool
) -> None:
    async with gateway(tmp_path, public_url=public_url) as moot:
        told = await why(moot, said("@demo one"))
        linked = [line.startswith("- All of it: https://moot.example.org/#turn/") for line in told]
        assert any("#turn/" in line for line in told) is links
        assert any(linked) is links


async def test_it_is_in_the_language_of_the_room(tmp_path: Path) -> None:
    access = AccessTable(rooms="open", owners=frozenset({"fake:ash"}))
    async with gateway(tmp_path, access=access) as moot:
        replies = set()
        for language in LANGUAGES:
            told = await why(moot, said(f"!language {language}"), said("@demo one"))
            assert "@demo" in told[0]
            replies.add(told[-1])
        assert len(replies) == len(LANGUAGES)
