"""Checks of the data folder, its database and its backups."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from contract.errors import ConfigError
from gateway.audit.audit import Audit
from gateway.audit.chain import ANCHOR
from gateway.backup.archive import Manifest, read
from gateway.backup.backup import newest_first
from gateway.cli.audit import REMEDY
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.core.clock import clock
from gateway.core.lock import holder
from gateway.core.private_folders import try_data_folder
from gateway.settings.config import Config
from store.database import Store
from store.migrations.upgrading import FOLDER, check_known
from store.versions import HEAD

LITTLE_BYTES = 1_000_000_000
NO_BYTES = 50_000_000
OLD_DAYS = 7
WHOLE_BYTES = 2_000_000_000  # a larger database is looked through without its indexes


async def check_data(of: Installation) -> list[Finding]:
    """The disk, the lock, the database, the newest backup, while Moot may run. Reads the two
    whole: minutes."""
    return await asyncio.to_thread(_check_data, of)


async def check_audit(of: Installation) -> list[Finding]:
    """The audit log, where its chain is broken and nobody took note of that."""
    anchor = of.config.gateway.data_dir / ANCHOR
    try:
        async with Store.open(of.config.store_url, read_only=True) as store:
            broken = (await Audit(store, clock, anchor).verify()).broken
    except ConfigError:  # no database yet, or an earlier one: others check that
        return []
    if broken is None:
        return []
    return [Finding("✗", "audit log", f"the audit log is broken: {broken.reason}", REMEDY)]


async def check_folder(of: Installation) -> list[Finding]:
    """The data folder, where Moot can't have it."""
    return [finding for finding in _check_folder(of.config.gateway.data_dir) if finding.mistake]


def _check_data(of: Installation) -> list[Finding]:
    folder = of.config.gateway.data_dir
    backup = _check_backup(of.config, of.now)
    return [*_check_folder(folder), _check_lock(folder), *_check_database(of.config), backup]


def _check_folder(folder: Path) -> list[Finding]:
    try:
        try_data_folder(folder)
    except ConfigError as error:
        return [Finding("✗", "data", error.say)]
    if not folder.exists():
        return [Finding("✓", "data", f"{folder} is not there yet: `moot run` makes it")]
    lines = [_space(folder)]
    if folder.stat().st_mode & (stat.S_IROTH | stat.S_IXOTH | stat.S_IWOTH):
        text = f"everybody on this machine can look into {folder}"
        lines.append(Finding("⚠", "data", text, f"chmod 700 {folder}"))
    return lines


def _space(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    text = f"{folder} is writable, {free / 1e9:.1f} GB free"
    remedy = "make room: answers and backups need it"
    if free < NO_BYTES:
        return Finding("✗", "data", text, remedy)
    return Finding("⚠", "data", text, remedy) if free < LITTLE_BYTES else Finding("✓", "data", text)


def _check_lock(folder: Path) -> Finding:
    pid = holder(folder)
    return Finding("✓", "lock", "free" if pid is None else f"held by process {pid}: Moot runs")


def _check_database(config: Config) -> list[Finding]:
    try:
        url = make_url(config.store_url)
    except ArgumentError:
        return [Finding("✗", "database", "[store] url is not a database's address")]
    if url.get_backend_name() != "sqlite":
        return [Finding("✓", "database", f"{url.get_backend_name()}; `moot run` tries it")]
    path = Path(url.database or "")
    if not path.exists():
        return [Finding("✓", "database", f"{path} is not there yet: `moot run` makes it")]
    remedy = "stop Moot, then: moot restore BACKUP --force"
    try:
        found, sound = _looked_through(path)
        check_known(found, HEAD)
    except sqlite3.Error as error:
        return [Finding("✗", "database", f"{path} can't be read: {error}", remedy)]
    except ConfigError as error:
        return [Finding("✗", "database", error.say)]
    text = f"{path.stat().st_size / 1e6:.1f} MB, version {found}"
    if sound != "ok":
        return [Finding("✗", "database", f"{text}, damaged: {sound}", remedy)]
    if found != HEAD:
        text += f"; the next start copies it and brings it to {HEAD}"
    return [Finding("✓", "database", f"{text}, sound")]


def _check_backup(config: Config, now: datetime) -> Finding:
    folder = config.gateway.data_dir
    made = newest_first(folder / FOLDER)
    if not made and not folder.exists():
        return Finding("✓", "backup", "there is nothing to back up yet")
    if not made:
        remedy = 'moot backup, or [backup] every = "daily 03:00"'
        return Finding("⚠", "backup", "there is none in the data folder", remedy)
    try:
        manifest = read(made[0])
    except ConfigError as error:
        return Finding("✗", "backup", error.say, "moot backup")
    age_days = (now - datetime.fromisoformat(manifest.made_at)).days
    text = f"{made[0].name}, {age_days} days old, database {manifest.schema_version}, whole"
    if _knows_more(manifest, config):
        remedy = "find out whether an older database was put back, then: moot backup"
        return Finding("⚠", "backup", f"{text}; it knows rows that the audit log lacks", remedy)
    return (
        Finding("⚠", "backup", text, "moot backup")
        if age_days > OLD_DAYS
        else Finding("✓", "backup", text)
    )


def _knows_more(manifest: Manifest, config: Config) -> bool:
    """True if the audit log lacks the row that was its newest when the backup was made. Whoever put
    an older database and an older `audit.head` in place together has no other witness."""
    url = make_url(config.store_url)
    heads = [file.sha256 for file in manifest.files if file.name == f"data/{ANCHOR}"]
    if url.get_backend_name() != "sqlite" or not heads:
        return False
    uri = f"{Path(url.database or '').absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            rows = connection.execute("SELECT hash FROM audit ORDER BY seq DESC")
            return all(sha256(f"{row[0]}\n".encode()).hexdigest() != heads[0] for row in rows)
    except sqlite3.Error:  # the check of the database says so
        return False


def _looked_through(path: Path) -> tuple[str, str]:
    """The database's version, and "ok" or what is wrong with it. Raises sqlite3.Error."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    pragma = "integrity_check" if path.stat().st_size < WHOLE_BYTES else "quick_check"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        [(found,)] = connection.execute("SELECT version_num FROM alembic_version")
        [(sound,), *_] = connection.execute(f"PRAGMA {pragma}(1)")
    return str(found), str(sound)
