"""The account's cross-signing keys: made once, kept in its secrets, and the device signed by them.

Clients that refuse devices which their owner hasn't signed talk with the bot because of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from bots.bot import SecretSink, forget
from bots.matrix.api import CLIENT, MatrixApi, MatrixRefused
from bots.matrix.crypto.secret_storage import KeptRecoveryKey, SecretStorage
from bots.matrix.crypto.signing import SigningKey, decoded, is_signed
from bots.matrix.keys import EncryptionKeys
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

_USAGES = ("master", "self_signing", "user_signing")
_NO_KEY = (
    "other clients made its signing keys: set MATRIX_RECOVERY_KEY to the account's recovery key"
)
_WRONG_KEY = (
    "the recovery key doesn't open its signing keys: set MATRIX_RECOVERY_KEY to the right one"
)
_ASKS_AGAIN = "the homeserver asks for its password once: set MATRIX_PASSWORD"


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """The three keys of an account. The other two are signed by the master key."""

    master: SigningKey
    self_signing: SigningKey
    user_signing: SigningKey

    @classmethod
    def new(cls) -> SigningKeys:
        return cls(SigningKey.new(), SigningKey.new(), SigningKey.new())

    def published(self, user_id: str) -> dict[str, Any]:
        """The public halves as the homeserver takes them."""
        bodies: dict[str, Any] = {}
        for usage in _USAGES:
            public = getattr(self, usage).public
            body = {"user_id": user_id, "usage": [usage], "keys": {f"ed25519:{public}": public}}
            whole = body if usage == "master" else self.master.sign(body, user_id)
            bodies[f"{usage}_key"] = whole
        return bodies


@dataclass(frozen=True, slots=True)
class Published:
    """The account on the homeserver. publics: by usage. devices: their keys, by device id."""

    publics: Mapping[str, str]
    devices: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, answer: Mapping[str, Any], user_id: str) -> Published:
        """From the answer to a query of the account's own keys."""
        publics = {}
        for usage in _USAGES:
            body = (answer.get(f"{usage}_keys") or {}).get(user_id) or {}
            publics[usage] = next(iter((body.get("keys") or {}).values()), "")
        found = (answer.get("device_keys") or {}).get(user_id) or {}
        return cls(publics, {i: keys for i, keys in found.items() if isinstance(keys, Mapping)})


class Identity:
    """One account, as the bot's device stands to it.

    password: "" where there is none. storage: the account's secrets, once they are open. fault: why
    the device isn't signed.
    """

    def __init__(
        self,
        api: MatrixApi,
        keys: EncryptionKeys,
        recovery: KeptRecoveryKey,
        *,
        password: str = "",
        learned: SecretSink = forget,
    ) -> None:
        self._api, self._keys, self._recovery = api, keys, recovery
        self._password, self._learned = password, learned
        self.storage: SecretStorage | None = None
        self.signing: SigningKeys | None = None
        self.fault = ""

    @property
    def _user_id(self) -> str:
        return self._keys.own.user_id

    async def begin(self) -> None:
        """Sign the device, with keys that are made where the account has none.

        Raises PlatformError when the homeserver can't be asked.
        """
        try:
            published = await self._published()
            if not published.publics["master"]:
                await self._make()
            elif await self._look(published):
                return
            if not self.fault:
                await self._sign(published.devices.get(self._keys.own.device_id) or {})
        except MatrixRefused as error:
            self.fault = str(error)
        if self.fault:
            log.warning("device.unsigned", device=self._keys.own.device_id, reason=self.fault)
        else:
            log.info("device.signed", device=self._keys.own.device_id)

    async def missing(self) -> str:
        """The reason why clients distrust the device; "" when they don't. Changes nothing."""
        published = await self._published()
        if not published.publics["master"]:
            return "its account has no signing keys: `moot run` makes them"
        if await self._look(published):
            return ""
        return self.fault or "it isn't signed: `moot run` does it"

    async def _look(self, published: Published) -> bool:
        """True if the device is signed; else `fault` says why it can't be, or is ""."""
        await self._open()
        if self.signing and self.signing.master.public != published.publics["master"]:
            self.signing = None
        if self.signing is None:
            self.fault = _WRONG_KEY if await self._recovery.load() else _NO_KEY
        device = published.devices.get(self._keys.own.device_id) or {}
        return is_signed(device, self._user_id, published.publics["self_signing"])

    def verified(self, answer: Mapping[str, Any]) -> dict[str, str]:
        """The account's devices that are signed by keys which the bot holds, with their own.

        answer: to a query of its keys.
        """
        if self.signing is None:
            return {}
        public = self.signing.self_signing.public
        devices = Published.read(answer, self._user_id).devices.items()
        return {
            name: str((body.get("keys") or {}).get(f"ed25519:{name}"))
            for name, body in devices
            if is_signed(body, self._user_id, public)
        }

    # ── Its parts ───────────────────────────────────────────────────────────────────────

    async def _published(self) -> Published:
        body: dict[str, Any] = {"device_keys": {self._user_id: []}}
        return Published.read(await self._api.post(CLIENT + "/keys/query", body), self._user_id)

    async def _open(self) -> bool:
        """True if the recovery key opens the account's secrets. `signing`: those found."""
        key = await self._recovery.load()
        if key is None:
            return False
        self._learned(str(key))
        storage = SecretStorage(self._api, self._user_id, key)
        if not await storage.open():
            return False
        self.storage = storage
        found = [await storage.get(f"m.cross_signing.{usage}") for usage in _USAGES]
        try:
            self.signing = SigningKeys(*(SigningKey(decoded(seed)) for seed in found if seed))
        except (TypeError, ValueError):  # one is missing, or damaged
            self.signing = None
        return True

    async def _make(self) -> None:
        """Keys of an account that has none: kept first, so that they aren't lost half-way."""
        if not await self._open():
            key = await self._recovery.load() or await self._recovery.make()
            self._learned(str(key))
            self.storage = SecretStorage(self._api, self._user_id, key)
            await self.storage.create()
        assert self.storage is not None
        if self.signing is None:  # else they were kept, and the bot was ended before it went on
            self.signing = SigningKeys.new()
            for usage in _USAGES:
                key_of: SigningKey = getattr(self.signing, usage)
                await self.storage.put(f"m.cross_signing.{usage}", key_of.seed)
        await self._publish(self.signing.published(self._user_id))

    async def _publish(self, bodies: Mapping[str, Any]) -> None:
        where = CLIENT + "/keys/device_signing/upload"
        try:
            await self._api.post(where, bodies)
        except MatrixRefused as error:
            session = error.answer.get("session")
            if error.status != 401 or not session:
                raise
            if not self._password:
                self.fault = _ASKS_AGAIN
                return
            auth = {
                "type": "m.login.password",
                "identifier": {"type": "m.id.user", "user": self._user_id},
                "password": self._password,
                "session": session,
            }
            await self._api.post(where, {**bodies, "auth": auth})

    async def _sign(self, device: Mapping[str, Any]) -> None:
        """Sign the device as the homeserver has it, if its keys are the bot's own."""
        assert self.signing is not None
        own = self._keys.own
        if not self._keys.are_own(device):
            self.fault = "the homeserver has other keys of it"
            return
        signed = self.signing.self_signing.sign(device, own.user_id)
        answer = await self._api.post(
            CLIENT + "/keys/signatures/upload", {own.user_id: {own.device_id: signed}}
        )
        if answer.get("failures"):
            self.fault = "the homeserver refuses its signature"
