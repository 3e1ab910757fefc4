"""Lets an agent that opens no files read a message whole, of which its prompt held a part."""

from __future__ import annotations

import asyncio
from pathlib import Path

from adapters.own_files import open_own

PIECE_CHARS = 20_000  # about 5,000 tokens
NOT_THERE = "There is no such message: the path stands in the prompt, behind `whole-message.txt`."


async def read_piece(folder: Path, path: str, start: int) -> str | None:
    """Some of a message from a character on, and how to go on; None: there is none.

    folder: of the whole messages that its session was told of.
    """
    text = await asyncio.to_thread(_read, folder, path)
    if text is None:
        return None
    end = min(start + PIECE_CHARS, len(text))
    there = f"characters {start:,} to {end:,} of {len(text):,}" if start < end else "nothing more"
    more = f"; go on with start={end}" if end < len(text) else ""
    return f"{text[start:end]}\n\n({there}{more})"


def _read(folder: Path, path: str) -> str | None:
    try:
        with open_own(folder / path, folder) as file:
            return file.read().decode(errors="replace")
    except (OSError, ValueError):
        return None
