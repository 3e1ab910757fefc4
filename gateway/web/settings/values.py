"""The values of the page's settings, and what a change of them is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from contract.errors import MootError
from contract.language import later
from contract.values import dataclass
from gateway.access.effects import Effect
from gateway.core.views import View
from gateway.settings.config import Config

ACCESS_KEYS = frozenset(
    {"rooms", "dms", "people", "approvers", "owners", "invoke", "approve", "grants", "personas"}
)
LIMIT_KEYS = frozenset({"person", "guest", "room", "persona", "people", "rooms", "personas"})
BOT_KEYS = frozenset({"personas", "require_mention"})
"""The keys of each table that the page changes. What else a table says stays."""

Faults = Mapping[str, str]
"""What is wrong, by the key that it is about."""


class Unfit(MootError):
    """A change that can't be made. faults: see Faults; the first one is the sentence."""

    def __init__(self, faults: Faults) -> None:
        key, reason = next(iter(faults.items()))
        super().__init__(f"{key}: {reason}" if key else reason)
        self.faults = faults


class Changed(MootError):
    """moot.toml is not what the change began from."""

    def __init__(self, file: str) -> None:
        super().__init__(later("{file} was changed since you began; nothing was saved", file=file))


class NewBot(BaseModel):
    """A bot to be added. login: which of the platform's ways, from 0. secrets: by variable."""

    model_config = ConfigDict(strict=True, extra="forbid")

    platform: str
    name: str = Field("", max_length=64)
    url: str = Field("", max_length=2000)
    login: int = Field(0, ge=0, le=9)
    secrets: dict[str, str] = {}
    personas: list[str] = []
    require_mention: bool = True


class Change(BaseModel):
    """New values, by table and key; null: back to the default. bots: by the bot's name."""

    model_config = ConfigDict(strict=True, extra="forbid")

    access: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    bots: dict[str, dict[str, Any]] = {}
    new_bot: NewBot | None = None


@dataclass(frozen=True, slots=True)
class Told(View):
    """What a platform said of a bot. mark: ✓, ⚠ or ✗."""

    mark: str
    text: str


class ChangeChecks(Protocol):
    """The checks of the command line, and the moot.toml that they are of."""

    @property
    def file(self) -> Path:
        """It need not be there."""
        ...

    @property
    def config(self) -> Config:
        """What it said when Moot started."""
        ...

    def mistakes(self, config: Config, environment: Mapping[str, str]) -> Sequence[str]:
        """What `moot check` would call a mistake."""
        ...

    async def ask(
        self, config: Config, number: int, environment: Mapping[str, str]
    ) -> Sequence[Told]:
        """What the platform of one [[bots]] table says."""
        ...


@dataclass(frozen=True, slots=True)
class SecretView(View):
    """A secret of a platform's login. key: its variable."""

    key: str
    title: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class LoginView(View):
    """A way to log in."""

    title: str
    fields: Sequence[SecretView]


@dataclass(frozen=True, slots=True)
class PlatformView(View):
    """A platform's form. needs_url: it has no address of its own."""

    name: str
    title: str
    needs_url: bool
    logins: Sequence[LoginView]
    person: str
    docs: str


@dataclass(frozen=True, slots=True)
class BotSettings(View):
    """A [[bots]] table's keys that can be changed."""

    name: str
    platform: str
    personas: Sequence[str]
    require_mention: bool


@dataclass(frozen=True, slots=True)
class SettingsView(View):
    """What moot.toml says. base: what a change of it carries. fault: why it can't be read; "": it
    can. restart: tables that say something else than the running Moot goes by."""

    file: str
    exists: bool
    writable: bool
    base: str
    fault: str
    access: Mapping[str, Any]
    limits: Mapping[str, Any]
    bots: Sequence[BotSettings]
    platforms: Sequence[PlatformView]
    restart: Sequence[str]


@dataclass(frozen=True, slots=True)
class Proposal(View):
    """What a change would do. others: how many people have spoken whom nothing names. secrets: the
    variables that moot.env would get. at_once: tables that hold at once; restart: those that need
    a restart."""

    diff: str
    effects: Sequence[Effect]
    others: int
    secrets: Sequence[str]
    at_once: Sequence[str]
    restart: Sequence[str]


@dataclass(frozen=True, slots=True)
class DraftedChange:
    """A change as the files that it would make. text: of moot.toml."""

    before: str | None
    text: str
    config: Config
    secrets: Mapping[str, str] = field(default_factory=dict)
