"""[connections], [workers] and [files] in moot.toml: who may come to the page, the API and the
webhooks, and how long each may take; where agents on other machines are reached, and files kept."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from gateway.settings.tables import Table

Seconds = Annotated[float, Field(gt=0)]


class ConnectionsTable(Table):
    """[connections]; see docs/service.md."""

    most: Annotated[int, Field(ge=16)] = 1_000
    most_of_address: Annotated[int, Field(ge=8)] = 200
    most_of_person: Annotated[int, Field(ge=4)] = 32
    header_s: Seconds = 15.0
    body_s: Seconds = 30.0
    idle_s: Seconds = 75.0
    trusted_proxies: frozenset[str] | None = None

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, value: frozenset[str] | None) -> frozenset[str] | None:
        for given in value or ():
            try:
                ip_address(given)
            except ValueError:
                raise ValueError(f"{given!r} is not an IP address, e.g. 127.0.0.1") from None
        return value


class FilesTable(Table):
    """Where the files of messages are kept beside this machine's data_dir.

    store: "file": nowhere; in an S3 bucket, or at the workers' broker ("nats"). endpoint: of
    another bucket than Amazon's. prefix: what the objects' names begin with.
    """

    store: Literal["file", "s3", "nats"] = "file"
    bucket: str | None = None
    endpoint: str | None = None
    region: str = "us-east-1"
    prefix: str = ""

    @field_validator("endpoint")
    @classmethod
    def _url(cls, value: str | None) -> str | None:
        if value is not None and urlsplit(value).scheme not in ("http", "https"):
            raise ValueError("write the server's address, e.g. https://minio.example.org:9000")
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.store == "s3" and not self.bucket:
            raise ValueError('store = "s3" needs a bucket: bucket = "moot-files"')
        return self


# ── Workers ─────────────────────────────────────────────────────────────────────────────

EMBEDDED = "embedded"
PORT = 4222  # NATS, as IANA registers it
SCHEMES = ("nats", "tls", "ws", "wss", EMBEDDED)


WorkerName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]


class PoolTable(Table):
    """Some of the workers, for personas that choose them. names: as they were added."""

    names: Annotated[list[WorkerName], Field(min_length=1)]


class WorkersTable(Table):
    """Where workers are reached; without this table programs run in the gateway's own process.

    nats: a broker's address, or "embedded" for one that Moot starts itself, for trials. local: so
    many programs run on the gateway's machine beside. lost_s: a worker that is silent so long is
    given up.
    """

    nats: str = EMBEDDED
    local: Annotated[int, Field(ge=0)] = 0
    lost_s: Annotated[float, Field(ge=1)] = 1.5
    pools: dict[str, PoolTable] = Field(default_factory=dict)

    @field_validator("nats")
    @classmethod
    def _address(cls, value: str) -> str:
        if fault := broker_fault(value):
            raise ValueError(fault)
        return value

    @property
    def embedded(self) -> tuple[str, int] | None:
        """Where the broker listens that Moot starts itself; None: there is another one."""
        if self.nats == EMBEDDED:
            return "127.0.0.1", PORT
        parts = urlsplit(self.nats)
        return (parts.hostname or "", parts.port or PORT) if parts.scheme == EMBEDDED else None

    @property
    def url(self) -> str:
        """The broker's address for a client."""
        if self.embedded is None:
            return self.nats
        host, port = self.embedded
        return f"nats://{host}:{port}"


def broker_fault(value: str) -> str:
    """What is wrong with a broker's address; "": nothing is."""
    parts = urlsplit(value)
    try:
        good = value == EMBEDDED or (parts.scheme in SCHEMES and parts.hostname and parts.port != 0)
    except ValueError:  # the port is none
        good = False
    if not good:
        return f'{value!r} is no address of NATS, e.g. "tls://broker:4222", nor "{EMBEDDED}"'
    if parts.username or parts.password:
        return "an address holds no password: workers and the gateway have keys"
    return ""
