"""The sandbox: the sessions that run in it, what it shows, and whether this machine has one."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import structlog

from adapters.agent import Sandbox
from adapters.pty.process_group import OutputTooLarge, run_once
from adapters.sandbox.bubblewrap import SYSTEM, SandboxView, wrap
from contract.chat import Room
from contract.errors import AgentError
from gateway.settings.config import Config
from gateway.settings.personas.personas import Persona, Personas
from gateway.settings.sandbox import Mode, parse_mount

log = structlog.stdlib.get_logger("moot.sandbox")

BWRAP = "bwrap"
TRY_S = 10.0  # 25 ms on an idle machine
TRY_BYTES = 4096
REMEDY = "install bubblewrap (0.8 or newer) and allow user namespaces, or set `sandbox` to off"


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """A persona's wish for a sandbox: in which sessions, and what it shows."""

    mode: Mode
    mounts: tuple[str, ...]
    network: Literal["host", "none"]

    def holds(self, room: Room) -> bool:
        """True if a session of that room is to run in it. An unknown kind is like a DM."""
        return self.mode == "on" or (self.mode == "dms" and room.kind != "room")


def wanted(config: Config, persona: Persona) -> SandboxRequest:
    """The persona's own settings, else its agent's, else those of [sandbox]."""
    agent = config.agents.get(persona.front.agent)
    own = [table for table in (persona.front.sandbox, agent.sandbox if agent else None) if table]
    everyone = config.sandbox
    return SandboxRequest(
        next((table.mode for table in own if table.mode), everyone.mode),
        tuple(dict.fromkeys(m for table in (everyone, *reversed(own)) for m in table.mounts)),
        next((table.network for table in own if table.network), everyone.network),
    )


def any_wanted(config: Config, personas: Personas) -> bool:
    """True if any session may run in a sandbox."""
    return any(wanted(config, one).mode != "off" for one in personas.all().values())


class Sandboxing:
    """The sandboxes of one gateway. path: the PATH where bubblewrap is looked for."""

    def __init__(self, config: Config, path: str) -> None:
        self._config = config
        self._path = path
        self._trouble: str | None = None  # "" once it has worked

    async def of(self, persona: Persona, room: Room) -> Sandbox | None:
        """A session's sandbox; None: it has none. Raises AgentError where there can be none."""
        asked = wanted(self._config, persona)
        if not asked.holds(room):
            return None
        if self._trouble != "":
            self._trouble = await trouble(self._path)
        if self._trouble:
            say = f"I run in a sandbox only, and there is none here ({self._trouble}): {REMEDY}."
            raise AgentError("missing", f"no sandbox: {self._trouble}", say=say)
        return self.make(asked)

    def make(self, asked: SandboxRequest) -> Sandbox:
        """The sandbox that was asked for."""
        bwrap = shutil.which(BWRAP, path=self._path)
        assert bwrap is not None
        return Sandbox(
            Path(bwrap).absolute(),
            mounts=tuple(parse_mount(text) for text in asked.mounts),
            network=asked.network,
            forbidden=_forbidden(self._config),
            fixed=(Path(__file__).parents[1], Path(sys.prefix)),
        )


def _forbidden(config: Config) -> tuple[Path, ...]:
    """Moot's own files: its data, its database, and the files that say what it does."""
    places = [config.gateway.data_dir, config.gateway.personas_dir, config.gateway.personas_folder]
    if config.file is not None:
        places.append(config.file)
    url = urlsplit(config.store_url)
    if url.scheme.startswith("sqlite"):
        places.append(Path(url.path.removeprefix("/")))
    return tuple(dict.fromkeys(place.absolute() for place in places))


def _least() -> SandboxView:
    """The paths that any program of the system needs."""
    return SandboxView(
        reads=tuple(path for name in ("/usr", *SYSTEM) if (path := Path(name)).exists())
    )


async def trouble(path: str) -> str:
    """The reason why no sandbox can be made here; "": one can. Makes one, for real."""
    found = shutil.which(BWRAP, path=path)
    if sys.platform != "linux":
        return "bubblewrap is for Linux"
    if found is None:
        return "bubblewrap is not installed"
    sandbox = Sandbox(Path(found))
    argv = (*wrap(sandbox, _least(), cwd=Path("/")), "/usr/bin/true")
    try:
        ran = await run_once(
            argv, env={}, cwd=Path("/"), given=b"", timeout_s=TRY_S, most_bytes=TRY_BYTES
        )
    except (TimeoutError, OutputTooLarge, OSError) as error:
        return f"bubblewrap can't be run: {error!r}"
    if ran.code:
        said = " ".join(ran.err.decode("utf-8", "replace").split())[:160]
        log.warning("sandbox.unavailable", code=ran.code, said=said)
        return said or f"bubblewrap ended with code {ran.code}"
    return ""
