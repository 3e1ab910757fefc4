"""Attachments for a program that can't see where they are kept: copies in a folder that its
sandbox shows."""

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


async def copy_attachments(briefing: Briefing, folder: Path | None) -> Briefing:
    """The briefing, with attachments as `folder` has them. None: as they are."""
    if folder is None or not any(line.attachments for line in briefing.transcript):
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
            half = target.with_name(f"{target.name}.part")
            shutil.copyfile(source, half)
            half.replace(target)
    except OSError as error:
        log.warning("attachment.not_lent", reason=str(error))
        return replace(attachment, path=None)
    return replace(attachment, path=str(target))
