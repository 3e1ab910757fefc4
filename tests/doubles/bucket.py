"""A bucket of moto's S3 server, which listens on the loopback."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import aiohttp

from gateway.files.s3 import S3Files, open_s3
from gateway.settings.connections import FilesTable
from tests.doubles.ports import free_port

BUCKET, PREFIX = "moot-files", "house"
KEYS = {"MOOT_BUCKET_KEY_ID": "an-id", "MOOT_BUCKET_SECRET_KEY": "canary-of-the-bucket"}


class Bucket:
    """config: the table of moot.toml for it."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"
        self.table = FilesTable(store="s3", bucket=BUCKET, endpoint=self.endpoint, prefix=PREFIX)
        self.config = (
            f'[files]\nstore = "s3"\nbucket = "{BUCKET}"\nprefix = "{PREFIX}"\n'
            f'endpoint = "{self.endpoint}"\n'
        )

    def prepare(self, folder: Path) -> None:
        """A machine needs nothing but its environment."""

    def files(self) -> S3Files:
        return open_s3(self.table, *KEYS.values())

    async def names(self) -> list[str]:
        """What it holds, as anybody's client lists it."""
        async with (
            aiohttp.ClientSession() as client,
            client.get(f"{self.endpoint}/{BUCKET}?list-type=2") as response,
        ):
            text = await response.text()
        return [part.partition("</Key>")[0] for part in text.split("<Key>")[1:]]


@contextmanager
def bucket(port: int = 0) -> Iterator[Bucket]:
    """An empty one. port: 0: any."""
    port = port or free_port()
    opened = Bucket(port)
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(words, stdout=nowhere, stderr=nowhere) as server:
        try:
            _make(f"{opened.endpoint}/{BUCKET}")
            yield opened
        finally:
            server.kill()


def _make(url: str) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            urlopen(Request(url, method="PUT")).close()
            return
        except URLError:
            assert time.monotonic() < until
            time.sleep(0.1)
