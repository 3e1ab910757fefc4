"""Verifications that an owner begins in their client: in a room, or from device to device."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any
from uuid import uuid4

import structlog

from bots.kit.recent import Recent
from bots.matrix.api import CLIENT, MatrixApi, path
from bots.matrix.crypto.identity import Identity
from bots.matrix.crypto.sas import METHOD, EmojiVerification, Side, VerificationFailed
from bots.matrix.events import SOURCE, VERIFICATION
from bots.matrix.keys import EncryptionKeys
from bots.matrix.wire import WireEvent
from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

PREFIX = "m.key.verification."
_LASTS_S = 600.0  # a verification's life, by the specification
_AHEAD_S = 300.0
_AT_ONCE = 20

SendToRoom = Callable[[str, str, Mapping[str, Any], str], Awaitable[str]]
"""Sends an event: room id, type, content, transaction id."""
Answer = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Sends one step of a verification by its type, without `m.key.verification.`."""


@dataclass(slots=True)
class _Running:
    """One verification. next: the step that is due. say: shows a text to the owner; None: there
    is no room for it."""

    answer: Answer
    say: Callable[[str], Awaitable[object]] | None
    device_id: str
    next: str = "start"
    steps: EmojiVerification | None = field(default=None)


class Verifications:
    """is_owner: by a sender id. send: to a room. now: the time in seconds since 1970."""

    def __init__(
        self,
        api: MatrixApi,
        keys: EncryptionKeys,
        identity: Identity,
        *,
        is_owner: Callable[[str], bool],
        send: SendToRoom,
        now: Callable[[], float],
    ) -> None:
        self._api, self._keys, self._identity = api, keys, identity
        self._is_owner, self._send, self._now = is_owner, send, now
        self._running: Recent[tuple[str, str], _Running] = Recent(_AT_ONCE)

    # ── What is heard ───────────────────────────────────────────────────────────────────

    async def from_device(self, event: Mapping[str, Any]) -> None:
        """Take a to-device event; others than a verification's are ignored."""
        kind, sender = str(event.get("type")), str(event.get("sender"))
        content = event.get("content")
        if not kind.startswith(PREFIX) or not isinstance(content, Mapping):
            return
        transaction = str(content.get("transaction_id"))
        if kind == VERIFICATION:
            device = str(content.get("from_device"))
            answer = partial(self._to_device, sender, device, transaction)
            at_s = _seconds(content.get("timestamp"))
            await self._asked(sender, transaction, content, _Running(answer, None, device), at_s)
        else:
            await self._step(sender, transaction, kind.removeprefix(PREFIX), content)

    async def in_room(self, room_id: str, event: WireEvent) -> None:
        """Take a room's event; others than a verification's are ignored."""
        own, content = self._keys.own.user_id, event.content
        if event.sender == own:
            return
        if content.get("msgtype") == VERIFICATION and content.get("to") == own:
            transaction = event.event_id or ""
            answer = partial(self._to_room, room_id, transaction)
            say = partial(self._show, room_id)
            running = _Running(answer, say, str(content.get("from_device")))
            at_s = _seconds(event.origin_server_ts)
            await self._asked(event.sender, transaction, content, running, at_s)
        elif event.type.startswith(PREFIX):
            relation = content.get("m.relates_to")
            transaction = str(relation.get("event_id")) if isinstance(relation, Mapping) else ""
            await self._step(event.sender, transaction, event.type.removeprefix(PREFIX), content)

    # ── What is done ────────────────────────────────────────────────────────────────────

    async def _asked(
        self,
        sender: str,
        transaction: str,
        content: Mapping[str, Any],
        running: _Running,
        at_s: float,
    ) -> None:
        if not -_AHEAD_S < self._now() - at_s < _LASTS_S:
            return
        if not self._is_owner(f"{SOURCE}:{sender}"):
            log.warning("verification.refused", by=sender, reason="only an owner may verify it")
            await self._quietly(running.answer("cancel", _cancel("m.user", "only for owners")))
            return
        if METHOD not in (content.get("methods") or ()):
            await self._quietly(running.answer("cancel", _cancel("m.unknown_method", "by emoji")))
            return
        self._running[sender, transaction] = running
        ready = {"from_device": self._keys.own.device_id, "methods": [METHOD]}
        await self._quietly(running.answer("ready", ready))

    async def _step(
        self, sender: str, transaction: str, step: str, content: Mapping[str, Any]
    ) -> None:
        running = self._running.get((sender, transaction))
        if running is None:
            return
        try:
            if step == "cancel":
                raise VerificationFailed("", str(content.get("code")))
            if step == "done" and running.next == "done":
                log.info("verification.done", by=sender)
                self._running.pop((sender, transaction), None)
            elif step != running.next:
                raise VerificationFailed("m.unexpected_message", f"{step} isn't due")
            else:
                await self._go_on(sender, transaction, running, content)
        except VerificationFailed as error:
            self._running.pop((sender, transaction), None)
            log.warning("verification.failed", by=sender, reason=error.reason)
            if error.code:
                await self._quietly(running.answer("cancel", _cancel(error.code, error.reason)))
        except PlatformError as error:
            self._running.pop((sender, transaction), None)
            log.warning("verification.failed", by=sender, reason=error)

    async def _go_on(
        self, sender: str, transaction: str, running: _Running, content: Mapping[str, Any]
    ) -> None:
        """The step that was due."""
        if running.next == "start":
            other = await self._side(sender, running.device_id)
            running.steps = EmojiVerification(self._own_side(), other, transaction)
            await running.answer("accept", running.steps.accept(content))
            running.next = "key"
            return
        assert running.steps is not None
        if running.next == "key":
            await running.answer("key", running.steps.reveal(content))
            running.next = "mac"
            shown = "  ".join(f"{sign} {name}" for sign, name in running.steps.emoji)
            log.info("verification.compare", by=sender, emoji=shown)
            if running.say:
                await running.say(f"Are these the ones that you see? If so, confirm it.\n\n{shown}")
        else:
            await running.answer("mac", running.steps.confirm(content))
            await running.answer("done", {})
            running.next = "done"

    def _own_side(self) -> Side:
        own, signing = self._keys.own, self._identity.signing
        if signing is None:
            raise VerificationFailed("m.user", "its account has no signing keys here")
        keys = {f"ed25519:{own.device_id}": self._keys.identity[1]}
        keys[f"ed25519:{signing.master.public}"] = signing.master.public
        return Side(own.user_id, own.device_id, keys)

    async def _side(self, user_id: str, device_id: str) -> Side:
        """The other device, with its keys as the homeserver has them."""
        body: dict[str, Any] = {"device_keys": {user_id: []}}
        answer = await self._api.post(CLIENT + "/keys/query", body)
        device = ((answer.get("device_keys") or {}).get(user_id) or {}).get(device_id) or {}
        master = (answer.get("master_keys") or {}).get(user_id) or {}
        keys = {**(device.get("keys") or {}), **(master.get("keys") or {})}
        return Side(user_id, device_id, {k: v for k, v in keys.items() if k.startswith("ed25519:")})

    # ── What is sent ────────────────────────────────────────────────────────────────────

    async def _to_device(
        self, user: str, device: str, transaction: str, step: str, content: Mapping[str, Any]
    ) -> None:
        where = CLIENT + path("sendToDevice", PREFIX + step, uuid4().hex)
        body = {**content, "transaction_id": transaction}
        await self._api.put(where, {"messages": {user: {device: body}}})

    async def _to_room(
        self, room_id: str, transaction: str, step: str, content: Mapping[str, Any]
    ) -> None:
        relation = {"rel_type": "m.reference", "event_id": transaction}
        body = {**content, "m.relates_to": relation}
        await self._send(room_id, PREFIX + step, body, uuid4().hex)

    async def _show(self, room_id: str, text: str) -> None:
        content = {"msgtype": "m.notice", "body": text}
        await self._send(room_id, "m.room.message", content, uuid4().hex)

    async def _quietly(self, sending: Awaitable[None]) -> None:
        try:
            await sending
        except PlatformError as error:
            log.warning("verification.failed", by=self._keys.own.user_id, reason=error)


def _cancel(code: str, reason: str) -> dict[str, str]:
    return {"code": code, "reason": reason}


def _seconds(milliseconds: object) -> float:
    return milliseconds / 1000 if isinstance(milliseconds, int) else 0.0
