"""The steps of `moot init`, one after the other. Each is tried for real; a mistake is told and
asked for again. Nothing is written here: what comes out is the files as they shall be."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import tomlkit

from bots.kit.platform_spec import Login, PlatformSpec
from bots.platforms import SPECS
from contract.errors import ConfigError
from contract.values import dataclass
from gateway.cli.diagnosis.platforms import try_bot
from gateway.cli.init.agent import AgentOptions, AgentStep
from gateway.cli.init.asking import Asker
from gateway.cli.init.owner import FIRST, OFFERED, ask_owners
from gateway.remembering.embedder import InstalledModel
from gateway.settings.config import Config, parse_config, secret
from gateway.settings.editing.files import File, document, joined, put_bot, read, section
from gateway.settings.env_file import env_file, set_values
from gateway.settings.personas.check import NAME
from gateway.settings.personas.personas import Personas, parse_persona
from gateway.settings.tables import SHIPPED_PERSONAS
from gateway.setup.connection import Connection
from memory.recall.model.package import MINILM

PAGE = "page"
"""Chosen instead of a platform: Moot's own page alone."""


@dataclass(frozen=True, slots=True)
class Given:
    """The options of the command line; empty: not given. urls: platform → address.
    which: the words by which other commands find the file; "": they need none."""

    file: Path
    which: str = ""
    platforms: Sequence[str] = ()
    urls: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    persona: str = ""
    description: str = ""
    agent: AgentOptions = field(default_factory=AgentOptions)
    rooms: str = ""
    owners: Sequence[str] = ()
    listen: str = ""
    timezone: str = ""

    @property
    def tries(self) -> bool:
        """Platform and agent are tried."""
        return self.agent.tries


class Wizard:
    """One run of the wizard."""

    def __init__(self, given: Given, ask: Asker, environment: Mapping[str, str], zone: str) -> None:
        self._given, self._ask, self._environment = given, ask, environment
        self._zone = zone
        self._before = read(given.file)
        if self._before is not None:
            self._parse(self._before)  # a mistake in it is told before anything is asked
        self._toml = document(self._before)
        self._secrets: dict[str, str] = {}
        self._refused: set[str] = set()
        self._persona = ""
        self._next: list[str] = []
        self._is_offered = False

    def run(self) -> list[File]:
        """The files as they shall be. Raises ConfigError."""
        self._place()
        platforms = self._platforms()
        self._persona = self._which_persona()
        connection = self._connect()
        for platform in platforms:
            self._platform(SPECS[platform])
        self._access([SPECS[platform] for platform in platforms])
        return [self._persona_file(connection), self._secrets_file(), self._toml_file()]

    @property
    def personas_dir(self) -> Path:
        """The folder of the personas."""
        return self._config().gateway.personas_dir

    @property
    def afterwards(self) -> Sequence[str]:
        """The next steps, a line each."""
        config = self._given.which
        last = self._next or [f"open the link that it prints and ask @{self._persona}"]
        download, kept = MINILM.megabytes
        found = InstalledModel(self._config(), {}).status_now()
        offer = (
            f"If you like: moot memory embedder install{config} lets it recall what is said in "
            f"other words; a download of {download} MB, {kept} MB kept, and no text leaves this "
            "machine"
        )
        lines = (
            *([f"{OFFERED}."] if self._is_offered else []),
            f"Next: moot run{config}",
            f"Then: {'; or '.join(last)}",
        )
        return lines if found.installed else (offer, *lines)

    def _parse(self, text: str) -> Config:
        try:
            return parse_config(tomllib.loads(text), self._given.file)
        except tomllib.TOMLDecodeError as error:
            say = f"{self._given.file}: can't be read as TOML: {error}; fix it first"
            raise ConfigError(say) from None

    def _config(self) -> Config:
        return self._parse(tomlkit.dumps(self._toml))

    def _environment_now(self) -> Mapping[str, str]:
        return {**self._environment, **self._secrets}

    def _place(self) -> None:
        """Time zone and address, which have defaults and are not asked for."""
        zone = self._given.timezone or (self._zone if self._before is None else "")
        for key, value in (("timezone", zone), ("listen", self._given.listen)):
            if value:
                section(self._toml, "gateway")[key] = value
        self._config()

    def _platforms(self) -> Sequence[str]:
        chosen = list(self._given.platforms)
        if not chosen:
            options = [(name, platform.title) for name, platform in SPECS.items()]
            only = (PAGE, "none: Moot's own page alone, to try it")
            if self._ask.quiet:
                raise ConfigError("moot init --yes: say which: --platform slack (or page, ...)")
            question = "Where do people talk to it? (Run `moot init` again to add another.)"
            chosen = [self._ask.choose(question, [*options, only], "--platform")]
        return [name for name in dict.fromkeys(chosen) if name != PAGE]

    # ── the persona and its agent ───────────────────────────────────────────────────────

    def _which_persona(self) -> str:
        own = Personas(self._config().gateway.personas_folder).good
        there = {**Personas(SHIPPED_PERSONAS).good, **own}
        if self._given.persona:
            name = self._given.persona
        elif self._ask.quiet:
            name = "demo" if self._given.agent.agent in ("", "demo") else "claude"
        else:
            known = [(p.name, f"@{p.name}: {p.front.description}") for p in there.values()]
            new = ("", "a new one")
            name = self._ask.choose("Who answers?", [*known, new], "--persona")
            if not name:
                name = self._ask.text("Its name, lower case", "--persona", fault=_no_name)
        if wrong := _no_name(name):
            raise ConfigError(f"--persona: {wrong}")
        return name

    def _text(self, name: str) -> str | None:
        """The persona's file as it is, else as it comes with Moot; None: it is new."""
        for folder in (self.personas_dir, SHIPPED_PERSONAS):
            if (text := read(folder / f"{name}.md")) is not None:
                return text
        return None

    def _connect(self) -> Connection:
        """The agent that will answer; it has answered."""
        text = self._text(self._persona)
        usual = parse_persona(self._persona, text).front.agent if text else "demo"
        step = AgentStep(self._ask, self._given.agent, self._config, self._environment)
        connection = step.run(self._persona, text, usual)
        self._secrets |= connection.secrets
        return replace(connection, description=self._described(text))

    # ── a platform ──────────────────────────────────────────────────────────────────────

    def _platform(self, platform: PlatformSpec) -> None:
        told = f"how to make the bot's account is told in {platform.docs}."
        self._ask.say(f"\n{platform.title}: {told}")
        self._address(platform, self._given.urls.get(platform.name, ""))
        while True:
            self._keep(platform, self._login(platform))
            if not self._given.tries or self._lets_in(platform):
                return
            self._refused |= {field.key for login in platform.form.logins for field in login.fields}
            if platform.form.needs_url:
                self._address(platform)

    def _address(self, platform: PlatformSpec, url: str = "") -> None:
        if not url and platform.form.needs_url:
            now = str(self._table(platform).get(platform.form.url_key, ""))
            question = f"The address of the {platform.title} server"
            url = self._ask.text(question, "--url", default=now, fault=_no_address)
        if url and (wrong := _no_address(url)):
            raise ConfigError(f"--url: {wrong}")
        if url and platform.form.url_end:
            url = url.rstrip("/") + platform.form.url_end
        self._put(platform, {platform.form.url_key: url} if url else {})

    def _put(self, platform: PlatformSpec, values: Mapping[str, Any]) -> None:
        personas = joined(self._table(platform).get("personas"), [self._persona])
        name = self._given.name or None
        put_bot(self._toml, platform.name, name, {"personas": personas, **values})

    def _table(self, platform: PlatformSpec) -> Mapping[str, Any]:
        name = self._given.name or None
        tables: Sequence[Mapping[str, Any]] = self._toml.get("bots", [])
        wanted = (platform.name, name)
        found = (t for t in tables if (t.get("platform"), t.get("name")) == wanted)
        return next(found, {})

    def _key(self, key: str) -> str:
        """The variable's name for this very bot."""
        ending = "".join(c if c.isalnum() else "_" for c in self._given.name).upper()
        return f"{key}_{ending}" if ending else key

    def _has(self, key: str) -> str:
        """The variable's value, unless it was refused already."""
        known = secret(self._environment, key, self._given.name or "") or ""
        return "" if key in self._refused else known

    def _login(self, platform: PlatformSpec) -> Login:
        """The way in: what the environment has secrets for, else what is chosen."""
        logins = platform.form.logins
        ready = [login for login in logins if all(self._has(field.key) for field in login.fields)]
        if ready:
            return ready[0]
        options = [(str(number), login.title) for number, login in enumerate(logins)]
        return logins[int(self._ask.choose("How does it get in?", options, "the environment"))]

    def _keep(self, platform: PlatformSpec, login: Login) -> None:
        """Take the login's secrets and write its keys into the table."""
        for one in login.fields:
            key, known = self._key(one.key), self._has(one.key)
            if known and not one.fault(known):
                self._ask.say(f"  {key}: as in the environment or moot.env")
                self._secrets[key] = known
                continue
            if known and self._ask.quiet:
                raise ConfigError(one.fault(known))
            ask = self._ask.secret if one.hidden else self._ask.text
            question = f"{one.title[0].upper()}{one.title[1:]} ({key})"
            self._secrets[key] = ask(question, f"{key} in the environment", fault=one.fault)
        self._put(platform, login.table)

    def _lets_in(self, platform: PlatformSpec) -> bool:
        """True if the platform takes it; says what is missing. Quiet: raises ConfigError."""
        config = self._config()
        wanted = (platform.name, self._given.name or None)
        [number] = [
            n for n, table in enumerate(config.bots) if (table.platform, table.name) == wanted
        ]
        self._ask.say(f"Asking {platform.title} ...")
        findings = asyncio.run(try_bot(config, number, self._environment_now()))
        for finding in findings:
            if finding.mistake and self._ask.quiet:
                raise ConfigError(finding.text)
            self._ask.say(f"  {finding}")
        return not any(finding.mistake for finding in findings)

    # ── who may ask ─────────────────────────────────────────────────────────────────────

    def _access(self, platforms: Sequence[PlatformSpec]) -> None:
        now = self._config().access
        rooms = self._given.rooms or (now.rooms if self._ask.quiet else "")
        if platforms and not rooms:
            options = [
                ("open", "everybody in a room that it was invited to"),
                ("closed", "only people whom an owner approves"),
            ]
            rooms = self._ask.choose("Who may ask it?", options, "--rooms")
        owners = ask_owners(
            self._ask, self._given.owners, platforms, listed=bool(now.owners), rooms=rooms
        )
        if rooms and rooms != now.rooms:
            section(self._toml, "access")["rooms"] = rooms
        if FIRST in owners:
            self._is_offered = True
        if ids := [owner for owner in owners if owner != FIRST]:
            table = section(self._toml, "access")
            table["owners"] = joined(table.get("owners"), ids)
        for platform in platforms:
            self._admits(platform, rooms, bool(ids or now.owners or now.people))
            line = platform.form.invite.format(name=self._persona, docs=platform.docs)
            self._next.append(f"{platform.title}: {line}")

    def _admits(self, platform: PlatformSpec, rooms: str, somebody: bool) -> None:
        """Let a bot into rooms where no one is listed whose invitation it would follow."""
        if platform.form.open_to_all and rooms == "open" and not somebody:
            self._put(platform, platform.form.open_to_all)

    # ── the files ───────────────────────────────────────────────────────────────────────

    def _persona_file(self, connection: Connection) -> File:
        text = self._text(self._persona)
        path = self.personas_dir / f"{self._persona}.md"
        return File(path, connection.text(text), read(path))

    def _described(self, text: str | None) -> str:
        if text is not None or self._ask.quiet or self._given.description:
            return self._given.description
        return self._ask.text(f"What does @{self._persona} do, in one line", "--describe")

    def _secrets_file(self) -> File:
        path = env_file(self._given.file, self._given.file.parent)
        before = read(path)
        if not self._secrets:
            return File(path, before or "", before or "")
        return File(path, set_values(before or "", self._secrets), before, mode=0o600)

    def _toml_file(self) -> File:
        return File(self._given.file, tomlkit.dumps(self._toml), self._before)


def _no_name(name: str) -> str:
    fits = NAME.fullmatch(name)
    return "" if fits else f"{name!r} is no name: lower-case letters, digits, - and _, e.g. claude"


def _no_address(url: str) -> str:
    fits = re.fullmatch(r"https?://[^\s/]+\S*", url)
    return "" if fits else f"{url!r} is not an address, e.g. https://chat.example.org"
