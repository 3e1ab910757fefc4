"""Answers that Slack shows while they are made: the words as they come, and what the agent does.

A stream only grows. Slack ends one by itself after some minutes, and where somebody presses its
stop button; the message stays there and can be edited. So whatever doesn't fit a stream any more
is an edit, and an edit ends the stream that is left open. (docs.slack.dev, chat.startStream,
chat.appendStream, chat.stopStream; read 2026-11.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

import structlog

from bots.kit.recent import Recent
from bots.slack.api import NO_METHOD, SlackApi, SlackRefused
from bots.slack.directory import Directory
from bots.slack.posts import EVENT, PersonaPosts
from bots.slack.text import MARKDOWN_CHARS, markdown, markdown_chars
from contract.chat import Destination
from contract.errors import PlatformError
from contract.values import dataclass
from contract.work import Draft, StepState, TodoState, Work

log = structlog.stdlib.get_logger("moot.bots")

_OPEN, _ASKED = 500, 5_000
_TASKS = 40  # of one message; Slack takes 50 blocks of a stream
_TITLE = 256  # characters of a task's title, and of its output

# Refusals of one call; others are about the channel, or the whole app.
_PASSING = {"thread_not_found", "message_not_found", "invalid_thread_ts", "user_not_found"}
_NOWHERE = NO_METHOD | {"missing_scope", "not_allowed_token_type", "access_denied", "not_supported"}

_STATUS: dict[StepState | TodoState, str] = {
    "running": "in_progress",
    "done": "complete",
    "failed": "error",
    "open": "pending",
    "doing": "in_progress",
}

Chunk = dict[str, Any]


@dataclass(slots=True)
class _Stream:
    """A message that still grows. words, tasks: as they stand there, tasks by their ids."""

    key: str
    words: str = ""
    tasks: dict[str, Chunk] = field(default_factory=dict)

    def news(self, draft: Draft) -> list[Chunk] | None:
        """What is to be appended; None: the words don't go on where they were."""
        words = markdown(draft.words)
        if not words.startswith(self.words) or markdown_chars(draft.words) > MARKDOWN_CHARS:
            return None
        rest = words.removeprefix(self.words)
        tasks = [task for task in _tasks(draft.work) if self.tasks.get(task["id"]) != task]
        return [*tasks, *([_words(rest)] if rest else [])]

    def took(self, chunks: list[Chunk]) -> None:
        """These stand there now."""
        for chunk in chunks:
            if chunk["type"] == "markdown_text":
                self.words += chunk["text"]
            else:
                self.tasks[chunk["id"]] = chunk

    def ended_tasks(self) -> Iterator[Chunk]:
        """The tasks that nobody works on any more."""
        for task in self.tasks.values():
            if task["status"] in ("in_progress", "pending"):
                yield {**task, "status": "complete"}


class Streams:
    """asked: who spoke last in a thread, by channel and thread: a stream is shown to somebody.

    In a direct message Slack knows to whom. Outside of threads it takes a stream only where a
    channel is one session as a whole, and says `invalid_thread_ts` elsewhere.
    """

    def __init__(self, api: SlackApi, voices: PersonaPosts, directory: Directory) -> None:
        self._api, self._voices, self._directory = api, voices, directory
        self.asked: Recent[tuple[str, str], str] = Recent(_ASKED)
        self._open: Recent[tuple[str, str], _Stream] = Recent(_OPEN)
        self._refused: set[tuple[str, bool]] = set()  # channels, and whether in their threads
        self._off = False

    async def begin(self, place: Destination, draft: Draft, key: str) -> str | None:
        """Begin one; return its timestamp. None: it has to be posted, and edited, as elsewhere."""
        channel, thread = place.room.external_id, place.thread_id or ""
        where, reader = (channel, bool(thread)), self.asked.get((channel, thread))
        if self._off or where in self._refused:
            return None
        if place.room.kind != "dm" and not (thread and reader):
            return None
        stream = _Stream(key)
        chunks = stream.news(draft)
        if not chunks:
            return None
        try:
            answer = await self._voices.call(
                "chat.startStream",
                place.voice,
                channel=channel,
                thread_ts=thread or None,
                recipient_user_id=reader,
                recipient_team_id=(reader and self._directory.own.team) or None,
                task_display_mode="timeline",
                chunks=chunks,
            )
        except PlatformError as error:
            if error.outcome == "unknown":
                raise
            if isinstance(error, SlackRefused):
                self._give_up(where, error)
            return None
        stream.took(chunks)
        self._open[channel, str(answer["ts"])] = stream
        return str(answer["ts"])

    async def go_on(self, place: Destination, message_id: str, draft: Draft) -> bool:
        """Show what is new; False: it has to be edited, from now on."""
        message = (place.room.external_id, message_id)
        if (stream := self._open.get(message)) is None:
            return False
        chunks = stream.news(draft)
        if chunks is None:
            del self._open[message]
            return False
        if chunks:
            await self._append(message, chunks)
            stream.took(chunks)
        return message in self._open

    async def finish(self, place: Destination, message_id: str, text: str) -> bool:
        """Complete the text and end the stream; False: it has to be edited."""
        message = (place.room.external_id, message_id)
        if (stream := self._open.pop(message, None)) is None:
            return False
        words = markdown(text)
        if not words.startswith(stream.words) or markdown_chars(text) > MARKDOWN_CHARS:
            return False
        rest = words.removeprefix(stream.words)
        chunks = [*stream.ended_tasks(), *([_words(rest)] if rest else [])]
        channel, ts = message
        try:
            await self._api.call(
                "chat.stopStream",
                channel=channel,
                ts=ts,
                chunks=chunks or None,
                metadata={"event_type": EVENT, "event_payload": {"key": stream.key}},
            )
        except PlatformError as error:
            if error.outcome == "refused":
                return False
            if error.outcome == "retry":
                self._open[message] = stream
            raise
        return True

    def forget(self, place: Destination, message_id: str) -> None:
        """The message goes."""
        self._open.pop((place.room.external_id, message_id), None)

    async def _append(self, message: tuple[str, str], chunks: list[Chunk]) -> None:
        """Raises PlatformError. What may have arrived is not told again: an edit tells it all."""
        channel, ts = message
        try:
            await self._api.call("chat.appendStream", channel=channel, ts=ts, chunks=chunks)
        except PlatformError as error:
            if error.outcome != "retry":
                self._open.pop(message, None)
            if error.outcome != "refused":
                raise
            log.info("stream.ended", reason=error)

    def _give_up(self, where: tuple[str, bool], error: SlackRefused) -> None:
        channel, in_thread = where
        if in_thread and error.code in _PASSING:
            return
        log.info("stream.off", channel=channel, reason=error)
        if error.code in _NOWHERE:
            self._off = True
        self._refused.add(where)


def _words(text: str) -> Chunk:
    return {"type": "markdown_text", "text": text}


def _tasks(work: Work | None) -> Iterator[Chunk]:
    """Steps and to-dos as tasks, each with the same id for ever."""
    if work is None:
        return
    for number, step in enumerate(work.steps, work.left_out):
        if number < _TASKS:
            yield _task(f"step {number}", step.done, step.state, step.note)
    for number, todo in enumerate(work.todos[: max(_TASKS - work.left_out - len(work.steps), 0)]):
        yield _task(f"todo {number}", todo.text, todo.state)


def _task(id_: str, title: str, state: StepState | TodoState, output: str = "") -> Chunk:
    shown = {"type": "task_update", "id": id_, "title": title[:_TITLE], "status": _STATUS[state]}
    return {**shown, "output": output[:_TITLE]} if output else shown
