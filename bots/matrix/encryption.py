"""Keeps encrypted rooms readable: our keys on the server, theirs here, a key a room."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import uuid4

import structlog

from bots.kit.recent import Recent
from bots.matrix.api import CLIENT, MatrixApi, path
from bots.matrix.crypto.backup import KeyBackup
from bots.matrix.crypto.identity import Identity
from bots.matrix.crypto.verification import Verifications
from bots.matrix.keys import ALGORITHM, EncryptionKeys
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

_REMEMBERED = 1_000  # keys that were asked for


class Encryption:
    """One device's part in encrypted rooms."""

    def __init__(
        self,
        api: MatrixApi,
        keys: EncryptionKeys,
        identity: Identity,
        backup: KeyBackup,
        verifications: Verifications,
    ) -> None:
        self._api, self._keys = api, keys
        self.identity, self.backup, self.verifications = identity, backup, verifications
        self.decrypt = keys.decrypt
        self._rooms: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # by session: the room, and an event of it
        self._requested: Recent[str, tuple[str, Mapping[str, Any]]] = Recent(_REMEMBERED)

    async def close(self) -> None:
        await self._keys.close()

    async def begin(self) -> None:
        """See that the server knows this device. Raises PlatformError."""
        mine = await self.on_server()
        if mine is None:
            await self._keys.forgotten_by_server()
        await self._upload()
        await self.identity.begin()
        await self.backup.begin()
        await self._query([self._keys.own.user_id])

    async def on_server(self) -> Mapping[str, Any] | None:
        """The keys that the server has of this device."""
        own = self._keys.own
        answer = await self._api.post(
            CLIENT + "/keys/query", {"device_keys": {own.user_id: [own.device_id]}}
        )
        devices = (answer.get("device_keys") or {}).get(own.user_id) or {}
        found = devices.get(own.device_id)
        return found if isinstance(found, Mapping) else None

    async def is_itself(self) -> bool:
        """True if the server has this device's own keys, and not those of an earlier store."""
        return self._keys.are_own(await self.on_server() or {})

    # ── In ──────────────────────────────────────────────────────────────────────────────

    async def take(
        self,
        to_device: Sequence[Mapping[str, Any]],
        counts: Mapping[str, int],
        changed: Collection[str],
    ) -> frozenset[str]:
        """Take a sync's; return the sessions whose keys came. changed: whose devices have."""
        for event in to_device:
            await self.verifications.from_device(event)
        came = await self._keys.take(to_device, counts, changed)
        if any(self._has_got_a_key(event) for event in to_device):
            await self._request_again()
        return came

    def _has_got_a_key(self, event: Mapping[str, Any]) -> bool:
        """True if another device of the account asks for a key no more."""
        told = (event.get("type"), event.get("sender"), (event.get("content") or {}).get("action"))
        return told == ("m.room_key_request", self._keys.own.user_id, "request_cancellation")

    async def _request_again(self) -> None:
        """Whoever was asked for a key that it didn't have yet has forgotten that it was asked."""
        for session, (room_id, event) in list(self._requested.items()):
            if await self.decrypt(room_id, event) is None:
                del self._requested[session]
                await self.request(room_id, event)

    async def request(self, room_id: str, event: Mapping[str, Any]) -> None:
        """Ask for the key of an event, once a session."""
        session = str((event.get("content") or {}).get("session_id"))
        if session in self._requested:
            return
        self._requested[session] = room_id, event
        try:
            await self._keys.requested(room_id, session)
            await self._to_device("m.room_key_request", self._wanted(room_id, event))
        except PlatformError as error:
            self._requested.pop(session, None)
            log.info("key.not_requested", reason=error)

    def _wanted(self, room_id: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request for the key of an event, to its sender's device and our own others."""
        own, content = self._keys.own, event.get("content") or {}
        body = {
            "action": "request",
            "body": {
                "algorithm": ALGORITHM,
                "room_id": room_id,
                "session_id": content.get("session_id"),
                "sender_key": content.get("sender_key") or "",
            },
            "request_id": uuid4().hex,
            "requesting_device_id": own.device_id,
        }
        device = str(content.get("device_id") or "*")
        return {own.user_id: {"*": body}, str(event.get("sender")): {device: body}}

    async def tend(self) -> None:
        """After each sync: more one-time keys, changed devices, broken sessions. Best effort."""
        try:
            await self._upload()
            await self._query(await self._keys.asked_for())
            await self._keys.answer_requests()
            await self._claim(())
            await self._keys.answer_requests()  # those that waited for a session
            for event_type, messages in await self._keys.outgoing():
                await self._to_device(event_type, messages)
            await self.backup.save()
        except PlatformError as error:
            log.info("keys.postponed", reason=error)

    # ── Out ─────────────────────────────────────────────────────────────────────────────

    async def encrypted(
        self, room_id: str, users: Sequence[str], event_type: str, content: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The content of an encrypted event that all these users can read. Raises PlatformError,
        never with an unknown outcome: nothing has been said yet."""
        async with self._rooms[room_id]:
            try:
                await self._query(await self._keys.unqueried(users))
                await self._claim(users)
                await self._share(room_id, users)
            except PlatformError as error:
                if error.outcome == "unknown":
                    raise PlatformError(str(error), outcome="retry") from error
                raise
            return await self._keys.encrypt(room_id, event_type, content)

    async def _share(self, room_id: str, users: Sequence[str]) -> None:
        bodies = await self._keys.share(room_id, users)
        arrived = False
        try:
            for messages in bodies:
                await self._to_device("m.room.encrypted", messages)
            arrived = True
        finally:
            if bodies or arrived:
                await self._keys.shared(room_id, arrived=arrived)

    async def _upload(self) -> None:
        if (body := await self._keys.upload()) is not None:
            answer = await self._api.post(CLIENT + "/keys/upload", body)
            counts = answer.get("one_time_key_counts") or {}
            await self._keys.uploaded(int(counts.get("signed_curve25519") or 0))

    async def _query(self, users: Sequence[str]) -> None:
        if users:
            body: dict[str, Any] = {"device_keys": {user: [] for user in users}}
            answer = await self._api.post(CLIENT + "/keys/query", body)
            await self._keys.learn(answer.get("device_keys") or {})
            if self._keys.own.user_id in users:
                await self._keys.trust(self.identity.verified(answer))

    async def _claim(self, users: Collection[str]) -> None:
        if missing := await self._keys.without_session(users):
            wanted = {
                user: dict.fromkeys(devices, "signed_curve25519")
                for user, devices in missing.items()
            }
            answer = await self._api.post(CLIENT + "/keys/claim", {"one_time_keys": wanted})
            await self._keys.claimed(answer.get("one_time_keys") or {})

    async def _to_device(self, event_type: str, messages: Mapping[str, Any]) -> None:
        where = CLIENT + path("sendToDevice", event_type, uuid4().hex)
        await self._api.put(where, {"messages": messages})
