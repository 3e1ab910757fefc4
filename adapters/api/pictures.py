"""The pictures of a conversation, as a request to the Messages API takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from adapters.api.conversation import ConversationMessage
from adapters.images import Picture, picture_of
from contract.chat import Attachment

MOST = 20  # in a request: of more than that the API takes smaller ones only
MOST_CHARS = 24_000_000  # of them together: a whole request may have 32 MB


async def shown_pictures(
    said: Iterable[ConversationMessage],
) -> Mapping[Attachment, Picture | str]:
    """Each picture, or the sentence that stands for it: the oldest go first."""
    files = [file for one in said for file in one.pictures]
    return await asyncio.to_thread(_shown, files) if files else {}


def _shown(files: list[Attachment]) -> Mapping[Attachment, Picture | str]:
    shown: dict[Attachment, Picture | str] = {}
    chars, count = 0, 0
    for file in reversed(files):
        if file in shown:
            continue
        picture = picture_of(file) if count < MOST else ""
        if isinstance(picture, Picture):
            chars += len(picture.data)
            count += 1
        if picture == "" or chars > MOST_CHARS:
            picture = f"({file.name} was shown here earlier. It is at {file.path}.)"
        shown[file] = picture
    return shown
