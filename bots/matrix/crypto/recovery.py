"""The recovery key, and what it closes. Pure.

Matrix: client-server API, Secret storage, m.secret_storage.v1.aes-hmac-sha2.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import field
from functools import reduce
from operator import xor
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from bots.matrix.crypto.signing import decoded, encoded
from contract.values import dataclass

ALGORITHM = "m.secret_storage.v1.aes-hmac-sha2"

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_PREFIX = b"\x8b\x01"
_KEY_BYTES = 32
_NOTHING = b"\0" * 32  # what is closed so that a key can be tried


@dataclass(frozen=True, slots=True)
class RecoveryKey:
    """The key that opens an account's secrets, which people see as twelve groups of four signs."""

    raw: bytes = field(repr=False)

    @classmethod
    def new(cls) -> RecoveryKey:
        return cls(secrets.token_bytes(_KEY_BYTES))

    @classmethod
    def parse(cls, text: str) -> RecoveryKey:
        """Raises ValueError when it is no recovery key; the message doesn't repeat it."""
        number = 0
        for sign in "".join(text.split()):
            digit = _ALPHABET.find(sign)
            if digit < 0:
                raise ValueError("a recovery key has letters and digits only, without 0, O, I, l")
            number = number * 58 + digit
        size = len(_PREFIX) + _KEY_BYTES + 1
        data = number.to_bytes(max(size, (number.bit_length() + 7) // 8))
        if len(data) != size or not data.startswith(_PREFIX) or reduce(xor, data):
            raise ValueError("there is a slip in the recovery key")
        return cls(data[len(_PREFIX) : -1])

    def __str__(self) -> str:
        data = _PREFIX + self.raw
        number = int.from_bytes(data + bytes([reduce(xor, data)]))
        signs = ""
        while number:
            number, digit = divmod(number, 58)
            signs = _ALPHABET[digit] + signs
        return " ".join(signs[at : at + 4] for at in range(0, len(signs), 4))

    # ── What it closes ──────────────────────────────────────────────────────────────────

    def seal(self, name: str, text: str) -> dict[str, str]:
        """A secret as it lies on the server, by its name."""
        return self._seal(name, text.encode(), secrets.token_bytes(16))

    def open(self, name: str, sealed: Mapping[str, Any]) -> str:
        """Raises ValueError when this is not the key, or the secret is damaged."""
        try:
            closed, iv = decoded(sealed["ciphertext"]), decoded(sealed["iv"])
            aes_key, mac_key = self._keys(name)
            if not hmac.compare_digest(_mac(mac_key, closed), decoded(sealed["mac"])):
                raise ValueError("another key closed it")
            return _aes(aes_key, iv, closed).decode()
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("no secret") from error

    def description(self) -> dict[str, str]:
        """The public facts by which a key is known again."""
        check = self._seal("", _NOTHING, secrets.token_bytes(16))
        return {"algorithm": ALGORITHM, "iv": check["iv"], "mac": check["mac"]}

    def fits(self, description: Mapping[str, Any]) -> bool:
        """True if the description is this key's."""
        if description.get("algorithm") != ALGORITHM:
            return False
        try:
            check = self._seal("", _NOTHING, decoded(str(description.get("iv"))))
            return hmac.compare_digest(decoded(check["mac"]), decoded(str(description.get("mac"))))
        except ValueError:
            return False

    def _seal(self, name: str, data: bytes, iv: bytes) -> dict[str, str]:
        iv = iv[:8] + bytes([iv[8] & 0x7F]) + iv[9:]  # bit 63: some libraries' counters differ
        aes_key, mac_key = self._keys(name)
        closed = _aes(aes_key, iv, data)
        return {
            "iv": encoded(iv),
            "ciphertext": encoded(closed),
            "mac": encoded(_mac(mac_key, closed)),
        }

    def _keys(self, name: str) -> tuple[bytes, bytes]:
        keys = HKDF(SHA256(), 64, salt=b"\0" * 32, info=name.encode()).derive(self.raw)
        return keys[:32], keys[32:]


def _aes(key: bytes, iv: bytes, data: bytes) -> bytes:
    return Cipher(AES(key), CTR(iv)).encryptor().update(data)  # the same both ways


def _mac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")
