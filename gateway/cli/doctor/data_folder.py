"""The part of `moot doctor` that looks at the data folder, its database and its backups."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import datetime
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from contract.errors import ConfigError
from gateway.backup.archive import read
from gateway.backup.backup import newest_first
from gateway.cli.doctor.diagnosis import Diagnosis
from gateway.core.lock import holder
from gateway.settings.config import Config
from store.database import HEAD
from store.upgrading import FOLDER, check_known

LITTLE_BYTES = 1_000_000_000
NO_BYTES = 50_000_000
OLD_DAYS = 7
WHOLE_BYTES = 2_000_000_000  # a larger database is looked through without its indexes


class DataFolder:
    """Moot's data, looked at from outside; it may run meanwhile."""

    def __init__(self, config: Config, now: datetime) -> None:
        self._config, self._now = config, now
        self._folder = config.gateway.data_dir

    def lines(self) -> list[Diagnosis]:
        """The disk, the lock, the database, the newest backup. It reads the last two whole."""
        return [*self._data(), self._held(), *self._database(), self._backup()]

    def _data(self) -> list[Diagnosis]:
        folder = self._folder
        if not folder.exists():
            return [Diagnosis("✓", "data", f"{folder} is not there yet: `moot run` makes it")]
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            remedy = f"let it belong to whom runs Moot: chown -R USER {folder}"
            return [Diagnosis("✗", "data", f"{folder} can't be written", remedy)]
        lines = [self._space(folder)]
        if folder.stat().st_mode & (stat.S_IROTH | stat.S_IXOTH | stat.S_IWOTH):
            text = f"everybody on this machine can look into {folder}"
            lines.append(Diagnosis("⚠", "data", text, f"chmod 700 {folder}"))
        return lines

    def _space(self, folder: Path) -> Diagnosis:
        free = shutil.disk_usage(folder).free
        text = f"{folder} is writable, {free / 1e9:.1f} GB free"
        remedy = "make room: answers and back-ups need it"
        if free < NO_BYTES:
            return Diagnosis("✗", "data", text, remedy)
        return (
            Diagnosis("⚠", "data", text, remedy)
            if free < LITTLE_BYTES
            else Diagnosis("✓", "data", text)
        )

    def _held(self) -> Diagnosis:
        pid = holder(self._folder)
        return Diagnosis(
            "✓", "lock", "free" if pid is None else f"held by process {pid}: Moot runs"
        )

    def _database(self) -> list[Diagnosis]:
        try:
            url = make_url(self._config.store_url)
        except ArgumentError:
            return [Diagnosis("✗", "database", "[store] url is not a database's address")]
        if url.get_backend_name() != "sqlite":
            return [Diagnosis("✓", "database", f"{url.get_backend_name()}; `moot run` tries it")]
        path = Path(url.database or "")
        if not path.exists():
            return [Diagnosis("✓", "database", f"{path} is not there yet: `moot run` makes it")]
        remedy = "stop Moot, then: moot restore BACKUP --force"
        try:
            found, sound = _looked_through(path)
            check_known(found, HEAD)
        except sqlite3.Error as error:
            return [Diagnosis("✗", "database", f"{path} can't be read: {error}", remedy)]
        except ConfigError as error:
            return [Diagnosis("✗", "database", error.say)]
        text = f"{path.stat().st_size / 1e6:.1f} MB, version {found}"
        if sound != "ok":
            return [Diagnosis("✗", "database", f"{text}, damaged: {sound}", remedy)]
        if found != HEAD:
            text += f"; the next start copies it and brings it to {HEAD}"
        return [Diagnosis("✓", "database", f"{text}, sound")]

    def _backup(self) -> Diagnosis:
        made = newest_first(self._folder / FOLDER)
        if not made and not self._folder.exists():
            return Diagnosis("✓", "back-up", "there is nothing to back up yet")
        if not made:
            remedy = 'moot backup, or [backup] every = "daily 03:00"'
            return Diagnosis("⚠", "back-up", "there is none in the data folder", remedy)
        try:
            manifest = read(made[0])
        except ConfigError as error:
            return Diagnosis("✗", "back-up", error.say, "moot backup")
        age_days = (self._now - datetime.fromisoformat(manifest.made_at)).days
        text = f"{made[0].name}, {age_days} days old, database {manifest.schema_version}, whole"
        return (
            Diagnosis("⚠", "back-up", text, "moot backup")
            if age_days > OLD_DAYS
            else Diagnosis("✓", "back-up", text)
        )


def _looked_through(path: Path) -> tuple[str, str]:
    """The database's version, and "ok" or what is wrong with it. Raises sqlite3.Error."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    pragma = "integrity_check" if path.stat().st_size < WHOLE_BYTES else "quick_check"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        [(found,)] = connection.execute("SELECT version_num FROM alembic_version")
        [(sound,), *_] = connection.execute(f"PRAGMA {pragma}(1)")
    return str(found), str(sound)
