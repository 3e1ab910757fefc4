"""Pictures beside a prompt, for the agents that can look at them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path

from contract.chat import Attachment
from contract.values import dataclass

KINDS = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
MOST_BYTES = 3_900_000  # of one: the Anthropic API takes 5 MiB of its base64
MOST_PICTURES = 10  # beside one prompt: the newest
_HEAD_BYTES = 16


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as models take it. data: base64."""

    mime: str
    data: str


def is_picture(file: Attachment) -> bool:
    """True for a file that says it is a picture of a kind that models take, and is kept."""
    return file.path is not None and file.mime in KINDS.values()


async def pictures_of(files: Sequence[Attachment]) -> list[Picture | str]:
    """Each of them, or the sentence that stands for it."""
    return await asyncio.to_thread(lambda: [picture_of(file) for file in files]) if files else []


def picture_of(file: Attachment) -> Picture | str:
    """The picture, or a sentence that says why it isn't shown and where it is. Reads the file."""
    path = Path(file.path or "")
    try:
        with path.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError:
        return f"({file.name} is not shown: it is not there any more.)"
    if len(data) > MOST_BYTES:
        return (
            f"({file.name} is not shown: it has more than {MOST_BYTES:,} bytes. It is at {path}.)"
        )
    kind = _kind(data[:_HEAD_BYTES])
    if kind is None:
        return f"({file.name} is not shown: it is no PNG, JPEG, GIF or WebP. It is at {path}.)"
    return Picture(KINDS[kind], base64.b64encode(data).decode())


def _kind(head: bytes) -> str | None:
    """By its first bytes: a model's API refuses what it is told wrongly."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if head.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    return "webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None
