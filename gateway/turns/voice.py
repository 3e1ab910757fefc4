"""Voice messages become text, before anybody decides whom a message is for."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import field, replace
from pathlib import Path

import aiohttp
import structlog

from adapters.pty.process_group import OutputTooLarge, run_once
from bots.kit.files import mime_of
from contract.chat import Attachment, Inbound
from contract.errors import ConfigError, MootError
from contract.language import say
from contract.values import dataclass
from gateway.core.quoting import quoted
from gateway.settings.env_file import passed_on
from gateway.settings.transcribe import FILE, KEY, TranscribeTable

log = structlog.stdlib.get_logger("moot.voice")

MARK = "🎤"
"""Begins the text of what was said, so that nobody takes it for typed words."""

AT_ONCE = 2  # a local model takes all the processors that there are
MOST_BYTES = 256 * 1024  # of a transcript: ten hours of speech
_PASSED_ON = ("HOME", "LC_CTYPE", "TMPDIR", "LD_LIBRARY_PATH")

Transcriber = Callable[[Path], Awaitable[str]]
"""Given a sound file, what is said in it. Raises TranscriptionError."""


class TranscriptionError(MootError):
    """A sound file could not be transcribed. The message holds nothing of it; `say`: see there."""


@dataclass(frozen=True, slots=True)
class VoiceMessages:
    """Writes them down. transcriber: None when nobody does. listens: true for a message whose
    sender has a role where it was sent: work is done for nobody else."""

    transcriber: Transcriber | None
    listens: Callable[[Inbound], bool]

    async def written(self, inbound: Inbound) -> tuple[Inbound, str]:
        """The message with what was said in it behind its text, and a line about what could not be
        made out; "": there is nothing to say."""
        voices = [file for file in inbound.attachments if is_voice(file) and file.path]
        by_bot = inbound.meta.sender_type == "bot"
        if not voices or self.transcriber is None or by_bot or not self.listens(inbound):
            return inbound, ""
        said, lines = [inbound.content] if inbound.content.strip() else [], []
        for file in voices:
            try:
                text = await self.transcriber(Path(file.path or ""))
            except TranscriptionError as error:
                log.warning("voice.not_transcribed", room=inbound.room.id, reason=str(error))
                lines.append(
                    say(
                        "{mark} I could not make out {file}: {why}.",
                        mark=MARK,
                        file=quoted(file.name, 80),
                        why=error.say,
                    )
                )
            else:
                said.append(
                    f"{MARK} {text}" if text else say("{mark} (nothing is said)", mark=MARK)
                )
                log.info("voice.transcribed", room=inbound.room.id, chars=len(text))
        return replace(inbound, content="\n".join(said)), "\n".join(lines)


def is_voice(file: Attachment) -> bool:
    """True for a file of sound, by its type or by its name."""
    return file.mime.startswith("audio/") or mime_of(file.name).startswith("audio/")


@asynccontextmanager
async def open_transcriber(
    table: TranscribeTable | None, environment: Mapping[str, str]
) -> AsyncIterator[Transcriber | None]:
    """The configured one; None: there is none. Raises ConfigError."""
    if table is None:
        yield None
    elif table.url is None:
        program = _program(table, environment)
        env = passed_on(environment, *_PASSED_ON)
        yield _Bounded(table, _Command(table, program, env))
    else:
        key = environment.get(KEY)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        timeout = aiohttp.ClientTimeout(total=table.timeout_s)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as client:
            yield _Bounded(table, _Endpoint(table, client))


def check_transcribe(table: TranscribeTable | None, environment: Mapping[str, str]) -> None:
    """Raise ConfigError where the configured program is not there."""
    if table is not None and table.command:
        _program(table, environment)


def _program(table: TranscribeTable, environment: Mapping[str, str]) -> str:
    """The absolute path of its program. Raises ConfigError."""
    program = shutil.which(table.command[0], path=environment.get("PATH", ""))
    if program is None:
        name = table.command[0]
        raise ConfigError(f"transcribe.command: there is no program {name!r} on the PATH")
    return str(Path(program).absolute())


@dataclass(frozen=True, slots=True)
class _Bounded:
    """Takes files that are not too large, a few at a time."""

    table: TranscribeTable
    transcriber: Transcriber
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def __call__(self, file: Path) -> str:
        size = (await asyncio.to_thread(file.stat)).st_size
        if size > self.table.file_mb * 1_000_000:
            line = say("it is larger than {file_mb} MB", file_mb=self.table.file_mb)
            raise TranscriptionError("it is too large", say=line)
        async with self.turns:
            try:
                return " ".join((await self.transcriber(file)).split())
            except TimeoutError:
                line = say(
                    "it took longer than {timeout_s} seconds", timeout_s=f"{self.table.timeout_s:g}"
                )
                raise TranscriptionError("no end in time", say=line) from None
            except (aiohttp.ClientError, OSError, OutputTooLarge, ValueError) as error:
                raise _failed(type(error).__name__) from error


@dataclass(frozen=True, slots=True)
class _Command:
    """A program that writes what it hears to its standard output."""

    table: TranscribeTable
    program: str
    env: Mapping[str, str]

    async def __call__(self, file: Path) -> str:
        words = [word.replace(FILE, str(file)) for word in self.table.command[1:]]
        result = await run_once(
            (self.program, *words),
            env=self.env,
            cwd=file.parent,
            given=b"",
            timeout_s=self.table.timeout_s,
            most_bytes=MOST_BYTES,
        )
        if result.code:
            raise _failed(f"exit code {result.code}")
        return result.out.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """An endpoint like OpenAI's POST /audio/transcriptions."""

    table: TranscribeTable
    client: aiohttp.ClientSession

    async def __call__(self, file: Path) -> str:
        form = aiohttp.FormData({"model": self.table.model, "response_format": "json"})
        if self.table.language:
            form.add_field("language", self.table.language)
        content = await asyncio.to_thread(file.read_bytes)
        form.add_field("file", content, filename=file.name, content_type=mime_of(file.name))
        url = f"{self.table.url}/audio/transcriptions"
        async with self.client.post(url, data=form) as answer:
            if answer.status != 200:
                raise _failed(f"HTTP {answer.status}")
            told = await answer.json(content_type=None)
        text = told.get("text") if isinstance(told, dict) else None
        if not isinstance(text, str) or len(text) > MOST_BYTES:
            raise _failed("an answer without a text")
        return text


def _failed(reason: str) -> TranscriptionError:
    line = say("the transcription failed; the administrator finds why in the log")
    return TranscriptionError(reason, say=line)
