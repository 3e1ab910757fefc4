"""Shared by the commands of the command line: their configuration, and lines for people."""

from __future__ import annotations

import argparse
import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.settings.config import Config

TOML = "moot.toml"


def add_config(*parsers: argparse.ArgumentParser) -> None:
    """The option that says which configuration."""
    for parser in parsers:
        parser.add_argument("--config", type=Path, help=f"default: ./{TOML} if there is one")


def config_file(arguments: argparse.Namespace) -> Path:
    """The path of the configuration, present or not."""
    given: Path | None = arguments.config
    return (given or Path(TOML)).absolute()


def configured(arguments: argparse.Namespace) -> Config:
    """The configuration. Raises ConfigError."""
    from gateway.settings.config import load_config

    return load_config(arguments.config, base=Path.cwd())


def environment_of(
    arguments: argparse.Namespace, environment: Mapping[str, str] = os.environ
) -> Mapping[str, str]:
    """The environment, and the secrets that stand beside the configuration. Raises ConfigError."""
    from gateway.settings.env_file import with_secrets

    return with_secrets(environment, arguments.config, base=Path.cwd())


def account_name() -> str:
    """The account of this machine that types the command; a container's may have no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def printable(text: str) -> str:
    """The text without what would move the cursor of whoever reads it."""
    return "".join(c if c.isprintable() else " " for c in text)
