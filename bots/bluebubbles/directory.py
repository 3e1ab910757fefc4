"""Names: contacts, chats, and what the server can do."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from bots.bluebubbles.api import BlueBubblesApi, BlueBubblesRefused, part
from bots.bluebubbles.events import (
    ALIAS,
    ME,
    ME_NAME,
    Chat,
    NewMessage,
    chat_of,
    content,
    native,
    owner,
    person,
    read_message,
    room_id,
)
from bots.bluebubbles.wire import WireChat, WireContact, WireInfo, WireMessage
from bots.kit.directory import LookupDirectory, thread_block
from bots.kit.events import faulty_fields
from bots.kit.recent import Recent
from bots.kit.wire import readable
from contract.chat import Room, Speaker
from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

_ALL = "all"
_FACTS_S = 60.0  # the private API's helper comes and goes with the Messages program
_CHATS = 1_000  # as many as the server tells at once
_THREAD_LOOK = 300  # messages of a chat in which a thread's are looked for
_MESSAGES = 5_000
_SHORTEST_NUMBER = 7  # digits; a shorter ending would fit strangers

W = TypeVar("W", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class _Thread:
    """A thread by its first message, up to a reply in it."""

    chat_guid: str
    root: str
    reply: str
    until_ms: int

    def __str__(self) -> str:
        return self.root


class Directory(LookupDirectory):
    """Names of people and chats; everything is looked up once, and never waited for long."""

    def __init__(
        self, api: BlueBubblesApi, *, now: Callable[[], float], patience_s: float = 2.0
    ) -> None:
        super().__init__(now=now, patience_s=patience_s)
        self._api = api
        self._has_contacts = True
        self._own: frozenset[str] = frozenset()
        self._chat_of: Recent[str, Chat] = Recent(_MESSAGES)
        self._names = self.lookup("person", self._fetch_name)
        self._contacts = self.lookup("contacts", self._fetch_contacts)
        self._chats = self.lookup("chat", self._fetch_chat)
        self._messages = self.lookup("message", self._fetch_message)
        self._threads = self.lookup("thread", self._fetch_thread, entries=256)
        self._info = self.lookup("server", self._fetch_info, keep_s=_FACTS_S)

    # ── The server ──────────────────────────────────────────────────────────────────────

    async def info(self) -> WireInfo:
        """The server's description of itself. Raises PlatformError."""
        info = await self._fetch_info(_ALL)
        self._info.learn(_ALL, info)
        return info

    async def has_private_api(self) -> bool:
        """True if edits, removals and typing work; no, where the server doesn't tell."""
        info = await self._info.get(_ALL)
        return bool(info and info.private_api and info.helper_connected)

    @property
    def own_addresses(self) -> frozenset[str]:
        """The account's, as far as the server told."""
        return self._own

    async def is_own_address(self, address: str) -> bool:
        """True if an address is one of the account's own, as far as the server tells."""
        await self._info.get(_ALL)
        return any(_same_address(address, known) for known in self._own)

    async def _fetch_info(self, _: str) -> WireInfo:
        info = _read(WireInfo, await self._api.get("server/info"))
        told = (info.detected_imessage, info.detected_icloud)
        self._own = frozenset(address.strip() for address in told if address) or self._own
        return info

    # ── People ──────────────────────────────────────────────────────────────────────────

    async def speaker(self, said: NewMessage, chat: Chat) -> Speaker:
        """The sender. The owner is `Me`, also where they write to themselves."""
        own = await self.is_own_address(chat.address or said.sender)
        if said.from_me or (chat.kind == "dm" and own):
            return owner(chat, alone=own and chat.kind == "dm")
        return await self.person(said.sender)

    async def person(self, address: str) -> Speaker:
        return person(address, await self._names.get(address) or address)

    async def _fetch_name(self, address: str) -> str:
        """The name in the Mac's contacts; else the address itself."""
        if not self._has_contacts:
            return address
        try:
            found = await self._api.query("contact/query", {"addresses": [address]})
        except BlueBubblesRefused as error:
            if error.status != 404:
                raise
            log.info("names.unknown", reason=error)
            self._has_contacts = False
            return address
        if not (name := _name_of(address, readable(WireContact, found))):
            # The server's own search misses addresses of mail.
            name = _name_of(address, await self._contacts.get(_ALL) or [])
        return name or address

    async def _fetch_contacts(self, _: str) -> list[WireContact]:
        return readable(WireContact, await self._api.get("contact"))

    # ── Chats ───────────────────────────────────────────────────────────────────────────

    async def room(self, chat: Chat) -> Room:
        """The chat as a room: a group by its name, else by its people; two by the other one."""
        if chat.kind == "dm":
            name = (await self.person(chat.address)).name
        else:
            name = chat.name or await self._group_name(chat.guid)
        return Room(room_id(chat.guid), name, chat.kind)

    def forget_chat(self, guid: str) -> None:
        self._chats.forget(guid)

    async def _group_name(self, guid: str) -> str:
        found = await self._chats.get(guid)
        if found is None:
            return guid
        people = [(await self.person(address)).name for address in _addresses(found)]
        return (found.display_name or "").strip() or ", ".join(people) or guid

    async def members(self, room: Room) -> list[Speaker]:
        """The people in the chat beside the account. Raises PlatformError."""
        guid = native(room.external_id)
        found = self._chats.known(guid) or await self._fetch_chat(guid)
        self._chats.learn(guid, found)
        return [await self.person(address) for address in _addresses(found)]

    async def _fetch_chat(self, guid: str) -> WireChat:
        asked = {"with": "participants"}
        try:
            return _read(WireChat, await self._api.get(f"chat/{part(guid)}", **asked))
        except BlueBubblesRefused:  # it may tell all at once, and not one
            told = {"guid": guid, "with": ["participants"], "limit": _CHATS}
            found = await self._api.query("chat/query", told)
        for entry in found if isinstance(found, list) else ():
            if isinstance(entry, dict) and entry.get("guid") == guid:
                return _read(WireChat, entry)
        raise PlatformError("BlueBubbles doesn't know the chat", outcome="refused")

    # ── Messages ────────────────────────────────────────────────────────────────────────

    def stands_in(self, guid: str, chat: Chat) -> None:
        """Note a message's chat: what is told of it later comes without one."""
        self._chat_of[guid] = chat

    async def chat_of_message(self, guid: str) -> Chat | None:
        """The chat of a message that came without it."""
        if (chat := self._chat_of.get(guid)) is not None:
            return chat
        message = await self._messages.get(guid)
        return chat_of(message.chats[0]) if message and message.chats else None

    async def thread_context(
        self, said: NewMessage, chat: Chat, own_name: str, own_posts: Collection[str]
    ) -> str | None:
        """The thread's messages before this one: what it replies to, and the replies to that."""
        if not said.reply_to:
            return None
        until_ms = int(self._now() * 1000) if said.sent_ms is None else said.sent_ms
        found = await self._threads.get(_Thread(chat.guid, said.reply_to, said.id, until_ms)) or ()
        lines = [
            (await self._sender(message, own_name, own_posts), content(message))
            for message in found
        ]
        return thread_block([(by, text) for by, text in lines if by])

    async def _sender(
        self, message: WireMessage, own_name: str, own_posts: Collection[str]
    ) -> Speaker | None:
        if message.is_from_me:
            is_bots = message.guid in own_posts
            return (
                Speaker("bot:", own_name, "bot") if is_bots else Speaker(f"{ALIAS}:{ME}", ME_NAME)
            )
        address = (message.handle and message.handle.address) or ""
        return await self.person(address) if address else None

    async def _fetch_thread(self, thread: _Thread) -> list[WireMessage]:
        body = {
            "chatGuid": thread.chat_guid,
            "before": thread.until_ms,
            "sort": "DESC",
            "limit": _THREAD_LOOK,
            "offset": 0,
            "with": ["chat", "attachment", "handle"],
        }
        try:
            rows = await self._api.query("message/query", body)
        except BlueBubblesRefused:
            rows = []
        told = reversed(_messages(rows))  # in their order, where two have the same date
        found = {m.guid: m for m in told if thread.root in (m.guid, m.thread_guid)}
        if thread.root not in found and (root := await self._messages.get(thread.root)) is not None:
            found[root.guid] = root
        found.pop(thread.reply, None)
        shown = (m for m in found.values() if not m.tapback and content(m).strip())
        return sorted(shown, key=lambda m: m.created or 0)

    async def _fetch_message(self, guid: str) -> WireMessage:
        found = await self._api.get(f"message/{part(guid)}", **{"with": "chats"})
        try:
            return read_message(found if isinstance(found, dict) else {})
        except ValueError as error:
            raise PlatformError(str(error), outcome="refused") from None


def _read(model: type[W], found: Any) -> W:
    try:
        return model.model_validate(found)
    except ValidationError as error:
        raise PlatformError(
            f"BlueBubbles' answer can't be read: {faulty_fields(error) or 'it is empty'}",
            outcome="refused",
        ) from None


def _messages(rows: Any) -> list[WireMessage]:
    """The messages that can be read."""
    found = []
    for row in rows if isinstance(rows, list) else ():
        try:
            found.append(read_message(row if isinstance(row, dict) else {}))
        except ValueError:
            continue
    return found


def _name_of(address: str, contacts: Iterable[WireContact]) -> str:
    matching = (
        contact.name
        for contact in contacts
        if contact.name and any(_same_address(address, known) for known in contact.addresses)
    )
    return next(matching, "")


def _addresses(chat: WireChat) -> list[str]:
    return [handle.address for handle in chat.participants if handle.address]


def _same_address(one: str, other: str) -> bool:
    """Mail addresses by letter; numbers by their digits, with or without the country's."""
    if "@" in one or "@" in other:
        return one.strip().casefold() == other.strip().casefold()
    a, b = re.sub(r"\D", "", one), re.sub(r"\D", "", other)
    short, long = sorted((a.lstrip("0"), b.lstrip("0")), key=len)
    if len(short) < _SHORTEST_NUMBER:
        return one.strip() == other.strip()
    return long.endswith(short) and len(long) - len(short) <= 3
