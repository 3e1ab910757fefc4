"""The page's files, as `make page` bundled them: a name is looked up, never joined to a path."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from aiohttp import web

from contract.values import dataclass
from gateway.web.auth import CSP, HEADERS

BUNDLE = Path(__file__).parents[1] / "dist"

TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
THEMES = ("light", "dark")
THEME = "moot-theme"  # the cookie: the page is in its colours before any script runs
PACKED = frozenset({".png", ".woff2"})  # compressed as they are
DOCUMENT = "no-cache"  # asked for each time: it names the files
FILE = "public, max-age=31536000, immutable"  # its name changes with its bytes
_STYLE = re.compile(b"<style>(.*?)</style>", re.DOTALL)


@dataclass(slots=True)
class Asset:
    """A file. etag: changes with its bytes, so that a browser may keep it and ask."""

    body: bytes
    suffix: str
    etag: str
    _gzipped: bytes = field(default=b"", init=False)

    async def gzipped(self) -> bytes:
        """Its bytes as gzip has them, made when they are first asked for."""
        if not self._gzipped:
            self._gzipped = await asyncio.to_thread(gzip.compress, self.body, mtime=0)
        return self._gzipped


@dataclass(frozen=True, slots=True)
class Assets:
    """Every file by its name. parts: the files that a document may ask for, by its name. policies:
    what a document may do, by its name; its own style sheet is allowed by its digest."""

    files: Mapping[str, Asset]
    parts: Mapping[str, tuple[str, ...]]
    policies: Mapping[str, str]

    def is_document(self, name: str) -> bool:
        """True if a file has an address of its own, and none among the static ones."""
        return f"{name.partition('.')[0]}.html" in self.parts

    def themed(self, document: str, request: web.Request) -> str:
        """The name of a document in the colours that this browser was told to show."""
        name = _themed(document, request.cookies.get(THEME, ""))
        return name if name in self.files else document

    def catalog(self, document: str, language: str) -> tuple[str, ...]:
        """The script with the words of a language that a document asks for; English has none."""
        return tuple(one for one in self.parts[document] if one.startswith(f"{language}-"))

    @classmethod
    def load(cls, folder: Path = BUNDLE) -> Assets:
        """Those of a bundle."""
        files = {
            path.name: Asset(body, path.suffix, hashlib.sha256(body).hexdigest()[:16])
            for path in sorted(folder.iterdir())
            if path.suffix in TYPES
            for body in [path.read_bytes()]
        }
        parts = json.loads((folder / "parts.json").read_text("utf-8"))
        for name in parts:
            for theme in THEMES:
                body = files[name].body.replace(
                    b"<html ", f'<html data-theme="{theme}" '.encode(), 1
                )
                etag = f"{files[name].etag}-{theme}"
                files[_themed(name, theme)] = Asset(body, ".html", etag)
        by_document = {document: tuple(names) for document, names in parts.items()}
        return cls(files, by_document, {name: _policy(files[name].body) for name in parts})

    async def answer(self, request: web.Request, name: str, status: int = 200) -> web.Response:
        """A file; 304 when the browser has it."""
        asset = self.files[name]
        kept = DOCUMENT if self.is_document(name) else FILE
        headers = {"Cache-Control": kept if status == 200 else "no-store"}
        if self.is_document(name):
            headers[CSP] = self.policies[f"{name.partition('.')[0]}.html"]
        if status == 200:
            headers["ETag"] = f'"{asset.etag}"'
        if status == 200 and any(tag.value == asset.etag for tag in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        body = asset.body
        if asset.suffix not in PACKED:
            headers["Vary"] = "Accept-Encoding"
            if takes_gzip(request):
                body = await asset.gzipped()
                headers["Content-Encoding"] = "gzip"
        text = None if asset.suffix in PACKED else "utf-8"
        return web.Response(
            body=body, status=status, content_type=TYPES[asset.suffix], charset=text,
            headers=headers,
        )  # fmt: skip


def _policy(document: bytes) -> str:
    """The policy of every answer, and the style sheets that stand in a document."""
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(style).digest()).decode()}'"
        for style in _STYLE.findall(document)
    ]
    return " ".join([f"{HEADERS[CSP]}; style-src 'self'", *digests])


def _themed(document: str, theme: str) -> str:
    return document.replace(".html", f".{theme}.html")


def takes_gzip(request: web.Request) -> bool:
    """True if whoever asks can unpack gzip."""
    for coding in request.headers.get("Accept-Encoding", "").lower().split(","):
        name, _, weight = coding.replace(" ", "").partition(";q=")
        if name == "gzip":
            return weight.rstrip("0.") != "" or not weight
    return False
