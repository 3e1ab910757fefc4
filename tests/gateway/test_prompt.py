"""No prompt holds a known secret: of a turn, of a dry run, or of `moot header`."""

from __future__ import annotations

import base64
import html
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.agent import Reply
from composer.header import untyped
from contract.briefing import (
    Briefing,
    Fact,
    Landmark,
    Note,
    Observation,
    ThreadMessage,
    TranscriptLine,
)
from contract.chat import Attachment, Pinned, Room, Speaker
from gateway.core.redaction import REMOVED, Redactor
from gateway.turns.prompt import finished
from tests.doubles.briefings import AT, briefing
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import Opened, gateway
from tests.doubles.scripted import ScriptedPrograms

SECRET = "xoxb-9@Qé/7_+*&<z-1a2b3c"
Write = Callable[[str], str]
FORMS: dict[str, Write] = {
    "as it is": str,
    "in capitals": str.upper,
    "in a JSON text": json.dumps,
    "in a URL": lambda secret: quote(secret, safe=""),
    "in HTML": html.escape,
    "in Python": repr,
    "in Markdown": lambda secret: secret.replace("_", "\\_").replace("*", "\\*"),
    "in hex": lambda secret: secret.encode().hex(),
    "in base64": lambda secret: base64.b64encode(f"user:{secret}".encode()).decode(),
    "with a character in it that nobody sees": lambda secret: secret[:9] + "\u200b" + secret[9:],
    "with a word joiner in it": lambda secret: secret[:6] + "\u2060" + secret[6:],
}


def has(text: str, written: str) -> bool:
    """Whether a text holds the secret, or what it was written as."""
    return any(form in untyped(text) for form in (SECRET, untyped(written).replace("\u200b", "")))


around = st.text(alphabet="ab @\n`-_[]|:é\u200b", max_size=12)


@st.composite
def pasted(draw: st.DrawFn) -> tuple[str, Briefing]:
    """A form of the secret, and a briefing in which it may stand in every place that has a text."""
    written = FORMS[draw(st.sampled_from(sorted(FORMS)))](SECRET)

    def text(least: str = "x") -> str:
        if draw(st.booleans()):
            return f"{draw(around)}{written}{draw(around)}"
        return least

    asker = Speaker("web:ana", text(), role=text(), mention=text())
    other = Speaker("web:bob", text(), "bot")
    file = Attachment(text(), "text/plain", 5, text())
    lines = (
        TranscriptLine("1", other, text(), AT),
        TranscriptLine("2", asker, text(), AT, (file,)),
    )
    return written, briefing(
        room=Room("web:a", text(), draw(st.sampled_from(["room", "dm", "gdm"])), text()),
        triggered_by=asker,
        participants=(asker, other),
        recall=(Fact(text(), origin=text()),),
        pins=(Note(text()),),
        recommendations=(Note(text()),),
        landmarks=(Landmark(text(), "2026-04-21", text()),),
        summary=text(""),
        observations=(Observation(text()),),
        thread=draw(st.sampled_from([(), (ThreadMessage(other, text()),)])),
        thread_context=text(""),
        transcript=lines,
        trigger_ids=("2",),
        since_last_reply=draw(st.booleans()),
    )


@settings(max_examples=150, deadline=None)
@given(pasted(), st.sampled_from([None, ["claude", "demo"]]))
def test_whatever_is_pasted_no_prompt_holds_a_secret(
    case: tuple[str, Briefing], names: list[str] | None
) -> None:
    written, told = case
    _, header, text = finished(told, Redactor([SECRET]), names)
    assert not has(text, written)
    assert not has(header.text, written)
    assert not any(has(section.text, written) for section in header.sections)


def test_without_a_secret_a_prompt_stays_as_it_is() -> None:
    told = briefing(transcript=(TranscriptLine("1", Speaker("web:a", "A"), "hello @all", AT),))
    same, header, text = finished(told, Redactor([SECRET]))
    assert same is told
    assert (text, finished(told, Redactor())[2]) == (header.text, header.text)


async def everything(tmp_path: Path, written: str) -> list[str]:
    """All that agents and the page are given where a form of the secret stands in every place that
    people can put it in: as a turn, as the next turn of a session, as a preview and a dry run."""
    given: list[str] = []

    async def script(prompt: str, reply: Reply) -> str:
        given.extend([prompt, reply.occasion.context])
        return "ok"

    room = Room("fake:general", f"general {written}")
    by = Speaker("fake:ash", f"Ash {written}")
    async with gateway(
        tmp_path, programs=ScriptedPrograms(script), redactor=Redactor([SECRET]), bot=FakeBot()
    ) as moot:
        await moot.hear(said("we begin", room=room, message_id="root"))
        await moot.receive(Pinned(room, "root", by))
        await moot.hear(said(f"!decision we use {written}", room=room))
        for number in range(2):
            await moot.hear(
                replace(
                    said(
                        f"@demo what is {written}?",
                        room=room,
                        thread_id="root" if number else None,
                        sender_display_name=by.name,
                        thread_context=f"before: {written}",
                    ),
                    attachments=(Attachment(f"{written}.txt", "text/plain", 3),),
                )
            )
            await moot.settle()
        given += await rehearsed(moot, room, by, written)
    return given


async def rehearsed(moot: Opened, room: Room, by: Speaker, written: str) -> list[str]:
    persona = moot.house.personas.good["demo"]
    dry_runs = moot.house.services.dry_runs
    text = f"and {written}?"
    preview = await dry_runs.preview(persona, room.id, by, text)
    done = await dry_runs.dry_run(persona, room.id, by, text)
    headers = (preview.header, done.preview.header)
    return [part for h in headers for part in (h.text, *(section.text for section in h.sections))]


@pytest.mark.parametrize("form", sorted(FORMS))
async def test_a_secret_in_a_room_is_given_to_no_agent_on_any_path(
    tmp_path: Path, form: str
) -> None:
    written = FORMS[form](SECRET)
    given = await everything(tmp_path, written)
    assert len(given) > 8
    assert not [text for text in given if has(text, written)]
    assert sum(f"what is {REMOVED}?" in text for text in given) >= 3 or form.startswith("in ")
    assert any(REMOVED in text for text in given[-3:])


def test_moot_header_prints_no_secret(tmp_path: Path) -> None:
    at = datetime(2026, 4, 21, tzinfo=UTC).isoformat()
    ana = {"id": "web:ana", "name": "Ana"}
    told = {
        "room": {"id": "web:a", "name": "a"},
        "you": {"id": "bot:demo", "name": "demo", "kind": "bot"},
        "agent": "demo agent",
        "triggered_by": ana,
        "at": at,
        "transcript": [{"id": "1", "by": ana, "text": f"my key is {SECRET}", "at": at}],
        "trigger_ids": ["1"],
    }
    file = tmp_path / "briefing.json"
    file.write_text(json.dumps(told), encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, "-c", "from gateway.main import main; main()", "header", str(file)],
        env={"SOME_API_KEY": SECRET, "PATH": os.environ["PATH"]},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert f"my key is {REMOVED}" in printed
    assert SECRET not in printed
