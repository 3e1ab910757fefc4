"""Files that an agent's program opens: copies of attachments, where it can read them."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import structlog

from contract.briefing import Briefing
from contract.chat import Attachment

log = structlog.stdlib.get_logger("moot.lending")


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
    try:
        if not target.exists():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.parent.chmod(0o750)  # the folder's group may be a session's own account
            half = target.with_name(f"{target.name}.part")
            shutil.copyfile(source, half)
            half.chmod(0o640)
            half.replace(target)
    except OSError as error:
        log.warning("attachment.not_lent", reason=str(error))
        return replace(attachment, path=None)
    return replace(attachment, path=str(target))
