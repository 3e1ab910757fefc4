"""The backup of room keys on the homeserver, so that a new device reads what was said before.

Matrix: client-server API, Server-side key backups, m.megolm_backup.v1.curve25519-aes-sha2.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog
from vodozemac import (
    Curve25519PublicKey,
    Curve25519SecretKey,
    Message,
    PkDecryption,
    PkEncryption,
)

from bots.kit.files import write
from bots.matrix.api import CLIENT, MatrixApi, MatrixRefused
from bots.matrix.crypto.identity import Identity
from bots.matrix.crypto.signing import decoded, encoded
from bots.matrix.keys import EncryptionKeys, RoomKey
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

ALGORITHM = "m.megolm_backup.v1.curve25519-aes-sha2"
SECRET = "m.megolm_backup.v1"  # noqa: S105 - its name among the account's secrets
_AT_ONCE = 100  # keys in one call: about 100 KB
_RESTORE_S = 120.0  # all keys come in one answer
_FOREIGN = (
    "another client made the account's key backup, and its key isn't among the account's secrets: "
    "what was said before is lost with the keys here"
)


class BackupKey:
    """The pair of keys that closes room keys, and opens them."""

    def __init__(self, private: bytes) -> None:
        self._private = Curve25519SecretKey.from_bytes(private)
        self.public: str = self._private.public_key().to_base64()

    @classmethod
    def new(cls) -> BackupKey:
        return cls(Curve25519SecretKey().to_bytes())

    @property
    def secret(self) -> str:
        return encoded(self._private.to_bytes())

    def seal(self, data: Mapping[str, Any]) -> dict[str, str]:
        """A room key as it lies in the backup."""
        public = Curve25519PublicKey.from_base64(self.public)
        closed = PkEncryption.from_key(public).encrypt(json.dumps(data).encode())
        return {
            "ciphertext": encoded(closed.ciphertext),
            "mac": encoded(closed.mac),
            "ephemeral": encoded(closed.ephemeral_key),
        }

    def open(self, sealed: Mapping[str, Any]) -> Mapping[str, Any]:
        """Raises ValueError when it isn't this key's."""
        try:
            parts = (decoded(sealed[name]) for name in ("ciphertext", "mac", "ephemeral"))
            found = json.loads(PkDecryption.from_key(self._private).decrypt(Message(*parts)))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("no room key") from error
        if not isinstance(found, Mapping):
            raise ValueError("no room key")
        return found


class KeyBackup:
    """One device's part in the account's backup. fault: why it has none; "" when all is well."""

    def __init__(
        self, api: MatrixApi, keys: EncryptionKeys, identity: Identity, folder: Path
    ) -> None:
        self._api, self._keys, self._identity = api, keys, identity
        self._kept = _KeptSessions(folder / "backed-up")
        self._key: BackupKey | None = None
        self.fault = ""

    async def begin(self) -> None:
        """Find the account's backup or make one, and take what is new in it.

        Raises PlatformError when the homeserver can't be asked.
        """
        try:
            await self._open(make=True)
            if self._key and not self._kept.is_of(self._version):
                await self._restore(self._key)
        except MatrixRefused as error:
            self._key, self.fault = None, str(error)
        if self.fault:
            log.warning("keys.not_backed_up", reason=self.fault)

    async def missing(self) -> str:
        """The reason why room keys aren't backed up; "" when they are. Changes nothing."""
        await self._open(make=False)
        return self.fault or ("" if self._key else "`moot run` makes it")

    async def save(self) -> None:
        """Put the room keys there that have come since. Raises PlatformError."""
        if self._key is None:
            return
        new = await self._keys.exported(self._kept.sessions)
        for batch in _batches(new):
            rooms: dict[str, Any] = {}
            for one in batch:
                sessions = rooms.setdefault(one.room_id, {"sessions": {}})["sessions"]
                sessions[one.session_id] = _entry(one, self._key.seal(one.data))
            await self._put({"rooms": rooms})
            self._kept.add([one.session_id for one in batch])

    # ── Its parts ───────────────────────────────────────────────────────────────────────

    async def _open(self, *, make: bool) -> None:
        """`_key`: the backup's, when there is one and its key is known."""
        storage, signing = self._identity.storage, self._identity.signing
        self._key, self._version = None, ""
        if storage is None or signing is None:  # why, the identity says
            return
        found, secret = await self._found(), await storage.get(SECRET)
        key = BackupKey(decoded(secret)) if secret else None
        if found:
            is_ours = key and (found.get("auth_data") or {}).get("public_key") == key.public
            self._key, self.fault = (key, "") if is_ours else (None, _FOREIGN)
            self._version = str(found.get("version"))
        elif make:
            key = key or BackupKey.new()
            await storage.put(SECRET, key.secret)  # first, so that it isn't lost half-way
            auth = signing.master.sign({"public_key": key.public}, self._keys.own.user_id)
            body = {"algorithm": ALGORITHM, "auth_data": auth}
            made = await self._api.post(CLIENT + "/room_keys/version", body)
            self._key, self._version = key, str(made.get("version"))

    async def _found(self) -> Mapping[str, Any] | None:
        try:
            return await self._api.get(CLIENT + "/room_keys/version")
        except MatrixRefused as error:
            if error.status == 404:
                return None
            raise

    async def _restore(self, key: BackupKey) -> None:
        """A device that has never seen this backup takes all of it."""
        answer = await self._api.get(
            CLIENT + "/room_keys/keys", timeout_s=_RESTORE_S, version=self._version
        )
        found = list(_opened(answer, key))
        taken = await self._keys.take_in(found)
        self._kept.begin(self._version, taken)
        if taken:
            log.info("keys.restored", count=len(taken))

    async def _put(self, body: Mapping[str, Any]) -> None:
        try:
            await self._api.call(
                "PUT", CLIENT + "/room_keys/keys", body=body, params={"version": self._version}
            )
        except MatrixRefused as error:
            self._key, self.fault = None, str(error)  # another client made a new backup
            log.warning("keys.not_backed_up", reason=error)
            raise PlatformError(str(error), outcome="refused") from error


def _entry(key: RoomKey, sealed: Mapping[str, str]) -> dict[str, Any]:
    return {
        "first_message_index": key.first_index,
        "forwarded_count": len(key.data["forwarding_curve25519_key_chain"]),
        "is_verified": False,
        "session_data": sealed,
    }


def _opened(answer: Mapping[str, Any], key: BackupKey) -> Iterator[RoomKey]:
    """The backup's room keys; damaged ones are left out."""
    for room_id, room in (answer.get("rooms") or {}).items():
        for session_id, entry in (room.get("sessions") or {}).items():
            try:
                data = key.open(entry.get("session_data") or {})
            except ValueError:
                log.warning("key.unreadable", error="in the backup")
                continue
            yield RoomKey(room_id, session_id, int(entry.get("first_message_index") or 0), data)


def _batches(keys: Sequence[RoomKey]) -> Iterator[Sequence[RoomKey]]:
    for at in range(0, len(keys), _AT_ONCE):
        yield keys[at : at + _AT_ONCE]


class _KeptSessions:
    """The sessions that a backup has, on disk: its version in the first line, then an id a line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text(encoding="ascii").split("\n") if path.is_file() else [""]
        self._version = lines[0]
        self.sessions = set(filter(None, lines[1:]))

    def is_of(self, version: str) -> bool:
        return self._version == version

    def begin(self, version: str, sessions: Sequence[str]) -> None:
        self._version, self.sessions = version, set(sessions)
        write(self._path, "".join(f"{line}\n" for line in (version, *sessions)).encode())

    def add(self, sessions: Sequence[str]) -> None:
        self.sessions.update(sessions)
        with self._path.open("a", encoding="ascii") as file:
            file.writelines(f"{one}\n" for one in sessions)
