"""A recorded terminal played again: what would have been posted, by the screen alone."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from adapters.profiles.generic import look_of
from adapters.reading.reply import TranscriptView, read_reply
from adapters.screen.screen import Screen
from contract.errors import MootError
from contract.refusals import why

PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"
LEAVE_ALTERNATE = b"\x1b[?1049l"


class RecordingHeader(BaseModel):
    """The first line of a recording. What else it says is not used: it could tell the answer."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    cols: int = Field(ge=2, le=1000)
    rows: int = Field(ge=1, le=1000)


class RecordedEvent(NamedTuple):
    """kind: "o" read from the terminal, "i" written to it."""

    kind: str
    data: bytes


class Recording(NamedTuple):
    """A recorded terminal: its size, and what went in and out."""

    cols: int
    rows: int
    events: list[RecordedEvent]


_EVENT = TypeAdapter(tuple[float, str, str])


def replay(path: Path, agent: str) -> str:
    """The last reply in a recording; "" when there is none.

    agent: a name that `look_of` knows; for others the generic look is tried. Only what a driver
    sees is used, the bytes that came and those that were typed. MootError: the file is no
    recording.
    """
    recording, look = read_recording(path), look_of(agent)
    screen = Screen(recording.cols, recording.rows)
    roll = TranscriptView(look)
    prompt = prompt_of(recording.events)
    before_leaving = ""
    for kind, data in recording.events:
        if kind != "o":
            continue
        if LEAVE_ALTERNATE in data and screen.alternate:  # a full-screen program may be ending
            last, _, rest = data.partition(LEAVE_ALTERNATE)
            screen.feed(last)
            roll.see(screen)
            before_leaving = read_reply(screen, look, prompt, roll)
            data = LEAVE_ALTERNATE + rest
        screen.feed(data)
        roll.see(screen)
    return read_reply(screen, look, prompt, roll) or before_leaving


def read_recording(path: Path) -> Recording:
    """Read a recording; events of kinds other than "i" and "o" are left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MootError(f"{path}: {why(error)}") from None
    except UnicodeDecodeError:
        raise MootError(f"{path}: it is not UTF-8, and no recording") from None
    header, *rest = text.split("\n") if text.strip() else [""]
    try:
        size = RecordingHeader.model_validate_json(header)
    except ValidationError as error:
        raise MootError(
            f"{path}: line 1 is no header with cols and rows: {_first(error)}"
        ) from None
    return Recording(size.cols, size.rows, list(_events(path, rest)))


def _events(path: Path, lines: Sequence[str]) -> Iterator[RecordedEvent]:
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
            _, kind, data = _EVENT.validate_python(fields[:3] if isinstance(fields, list) else ())
            if kind in ("o", "i"):
                yield RecordedEvent(kind, base64.b64decode(data, validate=True))
        except ValidationError as error:
            raise MootError(f"{path}: line {number}: {_first(error)}") from None
        except (json.JSONDecodeError, binascii.Error, RecursionError) as error:
            raise MootError(f"{path}: line {number}: {error}") from None


def _first(error: ValidationError) -> str:
    return str(error.errors()[0]["msg"])


def prompt_of(events: Sequence[RecordedEvent]) -> str | None:
    """The prompt that was typed and sent last, commands of the program's own left out."""
    prompts: list[str] = []
    typed = ""
    for kind, data in events:
        if kind != "i":
            continue
        text = data.decode("utf-8", "replace")
        if PASTE_BEGIN in text:
            typed = text.partition(PASTE_BEGIN)[2]
        elif not text.startswith("\x1b") or PASTE_END in text:
            typed += text
        if typed.endswith("\r"):
            prompt = typed.replace(PASTE_END, "").replace("\r", "\n").strip("\n")
            prompt = prompt.removeprefix("!multi\n").removesuffix("\n!end")  # llm's way
            if prompt and not prompt.startswith("/"):
                prompts.append(prompt)
            typed = ""
    return prompts[-1] if prompts else None
