"""Files of encrypted rooms: encrypted and opened again. Off the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from nio.crypto.attachments import decrypt_attachment, encrypt_attachment
from nio.exceptions import EncryptionError

from contract.errors import PlatformError

_BROKEN = (EncryptionError, ValueError, KeyError, TypeError)


async def closed_file(data: bytes) -> tuple[bytes, Mapping[str, Any]]:
    """A file's bytes encrypted, and what reads them (key, iv, hashes, v)."""
    found: tuple[bytes, Mapping[str, Any]] = await asyncio.to_thread(encrypt_attachment, data)
    return found


async def opened_file(data: bytes, key: str, sha256: str, iv: str) -> bytes:
    """A file's own bytes. Raises PlatformError when they were changed on the way."""
    try:
        found: bytes = await asyncio.to_thread(decrypt_attachment, data, key, sha256, iv)
    except _BROKEN as error:
        raise PlatformError("the file can't be decrypted", outcome="refused") from error
    return found
