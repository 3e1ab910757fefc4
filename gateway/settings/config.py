"""moot.toml and the environment, read once into values. Nothing else reads the environment."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, Field, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails

from contract.errors import ConfigError
from gateway.settings.access import AccessTable
from gateway.settings.backup import BackupTable
from gateway.settings.bots import TABLES, AnyBotTable
from gateway.settings.connections import ConnectionsTable
from gateway.settings.limits import LimitsTable, PriceTable
from gateway.settings.logs import LogsTable, TelemetryTable
from gateway.settings.oidc import OidcTable
from gateway.settings.sandbox import SandboxTable
from gateway.settings.schedules import ScheduleTable, SchedulingTable
from gateway.settings.tables import (
    SHIPPED_PERSONAS,
    AgentTable,
    BudgetTable,
    GatewayTable,
    MemoryTable,
    RoomsTable,
    SessionsTable,
    StoreTable,
    Table,
    TurnsTable,
    free_name,
)
from gateway.settings.transcribe import TranscribeTable

KeyPath = tuple[str | int, ...]
"""The keys and list indexes that lead to a value."""

_WORDS = {
    "string_type": 'must be a text, in quotes: "…"',
    "int_type": "must be a whole number, without quotes",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number, without quotes",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false, without quotes",
    "bool_parsing": "must be true or false, without quotes",
    "dict_type": "must be a table, e.g. { key = … }",
    "model_type": "must be a table, e.g. [name] with its keys below",
    "model_attributes_type": "must be a table, e.g. [[name]] with its keys below",
}


def _named(bots: tuple[AnyBotTable, ...]) -> tuple[AnyBotTable, ...]:
    """The bots. Raises ValueError when one speaks as a name that no persona may have."""
    for name in (name for bot in bots for name in bot.personas):
        free_name(name)
    return bots


class Config(Table):
    """The whole of moot.toml."""

    gateway: GatewayTable = GatewayTable()
    connections: ConnectionsTable = ConnectionsTable()
    oidc: OidcTable | None = None
    store: StoreTable = StoreTable()
    bots: Annotated[tuple[AnyBotTable, ...], AfterValidator(_named)] = ()
    agents: dict[str, AgentTable] = Field(default_factory=dict)
    access: AccessTable = AccessTable()
    turns: TurnsTable = TurnsTable()
    transcribe: TranscribeTable | None = None
    rooms: RoomsTable = RoomsTable()
    sessions: SessionsTable = SessionsTable()
    budget: BudgetTable = BudgetTable()
    limits: LimitsTable = LimitsTable()
    prices: dict[str, PriceTable] = Field(default_factory=dict)
    memory: MemoryTable = MemoryTable()
    schedules: tuple[ScheduleTable, ...] = ()
    scheduling: SchedulingTable = SchedulingTable()
    sandbox: SandboxTable = SandboxTable()
    backup: BackupTable = BackupTable()
    logs: LogsTable = LogsTable()
    telemetry: TelemetryTable = TelemetryTable()
    _file: Path | None = PrivateAttr(default=None)

    @property
    def file(self) -> Path | None:
        """The file that it was read from; None: there is no file."""
        return self._file

    @property
    def store_url(self) -> str:
        """The database's address; SQLite in the data directory unless another is set."""
        return self.store.url or f"sqlite:///{self.gateway.database_file}"


def load_config(path: Path | None, *, base: Path) -> Config:
    """Read moot.toml. `path` None: `base`/moot.toml if there, else the embedded default.
    base: the home.

    Relative paths in it are relative to its own folder. Raises ConfigError: a sentence for each
    mistake, with file, line, key and remedy.
    """
    file = path or base / "moot.toml"
    if path is None and not file.exists():
        return _anchored(Config(), base)
    try:
        text = file.read_text(encoding="utf-8")
        raw = tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"{file}: there is no such file; see moot.toml.example") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        quotes = "; a text stands in quotes" if "end of document after" in str(error) else ""
        raise ConfigError(f"{file}: can't be read as TOML: {error}{quotes}") from None
    return parse_config(raw, file, text)


def parse_config(raw: Mapping[str, Any], file: Path, text: str = "") -> Config:
    """The configuration that stands, or would stand, in `file`. text: the file's, for the lines.

    Raises ConfigError: a line for each mistake.
    """
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        mistakes = error.errors()
        lines = [line_of(path_of(one), text) for one in mistakes]
        said = {  # several of one place's kinds may say the same
            f"{file}{f':{line}' if line else ''}: {_sentence(one)}": None
            for line, one in sorted(
                zip(lines, mistakes, strict=True), key=lambda pair: pair[0] or 0
            )
        }
        raise ConfigError("\n".join(said)) from None
    config = _anchored(config, file.resolve().parent)
    config._file = file.resolve()
    return config


def _anchored(config: Config, base: Path) -> Config:
    """Its paths made absolute. The personas that come with Moot are never those that are edited."""
    data_dir, personas_dir = base / config.gateway.data_dir, base / config.gateway.personas_dir
    if personas_dir.resolve() == SHIPPED_PERSONAS.resolve():
        personas_dir = data_dir / "personas"
    gateway = config.gateway.model_copy(update={"data_dir": data_dir, "personas_dir": personas_dir})
    agents = {
        name: agent.model_copy(
            update={
                "workspace": agent.workspace and base / agent.workspace.expanduser(),
                "workspaces": {
                    key: base / folder.expanduser() for key, folder in agent.workspaces.items()
                },
                "login": agent.login and base / agent.login.expanduser(),
            }
        )
        for name, agent in config.agents.items()
    }
    minilm = config.memory.minilm
    memory = config.memory.model_copy(update={"minilm": minilm and base / minilm.expanduser()})
    return config.model_copy(update={"gateway": gateway, "agents": agents, "memory": memory})


def path_of(error: ErrorDetails) -> KeyPath:
    """Where a mistake is, e.g. ("bots", 0, "platform")."""
    loc = error["loc"]
    if loc[:1] == ("bots",):
        missing = ("platform",) if error["type"].startswith("union_tag") else ()
        loc = (*loc[:2], *loc[3:], *missing)  # without the platform, which chose the table
    return loc


def place_of(error: ErrorDetails) -> str:
    """The key of a mistake, e.g. bots.0.platform."""
    return ".".join(str(part) for part in path_of(error))


def reason_of(error: ErrorDetails) -> str:
    """The mistake as the second half of a sentence."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "union_tag_invalid":
        return f"{context['tag']!r} is not one of {context['expected_tags']}"
    if kind in {"tuple_type", "list_type"}:
        table = isinstance(error["input"], dict)
        return f"write [[{error['loc'][-1]}]], in two brackets" if table else "must be a list: […]"
    if kind == "too_short":
        return (
            f"must have {context['min_length']} or more entries, and has {context['actual_length']}"
        )
    if kind == "union_tag_not_found":
        return "field required"
    message = _WORDS.get(kind) or error["msg"].removeprefix("Value error, ")
    return message[0].lower() + message[1:]


def line_of(path: KeyPath, text: str) -> int | None:
    """The line, from 1, of TOML where a value stands, or else the innermost table around it."""
    lines = dict(reversed(list(_lines(text))))
    return next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), None)


def _lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Each path with the line on which its statement begins. The text is sound TOML."""
    table: KeyPath = ()
    count: dict[KeyPath, int] = {}
    pending: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        pending.append(line)
        try:
            said = tomllib.loads("\n".join(pending))
        except tomllib.TOMLDecodeError:
            continue  # goes on in the next line
        begin, header = number - len(pending) + 1, pending[0].lstrip().startswith("[")
        pending.clear()
        for path in _paths(said):
            if not header:
                yield (*table, *path), begin
                continue
            table = _indexed(path, count)
            yield table, begin


def _paths(value: Any) -> Iterator[KeyPath]:
    """The paths of everything in a value, each after the one around it."""
    keyed = dict(enumerate(value)) if isinstance(value, list) else value
    for key, inner in keyed.items() if isinstance(keyed, dict) else ():
        yield (key,)
        yield from ((key, *path) for path in _paths(inner))


def _indexed(path: KeyPath, count: dict[KeyPath, int]) -> KeyPath:
    """A header's path with the index of the newest entry of each list in it; count: how many."""
    found: KeyPath = ()
    for n, part in enumerate(path):
        if isinstance(part, int):
            if n == len(path) - 1:
                count[found] = count.get(found, 0) + 1
            continue
        found = (*found, part)
        if n + 1 < len(path) and found in count and not isinstance(path[n + 1], int):
            found = (*found, count[found] - 1)
    if path and isinstance(path[-1], int):
        found = (*found, count[found] - 1)
    return found


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
    """The keys of the table at a place."""
    model: Any = Config
    for step in location:
        model = _below(model, step)
    keys = {"platform"} if location[:1] == ("bots",) else set()
    return sorted(keys | set(model.model_fields))


def _below(model: Any, step: str | int) -> Any:
    """The type below a table's key, or below an item of a list or a dict."""
    if isinstance(model, type) and issubclass(model, BaseModel):
        return model.model_fields[str(step)].annotation
    if step in TABLES:
        return TABLES[str(step)]
    inner = [arg for arg in get_args(model) if arg is not Ellipsis]
    return inner[-1] if inner else model


def secret(environment: Mapping[str, str], key: str, bot_name: str) -> str | None:
    """A bot's secret: KEY_<BOT NAME> if set, else KEY."""
    return own_secret(environment, key, bot_name) or environment.get(key) or None


def own_secret(environment: Mapping[str, str], key: str, bot_name: str) -> str | None:
    """KEY_<BOT NAME>, which no other bot has."""
    suffix = "".join(c if c.isalnum() else "_" for c in bot_name).upper()
    return environment.get(f"{key}_{suffix}") or None
