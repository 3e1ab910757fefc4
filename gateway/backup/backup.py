"""`moot backup`: one file with everything that is needed to go on, made while Moot runs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import structlog
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from adapters.catalog import profiles
from adapters.own_files import has_plain_journals, open_own
from contract.errors import ConfigError
from contract.values import dataclass
from gateway.audit.chain import ANCHOR
from gateway.backup.archive import ArchiveWriter, Manifest, writing
from gateway.backup.bounds import SCOPES, ScopeBounds
from gateway.core.lock import ADDRESS
from gateway.core.lock import NAME as LOCK_NAME
from gateway.core.private_folders import OWNER_SECRET
from gateway.core.redaction import Redactor, secrets_in, without_secrets
from gateway.settings.config import Config
from gateway.settings.env_file import AGREED
from gateway.settings.env_file import NAME as ENV_NAME
from store.gateway_schema import bot_keys
from store.migrations.upgrading import FOLDER, copy_sqlite
from store.versions import HEAD

log = structlog.stdlib.get_logger("moot.backup")

SECRET_FILES = frozenset(  # below data/bots/<name>
    {
        *("account.json", "keys.db", "recovery-key", "webhook_secret"),
        *("account.json.moved", "keys.db.moved", "recovery-key.moved", "webhook_secret.moved"),
    }
)
WITHOUT_KEYS = f"--exclude-table-data={bot_keys.name}"
# Beside the logins that profiles name: what programs call files that they were logged in by.
_LOGIN_LIKE = re.compile(r"credential|oauth|token|secret|^auth\.|^keys?\.|^\.env|^\.netrc$", re.I)
CONFIG_NAME = "moot.toml"
_SQLITE = b"SQLite format 3\0"
_NOT_KEPT = (".", "preflight-", ANCHOR)  # of the data folder; the anchor goes in by itself
_DUMP_S = 3600.0
_SCRATCH = ".backup-"
KEPT_FREE_BYTES = 500_000_000  # a daily backup leaves so much of the disk
DEEPEST = 200  # folders in one another; `os.walk` reaches a thousand
_LEFT_S = 24 * 3600.0  # no backup takes so long: what is older was left by one that was killed


@dataclass(frozen=True, slots=True)
class BackupOptions:
    """The choice of what goes into a backup.

    scopes: the files that agents keep and work on. secrets: moot.env, bots' keys and tokens,
    agents' logins. clean: without them, takes secrets out of what names them beside other things.
    """

    scopes: bool = False
    secrets: bool = False
    clean: Callable[[str], str] = str


def knowing_bots(config: Config, redactor: Redactor) -> Redactor:
    """The redactor, which from now on knows what the bots keep: tokens that a login gave."""
    for path in (config.gateway.data_dir / "bots").glob("*/*"):
        if path.name not in SECRET_FILES or path.suffix == ".db":
            continue
        with suppress(OSError, ValueError):
            text = path.read_text(encoding="utf-8")
            redactor.learn(secrets_in(json.loads(text)) if path.suffix == ".json" else (text,))
    return redactor


def default_file(config: Config, at: datetime) -> Path:
    """data/backups/moot-YYYYMMDD-HHMMSS.tar.gz, in the configured zone."""
    local = at.astimezone(config.gateway.zone)
    return config.gateway.data_dir / FOLDER / f"moot-{local:%Y%m%d-%H%M%S}.tar.gz"


def back_up(
    config: Config, file: Path, target: Path, wanted: BackupOptions, at: datetime
) -> Manifest:
    """Write and check it. file: moot.toml, if it is there. Raises ConfigError.

    The database goes in first: what its rows name was on disk before them. Takes as long as
    reading everything twice; may run beside a Moot that writes.
    """
    data = config.gateway.data_dir
    if not data.is_dir():
        raise ConfigError(f"{data}: there is no data yet")
    try:
        _sweep(data, at)
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=data) as scratch:
            copies = _Copies(Path(scratch))
            head = copies.anchor(data / ANCHOR)
            url = make_url(config.store_url)
            schema, dump = copies.database(url, secrets=wanted.secrets)
            manifest = Manifest(
                moot=_version(),
                schema_version=schema,
                database="sqlite" if dump.name == "moot.db" else "postgresql",
                made_at=at.isoformat(timespec="seconds"),
                data_dir=str(data.absolute()),
                scopes=wanted.scopes,
                secrets=wanted.secrets,
            )
            with writing(target) as archive:
                archive.add(f"data/{dump.name}", dump, 0o600)
                if head is not None:
                    archive.add(f"data/{ANCHOR}", head, 0o600)
                bounds = ScopeBounds(config.backup)
                for name, path in _files(config, file, wanted, url):
                    _add(archive, copies, name, path, wanted, bounds)
                return archive.finish(manifest, bounds.left_out())
    except ArgumentError:
        raise ConfigError("[store] url is not a database's address") from None
    except (OSError, sqlite3.Error, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"no backup could be made: {error}") from error


def _sweep(data: Path, at: datetime) -> None:
    """Delete what a killed backup left: copies as large as the database, halves of archives."""
    left = [*data.glob(f"{_SCRATCH}*"), *(data / FOLDER).glob(".moot-*.partial")]
    for path in left:
        if at.timestamp() - path.lstat().st_mtime > _LEFT_S:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _add(
    archive: ArchiveWriter,
    copies: _Copies,
    name: str,
    path: Path,
    wanted: BackupOptions,
    bounds: ScopeBounds,
) -> None:
    """One file; one that vanishes meanwhile is left out, a SQLite database is copied whole."""
    if set(name.split("/")[1:2]) & SCOPES:
        _add_of_agent(archive, copies, name, path, bounds)
        return
    try:
        with path.open("rb") as file:
            mode = _mode_of(file)
            is_database = file.read(len(_SQLITE)) == _SQLITE
        if not wanted.secrets and (name == CONFIG_NAME or name.startswith("data/bots/")):
            path = copies.bare(path, wanted.clean)
        archive.add(name, copies.sqlite(path) if is_database else path, mode)
    except FileNotFoundError:
        log.info("backup.vanished", file=name)


def _mode_of(file: BinaryIO) -> int:
    return 0o700 if os.fstat(file.fileno()).st_mode & stat.S_IXUSR else 0o600


def _add_of_agent(
    archive: ArchiveWriter, copies: _Copies, name: str, path: Path, bounds: ScopeBounds
) -> None:
    """A file of an agent's, which may put another thing in its place at any time. What is none,
    can't be read or is too large is left out, or no backup could ever be made."""
    depth = len(PurePosixPath(name).parts)
    try:
        name.encode()
        file = open_own(path, path.parents[depth - 2])
    except FileNotFoundError:
        log.info("backup.vanished", file=name)
        return
    except (OSError, UnicodeEncodeError) as error:
        log.warning("backup.left_out", file=name, reason=str(error))
        return
    with file:
        state = os.fstat(file.fileno())
        if not bounds.admits(name, state.st_size):
            return
        is_database = file.read(len(_SQLITE)) == _SQLITE and has_plain_journals(path)
        file.seek(0)
        copy = copies.sqlite(path) if is_database else path
        if copy == path or not os.path.samestat(state, os.lstat(path)):
            archive.add_open(name, file, _mode_of(file))
        else:
            archive.add(name, copy, _mode_of(file))


class _Copies:
    """Consistent copies of databases, one file at a time on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def sqlite(self, path: Path) -> Path:
        """A copy that the next one takes the place of; what can't be copied is taken as it is."""
        copy = self._folder / "copy.db"
        try:
            copy_sqlite(path, copy)
        except sqlite3.Error:
            return path
        return copy

    def anchor(self, file: Path) -> Path | None:
        """The audit log's newest hash; None: there is none. Taken before the database, whose copy
        then has its row: one that is newer than the copy would tell of rows cut off."""
        copy = self._folder / ANCHOR
        try:
            shutil.copyfile(file, copy)
        except FileNotFoundError:
            return None
        return copy

    def bare(self, path: Path, clean: Callable[[str], str]) -> Path:
        """A small text without its secrets; what is none is taken as it is."""
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return path
        bare = without_secrets(text, clean) if path.suffix == ".toml" else clean(text)
        if bare == text:
            return path
        copy = self._folder / "bare"
        copy.write_text(bare, encoding="utf-8")
        return copy

    def database(self, url: URL, *, secrets: bool) -> tuple[str, Path]:
        """The database's version, and its copy. secrets: with what bots keep there; in SQLite they
        keep none. Raises ConfigError."""
        if url.get_backend_name() != "sqlite":
            return HEAD, self._dumped(url, () if secrets else (WITHOUT_KEYS,))
        path, copy = Path(url.database or ""), self._folder / "moot.db"
        if not path.is_file():
            raise ConfigError(f"{path}: there is no database yet; start Moot once")
        copy_sqlite(path, copy)
        with closing(sqlite3.connect(copy)) as connection:
            [(found,)] = connection.execute("SELECT version_num FROM alembic_version")
        return str(found), copy

    def _dumped(self, url: URL, options: Sequence[str]) -> Path:
        program = shutil.which("pg_dump")
        if program is None:
            raise ConfigError(
                "[store] url names PostgreSQL, and there is no pg_dump on PATH: install "
                "PostgreSQL's client programs, or back the database up by its own means"
            )
        dump = self._folder / "database.dump"
        plain = url.set(drivername="postgresql", password=None)
        given = {"PGPASSWORD": url.password} if url.password else {}
        result = subprocess.run(
            [program, "--format=custom", f"--file={dump}", *options, plain.render_as_string()],
            env={"PATH": os.path.dirname(program), "LANG": "C.UTF-8", **given},
            capture_output=True,
            encoding="utf-8",
            timeout=_DUMP_S,
            check=False,
        )
        if result.returncode:
            last = (result.stderr.strip().splitlines() or ["it failed"])[-1]
            raise ConfigError(f"pg_dump made no backup: {last}")
        return dump


def _files(
    config: Config, file: Path, wanted: BackupOptions, url: URL
) -> Iterator[tuple[str, Path]]:
    """Each file's name in the archive, and where it is."""
    if file.is_file():
        yield CONFIG_NAME, file
    secrets = file.parent / ENV_NAME
    if wanted.secrets and secrets.is_file():
        yield ENV_NAME, secrets
    for path in sorted(config.gateway.personas_folder.glob("*.md")):
        if path.is_file():
            yield f"personas/{path.name}", path
    yield from _data_files(config.gateway.data_dir, Path(url.database or "").absolute(), wanted)


def _data_files(data: Path, database: Path, wanted: BackupOptions) -> Iterator[tuple[str, Path]]:
    """The files of the data folder. database: left out, its copy goes in by itself."""
    logins = {login for profile in profiles().values() for login in profile.setup.logins}
    for path in _below(data):
        parts = path.relative_to(data).parts
        if path.absolute() == database or _is_passing(parts):
            continue
        if parts[0] in SCOPES and not wanted.scopes:
            continue
        if not wanted.secrets and _is_secret(parts, logins):
            continue
        yield f"data/{'/'.join(parts)}", path


def _is_passing(parts: tuple[str, ...]) -> bool:
    """True for what only the running process needs, and for backups themselves."""
    if parts[0] in (LOCK_NAME, ADDRESS, FOLDER) or parts[0].startswith(_NOT_KEPT):
        return True
    if parts[:2] == ("memory", "minilm"):  # one command fetches it again
        return True
    return parts[-1].endswith(("-wal", "-shm", "-journal"))


def _is_secret(parts: tuple[str, ...], logins: set[str]) -> bool:
    if parts == (AGREED,):  # digests of moot.env's
        return True
    if parts[0] in ("bots", OWNER_SECRET):
        return parts[-1] in {*SECRET_FILES, OWNER_SECRET}
    login = any("/".join(parts).endswith(f"/{login}") for login in logins)
    return parts[0] in SCOPES and (login or _LOGIN_LIKE.search(parts[-1]) is not None)


def _below(folder: Path) -> Iterator[Path]:
    """Every plain file below it; links are neither kept nor followed. An agent may have made
    folders that no path reaches."""
    for here, folders, names in os.walk(folder):
        folders.sort()
        if len(Path(here).parts) > DEEPEST:
            log.warning("backup.left_out", file=here[:200], reason="it lies too deep")
            folders.clear()
        for name in sorted(names):
            path = Path(here, name)
            with suppress(OSError):
                if stat.S_ISREG(path.lstat().st_mode):
                    yield path


def _version() -> str:
    try:
        return version("moot")
    except PackageNotFoundError:
        return "unknown"


async def back_up_daily(
    config: Config,
    at: datetime,
    clean: Callable[[str], str] = str,
    told: Callable[[str], None] = lambda fault: None,
) -> None:
    """One of those that Moot makes by itself; the oldest go. A failure is a line in the log.

    told: the reason of a failure; "": it was made.
    """
    target = default_file(config, at)
    wanted = BackupOptions(scopes=config.backup.scopes, clean=clean)
    file = config.file or config.gateway.data_dir.parent / "moot.toml"
    try:
        await asyncio.to_thread(_check_room, config, wanted)
        made = await asyncio.to_thread(back_up, config, file, target, wanted, at)
    except ConfigError as error:
        log.error("backup.failed", reason=error.say)
        told(error.say)
        return
    told("")
    log.info("backup.made", file=target, files=len(made.files), left_out=len(made.left_out))
    for old in newest_first(target.parent)[config.backup.keep :]:
        old.unlink(missing_ok=True)


def _check_room(config: Config, wanted: BackupOptions) -> None:
    """Raises ConfigError where the disk would be full with a backup: what is put into it, the copy
    of the database on its way, and as much as Moot needs to go on."""
    data = config.gateway.data_dir
    database = 0 if config.store.url else _size(config.gateway.database_file)
    url = make_url(config.store_url)
    place = Path(url.database or "").absolute()
    needed = 2 * database + sum(_size(path) for _, path in _data_files(data, place, wanted))
    free = shutil.disk_usage(data).free
    if free - needed < KEPT_FREE_BYTES:
        raise ConfigError(
            f"no backup could be made: it may need {needed / 1e9:.1f} GB, and {data} has "
            f"{free / 1e9:.1f} GB free, of which {KEPT_FREE_BYTES / 1e9:.1f} GB stay free; make "
            'room, or set [backup] keep lower, or every = ""'
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # gone meanwhile
        return 0


def newest_first(folder: Path) -> list[Path]:
    """The backups of a folder that bear the default name."""
    return sorted(folder.glob("moot-????????-??????.tar.gz"), reverse=True)
