"""Reads moot.toml for the page, says what a change of it would do, and writes it."""

from __future__ import annotations

import asyncio
import difflib
import os
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from contract.chat import Room, Speaker
from contract.errors import ConfigError
from contract.language import say
from contract.values import dataclass
from gateway.access.access import TRUSTED, Access
from gateway.access.effects import effects
from gateway.audit.audit import Audit
from gateway.settings.access import AccessTable
from gateway.settings.config import Config, faults_of, parse_config
from gateway.settings.editing.files import File, read, with_copy, write_all
from gateway.settings.editing.forms import form_of
from gateway.settings.editing.merging import changed
from gateway.settings.env_file import env_file, set_values
from gateway.settings.personas.files import text_mark
from gateway.settings.personas.personas import Personas
from gateway.web.settings.bots import bot_views, platform_views, secrets_of, table_of
from gateway.web.settings.values import (
    ACCESS_KEYS,
    BOT_KEYS,
    LIMIT_KEYS,
    Change,
    ChangeChecks,
    Changed,
    DraftedChange,
    NewBot,
    Proposal,
    SettingsView,
    Told,
    Unfit,
)
from store.transcript import Transcript

HERE = Room("web:settings", "settings")  # where the audit log says that it was done
AT_ONCE = ("access", "limits")
SECRET_MODE = 0o600


async def nothing(config: Config) -> None:
    """Nobody else goes by moot.toml."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The installation whose moot.toml is edited. environment: with the secrets of moot.env.
    config: what Moot goes by. learn: told what is never to be shown."""

    environment: Mapping[str, str]
    checks: ChangeChecks
    config: Config
    learn: Callable[[Iterable[str]], None]

    @property
    def file(self) -> Path:
        """It need not be there."""
        return self.checks.file


@dataclass(frozen=True, slots=True)
class SettingsService:
    """One change at a time. Whoever reaches it is an owner. told: called with what moot.toml says
    after a change."""

    at: Installed
    access: Access
    personas: Personas
    transcript: Transcript
    audit: Audit
    told: Callable[[Config], Awaitable[None]] = nothing
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def view(self) -> SettingsView:
        """What the file says now."""
        text = read(self.at.file)
        try:
            config, fault = self._parsed(text), ""
        except ConfigError as error:
            config, fault = self.at.config, error.say
        return SettingsView(
            file=str(self.at.file),
            exists=text is not None,
            writable=_is_writable(self.at.file),
            base=text_mark(text),
            fault=fault,
            access=config.access.model_dump(mode="json", include=set(ACCESS_KEYS)),
            limits=config.limits.model_dump(mode="json", exclude_none=True),
            bots=bot_views(config),
            platforms=platform_views(),
            restart=self._waiting(config),
        )

    async def propose(self, change: Change, base: str, by: Speaker | None) -> Proposal:
        """What a change would do; nothing is written. by: see save. Raises Unfit, Changed,
        ConfigError."""
        draft = self._draft(change, base, by)
        now = draft.before or ""
        name = self.at.file.name
        diff = difflib.unified_diff(
            now.splitlines(), draft.text.splitlines(), f"{name} now", f"{name} then", lineterm=""
        )
        other = [
            key
            for key in Config.model_fields
            if getattr(draft.config, key) != getattr(self._parsed(draft.before), key)
        ]
        after = self.access.under(draft.config.access)
        known = [room for room, _ in await self.transcript.rooms()]
        return Proposal(
            diff="\n".join(diff),
            effects=effects(self.access, after, sorted(self.personas.good), known),
            others=await self._others(after),
            secrets=sorted(draft.secrets),
            at_once=[key for key in other if key in AT_ONCE],
            restart=[key for key in other if key not in AT_ONCE],
        )

    async def save(
        self, change: Change, base: str, by: Speaker, as_person: Speaker | None
    ) -> SettingsView:
        """Write it, with a copy of what was there. as_person: whoever must stay an owner; None: a
        program does it. Raises Unfit, Changed, ConfigError; nothing is written then."""
        async with self._lock:
            draft = self._draft(change, base, as_person)
            self.at.learn(draft.secrets.values())
            await asyncio.to_thread(write_all, self._files(draft))
            self.access.take(draft.config.access)
            await self.told(draft.config)
        await self.audit.note(
            "settings",
            by,
            room=HERE,
            keys=", ".join(_keys(change)),
            before=text_mark(draft.before),
            after=text_mark(draft.text),
        )
        return self.view()

    async def try_bot(self, new: NewBot) -> Sequence[Told]:
        """Ask the platform for real whether it takes a new bot. Raises Unfit, ConfigError."""
        self.at.learn(new.secrets.values())
        draft = self._drafted(Change(new_bot=new), read(self.at.file))
        environment = {**self.at.environment, **draft.secrets}
        return await self.at.checks.ask(draft.config, len(draft.config.bots) - 1, environment)

    # ── Making the files ────────────────────────────────────────────────────────────────

    def _draft(self, change: Change, base: str, by: Speaker | None) -> DraftedChange:
        """The change on the file as it is, checked. Raises Unfit, Changed, ConfigError."""
        before = read(self.at.file)
        if text_mark(before) != base:
            raise Changed(self.at.file.name)
        draft = self._drafted(change, before)
        if by is not None:
            self._refuse_lockout(draft.config.access, by)
        environment = {**self.at.environment, **draft.secrets}
        known = set(self.at.checks.mistakes(self._parsed(before), self.at.environment))
        for mistake in self.at.checks.mistakes(draft.config, environment):
            if mistake not in known:
                raise Unfit({"": mistake})
        return draft

    def _drafted(self, change: Change, before: str | None) -> DraftedChange:
        values, secrets = self._values(change, self._parsed(before), before)
        text = changed(before, values)
        if faults := faults_of(tomllib.loads(text)):
            raise Unfit(faults)
        return DraftedChange(before, text, self._parsed(text), secrets)

    def _values(
        self, change: Change, config: Config, before: str | None
    ) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        """The change as values of moot.toml, and of moot.env. Raises Unfit."""
        _known(change.access, ACCESS_KEYS, "access")
        _known(change.limits, LIMIT_KEYS, "limits")
        values: dict[str, Any] = {}
        if change.access:
            values["access"] = change.access
        if change.limits:
            values["limits"] = change.limits
        tables = [dict(one) for one in tomllib.loads(before or "").get("bots", [])]
        for name, keys in change.bots.items():
            _known(keys, BOT_KEYS, f"bots.{name}")
            named = (one for one in tables if (one.get("name") or one.get("platform")) == name)
            if (table := next(named, None)) is None:
                raise Unfit({f"bots.{name}": say("there is no such bot")})
            table |= keys
        secrets: Mapping[str, str] = {}
        if change.new_bot is not None:
            tables.append(table_of(change.new_bot, config))
            secrets = secrets_of(change.new_bot)
        if change.bots or change.new_bot:
            values["bots"] = tables
        return values, secrets

    def _files(self, draft: DraftedChange) -> list[File]:
        """moot.toml, the copy of what it was, and moot.env."""
        file = self.at.file
        files = with_copy(file, draft.text, draft.before)
        if draft.secrets:
            path = env_file(file, file.parent)
            now = read(path)
            files.append(File(path, set_values(now or "", draft.secrets), now, SECRET_MODE))
        return files

    def _parsed(self, text: str | None) -> Config:
        """The configuration of that text. Raises ConfigError."""
        try:
            raw = tomllib.loads(text or "")
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{self.at.file}: can't be read as TOML: {error}") from None
        return parse_config(raw, self.at.file, text or "")

    def _waiting(self, config: Config) -> list[str]:
        """The tables that a restart would take up."""
        return [
            key
            for key in Config.model_fields
            if key not in AT_ONCE and _differ(getattr(config, key), getattr(self.at.config, key))
        ]

    def _refuse_lockout(self, table: AccessTable, by: Speaker) -> None:
        """Nobody takes away their own role: the next mistake would be for good."""
        page = Room("web:lobby", "lobby")
        if not self.access.under(table).is_owner_everywhere(page, by.id):
            told = say("you would be no owner any more; let another owner do that")
            raise Unfit({"access.owners": told})

    async def _others(self, access: Access) -> int:
        """How many have spoken on a platform whom nothing names."""
        people = await self.transcript.people()
        return sum(
            one.kind != "bot"
            and one.id.partition(":")[0] not in TRUSTED
            and not access.is_named(one.id)
            for one in people
        )


def _differ(one: Any, other: Any) -> bool:
    """True for tables that say something else; in which order bots stand says nothing."""
    return bool(one != other) and form_of(one) != form_of(other)


def _is_writable(file: Path) -> bool:
    """True if the file can be replaced, as far as one sees without trying."""
    folder = next(one for one in file.parents if one.is_dir())
    return os.access(folder, os.W_OK | os.X_OK)


def _known(values: Mapping[str, Any], keys: frozenset[str], table: str) -> None:
    """Raise Unfit for a key that the page doesn't change."""
    for key in values:
        if key not in keys:
            raise Unfit({f"{table}.{key}": say("can't be changed here; edit moot.toml itself")})


def _keys(change: Change) -> list[str]:
    """The keys that a change is about, never their values."""
    tables = {"access": change.access, "limits": change.limits}
    tables |= {f"bots.{name}": keys for name, keys in change.bots.items()}
    found = [f"{table}.{key}" for table, keys in tables.items() for key in keys]
    new = change.new_bot
    return found if new is None else [*found, f"bots.{new.name or new.platform} (new)"]
