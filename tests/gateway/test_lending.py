"""Attachments for an agent that can't see where they are kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from contract.briefing import Briefing, TranscriptLine
from contract.chat import Attachment, Room, Speaker
from gateway.sessions.lent_files import LentFolder
from gateway.turns.lent_files import copy_attachments

ANA = Speaker("web:ana", "Ana")
NOON = datetime(2026, 4, 21, 12, tzinfo=UTC)


def briefing(*attachments: Attachment) -> Briefing:
    line = TranscriptLine("1", ANA, "look", NOON, attachments)
    empty = Briefing(Room("web:a", "a"), Speaker("bot:x", "x", "bot"), "agent", ANA, NOON)
    return replace(empty, transcript=(line,), trigger_ids=("1",))


async def test_it_gets_copies_that_it_can_not_change_for_others(tmp_path: Path) -> None:
    kept = tmp_path / "files" / "abc" / "notes.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("notes")
    given = briefing(Attachment("notes.txt", "text/plain", 5, str(kept)))
    lent = await copy_attachments(given, LentFolder(tmp_path / "scope" / "files"))
    (path,) = (Path(a.path or "") for a in lent.transcript[0].attachments)
    assert path.is_relative_to(tmp_path / "scope" / "files")
    assert path.read_text() == "notes"
    assert path.stat().st_ino != kept.stat().st_ino
    assert await copy_attachments(given, LentFolder(tmp_path / "scope" / "files")) == lent


async def test_one_that_is_gone_is_told_of_without_a_path(tmp_path: Path) -> None:
    given = briefing(Attachment("gone.txt", "text/plain", 5, str(tmp_path / "gone.txt")))
    lent = await copy_attachments(given, LentFolder(tmp_path / "files"))
    assert lent.transcript[0].attachments[0].path is None
