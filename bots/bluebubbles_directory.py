"""Who is who and what is where: contacts, chats, and what the server can do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bots.bluebubbles_api import BlueBubblesApi, part
from bots.bluebubbles_events import Chat, Said, chat_of, content, read_message
from bots.bluebubbles_ingest import native, owner, person, room_id
from bots.bluebubbles_wire import WireChat, WireContact, WireInfo, WireMessage
from bots.lookup import Lookup
from bots.thread import thread_block
from contract import PlatformError, Room, Speaker

_ALL = "all"
_FACTS_S = 60.0  # the private API's helper comes and goes with the Messages program
_SHORTEST_NUMBER = 7  # digits; a shorter ending would fit strangers

W = TypeVar("W", bound=BaseModel)


class Directory:
    """Names of people and chats; everything is looked up once, and never waited for long."""

    def __init__(
        self, api: BlueBubblesApi, *, now: Callable[[], float], patience_s: float = 2.0
    ) -> None:
        self._api = api
        self._names = Lookup("person", self._fetch_name, now=now, patience_s=patience_s)
        self._contacts = Lookup("contacts", self._fetch_contacts, now=now, patience_s=patience_s)
        self._chats = Lookup("chat", self._fetch_chat, now=now, patience_s=patience_s)
        self._messages = Lookup("message", self._fetch_message, now=now, patience_s=patience_s)
        self._info = Lookup(
            "server", self._fetch_info, now=now, patience_s=patience_s, keep_s=_FACTS_S
        )

    async def close(self) -> None:
        for lookup in (self._names, self._contacts, self._chats, self._messages, self._info):
            await lookup.close()

    # ── The server ──────────────────────────────────────────────────────────────────────

    async def info(self) -> WireInfo:
        """What the server says of itself. Raises PlatformError."""
        info = await self._fetch_info(_ALL)
        self._info.learn(_ALL, info)
        return info

    async def has_private_api(self) -> bool:
        """Whether edits, removals and typing work; no, where the server doesn't tell."""
        info = await self._info.get(_ALL)
        return bool(info and info.private_api and info.helper_connected)

    async def is_own_address(self, address: str) -> bool:
        """Whether an address is one of the account's own, as far as the server tells."""
        info = await self._info.get(_ALL)
        own = (info.detected_imessage, info.detected_icloud) if info else ()
        return any(_same_address(address, known) for known in own if known)

    async def _fetch_info(self, _: str) -> WireInfo:
        return _read(WireInfo, await self._api.get("server/info"))

    # ── People ──────────────────────────────────────────────────────────────────────────

    async def speaker(self, said: Said, chat: Chat) -> Speaker:
        """Who said it. The owner is `Me`, also where they write to themselves."""
        own = await self.is_own_address(chat.address or said.sender)
        if said.from_me or (chat.kind == "dm" and own):
            return owner(chat, alone=own and chat.kind == "dm")
        return await self.person(said.sender)

    async def person(self, address: str) -> Speaker:
        return person(address, await self._names.get(address) or address)

    async def _fetch_name(self, address: str) -> str:
        """The name in the Mac's contacts; else the address itself."""
        found = await self._api.query("contact/query", {"addresses": [address]})
        if not (name := _name_of(address, _contacts(found))):
            # The server's own search misses addresses of mail.
            name = _name_of(address, await self._contacts.get(_ALL) or [])
        return name or address

    async def _fetch_contacts(self, _: str) -> list[WireContact]:
        return _contacts(await self._api.get("contact"))

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
        """Who is in the chat beside the account. Raises PlatformError."""
        guid = native(room.external_id)
        found = self._chats.known(guid) or await self._fetch_chat(guid)
        self._chats.learn(guid, found)
        return [await self.person(address) for address in _addresses(found)]

    async def _fetch_chat(self, guid: str) -> WireChat:
        return _read(
            WireChat, await self._api.get(f"chat/{part(guid)}", **{"with": "participants"})
        )

    # ── Messages ────────────────────────────────────────────────────────────────────────

    async def chat_of_message(self, guid: str) -> Chat | None:
        """The chat of a message that came without it."""
        message = await self._messages.get(guid)
        return chat_of(message.chats[0]) if message and message.chats else None

    async def thread_context(self, said: Said, own_name: str) -> str | None:
        """The message that this one replies to, as a thread's summary."""
        first = await self._messages.get(said.reply_to) if said.reply_to else None
        if first is None or not content(first).strip():
            return None
        if first.is_from_me:
            return thread_block([(Speaker("bot:", own_name, "bot"), content(first))])
        address = (first.handle and first.handle.address) or ""
        if not address:
            return None
        return thread_block([(await self.person(address), content(first))])

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
        fields = sorted({".".join(map(str, e["loc"])) for e in error.errors()})
        raise PlatformError(
            f"BlueBubbles' answer can't be read: {', '.join(fields) or 'it is empty'}",
            outcome="refused",
        ) from None


def _contacts(found: Any) -> list[WireContact]:
    """Those that can be read: people's own entries, made by many programs."""
    contacts = []
    for entry in found if isinstance(found, list) else ():
        try:
            contacts.append(WireContact.model_validate(entry))
        except ValidationError:
            continue
    return contacts


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
