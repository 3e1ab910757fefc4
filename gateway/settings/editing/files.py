"""The files that `moot init` and the page write: made as texts first, shown, then put in place
together."""

from __future__ import annotations

import difflib
import signal
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT, Table

from contract.errors import ConfigError
from contract.values import dataclass
from gateway.settings.env_file import NAME as ENV_NAME
from gateway.settings.whole_file import prepared

HEAD = "# Made by `moot init`. Every key with its default: moot.toml.example. Secrets: moot.env."


@dataclass(frozen=True, slots=True)
class File:
    """One file as it shall be. before: its text now; None: it isn't there."""

    path: Path
    text: str
    before: str | None
    mode: int = 0o644

    @property
    def changes(self) -> bool:
        """True if there is anything to write."""
        return self.text != self.before

    def diff(self) -> str:
        """The changes, for people; of secrets only that they change."""
        if self.path.name == ENV_NAME:
            return f"{self.path}: secrets, mode 600"
        if self.before is None:
            return f"{self.path}: new"
        name = str(self.path)
        lines = difflib.unified_diff(
            self.before.splitlines(), self.text.splitlines(), name, name, "now", "then", lineterm=""
        )
        return "\n".join(lines)


def with_copy(path: Path, text: str, before: str | None) -> list[File]:
    """The file, and beside it a copy of what it was."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    file = File(path, text, before, mode)
    if before is None:
        return [file]
    return [File(path.with_name(f"{path.name}.bak"), before, None, mode), file]


def read(path: Path) -> str | None:
    """The file's text; None: it isn't there. Raises ConfigError."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: can't be read: {error}") from None


def document(text: str | None) -> tomlkit.TOMLDocument:
    """moot.toml with its comments and its order."""
    if text is not None:
        return tomlkit.parse(text)
    made = tomlkit.document()
    made.add(tomlkit.comment(HEAD.removeprefix("# ")))
    made.add(tomlkit.nl())
    return made


def section(made: tomlkit.TOMLDocument, name: str) -> Table:
    """A table of it, made when it isn't there."""
    if name not in made:
        made.add(name, tomlkit.table())
    found = made[name]
    if not isinstance(found, Table):
        raise ConfigError(f"moot.toml: [{name}] must stand there as a table of its own")
    return found


def put_bot(
    made: tomlkit.TOMLDocument, platform: str, name: str | None, values: Mapping[str, Any]
) -> None:
    """Change the platform's [[bots]] table of that name, or add one."""
    bots = made.setdefault("bots", tomlkit.aot())
    if not isinstance(bots, AoT):
        raise ConfigError("moot.toml: write each bot as a [[bots]] table")
    table = next((t for t in bots if t.get("platform") == platform and t.get("name") == name), None)
    if table is None:
        table = tomlkit.table()
        table.add("platform", platform)
        if name:
            table.add("name", name)
        bots.append(table)
        made["bots"] = bots
        table = bots[-1]
    for key, value in values.items():
        if table.get(key) != value:
            table[key] = value


def joined(values: Any, more: Sequence[str]) -> list[str]:
    """A list of words with more of them, each once; a single word may stand for a list."""
    now = [values] if isinstance(values, str) else list(values or ())
    return list(dict.fromkeys([*now, *more]))


def write_all(files: Sequence[File]) -> None:
    """Put all of them in place. Each is whole at any moment; Ctrl-C comes before or after."""
    ready: list[tuple[Path, File]] = []
    try:
        for file in files:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            ready.append((prepared(file.path, file.text.encode(), file.mode), file))
        with _uninterrupted():
            while ready:
                temporary, file = ready[0]
                temporary.replace(file.path)
                ready.pop(0)
    except OSError as error:
        raise ConfigError(f"{error.filename}: can't be written: {error.strerror}") from error
    finally:
        for temporary, _ in ready:
            temporary.unlink(missing_ok=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
