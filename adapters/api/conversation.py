"""The conversation of a session with an agent that is called by API, kept on disk.

One JSON object a line, in the order in which things happened: something was said, or the oldest or
the newest was forgotten. A line is written at once and whole; a crash may tear the last one, which
then counts as not written.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, field
from itertools import dropwhile, groupby
from pathlib import Path
from typing import Literal

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from contract.chat import Attachment
from contract.values import dataclass
from llm.client import KeptJson

log = structlog.stdlib.get_logger("moot.conversation")

MOST_BYTES = 4 << 20  # of a file before it is rewritten: about 70 of the longest prompts
_APPENDED = os.O_WRONLY | os.O_APPEND | os.O_CREAT
FOLDER = Path(".moot", "conversations")
PICTURE_CHARS = 5_000  # it takes as many tokens as a text of so many
SESSION_ID = re.compile(r"[A-Za-z0-9-]{1,64}")  # it becomes a file's name

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """The words of one side in one go: its text blocks, none of them blank, and the pictures.

    sent: its form in a request, once it was in one; it goes out with every question of its session.
    """

    role: Role
    texts: tuple[str, ...]
    pictures: tuple[Attachment, ...] = ()
    sent: KeptJson = field(default_factory=KeptJson, compare=False, repr=False)

    @property
    def chars(self) -> int:
        """Its size in characters."""
        return sum(map(len, self.texts)) + PICTURE_CHARS * len(self.pictures)


class _StoredLine(BaseModel):
    """forget: so many of the oldest are forgotten; retract: so many of the newest."""

    model_config = ConfigDict(extra="ignore", strict=False, defer_build=True)

    role: Role = "user"
    texts: tuple[str, ...] = ()
    pictures: tuple[Attachment, ...] = ()
    forget: int = 0
    retract: int = 0


class Conversation:
    """All that was said and is not forgotten, oldest first; it begins with a user's words."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._said: list[ConversationMessage] = []
        self._turns: list[ConversationMessage] | None = None  # of them, until that changes
        self.failed = False  # something could not be kept

    @classmethod
    def open(cls, home: Path, session_id: str) -> Conversation:
        """The conversation of a session, empty when it has none yet. Reads a file."""
        conversation = cls(home / FOLDER / f"{session_id}.jsonl")
        conversation._read()
        return conversation

    def __len__(self) -> int:
        return len(self._said)

    @property
    def chars(self) -> int:
        """The size of all that was said."""
        return sum(said.chars for said in self._said)

    def messages(self) -> Sequence[ConversationMessage]:
        """The conversation in turns: what a side said twice in a row is one message."""
        if self._turns is None:
            begun = dropwhile(lambda said: said.role != "user", self._said)
            runs = groupby(begun, key=lambda said: said.role)
            self._turns = [_joined(role, list(run)) for role, run in runs]
        return self._turns

    def say(self, role: Role, *texts: str, pictures: Sequence[Attachment] = ()) -> None:
        """Add what one side says. The API takes neither blank texts, which are left out, nor half
        of a surrogate pair, which becomes a question mark. Each picture is kept once, by its
        path."""
        kept = tuple(text.encode(errors="replace").decode() for text in texts if text.strip())
        if kept:
            new = tuple(pictures)
            if new:
                held = {picture for said in self._said for picture in said.pictures}
                new = tuple(picture for picture in new if picture not in held)
            self._append(ConversationMessage(role, kept, new))
            shown = {"pictures": [asdict(picture) for picture in new]} if new else {}
            self._write({"role": role, "texts": kept, **shown})

    def _append(self, said: ConversationMessage) -> None:
        self._said.append(said)
        if not self._turns or self._turns[-1].role == said.role:
            self._turns = None
        else:
            self._turns = [*self._turns, said]

    def retract(self) -> None:
        """Take back what was said last."""
        if self._said:
            self._said.pop()
            self._turns = None
            self._write({"retract": 1})

    def undo(self) -> bool:
        """Take back the last question and what was said to it. False: there was none."""
        while self._said:
            role = self._said[-1].role
            self.retract()
            if role == "user":
                return True
        return False

    def forget(self, most_chars: int) -> bool:
        """Forget the oldest turns until what is left has at most so many characters.

        The newest question always stays, and a turn goes as a whole. False: nothing could go.
        """
        starts = [n for n, said in enumerate(self._said) if n and said.role == "user"]
        for start in starts:
            if sum(said.chars for said in self._said[start:]) <= most_chars:
                break
        else:
            start = starts[-1] if starts else 0
        if start:
            del self._said[:start]
            self._turns = None
            self._write({"forget": start})
        return bool(start)

    # ── The file ────────────────────────────────────────────────────────────────────────

    def _write(self, line: object) -> None:
        """One write a line: it is there as a whole, or torn at the end of the file.

        What can't be kept is missing after a restart, which is no reason not to answer now.
        """
        data = b"\n" * self.failed + json.dumps(line).encode() + b"\n"  # behind half a line, too
        try:
            descriptor = self._opened()
            try:
                self.failed = self.failed or os.write(descriptor, data) < len(data)
            finally:
                os.close(descriptor)
        except OSError as error:
            self.failed = True
            log.warning("conversation.not_kept", file=self._path.name, error=str(error))

    def _opened(self) -> int:
        try:
            return os.open(self._path, _APPENDED, 0o600)
        except FileNotFoundError:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return os.open(self._path, _APPENDED, 0o600)

    def _read(self) -> None:
        if not self._path.exists():
            return
        raw = self._path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if len(whole) < len(raw):
            os.truncate(self._path, len(whole))
        for line in filter(None, whole.splitlines()):
            self._apply(line)
        if len(whole) > MOST_BYTES:
            self._renew()

    def _renew(self) -> None:
        """Rewrite the file without what is forgotten."""
        new = self._path.with_suffix(".new")
        fresh = Conversation(new)
        new.unlink(missing_ok=True)
        for said in self._said:
            fresh.say(said.role, *said.texts, pictures=said.pictures)
        if len(fresh) == len(self._said) and not fresh.failed:
            new.replace(self._path)

    def _apply(self, raw: bytes) -> None:
        try:
            line = _StoredLine.model_validate_json(raw)
        except ValidationError:
            log.warning("conversation.line_skipped", file=self._path.name)
            return
        if line.texts:
            self._said.append(ConversationMessage(line.role, line.texts, line.pictures))
        if line.retract:
            del self._said[-line.retract :]
        del self._said[: line.forget]


def _joined(role: Role, run: Sequence[ConversationMessage]) -> ConversationMessage:
    if len(run) == 1:
        return run[0]
    texts = tuple(text for said in run for text in said.texts)
    return ConversationMessage(role, texts, tuple(one for said in run for one in said.pictures))
