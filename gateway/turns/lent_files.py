"""Files that an agent's program opens: attachments where it can read them, and long messages."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from contract.briefing import Briefing, TranscriptLine
from contract.chat import Attachment
from contract.language import say
from gateway.core.quoting import quoted
from gateway.sessions.lent_files import LentFiles

WHOLE = "whole-message.txt"


def missing_files(files: Iterable[Attachment]) -> str:
    """A line for each file of a message that an agent is told of and not given."""
    lost = (file for file in files if file.missing)
    return "\n".join(
        say(
            "📎 {file} did not reach me: {missing}.",
            file=quoted(file.name, 80),
            missing=say(file.missing),
        )
        for file in lost
    )


async def with_whole_messages(
    briefing: Briefing, files: LentFiles, clean: Callable[[str], str]
) -> Briefing:
    """The briefing, in which a message that is cut has the whole of it as its last attachment.

    files: where it is put. clean: takes the known secrets out.
    """
    most = briefing.budget.message

    def write() -> tuple[TranscriptLine, ...]:
        return tuple(
            _with_whole(line, files, clean(line.text)) if len(line.text) > most else line
            for line in briefing.transcript
        )

    return replace(briefing, transcript=await asyncio.to_thread(write))


def _with_whole(line: TranscriptLine, files: LentFiles, text: str) -> TranscriptLine:
    content = text.encode()
    name = hashlib.sha256(content).hexdigest()[:16]
    path = files.written(f"{name}/{WHOLE}", content)
    if path is None:
        return line
    whole = Attachment(WHOLE, "text/plain", len(content), path=path)
    return replace(line, attachments=(*line.attachments, whole))


async def copy_attachments(briefing: Briefing, files: LentFiles) -> Briefing:
    """The briefing, with attachments as `files` has them."""
    if not any(line.attachments for line in briefing.transcript):
        return briefing
    return await asyncio.to_thread(_lend, briefing, files)


def _lend(briefing: Briefing, files: LentFiles) -> Briefing:
    lines = tuple(
        replace(line, attachments=tuple(_lent(a, files) for a in line.attachments))
        for line in briefing.transcript
    )
    return replace(briefing, transcript=lines)


def _lent(attachment: Attachment, files: LentFiles) -> Attachment:
    """The attachment as its program finds it. Without a path where it can't be had."""
    if attachment.path is None:
        return attachment
    return replace(attachment, path=files.copied(Path(attachment.path)))
