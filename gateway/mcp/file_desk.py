"""Takes the files that an agent hands over to the people of a room, in one turn."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Protocol

import structlog

from adapters.own_files import open_own
from bots.kit.files import mime_of, safe_name
from composer.guard import flat
from contract.chat import Attachment
from contract.values import dataclass
from contract.work import HandedFile

log = structlog.stdlib.get_logger("moot.mcp")

MOST_FILES = 10  # in a turn
COMMENT_CHARS = 500
PIECE_CHARS, OVERLAP_CHARS = 1 << 16, 1 << 12  # about 1 ms; a key of many lines is shorter


class NotTaken(Exception):
    """The file is not posted; the text tells the agent why."""


class HandedFiles(Protocol):
    """The files that a session's agent may hand over, wherever they are."""

    async def read(self, path: str, most_bytes: int) -> tuple[str, bytes]:
        """The name and the content of one that the agent names. Raises NotTaken."""


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """Those on this machine: in its working directory, and in its HOME but for what is hidden."""

    work: Path
    home: Path

    async def read(self, path: str, most_bytes: int) -> tuple[str, bytes]:
        named, root = self._place(path)
        return named.name, await asyncio.to_thread(self._read, named, root, most_bytes)

    def _place(self, path: str) -> tuple[Path, Path]:
        """The file that is meant, and the folder that it has to lie in."""
        if "\0" in path or not path.strip():
            raise NotTaken("name a file")
        asked = self.home / path[2:] if path.startswith("~/") else self.work / path
        for root in (self.work, self.home):
            if (led := asked.resolve()).is_relative_to(root.resolve()):
                inside = led.relative_to(root.resolve())
                if root is self.home and any(part.startswith(".") for part in inside.parts):
                    raise NotTaken("what is hidden in your home directory stays there")
                return asked, root
        raise NotTaken(f"only files in your working directory can be sent ({self.work})")

    def _read(self, path: Path, root: Path, most_bytes: int) -> bytes:
        try:
            with open_own(path, root) as file:
                data = file.read(most_bytes + 1)
        except FileNotFoundError:
            raise NotTaken(f"there is no file {path.name} in {path.parent}") from None
        except OSError as error:
            raise NotTaken(f"{path.name} can't be read: {error.strerror}") from None
        if len(data) > most_bytes:
            raise NotTaken(f"{path.name} is too large: {most_bytes:,} bytes are the most here")
        if not data:
            raise NotTaken(f"{path.name} is empty")
        return data


Share = Callable[[Iterable[Attachment]], Awaitable[None]]
"""Lets other machines have files of this one."""


async def on_this_machine(files: Iterable[Attachment]) -> None:
    """They stay here."""


class FileDesk:
    """The files of one turn. kept: where Moot keeps files. clean: takes known secrets out of a
    text."""

    def __init__(
        self,
        files: HandedFiles,
        kept: Path,
        most_bytes: int,
        clean: Callable[[str], str],
        share: Share = on_this_machine,
    ) -> None:
        self.taken: list[HandedFile] = []
        self._files = files
        self._kept = kept
        self._most_bytes = most_bytes
        self._clean = clean
        self._share = share

    async def take(self, path: str, comment: str = "") -> str:
        """Keep a copy, to be posted with the answer; return a sentence for the agent. Raises
        NotTaken."""
        if len(self.taken) >= MOST_FILES:
            raise NotTaken(f"{MOST_FILES} files are the most for one answer")
        named, data = await self._files.read(path, self._most_bytes)
        await refuse_secrets(data, self._clean)
        name = safe_name(named)
        for handed in self.taken:
            if handed.file.name == name and await asyncio.to_thread(_holds, handed.file, data):
                return f"{name} is posted with your answer already."
        file = await asyncio.to_thread(self._keep, name, data)
        await self._share([file])
        said = flat(self._clean(comment))[:COMMENT_CHARS]
        self.taken.append(HandedFile(file, said))
        log.info("file.handed_over", bytes=file.size_bytes, mime=file.mime)
        return f"{name} ({file.size_bytes:,} bytes) is posted with your answer."

    def _keep(self, name: str, data: bytes) -> Attachment:
        path = self._kept.absolute() / secrets.token_hex(16) / name
        path.parent.mkdir(parents=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_bytes(data)
        return Attachment(name, mime_of(name), len(data), str(path))


async def refuse_secrets(data: bytes, clean: Callable[[str], str]) -> None:
    """Raises NotTaken for a file with a known secret, which `clean` takes out of a text. In pieces:
    looking through all of it at once would hold everybody up."""
    text = data.replace(b"\0", b"").decode("latin-1")  # of UTF-16 what it says
    for start in range(0, len(text), PIECE_CHARS):
        piece = text[start : start + PIECE_CHARS + OVERLAP_CHARS]
        if clean(piece) != piece:
            raise NotTaken("the file holds a secret of this installation: no room gets to see it")
        await asyncio.sleep(0)


def _holds(file: Attachment, data: bytes) -> bool:
    return file.path is not None and Path(file.path).read_bytes() == data
