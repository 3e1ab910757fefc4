"""Persona files on disk: read and written without leaving their folder."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from contract.errors import ConfigError
from contract.refusals import why
from gateway.settings.personas.check import NAME
from gateway.settings.whole_file import put

MOST_BYTES = 256 << 10  # a system prompt, not a library
SCHEMA = "persona.schema.json"


def read_text(folder: Path, name: str) -> str:
    """The text of `name`.md. Raises ConfigError, also when it is a link out of the folder."""
    return read_bytes(folder, name).decode("utf-8-sig")


def read_bytes(folder: Path, name: str) -> bytes:
    """The bytes of `name`.md, which are UTF-8. Raises ConfigError."""
    try:
        data = _read(_inside(folder, name))
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{name}.md: is not UTF-8: byte {error.start} begins no character; save it as UTF-8"
        ) from None
    except OSError as error:
        raise ConfigError(f"{name}.md: can't be read: {why(error)}") from None
    if len(data) > MOST_BYTES:
        raise ConfigError(f"{name}.md: {_too_large()}")
    return data


def _read(path: Path) -> bytes:
    """At most a byte more than a file may have. A pipe or a device is no file to wait for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no file")
        return file.read(MOST_BYTES + 1)


def _inside(folder: Path, name: str) -> Path:
    """The path of `name`.md, links followed as long as they stay in the folder."""
    path = folder / f"{name}.md"
    if not path.is_symlink():
        return path
    try:
        target = path.resolve(strict=True)
    except FileNotFoundError:
        raise ConfigError(f"{name}.md: the link leads to no file") from None
    except (OSError, RuntimeError):  # a ring of links; RuntimeError before Python 3.13
        raise ConfigError(f"{name}.md: the link leads to itself") from None
    if not target.is_relative_to(folder.resolve()):
        raise ConfigError(f"{name}.md: the link leads out of {folder}; copy the file instead")
    return target


def digest(data: bytes) -> str:
    """The mark by which an edit says which form of the file it began from."""
    return hashlib.sha256(data).hexdigest()[:32]


def text_mark(text: str | None) -> str:
    """The digest of a file's text; "": there is no file."""
    return "" if text is None else digest(text.encode("utf-8"))


def check_name(name: str) -> str:
    """The name, if a persona may have it. Raises ConfigError: nothing else becomes a path."""
    if not NAME.fullmatch(name):
        raise ConfigError(
            "a persona's name is a lower case letter, then at most 31 of a-z, 0-9, - and _"
        )
    return name


def write_text(folder: Path, name: str, text: str) -> bytes:
    """Replace `name`.md at once and whole; its mode stays. Returns what was written.

    Raises ConfigError; the file is then as it was.
    """
    data = text.encode("utf-8")
    if len(data) > MOST_BYTES:
        raise ConfigError(f"{name}.md: {_too_large()}")
    path = _inside(folder, check_name(name))
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
        put(path, data, mode)
    except OSError as error:
        raise _unwritable(folder, error) from None
    return data


def remove(folder: Path, name: str) -> None:
    """Delete `name`.md; of a link, the link. Raises ConfigError."""
    try:
        (folder / f"{check_name(name)}.md").unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None


def keep_aside(folder: Path, name: str) -> Path:
    """Copy `name`.md to a file beside it that is no persona's. Raises ConfigError."""
    try:
        data = read_bytes(folder, name)
        aside = folder / f"{name}.md.kept-{digest(data)[:8]}"
        put(aside, data, stat.S_IMODE((folder / f"{name}.md").stat().st_mode))
    except OSError as error:
        raise _unwritable(folder, error) from None
    return aside


def kept_aside(folder: Path) -> list[Path]:
    """The files that `keep_aside` made."""
    return sorted(folder.glob("*.md.kept-*"))


def is_writable(folder: Path) -> bool:
    """True if files can be made there."""
    return os.access(folder, os.W_OK | os.X_OK)


def _unwritable(folder: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"{folder} can't be written to: {error.strerror}; "
        "let Moot's user write there, or edit the file yourself"
    )


def _too_large() -> str:
    return f"has more than {MOST_BYTES >> 10} KB, which is what a persona may have"
