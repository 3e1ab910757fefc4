"""The owner's secret: a file that only Moot's own account can read; whoever can is an owner.

`moot open`, `moot token` and the other commands prove themselves by it. Tokens of programs follow
from it, so that none of them is stored.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from contextlib import suppress
from pathlib import Path

from gateway.core.private_folders import OWNER_SECRET, make_data_folder
from gateway.settings.whole_file import put

_LEAST_CHARS = 32  # a shorter file is none that Moot wrote whole


def owner_secret(data_dir: Path) -> str:
    """The secret of this data directory, made if there is none yet. Raises OSError."""
    file = data_dir / OWNER_SECRET
    if known := read_secret(data_dir):
        if file.stat().st_mode & 0o077:
            file.chmod(0o600)
        return known
    made = secrets.token_urlsafe(32)
    make_data_folder(data_dir)
    put(file, f"{made}\n".encode(), 0o600)
    return made


def read_secret(data_dir: Path) -> str | None:
    """The secret; None: there is none, or this account may not read it."""
    with suppress(OSError, UnicodeDecodeError):
        found = (data_dir / OWNER_SECRET).read_text(encoding="ascii").strip()
        return found if len(found) >= _LEAST_CHARS else None
    return None


def derived(secret: str, salt: str, reads: str) -> str:
    """The value of a token."""
    made = hmac.new(secret.encode(), f"token {reads} {salt}".encode(), hashlib.sha256).digest()
    return f"moot_{urlsafe_b64encode(made).decode().rstrip('=')}"


def hashed(secret: str) -> str:
    """The form in which a random secret is stored. It can't be guessed, so one hash is enough."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def same(given: str, expected: str) -> bool:
    """True if both are the same; takes as long either way."""
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())
