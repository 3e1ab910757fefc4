"""The page's own static files, read once: a name is looked up, never joined to a path."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

STATIC = Path(__file__).parent / "static"

TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file. etag: changes with its bytes, so that a browser may keep it and ask."""

    body: bytes
    type: str
    etag: str


def load(folder: Path = STATIC) -> Mapping[str, Asset]:
    """Every servable file below the folder by its path in it, as `chat/composer.js`."""
    return {
        path.relative_to(folder).as_posix(): Asset(
            body, TYPES[path.suffix], hashlib.sha256(body).hexdigest()[:16]
        )
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES
        for body in [path.read_bytes()]
    }
