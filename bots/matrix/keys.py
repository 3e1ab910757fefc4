"""The keys of end-to-end encryption, as the bot uses them.

No other file imports nio but `files` and those of `crypto` that keep its keys. `nio.crypto.Olm` is
internal to it: a minor release may change it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

import structlog
from nio.crypto import InboundGroupSession, OutgoingKeyRequest
from nio.events.room_events import MegolmEvent
from nio.events.to_device import (
    DummyEvent,
    ForwardedRoomKeyEvent,
    RoomKeyEvent,
    ToDeviceEvent,
)
from nio.exceptions import EncryptionError
from nio.responses import KeysClaimResponse, KeysQueryResponse, KeysUploadResponse

from bots.kit.cursor import KeyRows
from bots.matrix.check import Account
from bots.matrix.crypto.machine import Machine
from contract.errors import PlatformError
from contract.values import dataclass

T = TypeVar("T")

log = structlog.stdlib.get_logger("moot.bots")

# What the machine logs names people, devices and sessions; what matters of it we say ourselves.
logging.getLogger("nio").setLevel(logging.CRITICAL)

ALGORITHM = "m.megolm.v1.aes-sha2"
_BROKEN = (EncryptionError, ValueError, KeyError, TypeError, AttributeError)
"""The errors that nio and vodozemac raise for a forged or damaged key or event."""

Devices = frozenset[tuple[str, str]]
"""(user id, device id)."""


@dataclass(frozen=True, slots=True)
class RoomKey:
    """The key of a session as clients export it. first_index: of the first message it opens."""

    room_id: str
    session_id: str
    first_index: int
    data: Mapping[str, Any] = field(repr=False)


class EncryptionKeys:
    """The keys of one device."""

    def __init__(self, machine: Machine, own: Account) -> None:
        self._machine, self._olm, self._do = machine, machine.olm, machine.do
        self.own = own
        self._shared: dict[str, Devices] = {}  # by room: who can read what is sent there now

    @classmethod
    async def open(cls, folder: Path, own: Account, rows: KeyRows | None = None) -> EncryptionKeys:
        """The stored keys of the account's device, or new ones: see `Machine`."""
        return cls(await Machine.open(folder, own, rows), own)

    async def close(self) -> None:
        await self._machine.close()

    @property
    def identity(self) -> tuple[str, str]:
        """This device's public keys: curve25519 and ed25519."""
        keys = self._olm.account.identity_keys
        return keys["curve25519"], keys["ed25519"]

    def are_own(self, device: Mapping[str, Any]) -> bool:
        """True if these keys of the device, as the server has them, are the ones here."""
        keys, name = device.get("keys") or {}, self.own.device_id
        return (keys.get(f"curve25519:{name}"), keys.get(f"ed25519:{name}")) == self.identity

    # ── What the server has of us ───────────────────────────────────────────────────────

    async def upload(self) -> Mapping[str, Any] | None:
        """The keys that the server must be given; None when it has enough."""

        def make() -> Mapping[str, Any] | None:
            if not self._olm.should_upload_keys:
                return None
            keys: Mapping[str, Any] = self._olm.share_keys()
            self._olm.save_account()  # before the server hands them out
            return keys

        return await self._do(make)

    async def uploaded(self, one_time_keys: int) -> None:
        response = KeysUploadResponse(0, one_time_keys)
        await self._do(lambda: self._olm.handle_response(response))

    async def forgotten_by_server(self) -> None:
        """The server has no keys of this device: they are uploaded again."""

        def forget() -> None:
            self._olm.account.shared = False
            self._olm.save_account()

        await self._do(forget)

    # ── What others send us ─────────────────────────────────────────────────────────────

    async def take(
        self,
        to_device: Sequence[Mapping[str, Any]],
        counts: Mapping[str, int],
        changed: Collection[str],
    ) -> frozenset[str]:
        """Take a sync's; return the sessions whose keys came. changed: whose devices have."""

        def handle() -> frozenset[str]:
            if "signed_curve25519" in counts:
                self._olm.uploaded_key_count = counts["signed_curve25519"]
            # only of people whose keys were ever asked for
            self._olm.add_changed_users(set(changed) & self._olm.tracked_users)
            sessions = {self._received(event) for event in to_device}
            return frozenset(filter(None, sessions))

        return await self._do(handle)

    def _received(self, raw: Mapping[str, Any]) -> str | None:
        """The id of the session whose key a to-device event brings, if it does."""
        if raw.get("type") == "m.room_key_request" and raw.get("sender") == self.own.user_id:
            raw = self._named_by_session(raw)
        elif raw.get("type") != "m.room.encrypted":  # nobody else's request is answered
            return None
        try:
            event = self._olm.handle_to_device_event(ToDeviceEvent.parse_event(dict(raw)))
        except _BROKEN as error:
            log.warning("key.unreadable", error=type(error).__name__)
            return None
        if isinstance(event, DummyEvent):  # somebody lost their session: they get the keys again
            self._olm.outbound_group_sessions.clear()
            self._shared.clear()
        if isinstance(event, (RoomKeyEvent, ForwardedRoomKeyEvent)):
            return str(event.session_id)
        return None

    async def decrypt(self, room_id: str, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The event that lies in an encrypted one; None when its key isn't there (yet)."""

        def read() -> Mapping[str, Any] | None:
            event = self._megolm(room_id, raw)
            if event is None:
                return None
            try:
                found = self._olm.decrypt_megolm_event(event, room_id)
            except _BROKEN:
                return None
            plain = getattr(found, "source", None)
            if not isinstance(plain, Mapping):
                return None
            return {**raw, "type": plain.get("type"), "content": plain.get("content") or {}}

        return await self._do(read)

    # ── Kept elsewhere ──────────────────────────────────────────────────────────────────

    async def exported(self, but: Collection[str]) -> list[RoomKey]:
        """The keys of all sessions but these."""
        return await self._do(
            lambda: [_exported(one) for one in self._olm.inbound_group_store if one.id not in but]
        )

    async def take_in(self, keys: Sequence[RoomKey]) -> list[str]:
        """Take exported keys that aren't here; return the ids of the sessions. Damaged ones are
        left out."""

        def take() -> list[str]:
            return [key.session_id for key in keys if self._take_in(key)]

        return await self._do(take)

    def _take_in(self, key: RoomKey) -> bool:
        data, store = key.data, self._olm.inbound_group_store
        try:
            session = InboundGroupSession.import_session(
                data["session_key"],
                data["sender_claimed_keys"]["ed25519"],
                data["sender_key"],
                key.room_id,
                list(data["forwarding_curve25519_key_chain"]),
            )
        except _BROKEN as error:
            log.warning("key.unreadable", error=type(error).__name__)
            return False
        if session.id != key.session_id:
            return False
        if store.get(key.room_id, session.sender_key, session.id) is None and store.add(session):
            self._olm.save_inbound_group_session(session)
        return True

    def _megolm(self, room_id: str, raw: Mapping[str, Any]) -> Any:
        """nio's event. Newer clients may leave out the sender's key: the session tells it."""
        content = dict(raw.get("content") or {})
        if not content.get("sender_key"):
            content["sender_key"] = self._sender_key(room_id, content.get("session_id"))
        content.setdefault("device_id", "unknown")
        event = MegolmEvent.from_dict({**raw, "room_id": room_id, "content": content})
        return event if isinstance(event, MegolmEvent) else None

    def _sender_key(self, room_id: str, session: object) -> str:
        known = self._olm.inbound_group_store[room_id].items()
        return next((key for key, held in known if session in held), "unknown")

    # ── Keys that are asked for ─────────────────────────────────────────────────────────

    def _named_by_session(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request for a key as nio finds it: newer clients leave out the sender's key."""
        content = dict(raw.get("content") or {})
        if isinstance(body := content.get("body"), Mapping):
            key = self._sender_key(str(body.get("room_id")), body.get("session_id"))
            content["body"] = {**body, "sender_key": key}
        return {**raw, "content": content}

    async def requested(self, room_id: str, session_id: str) -> None:
        """A key was asked for: it is taken from the account's own devices that are trusted."""
        asked = OutgoingKeyRequest(session_id, session_id, room_id, ALGORITHM)
        self._olm.outgoing_key_requests[session_id] = asked
        await self._do(lambda: self._olm.store.add_outgoing_key_request(asked))

    async def answer_requests(self) -> None:
        """Make answers for the account's own devices that are trusted; others get none."""
        await self._do(self._olm.collect_key_requests)
        self._olm.key_request_from_untrusted.clear()

    async def trust(self, devices: Mapping[str, str]) -> None:
        """The account's own devices that are signed, with their Ed25519 keys; no others are."""

        def mark() -> None:
            for device in list(self._olm.device_store.active_user_devices(self.own.user_id)):
                signed = devices.get(device.id) == device.ed25519
                (self._olm.verify_device if signed else self._olm.unverify_device)(device)

        await self._do(mark)

    # ── Whom we send to ─────────────────────────────────────────────────────────────────

    async def unqueried(self, users: Collection[str]) -> list[str]:
        """The users whose devices must be asked for."""
        return await self._do(
            lambda: sorted(
                (set(users) - self._olm.tracked_users)
                | (set(users) & self._olm.users_for_key_query)
            )
        )

    async def asked_for(self) -> list[str]:
        """The users whose devices have changed since they were asked for."""
        return await self._do(lambda: sorted(self._olm.users_for_key_query))

    async def learn(self, device_keys: Mapping[str, Mapping[str, Any]]) -> None:
        """Take the answer to a query. A device that doesn't keep to the rules is left out."""

        def take() -> None:
            for user_id, devices in device_keys.items():
                sound = {name: keys for name, keys in devices.items() if _is_sound(keys)}
                try:
                    self._olm.handle_response(KeysQueryResponse({user_id: sound}, {}))
                except _BROKEN as error:
                    log.warning("devices.unreadable", user=user_id, error=type(error).__name__)

        await self._do(take)

    async def without_session(self, users: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Devices of these users, and those that lost theirs, with which there is no session."""

        def look() -> Mapping[str, Sequence[str]]:
            missing = {
                user: set(ids) for user, ids in self._olm.get_missing_sessions(users).items()
            }
            for device in (*self._olm.wedged_devices, *self._olm.key_request_devices_no_session):
                missing.setdefault(device.user_id, set()).add(device.device_id)
            return {user: sorted(ids) for user, ids in missing.items()}

        return await self._do(look)

    async def claimed(self, one_time_keys: Mapping[str, Mapping[str, Any]]) -> None:
        def take() -> None:
            for user_id, devices in one_time_keys.items():
                for device_id, keys in devices.items():
                    response = KeysClaimResponse({user_id: {device_id: keys}}, {})
                    try:
                        self._olm.handle_response(response)
                    except (*_BROKEN, StopIteration) as error:
                        log.warning("key.no_session", error=type(error).__name__)

        await self._do(take)

    async def share(self, room_id: str, users: Sequence[str]) -> list[Mapping[str, Any]]:
        """To-device bodies that must reach everybody's devices before something is encrypted.

        Empty when they have the key. A new key is made when somebody has come or gone since: who
        left can't read on, who came can. Unverified devices get it like any other.
        """

        def make() -> list[Mapping[str, Any]]:
            reachable = frozenset(
                (user, device.id)
                for user in users
                for device in self._olm.device_store.active_user_devices(user)
                if (user, device.id) != (self.own.user_id, self.own.device_id)
                and self._olm.session_store.get(device.curve25519)
            )
            fresh = not self._olm.should_share_group_session(room_id)
            if fresh and self._shared.get(room_id) == reachable:
                return []
            self._olm.outbound_group_sessions.pop(room_id, None)
            found = self._olm.share_group_session_parallel(
                room_id, list(users), ignore_unverified_devices=True
            )
            bodies = [body["messages"] for _, body in found]
            self._shared[room_id] = reachable
            return bodies

        return await self._do(make)

    async def shared(self, room_id: str, *, arrived: bool) -> None:
        """True if what `share` made has reached the server."""

        def mark() -> None:
            if arrived:
                self._olm.outbound_group_sessions[room_id].shared = True
            else:
                self._olm.outbound_group_sessions.pop(room_id, None)

        await self._do(mark)

    async def encrypt(
        self, room_id: str, event_type: str, content: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The content of an encrypted event. Its relation stays readable: servers need it."""

        def make() -> Mapping[str, Any]:
            plain = {"type": event_type, "content": dict(content)}
            try:
                closed: dict[str, Any] = self._olm.group_encrypt(room_id, plain)
            except _BROKEN as error:
                raise PlatformError("the room's key is not shared yet", outcome="retry") from error
            if "m.relates_to" in content:
                closed["m.relates_to"] = content["m.relates_to"]
            return closed

        return await self._do(make)

    async def outgoing(self) -> list[tuple[str, Mapping[str, Any]]]:
        """(type, messages) that repair broken sessions; each is handed out once."""

        def take() -> list[tuple[str, Mapping[str, Any]]]:
            queue, self._olm.outgoing_to_device_messages = self._olm.outgoing_to_device_messages, []
            return [(message.type, message.as_dict()["messages"]) for message in queue]

        return await self._do(take)


def _exported(session: Any) -> RoomKey:
    data = {
        "algorithm": ALGORITHM,
        "forwarding_curve25519_key_chain": list(session.forwarding_chain),
        "sender_claimed_keys": {"ed25519": session.ed25519},
        "sender_key": session.sender_key,
        "session_key": session.export_session(session.first_known_index),
    }
    return RoomKey(session.room_id, session.id, session.first_known_index, data)


def _is_sound(keys: object) -> bool:
    if not isinstance(keys, Mapping):
        return False
    named = all(isinstance(keys.get(name), str) for name in ("user_id", "device_id"))
    return named and isinstance(keys.get("keys"), Mapping)
