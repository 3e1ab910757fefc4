"""moot.toml and the environment, read once into values. Nothing else reads the environment."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import time
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from contract import Budget, ConfigError
from gateway.bot_tables import TABLES, AnyBotTable


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GatewayTable(_Table):
    """[gateway]"""

    timezone: str = "UTC"
    data_dir: Path = Path("data")
    personas_dir: Path = Path("personas")
    listen: str = "127.0.0.1:8377"

    @field_validator("timezone")
    @classmethod
    def _zone(cls, value: str) -> str:
        if value not in available_timezones():
            near = difflib.get_close_matches(value, available_timezones(), 1)
            hint = f"; did you mean {near[0]}?" if near else ", e.g. Europe/Berlin"
            raise ValueError(f"{value!r} is not an IANA time zone{hint}")
        return value

    @field_validator("listen")
    @classmethod
    def _address(cls, value: str) -> str:
        host, colon, port = value.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"{value!r} is not host:port, e.g. 127.0.0.1:8377")
        return value

    @property
    def host(self) -> str:
        """The address to listen on."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port to listen on; 0: any free one."""
        return int(self.listen.rpartition(":")[2])

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which the header tells the time."""
        return ZoneInfo(self.timezone)


class StoreTable(_Table):
    """[store]"""

    url: str | None = None  # default: moot.db in the data directory


def words(value: Any) -> Any:
    """A single word where a list of words may stand."""
    return (value,) if isinstance(value, str) else value


class AgentTable(_Table):
    """[agents.NAME]: a program that personas can name as their `agent`.

    driver: its terminal, or the Agent Client Protocol where the program speaks it. login: a HOME
    whose login and settings of the program are shared. settings: see docs/agents.md.
    """

    profile: str = "generic"
    command: Annotated[tuple[str, ...], BeforeValidator(words)] = ()
    env: dict[str, str] = {}
    workspace: Path | None = None
    driver: Literal["terminal", "acp"] = "terminal"
    login: Path | None = None
    settings: dict[str, Any] = {}


class AccessTable(_Table):
    """[access]: ids are `<source>:<external id>`; the page's people on loopback are trusted.

    rooms: may everybody in a room that a bot was invited to ask it? dms: may strangers write
    to it directly? people: may always do both. approvers: may answer permission questions.
    """

    rooms: Literal["open", "closed"] = "open"
    dms: Literal["open", "closed"] = "closed"
    people: frozenset[str] = frozenset()
    approvers: frozenset[str] = frozenset()


class TurnsTable(_Table):
    """[turns]

    marks: reactions on messages that ask an agent: all; only on those that wait; none.
    """

    timeout_s: Annotated[float, Field(gt=0)] = 1800.0
    question_timeout_s: Annotated[float, Field(gt=0)] = 600.0
    full_window: bool = False
    max_hops: Annotated[int, Field(ge=0)] = 2
    marks: Literal["all", "waiting", "off"] = "all"


class SessionsTable(_Table):
    """[sessions]: see docs/agents.md.

    most: programs that live at the same time; default: one a GiB of memory. sleep_s: a session
    that nobody asked for so long is put to sleep; 0: never.
    """

    most: Annotated[int, Field(ge=1)] | None = None
    sleep_s: Annotated[float, Field(ge=0)] = 900.0


class BudgetTable(_Table):
    """[budget]: see contract.Budget."""

    total: Annotated[int, Field(ge=1000)] | None = None
    message: Annotated[int, Field(ge=100)] | None = None
    transcript: Annotated[int, Field(ge=100)] | None = None
    window_messages: Annotated[int, Field(ge=1, le=1000)] | None = None

    def budget(self) -> Budget:
        """The budget with this table's changes."""
        return Budget(**self.model_dump(exclude_none=True))


class AnthropicTable(_Table):
    """[memory.anthropic]: the API; its key is ANTHROPIC_API_KEY in the environment.

    base_url: default ANTHROPIC_BASE_URL, then the public API. effort: only for models that know it.
    *_price: USD per million tokens; without the first two, costs are not told.
    """

    model: str = "claude-haiku-5-5"
    base_url: str | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    input_price: Annotated[float, Field(ge=0)] | None = None
    output_price: Annotated[float, Field(ge=0)] | None = None
    cache_read_price: Annotated[float, Field(ge=0)] | None = None
    cache_write_price: Annotated[float, Field(ge=0)] | None = None


class HeadlessTable(_Table):
    """[memory.headless]: an agent as the model. model: its own name for one; "" its default."""

    model: str = ""
    timeout_s: Annotated[float, Field(gt=0)] = 180.0


_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


class MemoryTable(_Table):
    """[memory]: see docs/memory.md.

    model: which model writes summaries, facts and the like: "off", "anthropic", or the name of an
    agent that can be run without a terminal. remember: what recall is fed with: people's messages
    as they are, what the model extracts from them, or both; auto: extracted if there is a model.
    extract_tokens: how much is said between two extractions. embedder, store: what recall is made
    of. minilm: the folder with that model. excluded_rooms: ids of rooms of which nothing is kept in
    memory. idle_s: a session that nobody
    asked for so long has ended. suggest_pins: may a room be told, at most once an hour, that
    something is worth a pin. mcp: may agents look into it by themselves. consolidate_at: when facts
    that say the same become one, every night; "": never.
    """

    model: str = "off"
    anthropic: AnthropicTable = AnthropicTable()
    headless: HeadlessTable = HeadlessTable()
    remember: Literal["auto", "messages", "extracted", "both", "off"] = "auto"
    extract_tokens: Annotated[int, Field(ge=100)] = 2_000
    embedder: str = "builtin"
    store: str = "sqlite"
    minilm: Path | None = None
    embedder_settings: dict[str, Any] = {}
    store_settings: dict[str, Any] = {}
    excluded_rooms: frozenset[str] = frozenset()
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
        """When facts are consolidated; None: never."""
        return time.fromisoformat(self.consolidate_at) if self.consolidate_at else None


class Config(_Table):
    """The whole of moot.toml."""

    gateway: GatewayTable = GatewayTable()
    store: StoreTable = StoreTable()
    bots: tuple[AnyBotTable, ...] = ()
    agents: dict[str, AgentTable] = {}
    access: AccessTable = AccessTable()
    turns: TurnsTable = TurnsTable()
    sessions: SessionsTable = SessionsTable()
    budget: BudgetTable = BudgetTable()
    memory: MemoryTable = MemoryTable()

    @property
    def personas_folder(self) -> Path:
        """The configured folder, or the personas that come with Moot."""
        configured = self.gateway.personas_dir
        return configured if configured.is_dir() else Path(__file__).parent.parent / "personas"

    @property
    def store_url(self) -> str:
        """The database's address; SQLite in the data directory unless another is set."""
        return self.store.url or f"sqlite:///{self.gateway.data_dir / 'moot.db'}"


def load_config(path: Path | None, *, base: Path) -> Config:
    """Read moot.toml. `path` None: `base`/moot.toml if there, else the embedded default.

    Relative paths in it are relative to its own folder. Raises ConfigError: one sentence with
    file, key and remedy.
    """
    file = path or base / "moot.toml"
    if path is None and not file.exists():
        return _anchored(Config(), base)
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{file}: there is no such file; see moot.toml.example") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file}: can't be read as TOML: {error}") from None
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(f"{file}: {_sentence(error.errors()[0])}") from None
    return _anchored(config, file.resolve().parent)


def _anchored(config: Config, base: Path) -> Config:
    gateway = config.gateway.model_copy(
        update={
            "data_dir": base / config.gateway.data_dir,
            "personas_dir": base / config.gateway.personas_dir,
        }
    )
    agents = {
        name: agent.model_copy(
            update={
                "workspace": agent.workspace and base / agent.workspace.expanduser(),
                "login": agent.login and base / agent.login.expanduser(),
            }
        )
        for name, agent in config.agents.items()
    }
    minilm = config.memory.minilm
    memory = config.memory.model_copy(update={"minilm": minilm and base / minilm.expanduser()})
    return config.model_copy(update={"gateway": gateway, "agents": agents, "memory": memory})


def place_of(error: ErrorDetails) -> str:
    """The key of a mistake, e.g. bots.0.platform."""
    loc = error["loc"]
    if loc[:1] == ("bots",):
        missing = ("platform",) if error["type"].startswith("union_tag") else ()
        loc = (*loc[:2], *loc[3:], *missing)  # without the platform, which chose the table
    return ".".join(str(part) for part in loc)


def reason_of(error: ErrorDetails) -> str:
    """What is wrong, to go on a sentence with."""
    if error["type"] == "union_tag_invalid":
        return f"{error['ctx']['tag']!r} is not one of {error['ctx']['expected_tags']}"
    if error["type"] == "union_tag_not_found":
        return "field required"
    message = error["msg"].removeprefix("Value error, ")
    return message[0].lower() + message[1:]


def _sentence(error: ErrorDetails) -> str:
    """One mistake as a sentence that names the key and the remedy."""
    where = place_of(error)
    if error["type"] == "extra_forbidden":
        key, known = str(error["loc"][-1]), _known_keys(error["loc"][:-1])
        near = difflib.get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
        return f"{where} is not a key that Moot knows; {hint}"
    return f"{where}: {reason_of(error)}"


def _known_keys(location: Sequence[str | int]) -> list[str]:
    tables: Mapping[str, type[BaseModel]] = {
        "gateway": GatewayTable,
        "store": StoreTable,
        "agents": AgentTable,
        "access": AccessTable,
        "turns": TurnsTable,
        "sessions": SessionsTable,
        "budget": BudgetTable,
        "memory": MemoryTable,
        "memory.anthropic": AnthropicTable,
        "memory.headless": HeadlessTable,
    }
    if location[:1] == ("bots",):
        model: type[BaseModel] = TABLES[str(location[2])]
        return sorted({"platform", *model.model_fields})
    where = ".".join(str(part) for part in location)
    model = tables.get(where) or tables.get(where.partition(".")[0], Config)
    return sorted(model.model_fields)


def secret(environment: Mapping[str, str], key: str, bot_name: str) -> str | None:
    """A bot's secret: KEY_<BOT NAME> if set, else KEY."""
    return own_secret(environment, key, bot_name) or environment.get(key) or None


def own_secret(environment: Mapping[str, str], key: str, bot_name: str) -> str | None:
    """KEY_<BOT NAME>, which no other bot has."""
    suffix = "".join(c if c.isalnum() else "_" for c in bot_name).upper()
    return environment.get(f"{key}_{suffix}") or None
