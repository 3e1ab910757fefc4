"""The home of a Moot: the folder with its moot.toml, moot.env, personas and data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from contract.errors import ConfigError

VARIABLE = "MOOT_HOME"
USUAL = "~/.moot"
_ROOT = Path(__file__).resolve().parents[2]
CHECKOUT = _ROOT if (_ROOT / "pyproject.toml").is_file() else None
"""The checkout that this code runs from; None: it was installed."""

_SIGNS = ("moot.toml", "moot.env", "data/moot.db")
"""Files by which a folder is a home already; earlier versions lived in the working directory."""


def find_home(given: Path | None, environment: Mapping[str, str], here: Path) -> Path:
    """The home, present or not. given: by --home. here: the working directory.

    --home, then MOOT_HOME, then the working directory if it is a home already; in a checkout the
    checkout if it is one, else its folder `data`; else ~/.moot. Raises ConfigError.
    """
    if named := given or environment.get(VARIABLE):
        return here / _expanded(Path(named))
    checkout = CHECKOUT if CHECKOUT and here.resolve().is_relative_to(CHECKOUT) else None
    for place in (here, checkout):
        if place and any(os.path.isfile(place / sign) for sign in _SIGNS):
            return place
    return checkout / "data" if checkout else _expanded(Path(USUAL))


def make_home(folder: Path) -> None:
    """Make it, for its owner alone, if it isn't there. Raises ConfigError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{folder}: can't be made: {error.strerror}; say where with --home DIR or {VARIABLE}"
        ) from None


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        raise ConfigError(
            f"{path}: this account has no home directory; say where with --home DIR or {VARIABLE}"
        ) from None
