"""`moot doctor`: everything that `moot run` stands on, a line each, with its remedy."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import aiohttp

from adapters.catalog import profiles
from contract.errors import MootError
from gateway.cli.doctor.check import CheckFinding, check, readable_by_others
from gateway.cli.doctor.data_folder import DataFolder
from gateway.cli.doctor.diagnosis import Diagnosis
from gateway.cli.doctor.platform_check import check_platforms
from gateway.cli.doctor.preflight import AgentHealth
from gateway.cli.doctor.sandbox_check import check_sandbox
from gateway.cli.doctor.trials import try_agents
from gateway.sessions.api_programs import API_PROGRAMS
from gateway.settings.config import Config
from gateway.settings.env_file import env_file
from gateway.settings.personas.personas import Personas

SKEW_S = 30.0  # Rocket.Chat refuses a message 60 s off, Slack a signature 300 s
ASKED_S = 5.0
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|_KEY")
_PERSON = re.compile(
    r"@[\w.=/+-]+:[\w.-]+|\b(?:slack|rocketchat|discord|matrix|bb|web):[^\s,;'\"]+"
)


class Doctor:
    """Looks at one installation and changes nothing in it.

    file: moot.toml. agents: let each agent that is here answer a word (a few tokens). asks: ask the
    platforms.
    """

    def __init__(
        self,
        config: Config,
        file: Path,
        environment: Mapping[str, str],
        *,
        now: datetime,
        asks: bool = True,
        agents: bool = True,
    ) -> None:
        self._config, self._file, self._environment = config, file, environment
        self._now, self._asks, self._agents = now, asks, agents

    async def examine(self) -> list[Diagnosis]:
        """Everything, in the order in which things depend on one another."""
        folder = DataFolder(self._config, self._now)
        lines = [self._machine(), *await asyncio.to_thread(folder.lines)]
        lines += [*self._secrets(), *await self._configuration()]
        lines.append(await self._page())
        if self._asks:
            lines += await self._platforms()
        lines += await self._agent_lines()
        return [self._told(line) for line in lines]

    def _told(self, line: Diagnosis) -> Diagnosis:
        """Without anything that may not stand in a bug report: secrets, people, the home folder."""
        return replace(line, text=self._plain(line.text), remedy=self._plain(line.remedy))

    def _plain(self, text: str) -> str:
        for key, value in self._environment.items():
            if value and len(value) > 2 and _SECRET.search(key):
                text = text.replace(value, "…")
        home = self._environment.get("HOME", "")
        text = text.replace(home, "~") if len(home) > 1 else text
        return _PERSON.sub("…", text)

    def _machine(self) -> Diagnosis:
        told = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
        zone = self._config.gateway.timezone
        return Diagnosis("✓", "machine", f"{told}, {os.cpu_count()} processors; time zone {zone}")

    def _secrets(self) -> list[Diagnosis]:
        path = env_file(self._file, self._file.parent)
        if not path.exists():
            return []
        if path.stat().st_mode & 0o077:
            return [Diagnosis("✗", "secrets", f"others can read {path}", f"chmod 600 {path}")]
        return [Diagnosis("✓", "secrets", f"{path.name} is its owner's alone")]

    # ── what `moot check` says ──────────────────────────────────────────────────────────

    async def _configuration(self) -> list[Diagnosis]:
        found = check(self._config, self._environment)
        found += [CheckFinding(text, warning=True) for text in readable_by_others(self._file)]
        boxes = await check_sandbox(self._config, self._environment)
        lines = [_line("configuration", finding) for finding in found]
        return [*lines, *(_line("sandbox", finding) for finding in boxes)]

    async def _platforms(self) -> list[Diagnosis]:
        found = await check_platforms(self._config, self._environment)
        lines = [_line("platform", finding) for finding in found]
        clocks = await asyncio.gather(*(self._clock(at) for at in self._addresses()))
        return [*lines, *(line for line in clocks if line)]

    def _addresses(self) -> Sequence[str]:
        keys = ("url", "api_url")
        found = [getattr(bot, key, "") for bot in self._config.bots for key in keys]
        return list(dict.fromkeys(filter(None, found)))

    async def _clock(self, address: str) -> Diagnosis | None:
        """How far this clock is from the platform's; None: the platform doesn't tell."""
        timeout = aiohttp.ClientTimeout(total=ASKED_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as client,
                client.head(address) as answer,
            ):
                theirs = parsedate_to_datetime(answer.headers["Date"])
        except (aiohttp.ClientError, TimeoutError, KeyError, ValueError):
            return None
        off_s = abs((self._now - theirs).total_seconds())
        if off_s <= SKEW_S:
            return Diagnosis("✓", "clock", "agrees with the platform's")
        text = f"this clock and the platform's are {off_s:.0f} s apart"
        return Diagnosis("✗", "clock", text, "set it by NTP: platforms refuse what is out of time")

    # ── the page, the agents ────────────────────────────────────────────────────────────

    async def _page(self) -> Diagnosis:
        gateway = self._config.gateway
        where = gateway.listen
        if gateway.port == 0:
            return Diagnosis("✓", "page", "any free port")
        if _is_free(gateway.host, gateway.port):
            return Diagnosis("✓", "page", f"{where} is free: Moot doesn't run there")
        host = "127.0.0.1" if gateway.host in ("0.0.0.0", "::") else gateway.host  # noqa: S104
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ASKED_S)) as client,
                client.get(f"http://{host}:{gateway.port}/healthz") as answer,
            ):
                told = await answer.json()
                well = answer.status == 200 and told["ok"] is True
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError):
            text = f"another program listens on {where}"
            return Diagnosis(
                "✗", "page", text, 'stop it, or set [gateway] listen = "127.0.0.1:8378"'
            )
        if well:
            return Diagnosis("✓", "page", f"Moot runs at {where} and is well")
        return Diagnosis("✗", "page", f"Moot runs at {where} and is not well: see its log")

    async def _agent_lines(self) -> list[Diagnosis]:
        """Those that personas name; the others are `moot agents`' business."""
        named = {
            p.front.agent for p in Personas(self._config.gateway.personas_folder).all().values()
        }
        known = named & {*profiles(), *API_PROGRAMS, *self._config.agents}
        if not known:
            return []
        try:
            found = await try_agents(
                self._config, self._environment, sorted(known), asks=self._agents
            )
        except MootError as error:
            return [Diagnosis("✗", "agents", error.say)]
        return [self._agent_line(health) for health in found]

    def _agent_line(self, health: AgentHealth) -> Diagnosis:
        what, text = f"agent {health.name}", f"{health.title} {health.version or ''}".rstrip()
        if not health.installed:
            return Diagnosis("⚠", what, f"{text} is not here", health.trouble)
        if not self._agents:
            return Diagnosis("✓", what, f"{text} is here")
        if not health.well:
            return Diagnosis("✗", what, f"{text} does not answer", health.trouble)
        return Diagnosis("⚠" if health.trouble else "✓", what, f"{text} answers", health.trouble)


def _line(what: str, finding: CheckFinding) -> Diagnosis:
    return Diagnosis(
        "✗" if finding.mistake else "⚠" if finding.warning else "✓", what, finding.text
    )


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
