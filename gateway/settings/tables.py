"""The tables of moot.toml that have no file of their own. config.py reads them.

moot.toml.example explains every key, and docs/configuration.md is made from it.
"""

from __future__ import annotations

import re
from datetime import time
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticKnownError

from adapters.agent import Mode
from contract.errors import MootError
from contract.language import Language, say
from gateway.settings.mistakes.zones import zone_fault
from gateway.settings.person_ids import RoomIds
from gateway.settings.sandbox import OwnSandbox
from memory.scopes import check_scope


class Table(BaseModel):
    """Unknown keys are mistakes. A table's own validator is made when it is first used: most are
    checked by the whole configuration's alone."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Pydantic reads true as 1."""
        field = cls.model_fields[info.field_name or ""].annotation
        kinds = {field, *get_args(field)}
        if isinstance(value, bool) and bool not in kinds:
            if int in kinds:
                raise PydanticKnownError("int_type")
            if float in kinds:
                raise PydanticKnownError("float_type")
        return value


SHIPPED_PERSONAS = Path(__file__).parents[2] / "personas"
"""The personas that come with Moot."""


def _folder(path: Path) -> Path:
    """The path; if it begins with an account's home, there is one. Raises ValueError."""
    try:
        path.expanduser()
    except RuntimeError:
        raise ValueError(f"this machine has no account {path.parts[0][1:]!r}") from None
    return path


Folder = Annotated[Path, AfterValidator(_folder)]
"""A folder that somebody names; it need not be there."""

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


class FoldersTable(Table):
    """The keys of [gateway] that say which folders and whose time."""

    timezone: str = "UTC"
    data_dir: Folder = Path("data")
    personas_dir: Folder = Path("personas")

    @field_validator("timezone")
    @classmethod
    def _zone(cls, value: str) -> str:
        if fault := zone_fault(value):
            raise ValueError(fault)
        return value

    @property
    def personas_folder(self) -> Path:
        """The configured folder, or the personas that come with Moot."""
        return self.personas_dir if self.personas_dir.is_dir() else SHIPPED_PERSONAS

    @property
    def database_file(self) -> Path:
        """SQLite's file, unless [store] names another database."""
        return self.data_dir / "moot.db"

    @property
    def zone(self) -> ZoneInfo:
        """The zone of the times in a header."""
        return ZoneInfo(self.timezone)


class GatewayTable(FoldersTable):
    """[gateway] in moot.toml."""

    listen: str = "127.0.0.1:8377"
    public_url: str | None = None
    hosts: tuple[str, ...] = ()
    webhooks_listen: str | None = None
    shutdown_s: Annotated[float, Field(ge=0)] = 15.0
    language: Language = "en"

    @field_validator("listen", "webhooks_listen")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        host, colon, port = value.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"{value!r} is not host:port, e.g. 127.0.0.1:8377")
        return value

    @field_validator("public_url")
    @classmethod
    def _public(cls, value: str | None) -> str | None:
        parts = urlsplit(value or "")
        if value and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError(f"{value!r} is not an address, e.g. https://moot.example.org")
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError(f"{value!r} has a path; Moot needs a name of its own")
        if parts.username is not None:
            raise ValueError("has a user in it: leave out what stands before the @")
        return value

    @field_validator("hosts")
    @classmethod
    def _names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not _HOST.fullmatch(name):
                raise ValueError(f"{name!r} is not a host's name, e.g. moot.example.org")
        return value

    @model_validator(mode="after")
    def _two_addresses(self) -> GatewayTable:
        if self.webhooks_listen == self.listen and self.port:
            raise ValueError(
                "webhooks_listen is the address of listen: leave it out, the page takes them too"
            )
        return self

    @property
    def webhooks_address(self) -> tuple[str, int] | None:
        """Where platforms' calls come in; None: where the page is."""
        if self.webhooks_listen is None:
            return None
        host, _, port = self.webhooks_listen.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def host(self) -> str:
        """The address to listen on."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port to listen on; 0: any free one."""
        return int(self.listen.rpartition(":")[2])


RESERVED = frozenset({"all", "channel", "everyone", "here", "moot", "nobody"})
"""Names that no persona may have: Moot's own, and words that call or mean others in a chat."""


def reserved(name: str) -> str:
    """The reason why a persona can't be called that; "": it can."""
    if name.lower() not in RESERVED:
        return ""
    return say("no persona can be called {name}: the name is reserved", name=repr(name))


def free_name(name: str) -> str:
    """The name, where a persona can have it. Raises ValueError."""
    if why := reserved(name):
        raise ValueError(f"{why}; take another one")
    return name


PersonaName = Annotated[str, AfterValidator(free_name)]
"""A persona's name in moot.toml."""


class StoreTable(Table):
    """[store]"""

    url: str | None = None  # default: moot.db in the data directory
    patience_s: Annotated[float, Field(ge=0)] = 60.0

    @field_validator("url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None:
            from store.opening import address_fault  # SQLAlchemy takes 100 ms that few need here

            if fault := address_fault(value):
                raise ValueError(fault)
        return value


def words(value: Any) -> Any:
    """A single word where a list of words may stand."""
    return (value,) if isinstance(value, str) else value


def _folder_name(name: str) -> str:
    """The name, where `!workspace` can have it. Raises ValueError."""
    if name == "default":
        raise ValueError("no folder can be called 'default', which goes back to the own one")
    return name


FolderName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$"), AfterValidator(_folder_name)]
"""The name by which people choose a working directory."""

Modes = Annotated[tuple[Mode, ...], BeforeValidator(words)]
"""The modes that people may choose for an agent; see `adapters.agent.Mode`."""


class AgentTable(Table):
    """[agents.NAME]: a program that personas can name as their `agent`; see docs/agents.md."""

    profile: str = "generic"
    command: Annotated[tuple[str, ...], BeforeValidator(words)] = ()
    env: dict[str, str] = {}
    workspace: Folder | None = None
    workspaces: dict[FolderName, Folder] = {}
    modes: Modes | None = None
    driver: Literal["terminal", "acp"] = "terminal"
    login: Folder | None = None
    sandbox: OwnSandbox | None = None
    settings: dict[str, Any] = {}


Show = Literal["work", "words"]
"""What people see of a turn on its way: the agent's work too, or only its words."""


class TurnsTable(Table):
    """[turns] in moot.toml."""

    timeout_s: Annotated[float, Field(gt=0)] = 1800.0
    question_timeout_s: Annotated[float, Field(gt=0)] = 600.0
    full_window: bool = False
    max_hops: Annotated[int, Field(ge=0)] = 2
    marks: Literal["all", "waiting", "off"] = "all"
    show: Show = "work"
    file_mb: Annotated[int, Field(ge=1, le=1000)] = 20


class SessionsTable(Table):
    """[sessions] in moot.toml; see docs/agents.md."""

    most: Annotated[int, Field(ge=1)] | None = None
    sleep_s: Annotated[float, Field(ge=0)] = 900.0


Follow = Literal["asker", "everybody", "never"]
"""Who goes on without a mention, in a thread in which a persona answered."""


class RoomsTable(Table):
    """[rooms] in moot.toml: what holds in rooms for which nobody chose something else."""

    sessions: Literal["room", "thread"] = "room"
    follow: Follow = "asker"
    follow_minutes: Annotated[float, Field(gt=0)] = 30.0


class AnthropicTable(Table):
    """[memory.anthropic]: the API; its key is ANTHROPIC_API_KEY in the environment."""

    model: str = "claude-haiku-5-5"
    base_url: str | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    input_price: Annotated[float, Field(ge=0)] | None = None
    output_price: Annotated[float, Field(ge=0)] | None = None
    cache_read_price: Annotated[float, Field(ge=0)] | None = None
    cache_write_price: Annotated[float, Field(ge=0)] | None = None


class HeadlessTable(Table):
    """[memory.headless]: an agent as the model."""

    model: str = ""
    timeout_s: Annotated[float, Field(gt=0)] = 180.0


SourceName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,23}$")]
Mem0Id = Annotated[str, Field(pattern=r"^[^\s*]{1,200}$")]


class ReadTable(Table):
    """[[memory.sources.NAME.reads]]: a scope of Moot's, and whose memories are read for it."""

    scope: str
    user_id: Mem0Id | None = None
    agent_id: Mem0Id | None = None
    run_id: Mem0Id | None = None

    @field_validator("scope")
    @classmethod
    def _scope(cls, value: str) -> str:
        try:
            return check_scope(value)
        except MootError:
            raise ValueError(f'{value!r} is not a scope, e.g. "room:slack:C06RY3YBSLE"') from None

    @model_validator(mode="after")
    def _somebody(self) -> ReadTable:
        if not self.ids:
            raise ValueError("name a user_id, an agent_id or a run_id; nothing is read without")
        return self

    @property
    def ids(self) -> dict[str, str]:
        """The ids that are set."""
        return self.model_dump(exclude={"scope"}, exclude_none=True)


class SourceTable(Table):
    """[memory.sources.NAME]: another Mem0, which is read; see docs/memory.md."""

    kind: Literal["pgvector", "qdrant", "hosted", "server"]
    url: str | None = None
    store_settings: dict[str, Any] = {}
    embedder: str = "openai"
    embedder_settings: dict[str, Any] = {}
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.3
    reads: Annotated[tuple[ReadTable, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _place(self) -> SourceTable:
        if self.kind == "server" and not self.url:
            raise ValueError("url is missing: say where that server listens")
        if self.kind in ("pgvector", "qdrant") and not self.store_settings:
            raise ValueError("store_settings is missing: say where the collection is")
        return self


_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


class MemoryTable(Table):
    """[memory] in moot.toml; see docs/memory.md."""

    model: str = "off"
    anthropic: AnthropicTable = AnthropicTable()
    headless: HeadlessTable = HeadlessTable()
    remember: Literal["auto", "messages", "extracted", "both", "off"] = "auto"
    extract_tokens: Annotated[int, Field(ge=100)] = 2_000
    embedder: str = "auto"
    store: str = "sqlite"
    minilm: Folder | None = None
    embedder_settings: dict[str, Any] = {}
    store_settings: dict[str, Any] = {}
    sources: dict[SourceName, SourceTable] = {}
    excluded_rooms: RoomIds = frozenset()
    insights: bool = True
    observations: bool = True
    mcp: bool = True
    suggest_pins: bool = True
    idle_s: Annotated[float, Field(gt=0)] = 3600.0
    consolidate_at: str = "03:30"

    @field_validator("consolidate_at")
    @classmethod
    def _time(cls, value: str) -> str:
        if value and not _CLOCK.fullmatch(value):
            raise ValueError(f'{value!r} is not a time of day like "03:30", nor "" for never')
        return value

    @property
    def consolidates(self) -> time | None:
        """The time at which facts are consolidated; None: never."""
        return time.fromisoformat(self.consolidate_at) if self.consolidate_at else None
