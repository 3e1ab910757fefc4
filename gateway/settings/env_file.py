"""moot.env: secrets beside moot.toml, in a file that its owner alone may read.

Lines of `NAME=value`, as a shell and systemd's EnvironmentFile read them. What the environment
itself says goes before it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from contract.errors import ConfigError
from contract.refusals import why

NAME = "moot.env"
LOGIN_ENDS = ("_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN")
"""The ends of variables by which agents log in."""

AGREED = "variables.json"  # in the data directory: see gateway/settings/editing/secrets.py
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ")
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_NAME = re.compile(r"(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*")
_OTHERS = 0o077  # permission bits of everybody but the owner


def env_file(config_file: Path | None, base: Path) -> Path:
    """Its path: beside moot.toml."""
    return (config_file.resolve().parent if config_file else base) / NAME


def with_secrets(
    environment: Mapping[str, str], config_file: Path | None, *, base: Path
) -> Mapping[str, str]:
    """The environment with what moot.env adds, if it is there. Raises ConfigError.

    config_file, base: as load_config takes them.
    """
    file = env_file(config_file, base)
    try:
        if file.stat().st_mode & _OTHERS and not file.is_dir():
            raise ConfigError(f"{file}: others on this machine may read it; run: chmod 600 {file}")
        kept = parse_env(file.read_text(encoding="utf-8-sig"), str(file))
    except FileNotFoundError:
        return environment
    except OSError as error:
        raise ConfigError(f"{file}: {why(error)}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: it is not UTF-8; save it as UTF-8") from None
    return {**kept, **{key: value for key, value in environment.items() if value}}


def passed_on(environment: Mapping[str, str], *names: str) -> dict[str, str]:
    """The gateway's own variables that a program of somebody else's gets: where its tools are, the
    language, the zone of times, and those of these names."""
    return {name: value for name in (*_PASSED_ON, *names) if (value := environment.get(name))}


def parse_env(text: str, where: str) -> dict[str, str]:
    """The variables that it sets. Raises ConfigError: a line for each mistake, which quotes no
    value."""
    values: dict[str, str] = {}
    mistakes: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        words = _words(match[2]) if match else None
        if match is None or words is None or len(words) > 1:
            mistakes.append(f"{where}:{number}: {_fault(line, words)}")
        else:
            values[match[1]] = words[0] if words else ""
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return values


def _fault(line: str, words: list[str] | None) -> str:
    name, equals, value = line.partition("=")
    if equals and (name != name.rstrip() or value != value.lstrip()):
        return "write NAME=value, without blanks around the ="
    if not equals or not _NAME.fullmatch(name.strip()):
        return "write NAME=value, the name in letters, digits and _"
    if words is None:
        return "the quote doesn't end; write NAME='value'"
    return "a value with blanks stands in quotes: NAME='value'"


def _words(value: str) -> list[str] | None:
    try:
        return shlex.split(value, comments=True)
    except ValueError:  # a quote that nothing ends
        return None


def set_values(text: str, values: Mapping[str, str | None]) -> str:
    """The text with these values, and without those that are None; what it says beside them stays
    where it is."""
    left = {key: value for key, value in values.items() if value is not None}
    lines = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match and match[1] in values:
            if match[1] in left:
                lines.append(f"{match[1]}={shlex.quote(left.pop(match[1]))}")
            continue
        lines.append(line)
    lines += [f"{key}={shlex.quote(value)}" for key, value in left.items()]
    return "".join(f"{line}\n" for line in lines)
