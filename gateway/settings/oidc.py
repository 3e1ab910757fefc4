"""[oidc] in moot.toml: where people of the page may sign in, and who of them may come."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from gateway.settings.tables import Table, words

SECRET = "MOOT_OIDC_SECRET"  # noqa: S105  (the name of a variable)
Words = Annotated[tuple[str, ...], BeforeValidator(words)]


def _issuer(value: str) -> str:
    parts = urlsplit(value)
    here = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not parts.hostname or parts.scheme not in (("http", "https") if here else ("https",)):
        raise ValueError(f"{value!r} is not an address with https://")
    if parts.query or parts.fragment:
        raise ValueError(f"{value!r} has more than a path; take the provider's own `issuer`")
    return value


def _openid(value: tuple[str, ...]) -> tuple[str, ...]:
    if "openid" not in value:
        raise ValueError('needs "openid" among them')
    return value


class OidcTable(Table):
    """[oidc]; see docs/page.md."""

    issuer: Annotated[str, AfterValidator(_issuer)]
    client_id: Annotated[str, Field(min_length=1)]
    label: str = ""
    scopes: Annotated[Words, AfterValidator(_openid)] = ("openid", "profile", "email")
    name_claim: str = "name"
    domains: Words = ()
    claims: dict[str, Words] = Field(default_factory=dict)
    owners: Words = ()
    role: Literal["guest", "member"] = "member"
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 10.0

    @property
    def shown(self) -> str:
        """The provider's name on the page."""
        return self.label or urlsplit(self.issuer).hostname or ""
