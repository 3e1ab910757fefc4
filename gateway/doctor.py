"""`moot doctor`: everything that `moot run` stands on, a line each, with its remedy."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import socket
import sqlite3
import stat
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal

import aiohttp
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from adapters.catalog import profiles
from contract import ConfigError, MootError
from gateway.api_programs import API_PROGRAMS
from gateway.archive import read
from gateway.backup import newest_first
from gateway.check import Finding, check
from gateway.config import Config
from gateway.env_file import env_file
from gateway.lock import holder
from gateway.personas import Personas
from gateway.platform_check import LETS_IN, check_platforms
from gateway.preflight import Health
from gateway.sandbox_check import check_sandbox
from gateway.trials import try_agents
from memory.store import HEAD
from memory.upgrading import FOLDER, check_known

Mark = Literal["✓", "⚠", "✗"]
LITTLE_BYTES = 1_000_000_000
NO_BYTES = 50_000_000
OLD_DAYS = 7
SKEW_S = 30.0  # Rocket.Chat refuses a message 60 s off, Slack a signature 300 s
ASKED_S = 5.0
WHOLE_BYTES = 2_000_000_000  # a larger database is looked through without its indexes
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|_KEY")
_PERSON = re.compile(
    r"@[\w.=/+-]+:[\w.-]+|\b(?:slack|rocketchat|discord|matrix|bb|web):[^\s,;'\"]+"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One finding. what: the part of Moot it is about. remedy: what to do; "": nothing."""

    mark: Mark
    what: str
    text: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.mark} {self.what}: {self.text}"
        return f"{line} — {self.remedy}" if self.remedy else line


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

    async def examine(self) -> list[Line]:
        """Everything, in the order in which things depend on one another."""
        lines = [self._machine(), *self._data(), self._held()]
        lines += await asyncio.to_thread(self._database)
        lines += [self._backup(), *self._secrets(), *await self._configuration()]
        lines.append(await self._page())
        if self._asks:
            lines += await self._platforms()
        lines += await self._agent_lines()
        return [self._told(line) for line in lines]

    def _told(self, line: Line) -> Line:
        """Without anything that may not stand in a bug report: secrets, people, the home folder."""
        return replace(line, text=self._plain(line.text), remedy=self._plain(line.remedy))

    def _plain(self, text: str) -> str:
        for key, value in self._environment.items():
            if value and len(value) > 2 and _SECRET.search(key):
                text = text.replace(value, "…")
        home = self._environment.get("HOME", "")
        text = text.replace(home, "~") if len(home) > 1 else text
        return _PERSON.sub("…", text)

    def _machine(self) -> Line:
        told = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
        zone = self._config.gateway.timezone
        return Line("✓", "machine", f"{told}, {os.cpu_count()} processors; time zone {zone}")

    # ── the data folder ─────────────────────────────────────────────────────────────────

    def _data(self) -> list[Line]:
        folder = self._config.gateway.data_dir
        if not folder.exists():
            return [Line("✓", "data", f"{folder} is not there yet: `moot run` makes it")]
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            remedy = f"let it belong to whom runs Moot: chown -R USER {folder}"
            return [Line("✗", "data", f"{folder} can't be written", remedy)]
        lines = [self._space(folder)]
        if folder.stat().st_mode & (stat.S_IROTH | stat.S_IXOTH | stat.S_IWOTH):
            text = f"everybody on this machine can look into {folder}"
            lines.append(Line("⚠", "data", text, f"chmod 700 {folder}"))
        return lines

    def _space(self, folder: Path) -> Line:
        free = shutil.disk_usage(folder).free
        text = f"{folder} is writable, {free / 1e9:.1f} GB free"
        remedy = "make room: answers and back-ups need it"
        if free < NO_BYTES:
            return Line("✗", "data", text, remedy)
        return Line("⚠", "data", text, remedy) if free < LITTLE_BYTES else Line("✓", "data", text)

    def _held(self) -> Line:
        pid = holder(self._config.gateway.data_dir)
        return Line("✓", "lock", "free" if pid is None else f"held by process {pid}: Moot runs")

    def _database(self) -> list[Line]:
        try:
            url = make_url(self._config.store_url)
        except ArgumentError:
            return [Line("✗", "database", "[store] url is not a database's address")]
        if url.get_backend_name() != "sqlite":
            return [Line("✓", "database", f"{url.get_backend_name()}; `moot run` tries it")]
        path = Path(url.database or "")
        if not path.exists():
            return [Line("✓", "database", f"{path} is not there yet: `moot run` makes it")]
        remedy = "stop Moot, then: moot restore BACKUP --force"
        try:
            found, sound = _looked_through(path)
            check_known(found, HEAD)
        except sqlite3.Error as error:
            return [Line("✗", "database", f"{path} can't be read: {error}", remedy)]
        except ConfigError as error:
            return [Line("✗", "database", error.say)]
        text = f"{path.stat().st_size / 1e6:.1f} MB, version {found}"
        if sound != "ok":
            return [Line("✗", "database", f"{text}, damaged: {sound}", remedy)]
        if found != HEAD:
            text += f"; the next start copies it and brings it to {HEAD}"
        return [Line("✓", "database", f"{text}, sound")]

    def _backup(self) -> Line:
        made = newest_first(self._config.gateway.data_dir / FOLDER)
        if not made and not self._config.gateway.data_dir.exists():
            return Line("✓", "back-up", "there is nothing to back up yet")
        if not made:
            remedy = 'moot backup, or [backup] every = "daily 03:00"'
            return Line("⚠", "back-up", "there is none in the data folder", remedy)
        try:
            manifest = read(made[0])
        except ConfigError as error:
            return Line("✗", "back-up", error.say, "moot backup")
        age_days = (self._now - datetime.fromisoformat(manifest.made_at)).days
        text = f"{made[0].name}, {age_days} days old, database {manifest.schema_version}, whole"
        return (
            Line("⚠", "back-up", text, "moot backup")
            if age_days > 7
            else Line("✓", "back-up", text)
        )

    def _secrets(self) -> list[Line]:
        path = env_file(self._file, self._file.parent)
        if not path.exists():
            return []
        if path.stat().st_mode & 0o077:
            return [Line("✗", "secrets", f"others can read {path}", f"chmod 600 {path}")]
        return [Line("✓", "secrets", f"{path.name} is its owner's alone")]

    # ── what `moot check` says ──────────────────────────────────────────────────────────

    async def _configuration(self) -> list[Line]:
        found = check(self._config, self._environment)
        lines = [_line("configuration", one, "can't answer" in one.text) for one in found]
        boxes = await check_sandbox(self._config, self._environment)
        return [*lines, *(_line("sandbox", one, False) for one in boxes)]

    async def _platforms(self) -> list[Line]:
        found = await check_platforms(self._config, self._environment)
        lines = [
            _line("platform", finding, not finding.text.endswith(LETS_IN)) for finding in found
        ]
        clocks = await asyncio.gather(*(self._clock(at) for at in self._addresses()))
        return [*lines, *(line for line in clocks if line)]

    def _addresses(self) -> Sequence[str]:
        keys = ("url", "api_url")
        found = [getattr(bot, key, "") for bot in self._config.bots for key in keys]
        return list(dict.fromkeys(filter(None, found)))

    async def _clock(self, address: str) -> Line | None:
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
            return Line("✓", "clock", "agrees with the platform's")
        text = f"this clock and the platform's are {off_s:.0f} s apart"
        return Line("✗", "clock", text, "set it by NTP: platforms refuse what is out of time")

    # ── the page, the agents ────────────────────────────────────────────────────────────

    async def _page(self) -> Line:
        gateway = self._config.gateway
        where = gateway.listen
        if gateway.port == 0:
            return Line("✓", "page", "any free port")
        if _is_free(gateway.host, gateway.port):
            return Line("✓", "page", f"{where} is free: Moot doesn't run there")
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
            return Line("✗", "page", text, 'stop it, or set [gateway] listen = "127.0.0.1:8378"')
        if well:
            return Line("✓", "page", f"Moot runs at {where} and is well")
        return Line("✗", "page", f"Moot runs at {where} and is not well: see its log")

    async def _agent_lines(self) -> list[Line]:
        """Those that personas name; the others are `moot agents`' business."""
        named = {p.front.agent for p in Personas(self._config.personas_folder).all().values()}
        known = named & {*profiles(), *API_PROGRAMS, *self._config.agents}
        if not known:
            return []
        try:
            found = await try_agents(
                self._config, self._environment, sorted(known), asks=self._agents
            )
        except MootError as error:
            return [Line("✗", "agents", error.say)]
        return [self._agent_line(health) for health in found]

    def _agent_line(self, health: Health) -> Line:
        what, text = f"agent {health.name}", f"{health.title} {health.version or ''}".rstrip()
        if not health.installed:
            return Line("⚠", what, f"{text} is not here", health.trouble)
        if not self._agents:
            return Line("✓", what, f"{text} is here")
        if not health.well:
            return Line("✗", what, f"{text} does not answer", health.trouble)
        return Line("⚠" if health.trouble else "✓", what, f"{text} answers", health.trouble)


def _line(what: str, finding: Finding, looks_wrong: bool) -> Line:
    return Line("✗" if finding.mistake else "⚠" if looks_wrong else "✓", what, finding.text)


def _looked_through(path: Path) -> tuple[str, str]:
    """The database's version, and "ok" or what is wrong with it. Raises sqlite3.Error."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    pragma = "integrity_check" if path.stat().st_size < WHOLE_BYTES else "quick_check"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        [(found,)] = connection.execute("SELECT version_num FROM alembic_version")
        [(sound,), *_] = connection.execute(f"PRAGMA {pragma}(1)")
    return str(found), str(sound)


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
