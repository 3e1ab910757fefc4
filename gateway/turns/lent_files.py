"""Files that an agent's program opens: attachments where it can read them, and long messages."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import structlog

from contract.briefing import Briefing, TranscriptLine
from contract.chat import Attachment
from contract.language import say
from gateway.core.private_folders import LENT_FILE, LENT_FOLDER
from gateway.core.quoting import quoted

log = structlog.stdlib.get_logger("moot.lending")

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
    briefing: Briefing, folder: Path, clean: Callable[[str], str]
) -> Briefing:
    """The briefing, in which a message that is cut has the whole of it as its last attachment.

    folder: where the files are made. clean: takes the known secrets out.
    """
    most = briefing.budget.message

    def write() -> tuple[TranscriptLine, ...]:
        return tuple(
            _with_whole(line, folder, clean(line.text)) if len(line.text) > most else line
            for line in briefing.transcript
        )

    return replace(briefing, transcript=await asyncio.to_thread(write))


def _with_whole(line: TranscriptLine, folder: Path, text: str) -> TranscriptLine:
    content = text.encode()
    name = hashlib.sha256(content).hexdigest()[:16]
    path = _made(folder / name / WHOLE, lambda half: half.write_bytes(content))
    if path is None:
        return line
    whole = Attachment(WHOLE, "text/plain", len(content), path=path)
    return replace(line, attachments=(*line.attachments, whole))


async def copy_attachments(briefing: Briefing, folder: Path) -> Briefing:
    """The briefing, with attachments as `folder` has them."""
    if not any(line.attachments for line in briefing.transcript):
        return briefing
    return await asyncio.to_thread(_lend, briefing, folder)


def _lend(briefing: Briefing, folder: Path) -> Briefing:
    lines = tuple(
        replace(line, attachments=tuple(_lent(a, folder) for a in line.attachments))
        for line in briefing.transcript
    )
    return replace(briefing, transcript=lines)


def _lent(attachment: Attachment, folder: Path) -> Attachment:
    """The attachment in the folder. Without a path where it can't be had."""
    if attachment.path is None:
        return attachment
    source = Path(attachment.path)
    target = folder / hashlib.sha256(bytes(source)).hexdigest()[:16] / source.name
    return replace(attachment, path=_made(target, lambda half: shutil.copyfile(source, half)))


def _made(target: Path, write: Callable[[Path], object]) -> str | None:
    """The path of a file that is made if it is not there; None where it can't be."""
    try:
        if not target.exists():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.parent.chmod(LENT_FOLDER)
            half = target.with_name(f"{target.name}.part")
            write(half)
            half.chmod(LENT_FILE)
            half.replace(target)
    except OSError as error:
        log.warning("attachment.not_lent", reason=str(error))
        return None
    return str(target)
