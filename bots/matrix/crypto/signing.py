"""Signatures over JSON with Ed25519. Matrix: appendices, Signing JSON, Cryptographic key."""

from __future__ import annotations

import base64
import json
from binascii import Error as NotBase64
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SEED_BYTES = 32


def encoded(data: bytes) -> str:
    """Base64 without padding."""
    return base64.b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    """The bytes of base64 with or without padding. Raises ValueError."""
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except NotBase64 as error:
        raise ValueError("not base64") from error


def canonical(body: Mapping[str, Any]) -> bytes:
    """The one form of a JSON object that is signed: without its signatures and `unsigned`."""
    return canonical_whole(
        {key: body[key] for key in body if key not in ("signatures", "unsigned")}
    )


def canonical_whole(body: Mapping[str, Any]) -> bytes:
    """The one form of a JSON object (Matrix: appendices, Canonical JSON)."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


class SigningKey:
    """A pair of Ed25519 keys. Its name in signatures is its public half."""

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise ValueError("a key has 32 bytes")
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = encoded(self._key.public_key().public_bytes_raw())

    @classmethod
    def new(cls) -> SigningKey:
        return cls(Ed25519PrivateKey.generate().private_bytes_raw())

    @property
    def seed(self) -> str:
        """The private half, as it is kept: base64."""
        return encoded(self._key.private_bytes_raw())

    def sign(self, body: Mapping[str, Any], user_id: str) -> dict[str, Any]:
        """The object with this key's signature as its only one."""
        signature = encoded(self._key.sign(canonical(body)))
        bare = {key: body[key] for key in body if key != "unsigned"}
        return bare | {"signatures": {user_id: {f"ed25519:{self.public}": signature}}}


def is_signed(body: Mapping[str, Any], user_id: str, public: str, key_id: str = "") -> bool:
    """True if the object carries the user's valid signature by a key. public: base64.

    key_id: the key's name, a device's id; "": its public half.
    """
    try:
        signature = body["signatures"][user_id][f"ed25519:{key_id or public}"]
        Ed25519PublicKey.from_public_bytes(decoded(public)).verify(
            decoded(signature), canonical(body)
        )
    except (InvalidSignature, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True
