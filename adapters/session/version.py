"""A program's version, asked of itself, and what it is too old for."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from packaging.version import InvalidVersion, Version

from adapters.pty.process_group import OutputTooLarge, run_once
from contract.language import Phrase, later

if TYPE_CHECKING:
    from adapters.cli_profile import Profile

log = structlog.stdlib.get_logger("moot.adapters.version")

ASK_S = 10.0  # Node programs take up to 4 s on a busy machine
MOST_BYTES = 64 * 1024
_VERSION = re.compile(
    r"(?<![\w.])v?(\d+(?:\.\d+)+(?:[-.]?(?:alpha|beta|preview|nightly|rc|dev|post|a|b)\.?\d+)*)"
)
_known: dict[tuple[str, ...], str | None] = {}  # by command, path and time of change
_kept_in: list[Path] = []  # the file of `keep_versions`
_unknown: dict[tuple[str, str], set[str]] = {}  # options, by path and time of change


def parse_version(output: str) -> str | None:
    """The first thing in a program's output that looks like a version, e.g. "0.24.1"."""
    match = _VERSION.search(output)
    return match[1] if match else None


def is_older(version: str, than: str) -> bool:
    """True when it is certainly older; False when one of them can't be compared."""
    try:
        return Version(version) < Version(than)
    except InvalidVersion:
        return False


async def find_version(
    profile: Profile,
    command: tuple[str, ...],
    env: Mapping[str, str],
    cwd: Path,
    within: tuple[str, ...] = (),
) -> str | None:
    """The version that `command`, an absolute path and words behind it, prints; None: none.

    within: words that go before it and confine it. Asked once as long as the program's file stays
    the same.
    """
    key = (*command, *profile.setup.version, _changed(command[0]))
    if key not in _known:
        _known[key] = await _ask((*within, *command, *profile.setup.version), env, cwd)
        _keep()
    return _known[key]


def keep_versions(file: Path) -> None:
    """Ask a program for its version once, and not again after a restart: a start of Node takes
    seconds. file: closed to agents; one that can't be read is written again."""
    _kept_in[:] = [file]
    with suppress(OSError, ValueError, TypeError):
        for *key, version in json.loads(file.read_text("utf-8")):
            _known.setdefault(tuple(map(str, key)), str(version))


def _keep() -> None:
    """Write down the versions of the programs as they are; those that said none are asked again."""
    newest = {key[:-1]: (*key, version) for key, version in _known.items() if version}
    for file in _kept_in:
        try:
            made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(made, "w", encoding="utf-8") as out:
                json.dump(list(newest.values()), out)
        except OSError as error:
            log.warning("versions.not_kept", file=file, reason=error)


def _changed(path: str) -> str:
    """A file's last change, as a part of a key: npm may give a new file an old time."""
    try:
        file = Path(path).stat()
    except OSError:
        return ""
    return f"{file.st_mtime_ns}-{file.st_ctime_ns}-{file.st_size}"


async def _ask(argv: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> str | None:
    try:
        ran = await run_once(
            argv, env=env, cwd=cwd, given=b"", timeout_s=ASK_S, most_bytes=MOST_BYTES
        )
    except (TimeoutError, OutputTooLarge, OSError) as error:
        log.info("version.unknown", program=argv[0], reason=error)
        return None
    return parse_version((ran.out + b"\n" + ran.err).decode("utf-8", "replace"))


async def age_of(
    profile: Profile,
    command: tuple[str, ...],
    env: Mapping[str, str],
    cwd: Path,
    within: tuple[str, ...] = (),
) -> Phrase | None:
    """A sentence when the program is too old for us."""
    if not profile.setup.at_least:
        return None
    version = await find_version(profile, command, env, cwd, within)
    if version is None or not is_older(version, profile.setup.at_least):
        return None
    return later(
        "It is version {version}; Moot needs {needed} or newer: update it.",
        version=version,
        needed=profile.setup.at_least,
    )


def without_unknown(program: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words behind a program without the options that it said it doesn't know."""
    unknown = _unknown.get((program, _changed(program)), ())
    return tuple(word for word in words if word.partition("=")[0] not in unknown)


def complains_of_option(profile: Profile, argv: Sequence[str], said: str) -> bool:
    """True when it ended since it is too old for an option: it may be started again without."""
    given = {word.partition("=")[0] for word in argv}
    newer = {word for word in profile.program.newer if word in given and word in said}
    if newer:
        log.info("option.unknown", program=argv[0], options=sorted(newer))
        _unknown.setdefault((argv[0], _changed(argv[0])), set()).update(newer)
    return bool(newer)
