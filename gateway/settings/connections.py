"""[connections] in moot.toml: who may come to the page, the API and the webhooks, and how long
each may take."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated

from pydantic import Field, field_validator

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
