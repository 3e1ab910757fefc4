"""The account's secrets on the homeserver, closed by the recovery key."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from bots.kit.cursor import KeptSecrets
from bots.matrix.api import CLIENT, MatrixApi, MatrixRefused, path
from bots.matrix.crypto.recovery import RecoveryKey
from contract.errors import ConfigError

RECOVERY_KEY = "recovery-key"
_DEFAULT = "m.secret_storage.default_key"
_DESCRIPTION = "m.secret_storage.key."


class KeptRecoveryKey:
    """The recovery key: MATRIX_RECOVERY_KEY, else the one that was made here.

    given: "" where the environment names none.
    """

    def __init__(self, secrets: KeptSecrets, given: str = "") -> None:
        self._secrets, self._given = secrets, given

    async def load(self) -> RecoveryKey | None:
        """Raises ConfigError when it is damaged, and MootError."""
        text = self._given or await self._secrets.read(RECOVERY_KEY)
        try:
            return RecoveryKey.parse(text) if text else None
        except ValueError as error:
            where = "MATRIX_RECOVERY_KEY" if self._given else f"the bot's {RECOVERY_KEY}"
            raise ConfigError(f"{where}: {error}") from error

    async def make(self) -> RecoveryKey:
        """Raises MootError."""
        key = RecoveryKey.new()
        await self._secrets.write(RECOVERY_KEY, f"{key}\n")
        return key


class SecretStorage:
    """One account's secrets."""

    def __init__(self, api: MatrixApi, user_id: str, key: RecoveryKey) -> None:
        self._api, self._user_id, self._key = api, user_id, key
        self._key_id = ""

    async def open(self) -> bool:
        """True if there are secrets, and this is their key."""
        key_id = str((await self._data(_DEFAULT) or {}).get("key") or "")
        description = await self._data(_DESCRIPTION + key_id) if key_id else None
        if description is None or not self._key.fits(description):
            return False
        self._key_id = key_id
        return True

    async def create(self) -> None:
        """Make this the key of the account's secrets."""
        self._key_id = secrets.token_hex(16)
        await self._keep(_DESCRIPTION + self._key_id, self._key.description())
        await self._keep(_DEFAULT, {"key": self._key_id})

    async def get(self, name: str) -> str | None:
        """A secret; None when there is none that this key opens."""
        found = (await self._data(name) or {}).get("encrypted")
        sealed = found.get(self._key_id) if isinstance(found, Mapping) else None
        if not isinstance(sealed, Mapping):
            return None
        try:
            return self._key.open(name, sealed)
        except ValueError:
            return None

    async def put(self, name: str, secret: str) -> None:
        sealed = self._key.seal(name, secret)
        await self._keep(name, {"encrypted": {self._key_id: sealed}})

    def _where(self, name: str) -> str:
        return CLIENT + path("user", self._user_id, "account_data", name)

    async def _data(self, name: str) -> Mapping[str, Any] | None:
        try:
            return await self._api.get(self._where(name))
        except MatrixRefused as error:
            if error.status == 404:
                return None
            raise

    async def _keep(self, name: str, content: Mapping[str, Any]) -> None:
        await self._api.put(self._where(name), content)
