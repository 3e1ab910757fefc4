"""The bot's own messages in Rocket.Chat: made once each, changed, removed, and found again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog

from bots.kit.reactions import tried
from bots.kit.recent import Recent
from bots.rocketchat.api import RocketApi, RocketRefused
from bots.rocketchat.directory import Directory
from bots.rocketchat.wire import moment
from contract.agent import Question
from contract.chat import Destination
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

# The characters of the server's own ids, which leave out those that look alike.
_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTWXYZabcdefghijkmnopqrstuvwxyz"
_ID_CHARS = 17
_REMEMBERED = 500
_LABEL_CHARS = 60  # of a button; the question itself shows the whole label
ENCRYPTED = (
    "What is said here is end-to-end encrypted, and I can't read it. Ask me in another room, or "
    "have the encryption of this one turned off."
)
_SIGNED_OUT_S = 30.0  # somebody has to make a new token


def message_id(key: str, rid: str, user_id: str) -> str:
    """The id of the message that a key makes in a room: always the same one."""
    basis = "\n".join((user_id, rid, key)).encode()
    number = int.from_bytes(hashlib.sha256(basis).digest(), "big")
    chars = []
    for _ in range(_ID_CHARS):
        number, rest = divmod(number, len(_ALPHABET))
        chars.append(_ALPHABET[rest])
    return "".join(chars)


def _buttons(asked: str) -> str:
    """The key of the buttons under a question."""
    return f"buttons {asked}"


def _actions(question: Question) -> Mapping[str, Any]:
    """An attachment whose buttons have the client of who presses one send its `msg`.

    (Rocket.Chat: ActionAttachmentButton.tsx, validateAttachmentsActions; read 2026-11)
    """
    actions = [
        {
            "type": "button",
            "text": _label(option.label),
            "msg": question.sent(number),
            "msg_in_chat_window": True,
            "msg_processing_type": "sendMessage",
        }
        for number, option in enumerate(question.options)
    ]
    return {"button_alignment": "horizontal", "actions": actions}


def _label(label: str) -> str:
    words = " ".join(label.split())
    return words if len(words) <= _LABEL_CHARS else f"{words[: _LABEL_CHARS - 1]}…"


class Posts:
    def __init__(self, api: RocketApi, directory: Directory) -> None:
        self._api, self._directory = api, directory
        self._plain = False  # the account may speak under its own name only
        self._questions: Recent[str, Question] = Recent(_REMEMBERED)
        self._explained: Recent[str, None] = Recent(_REMEMBERED)  # ids of rooms
        self._sent_at: Recent[str, Any] = Recent(_REMEMBERED)  # as the server writes it

    async def note(self, place: Destination, text: str, key: str) -> str:
        return await self.post(place, "", key, [{"text": text}])

    async def post(
        self,
        place: Destination,
        text: str,
        key: str,
        attachments: Sequence[Mapping[str, Any]] = (),
    ) -> str:
        """Post a text as Rocket.Chat takes it. The same key twice is one message."""
        rid = place.room.external_id
        id_ = message_id(key, rid, self._directory.own.user_id)
        message: dict[str, Any] = {"_id": id_, "rid": rid, "msg": text}
        if attachments:
            message["attachments"] = list(attachments)
        if place.thread_id:
            message["tmid"] = place.thread_id
        try:
            made = await self._send(message, self._voice(place))
        except RocketRefused:
            # Some servers stumble over an id that they have already, and say so with an error.
            if await self._owner(id_) != self._directory.own.user_id:
                raise
            made = id_
        return made

    async def _send(self, message: Mapping[str, Any], voice: Mapping[str, str]) -> str:
        try:
            answer = await self._api.post("chat.sendMessage", {"message": {**message, **voice}})
        except RocketRefused as error:
            if not voice or "permission" not in str(error).lower():
                raise
            log.warning(
                "voice.own_name",
                reason=(
                    f"{error}: personas speak under the account's own name; the role bot with "
                    "the permission message-impersonate changes that"
                ),
            )
            self._plain = True
            answer = await self._api.post("chat.sendMessage", {"message": dict(message)})
        told = answer.get("message")
        made = str((told.get("_id") if isinstance(told, dict) else "") or message["_id"])
        self._learn_time(made, told)
        return made

    def _learn_time(self, message_id: str, told: object) -> None:
        if isinstance(told, dict) and told.get("ts") is not None:
            self._sent_at[message_id] = told["ts"]

    def _voice(self, place: Destination) -> dict[str, str]:
        """The persona that speaks, where the account serves several and may."""
        if place.voice is None or self._plain:
            return {}
        avatar = {"avatar": place.voice.avatar} if place.voice.avatar else {}
        return {"alias": place.voice.name, **avatar}

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        body = {"roomId": place.room.external_id, "msgId": message_id, "text": text}
        await self._api.post("chat.update", body)

    async def delete(self, place: Destination, message_id: str) -> None:
        body = {"roomId": place.room.external_id, "msgId": message_id}
        try:
            await self._api.post("chat.delete", body)
        except RocketRefused:
            if await self._owner(message_id) is not None:
                raise

    async def find(self, place: Destination, key: str) -> str | None:
        """The id of the message that the key made, if it is there."""
        own = self._directory.own.user_id
        id_ = message_id(key, place.room.external_id, own)
        return id_ if await self._owner(id_) == own else None

    async def _owner(self, message_id: str) -> str | None:
        """The sender of a message; None: it isn't there. Raises PlatformError when unknown."""
        try:
            answer = await self._api.get("chat.getMessage", msgId=message_id)
        except RocketRefused as error:
            if error.status == 401:
                why, wait_s = str(error), _SIGNED_OUT_S
                raise PlatformError(why, outcome="retry", retry_after_s=wait_s) from error
            return None
        told: Any = answer.get("message")
        self._learn_time(message_id, told)
        user = told.get("u") if isinstance(told, dict) else None
        return str(user.get("_id")) if isinstance(user, dict) else None

    async def explain(self, place: Destination) -> None:
        """Say in an encrypted room that nothing can be read there: once, for its key is one message
        also for the next process."""
        if place.room.id in self._explained:
            return
        self._explained[place.room.id] = None
        try:
            await self.post(place, ENCRYPTED, "encrypted")
        except PlatformError as error:  # servers may refuse what isn't encrypted there
            log.warning("encryption.not_told", room=place.room.id, reason=error)

    # ── Questions ───────────────────────────────────────────────────────────────────────

    async def offer(self, place: Destination, asked: str, question: Question) -> bool:
        """Put buttons under a question: whoever presses one says its choice, with the question's
        code. False: the server doesn't take them.

        An edit leaves a message's attachments as they are, so that they stand in a message of their
        own, which goes when the question is decided.
        """
        return await tried(self.post(place, "", _buttons(asked), [_actions(question)]))

    async def withdraw(self, place: Destination, asked: str) -> None:
        """Take the buttons away that stand under a message, perhaps since an earlier process."""
        if asked in self._sent_at and asked not in self._questions:
            return
        rid, own = place.room.external_id, self._directory.own.user_id
        await tried(self.delete(place, message_id(_buttons(asked), rid, own)))

    def remember(self, message_id: str, question: Question) -> None:
        """A reaction with a digit on this message is an answer from now on."""
        self._questions[message_id] = question

    def question(self, message_id: str) -> Question | None:
        return self._questions.get(message_id)

    def is_before(self, sent_at: datetime, post_id: str) -> bool | None:
        """True if an own post has an earlier time; None: the server didn't tell its time."""
        try:
            return moment(self._sent_at.get(post_id)) < sent_at
        except ValueError:
            return None
