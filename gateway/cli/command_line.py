"""Shared by the commands of the command line: their configuration, and lines for people."""

from __future__ import annotations

import argparse
import getpass
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.home import VARIABLE, find_home

if TYPE_CHECKING:
    from gateway.settings.config import Config

TOML = "moot.toml"


def add_config(*parsers: argparse.ArgumentParser) -> None:
    """The options that say which installation is meant."""
    for parser in parsers:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--config", type=Path, metavar="FILE", help=f"default: {TOML} at home")
        which.add_argument(
            "--home",
            type=Path,
            metavar="DIR",
            help=f"where {TOML}, personas and data are; default: {VARIABLE}, else ~/.moot",
        )


def home_of(arguments: argparse.Namespace) -> Path:
    """The folder of the installation that is meant, present or not. Raises ConfigError."""
    return find_home(getattr(arguments, "home", None), os.environ, Path.cwd())


def config_file(arguments: argparse.Namespace) -> Path:
    """The path of the configuration, present or not. Raises ConfigError."""
    given = _given(arguments)
    return given.absolute() if given else home_of(arguments) / TOML


def same_one(arguments: argparse.Namespace) -> str:
    """The words by which another command means the same installation, with a blank before them;
    "": it finds it by itself."""
    given = {name: getattr(arguments, name, None) for name in ("config", "home")}
    return "".join(f" --{name} {shlex.quote(str(path))}" for name, path in given.items() if path)


def _given(arguments: argparse.Namespace) -> Path | None:
    return getattr(arguments, "config", None)


def configured(arguments: argparse.Namespace) -> Config:
    """The configuration. Raises ConfigError."""
    from gateway.settings.config import load_config

    return load_config(_given(arguments), base=home_of(arguments))


def environment_of(
    arguments: argparse.Namespace, environment: Mapping[str, str] = os.environ
) -> Mapping[str, str]:
    """The environment, and the secrets that stand beside the configuration. Raises ConfigError."""
    from gateway.settings.env_file import with_secrets

    return with_secrets(environment, _given(arguments), base=home_of(arguments))


def account_name() -> str:
    """The account of this machine that types the command; a container's may have no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def printable(text: str) -> str:
    """The text without what would move the cursor of whoever reads it."""
    return "".join(c if c.isprintable() else " " for c in text)
