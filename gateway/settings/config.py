"""moot.toml and the environment, read once into values. Nothing else reads the environment."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails

from contract.errors import ConfigError
from contract.refusals import why
from gateway.settings.access import AccessTable
from gateway.settings.backup import BackupTable
from gateway.settings.bots import TABLES, AnyBotTable
from gateway.settings.connections import ConnectionsTable, FilesTable, WorkersTable
from gateway.settings.limits import BudgetTable, LimitsTable, PriceTable
from gateway.settings.logs import AlertsTable, LogsTable, TelemetryTable
from gateway.settings.mistakes.lines import line_of
from gateway.settings.mistakes.ranges import RANGED, range_of
from gateway.settings.mistakes.secrets import variable_of
from gateway.settings.mistakes.syntax import Toml, read_toml
from gateway.settings.mistakes.words import KeyPath, example_of, path_of, place_of, reason_of
from gateway.settings.oidc import OidcTable
from gateway.settings.sandbox import SandboxTable
from gateway.settings.schedules import ScheduleTable, SchedulingTable
from gateway.settings.tables import (
    SHIPPED_PERSONAS,
    AgentTable,
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
    files: FilesTable = FilesTable()
    bots: Annotated[tuple[AnyBotTable, ...], AfterValidator(_named)] = ()
    agents: dict[str, AgentTable] = Field(default_factory=dict)
    access: AccessTable = AccessTable()
    turns: TurnsTable = TurnsTable()
    transcribe: TranscribeTable | None = None
    rooms: RoomsTable = RoomsTable()
    sessions: SessionsTable = SessionsTable()
    workers: Annotated[WorkersTable | None, Field(validate_default=True)] = None
    budget: BudgetTable = BudgetTable()
    limits: LimitsTable = LimitsTable()
    prices: dict[str, PriceTable] = Field(default_factory=dict)
    memory: MemoryTable = MemoryTable()
    schedules: tuple[ScheduleTable, ...] = ()
    scheduling: SchedulingTable = SchedulingTable()
    sandbox: SandboxTable = SandboxTable()
    backup: BackupTable = BackupTable()
    logs: LogsTable = LogsTable()
    alerts: AlertsTable = AlertsTable()
    telemetry: TelemetryTable = TelemetryTable()
    _file: Path | None = PrivateAttr(default=None)

    @field_validator("workers")
    @classmethod
    def _holds_files(cls, value: WorkersTable | None, info: ValidationInfo) -> WorkersTable | None:
        files = info.data.get("files")
        here = value is None or value.embedded is not None
        if files is not None and files.store == "nats" and here:
            raise ValueError(
                '[files] store = "nats" needs a broker of its own: nats = "tls://broker:4222"'
            )
        return value

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

    Relative paths are relative to its folder. Raises ConfigError: a sentence for each mistake.
    """
    file = path or base / "moot.toml"
    if path is None and not os.path.lexists(file):
        return _anchored(Config(), base)
    text = _text_of(file)
    toml = read_toml(text)
    if toml.values is not None and not toml.mistakes:
        return parse_config(toml.values, file, text)
    if not toml.values and len(toml.mistakes) > max(2, len(text.splitlines()) // 2):
        raise ConfigError(f"{file}: this is no moot.toml; see moot.toml.example")
    mistakes = [(one.line or 0, one.says) for one in toml.mistakes]
    raise ConfigError(_told(file, mistakes + _other_mistakes(toml)))


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if file.is_symlink():
            raise ConfigError(
                f"{file}: this is a link to {file.readlink()}, and there is no such file"
            ) from None
        raise ConfigError(f"{file}: there is no such file; see moot.toml.example") from None
    except IsADirectoryError:
        inside = file / "moot.toml"
        hint = "move it away" if file.name == inside.name else f"name the file in it: {inside}"
        raise ConfigError(f"{file}: this is a folder; {hint}") from None
    except OSError as error:
        raise ConfigError(f"{file}: {why(error)}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: it is not UTF-8; save it as UTF-8") from None


def parse_config(raw: Mapping[str, Any], file: Path, text: str = "") -> Config:
    """The configuration that stands, or would stand, in `file`. text: the file's, for the lines.

    Raises ConfigError: a line for each mistake.
    """
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(_told(file, _placed(error.errors(), text))) from None
    config = _anchored(config, file.resolve().parent)
    config._file = file.resolve()
    return config


def _told(file: Path, mistakes: Sequence[tuple[int, str]]) -> str:
    """A line for each, in the order of the text; several of one place's kinds may say the same."""
    ordered = sorted(mistakes, key=lambda one: one[0])
    return "\n".join(dict.fromkeys(_at(file, line or None, says) for line, says in ordered))


def _placed(mistakes: Sequence[ErrorDetails], text: str) -> list[tuple[int, str]]:
    return [(line_of(path_of(one), text) or 0, _sentence(one)) for one in mistakes]


def _other_mistakes(toml: Toml) -> list[tuple[int, str]]:
    """The mistakes beside lines that are no TOML. What is missing may stand in one of those."""
    if toml.values is None:
        return []
    try:
        Config.model_validate(toml.values)
    except ValidationError as error:
        missing = ("missing", "union_tag_not_found")
        return _placed([one for one in error.errors() if one["type"] not in missing], toml.text)
    return []


def _at(file: Path, line: int | None, says: str) -> str:
    return f"{file}{f':{line}' if line else ''}: {says}"


def faults_of(raw: Mapping[str, Any]) -> dict[str, str]:
    """The first mistake of each key, e.g. of access.owners.0."""
    try:
        Config.model_validate(raw)
    except ValidationError as error:
        return {place_of(one): reason_of(one) for one in reversed(error.errors())}
    return {}


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


def _sentence(error: ErrorDetails) -> str:
    """One mistake as a sentence that names the key and the remedy."""
    where, kind = place_of(error), error["type"]
    key = str(path_of(error)[-1]) if path_of(error) else ""
    if kind == "extra_forbidden":
        known = _known_keys(error["loc"][:-1])
        near = difflib.get_close_matches(key, known, 1)
        if not near and (variable := variable_of(error["loc"], error["input"])):
            return f"{where}: secrets stand in moot.env beside this file: write {variable}=… there"
        hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
        if not near and (home := _home_of(key)):
            hint = f"it belongs below [{home}]"
        return f"{where} is not a key that Moot knows; {hint}"
    if kind in ("missing", "union_tag_not_found"):
        return f"{where} is missing: add {key} = {example_of(key)}"
    if kind in RANGED and (bounds := range_of(_field_at(error["loc"]))):
        return f"{where}: must be {bounds}"
    return f"{where}: {reason_of(error)}"


def _home_of(key: str) -> str:
    """The table that has such a key; "": none has, or several."""
    models = {name: field.annotation for name, field in Config.model_fields.items()}
    found = [
        name
        for name, model in models.items()
        if isinstance(model, type) and issubclass(model, BaseModel) and key in model.model_fields
    ]
    return found[0] if len(found) == 1 else ""


def _field_at(location: Sequence[str | int]) -> Any:
    """The field of a place, with the bounds of what may stand there; None: it is none."""
    model: Any = Config
    for step in location[:-1]:
        model = _below(model, step)
    if isinstance(model, type) and issubclass(model, BaseModel):
        return model.model_fields.get(str(location[-1]))
    return None


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


def located(config: Config, path: KeyPath) -> str:
    """A key with its file and line, for a mistake that only others can find."""
    key = ".".join(map(str, path))
    if config.file is None:
        return key
    try:
        return _at(config.file, line_of(path, config.file.read_text(encoding="utf-8-sig")), key)
    except (OSError, UnicodeDecodeError, TOMLDecodeError):  # it was changed meanwhile
        return key


def secret(environment: Mapping[str, str], key: str, bot_name: str) -> str | None:
    """A bot's secret: KEY_<BOT NAME> if set, else KEY."""
    return own_secret(environment, key, bot_name) or environment.get(key) or None


def own_secret(environment: Mapping[str, str], key: str, bot_name: str) -> str | None:
    """KEY_<BOT NAME>, which no other bot has."""
    return environment.get(own_key(key, bot_name)) or None


def own_key(key: str, bot_name: str | None) -> str:
    """The name of the variable that is this bot's alone; None: of the platform's only bot."""
    suffix = "".join(c if c.isalnum() else "_" for c in bot_name or "").upper()
    return f"{key}_{suffix}" if suffix else key
