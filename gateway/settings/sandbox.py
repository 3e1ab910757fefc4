"""[sandbox] in moot.toml, and what an agent or a persona says instead; see docs/sandbox.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    field_validator,
    model_validator,
)

from adapters.agent import Mount, Network

GB = 1_000_000_000
Mode = Literal["auto", "on", "off"]
GONE = "dms"  # a mode of old: it kept nothing in a direct message from a room's agent

HOST = re.compile(r"(\*\.)?[\w-]+(\.[\w-]+)*(:[0-9]{1,5})?", re.ASCII)
"""A host, or all those below it, with a port: 443 without one."""


def parse_mount(text: str) -> Mount:
    """`~/src` or `~/src:ro`: read-only; `~/src:rw`. Raises ValueError."""
    path, _, way = text.rpartition(":")
    if way not in ("ro", "rw"):
        path, way = text, "ro"
    place = Path(path).expanduser()
    if not place.is_absolute() or ".." in place.parts:
        raise ValueError(f"{text!r} is not an absolute path, with :ro or :rw behind it")
    return Mount(place, way == "rw")


def _mode(value: Any) -> Any:
    """YAML reads `on` and `off` as a truth value."""
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


def _words(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


class OwnSandboxTable(BaseModel):
    """An agent's or a persona's own. None: as [sandbox] has it. mounts: beside those of it."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    mode: Annotated[Mode | None, BeforeValidator(_mode)] = None
    mounts: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()
    network: Network | None = None
    hosts: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()
    memory_gb: Annotated[float, Field(ge=0)] | None = None
    processes: Annotated[int, Field(ge=0)] | None = None
    disk_gb: Annotated[float, Field(ge=0)] | None = None
    _dated: bool = PrivateAttr(default=False)

    @field_validator("hosts")
    @classmethod
    def _hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            if not HOST.fullmatch(text):
                raise ValueError(f"{text!r} is no host, e.g. api.example.org or *.example.org:8443")
        return value

    @property
    def dated(self) -> bool:
        """True where the file says `dms`, which is read as "on"."""
        return self._dated

    @model_validator(mode="wrap")
    @classmethod
    def _read_dated(cls, value: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        dated = isinstance(value, Mapping) and value.get("mode") == GONE
        table = read({**value, "mode": "on"} if dated else value)
        table._dated = dated
        return table

    @field_validator("mounts")
    @classmethod
    def _mounts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            parse_mount(text)
        return value


class SandboxTable(OwnSandboxTable):
    """[sandbox] in moot.toml; see docs/sandbox.md."""

    mode: Annotated[Mode, BeforeValidator(_mode)] = "auto"
    network: Network = "host"
    processes: Annotated[int, Field(ge=0)] = 512
    disk_gb: Annotated[float, Field(ge=0)] = 20.0


def whole(value: Any) -> Any:
    """`sandbox = "on"`, or true, for a table with that mode alone."""
    return {"mode": value} if isinstance(value, bool | str) else value


OwnSandbox = Annotated[OwnSandboxTable, BeforeValidator(whole)]
