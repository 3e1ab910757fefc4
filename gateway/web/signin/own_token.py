"""The page's secrets that an administrator chose: they stand in the environment."""

from __future__ import annotations

from collections.abc import Mapping

from contract.errors import ConfigError
from contract.values import dataclass
from gateway.core.redaction import can_be_redacted

LEAST_CHARS = 20  # of a MOOT_TOKEN that others than this machine may try
OWN = "MOOT_TOKEN"


@dataclass(frozen=True, slots=True)
class PageSecrets:
    """Those of the environment. own: MOOT_TOKEN; oidc: MOOT_OIDC_SECRET. None: there is none."""

    own: str | None = None
    oidc: str | None = None


def check_own(environment: Mapping[str, str], *, beyond: bool) -> str | None:
    """MOOT_TOKEN; None: there is none. beyond: others than this machine can try it. Raises
    ConfigError for one that they could guess."""
    own = environment.get(OWN) or None
    if own and beyond and (len(own) < LEAST_CHARS or not can_be_redacted(own)):
        raise ConfigError(
            f"{OWN} can be guessed, and others than this machine can reach the page: let it have "
            f"{LEAST_CHARS} random characters or more, or leave it out and use `moot token`"
        )
    return own
