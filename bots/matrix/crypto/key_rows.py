"""The keys of one device as rows of the gateways' database: a store for matrix-nio's machine.

nio asks its store while it works, in its own thread. So all rows are read before, and what changes
is collected until the work is done: then it is written at once, or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from nio.crypto import (
    DeviceStore,
    GroupSessionStore,
    InboundGroupSession,
    OlmAccount,
    OlmDevice,
    OutgoingKeyRequest,
    Session,
    SessionStore,
    TrustState,
)

from bots.kit.cursor import KeyName
from bots.matrix.check import Account

_ACCOUNT: KeyName = ("account", "")
_Row = Mapping[str, Any]


class RowStore:
    """The methods of nio's MatrixStore that its machine calls."""

    def __init__(self, own: Account, rows: Iterable[tuple[KeyName, str]]) -> None:
        self._key = own.pickle_key
        self._read = {name: json.loads(text) for name, text in rows}
        self._changed: dict[KeyName, str | None] = {}  # what is to be written; None: it goes

    @property
    def is_empty(self) -> bool:
        """True if there is no device yet."""
        return _ACCOUNT not in self._read

    def _of(self, kind: str) -> list[_Row]:
        return [row for (of, _), row in self._read.items() if of == kind]

    def _put(self, kind: str, name: str, **row: Any) -> None:
        self._changed[kind, name] = json.dumps(row, separators=(",", ":"))

    # ── The device ──────────────────────────────────────────────────────────────────────

    def load_account(self) -> OlmAccount | None:
        if (row := self._read.get(_ACCOUNT)) is None:
            return None
        return OlmAccount.from_pickle(row["pickle"].encode(), self._key, row["shared"])

    def save_account(self, account: OlmAccount) -> None:
        self._put(*_ACCOUNT, pickle=account.pickle(self._key).decode(), shared=account.shared)

    # ── Sessions ────────────────────────────────────────────────────────────────────────

    def load_sessions(self) -> SessionStore:
        store = SessionStore()
        for row in self._of("session"):
            made, used = (datetime.fromisoformat(row[name]) for name in ("made_at", "used_at"))
            session = Session.from_pickle(row["pickle"].encode(), made, self._key, used)
            store.add(row["sender_key"], session)
        return store

    def save_session(self, sender_key: str, session: Session) -> None:
        self._put(
            "session",
            session.id,
            sender_key=sender_key,
            pickle=session.pickle(self._key).decode(),
            made_at=session.creation_time.isoformat(),
            used_at=session.use_time.isoformat(),
        )

    def load_inbound_group_sessions(self) -> GroupSessionStore:
        store = GroupSessionStore()
        for row in self._of("room"):
            pickle = row["pickle"].encode()
            store.add(
                InboundGroupSession.from_pickle(
                    pickle, row["ed25519"], row["sender_key"], row["room"], self._key, row["chain"]
                )
            )
        return store

    def save_inbound_group_session(self, session: InboundGroupSession) -> None:
        self._put(
            "room",
            f"{session.room_id} {session.sender_key} {session.id}",
            sender_key=session.sender_key,
            ed25519=session.ed25519,
            room=session.room_id,
            pickle=session.pickle(self._key).decode(),
            chain=list(session.forwarding_chain),
        )

    # ── Others' devices ─────────────────────────────────────────────────────────────────

    def load_device_keys(self) -> DeviceStore:
        store = DeviceStore()
        for row in self._of("device"):
            given = {**row, "trust_state": TrustState[row["trust_state"]]}
            store.add(OlmDevice(**given))
        return store

    def save_device_keys(self, devices: Mapping[str, Mapping[str, OlmDevice]]) -> None:
        for of_user in devices.values():
            for device in of_user.values():
                self._put_device(device)

    def _put_device(self, device: OlmDevice) -> None:
        self._put(
            "device",
            f"{device.user_id} {device.device_id}",
            user_id=device.user_id,
            device_id=device.device_id,
            keys=dict(device.keys),
            display_name=device.display_name,
            deleted=device.deleted,
            trust_state=device.trust_state.name,
        )

    def is_device_verified(self, device: OlmDevice) -> bool:
        return bool(device.trust_state is TrustState.verified)

    def is_device_blacklisted(self, device: OlmDevice) -> bool:
        return bool(device.trust_state is TrustState.blacklisted)

    def is_device_ignored(self, device: OlmDevice) -> bool:
        return bool(device.trust_state is TrustState.ignored)

    def verify_device(self, device: OlmDevice) -> bool:
        return self._trust(device, TrustState.verified)

    def unverify_device(self, device: OlmDevice) -> bool:
        return self.is_device_verified(device) and self._trust(device, TrustState.unset)

    def ignore_devices(self, devices: Iterable[OlmDevice]) -> None:
        for device in devices:
            self._trust(device, TrustState.ignored)

    def _trust(self, device: OlmDevice, state: TrustState) -> bool:
        if device.trust_state is state:
            return False
        device.trust_state = state
        self._put_device(device)
        return True

    # ── Keys that were asked for ────────────────────────────────────────────────────────

    def load_outgoing_key_requests(self) -> dict[str, OutgoingKeyRequest]:
        found = (OutgoingKeyRequest(**row) for row in self._of("request"))
        return {one.request_id: one for one in found}

    def add_outgoing_key_request(self, request: OutgoingKeyRequest) -> None:
        self._put(
            "request",
            request.request_id,
            request_id=request.request_id,
            session_id=request.session_id,
            room_id=request.room_id,
            algorithm=request.algorithm,
        )

    def remove_outgoing_key_request(self, request: OutgoingKeyRequest) -> None:
        self._changed["request", request.request_id] = None

    # ── What is to be written ───────────────────────────────────────────────────────────

    def take_changes(self) -> dict[KeyName, str | None]:
        """All that has changed since, which is the caller's to write; None: it goes."""
        changed, self._changed = self._changed, {}
        return changed

    def give_back(self, changed: Mapping[KeyName, str | None]) -> None:
        """These could not be written."""
        self._changed = {**changed, **self._changed}


def moved(old: Any, own: Account) -> RowStore:
    """All that another of nio's stores has of this device. Nothing of it is written yet."""
    new = RowStore(own, ())
    if (account := old.load_account()) is None:
        return new
    new.save_account(account)
    for sender_key, sessions in old.load_sessions().items():
        for session in sessions:
            new.save_session(sender_key, session)
    for group_session in old.load_inbound_group_sessions():
        new.save_inbound_group_session(group_session)
    for device in old.load_device_keys():
        new._put_device(device)
    for request in old.load_outgoing_key_requests().values():
        new.add_outgoing_key_request(request)
    new._read = {name: json.loads(text) for name, text in new._changed.items() if text is not None}
    return new
