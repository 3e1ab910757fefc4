"""The bot's own messages in Slack: made, changed, removed, and found again after a doubt."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import structlog

from bots.markdown.split import split
from bots.markdown.writer import quiet
from bots.slack.api import SlackApi, SlackRefused
from bots.slack.directory import Directory
from bots.slack.events import ASK, CHOOSE, NOTE, Account, ShortcutUse, commander
from bots.slack.text import LIMIT_BYTES, escape, fenced, markdown, mrkdwn, unescaped
from contract.agent import Question
from contract.chat import Destination, Inbound, PersonaIdentity
from contract.language import phrase, say

log = structlog.stdlib.get_logger("moot.bots")


_NAME = 80  # the longest name that Slack gives people

# What Slack says where the app lacks chat:write.customize, or a workspace's rules forbid a name.
_NOT_ALLOWED = {"missing_scope", "invalid_arguments", "invalid_arg_name", "restricted_action"}

EVENT = "moot_post"  # the metadata's event type; its payload holds the post's key

# Slack's clock and ours may differ; a post that says its key is ours, however early it seems.
_SKEW_S = 120.0
_FIND_PAGES = 50

# Block Kit: docs.slack.dev/reference/block-kit, read 2026-11.
_SECTION, _BUTTON_TEXT, _BUTTON_VALUE, _BUTTONS_A_ROW, _ROWS = 3_000, 75, 2_000, 5, 10
_TITLE, _DETAIL, _HOME_BLOCKS = 200, 2_000, 100
_NOTIFIED = 900  # characters of a `markdown` block that stand in notifications

# What Slack says of a block that it doesn't take; the text alone is taken then.
_NO_BLOCK = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "invalid_arguments"}

# What Slack says of a message that is still streamed.
_STREAMED = {"chat.update": "streaming_state_conflict", "chat.delete": "cant_delete_message"}

Blocks = list[dict[str, Any]]


class PersonaPosts:
    """Calls that carry a name and a picture, as long as Slack takes them.

    Without the scope for names none is tried.
    """

    def __init__(self, api: SlackApi, directory: Directory) -> None:
        self._api, self._directory = api, directory
        self._allowed = True

    async def call(
        self, method: str, voice: PersonaIdentity | None, **args: object
    ) -> Mapping[str, Any]:
        """The call in the persona's name; in the app's own where that is not allowed."""
        may = self._allowed and self._directory.own.may("chat:write.customize")
        if voice is None or not voice.name.strip() or not may:
            return await self._api.call(method, **args)
        dress = {"username": " ".join(voice.name.split())[:_NAME], "icon_url": voice.avatar}
        try:
            return await self._api.call(method, **args, **dress)
        except SlackRefused as error:
            if error.code not in _NOT_ALLOWED:
                raise
            answer = await self._api.call(method, **args)  # what else was wrong is raised here
            log.info("voice.own_name", reason=error)
            self._allowed = False
            return answer


class Posts:
    def __init__(self, api: SlackApi, voices: PersonaPosts) -> None:
        self._api, self._voices = api, voices

    async def post(self, place: Destination, text: str, key: str) -> str:
        """Post a Markdown text; return its timestamp, which is its id."""
        if len(text) <= LIMIT_BYTES and len((short := mrkdwn(text)).encode()) <= LIMIT_BYTES:
            return await self._post(place, short, key)
        written, blocks = written_forms(text)
        try:
            return await self._post(place, written, key, blocks)
        except SlackRefused as error:
            if error.code not in _NO_BLOCK:
                raise
            log.info("post.without_blocks", reason=error)
            return await self._post(place, mrkdwn(text), key)

    async def _post(
        self, place: Destination, text: str, key: str, blocks: Blocks | None = None
    ) -> str:
        """The same, of mrkdwn. With blocks it stands in notifications alone."""
        if place.only_for and (only := commander(place.only_for)):
            channel = place.room.external_id
            told = await self._api.call(
                "chat.postEphemeral",
                channel=channel,
                thread_ts=place.thread_id,
                user=only,
                text=text,
                blocks=blocks,
            )
            return str(told["message_ts"])
        answer = await self._voices.call(
            "chat.postMessage",
            place.voice,
            channel=place.room.external_id,
            thread_ts=place.thread_id,
            text=text,
            blocks=blocks,
            unfurl_links=False,
            unfurl_media=False,
            metadata={"event_type": EVENT, "event_payload": {"key": key}},
        )
        return str(answer["ts"])

    async def note(self, place: Destination, text: str, key: str) -> str:
        shown = {"type": "plain_text", "text": text, "emoji": False}
        block = {"type": "context", "block_id": NOTE, "elements": [shown]}
        return await self._post(place, escape(text), key, [block])

    async def show_home(self, user_id: str, parts: Mapping[str, str]) -> None:
        """Show somebody their own Home tab. parts: Markdown, by its heading."""
        blocks: Blocks = []
        for heading, text in parts.items():
            blocks.append({"type": "header", "text": _plain(heading)})
            pieces = split(text, _SECTION, _section_chars)
            blocks += [{"type": "section", "text": _mrkdwn(piece)} for piece in pieces]
        view = {"type": "home", "blocks": blocks[:_HOME_BLOCKS]}
        await self._api.call("views.publish", user_id=user_id, view=view)

    async def open_modal(self, use: ShortcutUse) -> None:
        """Ask somebody what they want to know of a message."""
        await self._api.call("views.open", trigger_id=use.trigger_id, view=_modal(use.about))

    async def quote(self, asked: Inbound) -> None:
        """Show in the thread what somebody asked in a modal.

        Raises SlackRefused where that can't be; then they were told.
        """
        place, by = Destination(asked.room, asked.thread_id), asked.meta
        line = " ".join(f"{by.sender_display_name} asked: {asked.content}".split())
        try:
            await self.note(place, line[:_NOTIFIED], asked.message_id)
        except SlackRefused as error:
            log.info("question.not_shown", reason=error)
            user = by.sender_id.partition(":")[2]
            await self._api.call("chat.postMessage", channel=user, text=say(_NOT_HERE))
            raise

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace the text; the buttons of a question go. The name it was posted under stays."""
        written, blocks = written_forms(text)
        content = {"text": written, "blocks": blocks or []}
        await self._changed("chat.update", place, message_id, content)

    async def delete(self, place: Destination, message_id: str) -> None:
        try:
            await self._changed("chat.delete", place, message_id, {})
        except SlackRefused as error:
            if error.code != "message_not_found":
                raise

    async def _changed(
        self, method: str, place: Destination, ts: str, content: dict[str, Any]
    ) -> None:
        """Call a method on an own message. One that is still streamed, perhaps by an earlier
        process, is stopped first."""
        where = {"channel": place.room.external_id, "ts": ts}
        try:
            await self._api.call(method, **where, **content)
        except SlackRefused as error:
            if error.code != _STREAMED[method]:
                raise
            try:
                await self._api.call("chat.stopStream", **where)
            except SlackRefused:
                raise error from None
            await self._api.call(method, **where, **content)

    async def find(
        self, place: Destination, key: str, since: datetime, known: Collection[str], own: Account
    ) -> str | None:
        """The own message with this key; else the first one since then that nobody knows."""
        channel, strange = place.room.external_id, []
        args: dict[str, object] = {
            "channel": channel,
            "oldest": f"{since.timestamp() - _SKEW_S:.6f}",
            "include_all_metadata": True,
            "limit": 200,
        }
        method = "conversations.history"
        if place.thread_id:
            method, args["ts"] = "conversations.replies", place.thread_id
        try:
            async for message in self._api.pages(method, "messages", pages=_FIND_PAGES, **args):
                if own.ids.isdisjoint((message.get("user"), message.get("bot_id"))):
                    continue
                if (told := _key(message)) == key:
                    return str(message["ts"])
                if told is None and message["ts"] not in known:
                    strange.append(str(message["ts"]))
        except SlackRefused as error:
            if error.code != "thread_not_found":
                raise
        return min((ts for ts in strange if float(ts) >= since.timestamp()), default=None)

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        return await self._post(place, question_text(question), key, question_blocks(question))


def written_forms(text: str) -> tuple[str, Blocks | None]:
    """A Markdown text as a message's text and blocks: mrkdwn alone, while an edit takes it."""
    if len(text) <= LIMIT_BYTES and len((written := mrkdwn(text)).encode()) <= LIMIT_BYTES:
        return written, None
    return _cut(escape(quiet(text)), _NOTIFIED), [{"type": "markdown", "text": markdown(text)}]


_NOT_HERE = phrase(
    "I can't answer there: I'm not in that channel. Somebody in it can `/invite` me."
)


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def _mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": mrkdwn(text)}


def _section_chars(text: str) -> int:
    return len(mrkdwn(text))


def _modal(about: str) -> dict[str, Any]:
    """The modal of "Ask Moot". about: comes back with the answer."""
    box = {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": 3_000}
    label = _plain("What do you want to know about this message?")
    return {
        "type": "modal",
        "callback_id": ASK,
        "private_metadata": about,
        "title": _plain("Ask Moot"),
        "submit": _plain("Ask"),
        "blocks": [{"type": "input", "block_id": "question", "label": label, "element": box}],
    }


def _key(message: Mapping[str, Any]) -> str | None:
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") != EVENT:
        return None
    key = (metadata.get("event_payload") or {}).get("key")
    return str(key) if key else None


# ── Questions ───────────────────────────────────────────────────────────────────────────


def question_text(question: Question) -> str:
    """The question in mrkdwn, its details verbatim, its choices as what to type."""
    choices = [
        f"`{question.typed(number)}` {escape(quiet(option.label))}"
        for number, option in enumerate(question.options)
    ]
    return "\n".join([*_asked(question), *choices])


def question_blocks(question: Question) -> Blocks:
    """The same with buttons; those that Slack has no room for can still be typed."""
    text = question_text(question)
    section = {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text, _SECTION)}}
    numbers = range(min(len(question.options), _BUTTONS_A_ROW * _ROWS))
    buttons = [_button(question, number) for number in numbers]
    rows = range(0, len(buttons), _BUTTONS_A_ROW)
    return [
        section,
        *({"type": "actions", "elements": buttons[row : row + _BUTTONS_A_ROW]} for row in rows),
    ]


def _button(question: Question, number: int) -> dict[str, Any]:
    label = question.options[number].label or f"!{number + 1}"
    if len(label) > _BUTTON_TEXT:
        label = label[: _BUTTON_TEXT - 1] + "…"
    return {
        "type": "button",
        "action_id": f"{CHOOSE}{number}",
        "text": {"type": "plain_text", "text": label, "emoji": False},
        "value": f"{number} {question.digest} {question.id}"[:_BUTTON_VALUE],
    }


def _asked(question: Question) -> list[str]:
    title = _cut(escape(quiet(" ".join(question.title.split()))), _TITLE)
    lines = [f"*{title}*"] if title else []
    if question.detail.strip():
        lines += fenced(_shortened(question.detail).split("\n"))
    if question.note:
        lines.append(question.note)
    return lines


def _shortened(detail: str) -> str:
    if len(escape(detail)) <= _DETAIL:
        return detail
    kept = unescaped(_cut(escape(detail), _DETAIL))
    return f"{kept}\n… ({len(detail) - len(kept)} more characters)"


def _cut(escaped: str, most: int) -> str:
    """At most so many characters, and no half of an entity at the end."""
    return escaped if len(escaped) <= most else re.sub(r"&[a-z]*$", "", escaped[:most])
