"""`moot restore`: a backup in place of the data, or in a new folder beside a Moot that runs."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path

import tomlkit
from sqlalchemy import create_engine, inspect

from contract.chat import MOOT, Speaker
from contract.errors import ConfigError
from contract.values import dataclass
from gateway.audit.appending import append
from gateway.audit.chain import ANCHOR, RESTORE, known_head, write_anchor
from gateway.backup.archive import Manifest, discard, read
from gateway.core.lock import ADDRESS, InUse, hold
from gateway.core.lock import NAME as LOCK_NAME
from gateway.core.redaction import REMOVED, without_secrets
from gateway.settings.config import Config
from gateway.settings.env_file import NAME as ENV_NAME
from store.migrations.upgrading import check_known
from store.timestamps import micros

Lines = list[str]
"""The steps that were taken, for people."""


@dataclass(frozen=True, slots=True)
class RestoredBy:
    """Who puts a backup back, and when. account: of this machine. head: the newest schema that
    this Moot knows."""

    at: datetime
    head: str
    by: Speaker = MOOT
    account: str = ""


def restore_in_place(
    archive: Path, config: Config, file: Path, who: RestoredBy, *, force: bool
) -> Lines:
    """Put a backup where moot.toml says that the data is; what is there is kept beside.

    Raises ConfigError, InUse; nothing has changed then.
    """
    data, stamp = config.gateway.data_dir, f"{who.at:%Y%m%d-%H%M%S}"
    if not archive.exists():
        raise ConfigError(f"{archive}: there is no such file")
    if any(data.glob("moot.db")) and not force:
        raise ConfigError(
            f"{data}: there is a database already; say --force (it is kept beside), or "
            "--to NEW_FOLDER"
        )
    try:
        with hold(data), _unpacked(archive, data.parent, data, who) as (staging, manifest):
            lines = _swap(staging / "data", data, stamp)
            lines += _beside(staging, config, file, stamp, force=force)
    except InUse as error:
        say = f"{error.say}, or restore beside it: moot restore {archive} --to NEW_FOLDER"
        raise ConfigError(say) from error
    return [*lines, *_database(manifest, config, data), *_noted(manifest), "Next: moot run"]


def restore_to(archive: Path, folder: Path, who: RestoredBy) -> Lines:
    """Put a backup with its moot.toml and personas into a new folder. Raises ConfigError."""
    folder = folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: is there already; name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _unpacked(archive, folder.parent, folder / "data", who) as (staging, manifest):
        _at_home(staging / "moot.toml")
        os.replace(staging, folder)
    lines = [f"restored into {folder}"]
    if not manifest.secrets:
        lines.append(f"secrets are not in it: copy {ENV_NAME} into {folder}, mode 600")
        toml = folder / "moot.toml"
        if toml.exists() and REMOVED in toml.read_text(encoding="utf-8"):
            lines.append(f"{toml}: fill in what says {REMOVED}")
    if manifest.database == "postgresql":
        lines.append(_pg_restore(folder / "data"))
    lines += _noted(manifest)
    return [*lines, f"To switch: stop the Moot that runs now, then: cd {folder} && moot run"]


@contextmanager
def _unpacked(
    archive: Path, near: Path, data: Path, who: RestoredBy
) -> Iterator[tuple[Path, Manifest]]:
    """A folder on the same disk with all of it, checked; what is left of it goes afterwards. data:
    the folder whose place it takes."""
    staging = near / f".restoring-{os.getpid()}"
    try:
        staging.mkdir(parents=True, mode=0o700)
        manifest = read(archive, staging)
        if manifest.database == "sqlite":
            check_known(manifest.schema_version, who.head)
            _repath(staging / "data" / "moot.db", Path(manifest.data_dir), data)
            anchor = data / ANCHOR
            replaced = known_head(anchor, micros(who.at)) if anchor.exists() else ""
            _note(staging / "data", archive, manifest, who, replaced)
        (staging / "data").mkdir(exist_ok=True, mode=0o700)
        yield staging, manifest
    except OSError as error:
        raise ConfigError(f"{archive}: can't be restored: {error}") from error
    finally:
        discard(staging)


def _repath(database: Path, then: Path, now: Path) -> None:
    """Let the messages' attachments be found where they are now; and prove that it is whole."""
    old, new = (json.dumps(f"{path.absolute()}{os.sep}")[1:-1] for path in (then, now))
    try:
        with closing(sqlite3.connect(database)) as connection:
            [(found,)] = connection.execute("PRAGMA integrity_check(1)")
            if found != "ok":
                raise ConfigError(f"the backup's database is damaged: {found}")
            if old != new:
                connection.execute(
                    "UPDATE messages SET attachments = replace(attachments, ?, ?)", (old, new)
                )
                connection.commit()
    except sqlite3.Error as error:
        raise ConfigError(f"the backup's database can't be read: {error}") from error
    with database.open("rb") as file:
        os.fsync(file.fileno())


def _note(data: Path, archive: Path, manifest: Manifest, who: RestoredBy, replaced: str) -> None:
    """Let the audit log say that it goes on from a backup. replaced: the newest hash of the one
    that it takes the place of."""
    engine = create_engine(f"sqlite:///{data / 'moot.db'}", hide_parameters=True)
    try:
        with engine.begin() as connection:
            if not inspect(connection).has_table("audit"):  # a backup from before there was one
                return
            newest = append(
                connection,
                act=RESTORE,
                by=who.by,
                at=micros(who.at),
                detail={
                    "backup": archive.name,
                    "made_at": manifest.made_at,
                    "account": who.account,
                    "replaced": replaced,
                },
                known=known_head(data / ANCHOR, micros(who.at)),
            )
    finally:
        engine.dispose()
    write_anchor(data / ANCHOR, newest)


def _noted(manifest: Manifest) -> Lines:
    told = "the audit log has a row of it: moot audit show --act restore"
    return [told] if manifest.database == "sqlite" else []


def _swap(new: Path, data: Path, stamp: str) -> Lines:
    """Two renames; if the second fails the first is taken back."""
    kept = data.with_name(f"{data.name}.before-{stamp}")
    with suppress(OSError):  # accounts of sessions may be other ones' from now on: none enters
        data.chmod(0o700)
    os.replace(data, kept)
    try:
        os.replace(new, data)
    except OSError:
        os.replace(kept, data)
        raise
    if {path.name for path in kept.iterdir()} <= {LOCK_NAME, ADDRESS}:  # there was nothing
        discard(kept)
        return [f"restored {data}"]
    return [f"restored {data}; what was there is {kept}"]


def _beside(staging: Path, config: Config, file: Path, stamp: str, *, force: bool) -> Lines:
    """moot.toml, moot.env and the personas: where they are missing, or all of them by force."""
    lines = []
    places = {
        "moot.toml": file,
        ENV_NAME: file.parent / ENV_NAME,
        "personas": config.gateway.personas_dir,
    }
    for name, place in places.items():
        source = staging / name
        if not source.exists() or _same(source, place) or _same_but_secrets(source, place):
            continue
        if place.exists() and not force:
            lines.append(f"kept {place}: the backup's differs (--force takes it)")
            continue
        if place.exists():
            os.replace(place, place.with_name(f"{place.name}.before-{stamp}"))
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(source, place)
        lines.append(f"restored {place}")
        if place.is_file() and REMOVED in place.read_text(encoding="utf-8"):
            lines.append(f"{place}: fill in what says {REMOVED}")
    return lines


def _same(one: Path, other: Path) -> bool:
    if one.is_dir():
        names = {path.name for path in one.iterdir()}
        return other.is_dir() and all(_same(one / name, other / name) for name in names)
    return other.is_file() and one.read_bytes() == other.read_bytes()


def _same_but_secrets(one: Path, other: Path) -> bool:
    """True if a backup's moot.toml is the one that is here, which still has its secrets."""
    if one.suffix != ".toml" or not other.is_file():
        return False
    here = without_secrets(other.read_text(encoding="utf-8"))
    return here == one.read_text(encoding="utf-8")


def _database(manifest: Manifest, config: Config, data: Path) -> Lines:
    if manifest.database == "postgresql":
        return [_pg_restore(data)]
    if config.store.url:
        return [f"the database is {data / 'moot.db'}: let [store] url name it, or leave it out"]
    return []


def _pg_restore(data: Path) -> str:
    dump = data / "database.dump"
    return f"the database is to be restored by: pg_restore --clean --if-exists -d URL {dump}"


def _at_home(file: Path) -> None:
    """Let a moot.toml name the folders and the database beside it."""
    if not file.exists():
        return
    made = tomlkit.parse(file.read_text(encoding="utf-8"))
    gateway = made.get("gateway", {})
    for key, name in (("data_dir", "data"), ("personas_dir", "personas")):
        if gateway.get(key, name) != name:
            gateway[key] = name
    if str(made.get("store", {}).get("url", "")).startswith("sqlite"):
        made.pop("store")
    file.write_text(tomlkit.dumps(made), encoding="utf-8")
