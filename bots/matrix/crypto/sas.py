"""Verification by comparing emoji, as the side that accepts it. Pure.

Matrix: client-server API, Short Authentication String (SAS) verification, m.sas.v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from nio.crypto.sas import Sas as Table
from vodozemac import Curve25519PublicKey, EstablishedSas, Sas

from bots.matrix.crypto.signing import canonical_whole, encoded
from contract.values import dataclass

METHOD = "m.sas.v1"
_AGREED = {
    "key_agreement_protocol": "curve25519-hkdf-sha256",
    "hash": "sha256",
    "message_authentication_code": "hkdf-hmac-sha256.v2",
}
_OFFERED = {
    "key_agreement_protocol": "key_agreement_protocols",
    "hash": "hashes",
    "message_authentication_code": "message_authentication_codes",
}
_EMOJI = "emoji"


class VerificationFailed(Exception):
    """code: the protocol's own word, e.g. "m.key_mismatch"."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two devices. keys: those that are verified, by key id: its own, the master key."""

    user_id: str
    device_id: str
    keys: Mapping[str, str]


class EmojiVerification:
    """The steps in their order: `accept`, `reveal`, `confirm`. Each takes the other's content, and
    returns the answer. Raises VerificationFailed."""

    def __init__(self, own: Side, other: Side, transaction_id: str) -> None:
        self._own, self._other, self._id = own, other, transaction_id
        self._sas = Sas()
        self._public: str = self._sas.public_key.to_base64()
        self._shared: EstablishedSas | None = None
        self.emoji: tuple[tuple[str, str], ...] = ()

    def accept(self, start: Mapping[str, Any]) -> dict[str, Any]:
        if self._shared or start.get("method") != METHOD:
            raise VerificationFailed("m.unknown_method", "it verifies by emoji only")
        offers = [(_AGREED[name], start.get(key) or ()) for name, key in _OFFERED.items()]
        offers.append((_EMOJI, start.get("short_authentication_string") or ()))
        if not all(isinstance(offer, list) and wanted in offer for wanted, offer in offers):
            raise VerificationFailed("m.unknown_method", "it needs a newer client")
        commitment = sha256(self._public.encode() + canonical_whole(start)).digest()
        return {
            "method": METHOD,
            **_AGREED,
            "short_authentication_string": [_EMOJI],
            "commitment": encoded(commitment),
        }

    def reveal(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """`emoji` are there now: (sign, its name), seven of them."""
        theirs = str(content.get("key"))
        try:
            self._shared = self._sas.diffie_hellman(Curve25519PublicKey.from_base64(theirs))
        except ValueError as error:
            raise VerificationFailed("m.invalid_message", "no key") from error
        sides = ((self._other, theirs), (self._own, self._public))  # who started comes first
        parts = [part for side, key in sides for part in (side.user_id, side.device_id, key)]
        info = "|".join(("MATRIX_KEY_VERIFICATION_SAS", *parts, self._id))
        indices = self._shared.bytes(info).emoji_indices
        self.emoji = tuple((Table.emoji[n][0], Table.emoji[n][1]) for n in indices)
        return {"key": self._public}

    def confirm(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """They are the same, its person says: check who that is, and say who this is."""
        macs = content.get("mac")
        if self._shared is None or not isinstance(macs, Mapping) or not macs:
            raise VerificationFailed("m.unexpected_message", "nothing was compared yet")
        self._check("KEY_IDS", ",".join(sorted(macs)), str(content.get("keys")))
        known = [name for name in macs if name in self._other.keys]
        for name in known:
            self._check(name, self._other.keys[name], str(macs[name]))
        if f"ed25519:{self._other.device_id}" not in known:
            raise VerificationFailed("m.key_mismatch", "its device isn't among the keys")
        ids = ",".join(sorted(self._own.keys))
        return {
            "mac": {name: self._mac(name, key) for name, key in self._own.keys.items()},
            "keys": self._mac("KEY_IDS", ids),
        }

    def _mac(self, name: str, text: str) -> str:
        assert self._shared is not None
        return self._shared.calculate_mac(text, self._info(self._own, self._other, name))

    def _check(self, name: str, text: str, mac: str) -> None:
        assert self._shared is not None
        try:
            self._shared.verify_mac(text, self._info(self._other, self._own, name), mac)
        except ValueError as error:
            raise VerificationFailed("m.key_mismatch", "the keys are others") from error

    def _info(self, sender: Side, receiver: Side, name: str) -> str:
        who = (sender.user_id, sender.device_id, receiver.user_id, receiver.device_id)
        return "".join(("MATRIX_KEY_VERIFICATION_MAC", *who, self._id, name))
