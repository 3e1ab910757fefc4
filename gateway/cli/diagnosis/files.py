"""Checks the bucket of attachments: a small object is put there, read and deleted again."""

from __future__ import annotations

import asyncio
import secrets

from contract.errors import ConfigError
from gateway.app.file_store import KEY, KEY_ID, open_store
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.core.private_folders import FILES
from gateway.files.store import FileStore, FileStoreFailed
from gateway.files.waiting import waiting_beside
from gateway.settings.connections import FilesTable
from gateway.workers.credentials import FOLDER as KEYS
from gateway.workers.credentials import GATEWAY

WHAT = "attachments"
FOLDER = "moot-doctor"
TRY_S = 20.0
RIGHTS = "PutObject, GetObject, ListBucket and DeleteObject"


async def check_files(of: Installation) -> list[Finding]:
    """The bucket, and what waits for it."""
    table = of.config.files
    key_file = of.config.gateway.data_dir / KEYS / f"{GATEWAY}.nk"
    if table.store == "file" or (table.store == "nats" and not key_file.exists()):
        return []  # the check of the broker says that there is no key
    try:
        async with asyncio.timeout(TRY_S), open_store(of.config, of.environment) as store:
            assert store is not None  # it is for files on this machine alone
            found = await _tried(store, table)
    except ConfigError as error:
        return [Finding("✗", WHAT, error.say)]
    except TimeoutError:
        found = _failed(table, FileStoreFailed("nobody answers", "away"), "")
    waiting = await asyncio.to_thread(waiting_beside(of.config.gateway.data_dir / FILES).names)
    if waiting:
        told = f"{len(waiting)} wait on this disk for the bucket"
        remedy = "they are put there while Moot runs and the bucket takes them"
        return [found, Finding("⚠", WHAT, told, remedy)]
    return [found]


async def _tried(store: FileStore, table: FilesTable) -> Finding:
    name, word = f"{FOLDER}/{secrets.token_hex(8)}", secrets.token_bytes(16)
    doing = "take"
    try:
        await store.put(name, word)
        doing = "give"
        same = await store.get(name) == word
        doing = "list"
        listed = name in await store.list(FOLDER)
        doing = "delete"
        await store.delete([name])
        gone = await store.get(name) is None
    except FileStoreFailed as error:
        return _failed(table, error, doing)
    for well, told in (
        (same, "gives other bytes than it took"),
        (listed, "does not list what it holds"),
        (gone, "still gives what was deleted"),
    ):
        if not well:
            return Finding("✗", WHAT, f"{_bucket(table)} {told}", "use another one")
    return Finding("✓", WHAT, f"{_bucket(table)} takes, gives, lists and deletes a file")


def _bucket(table: FilesTable) -> str:
    return f"the bucket {table.bucket}" if table.store == "s3" else "the broker's bucket"


def _failed(table: FilesTable, error: FileStoreFailed, doing: str) -> Finding:
    bucket = _bucket(table)
    if error.fault == "missing":
        remedy = "make it, or correct `bucket` under [files]"
        return Finding("✗", WHAT, f"there is no bucket {table.bucket}", remedy)
    if error.fault == "refused":
        remedy = f"its key needs the rights {RIGHTS}: see {KEY_ID} and {KEY}"
        return Finding("✗", WHAT, f"{bucket} refuses to {doing} a file", remedy)
    if error.fault == "away":
        place = "`endpoint` under [files]" if table.store == "s3" else "`nats` under [workers]"
        told = f"{bucket} can't be reached ({error})"
        return Finding("✗", WHAT, told, f"start it, or correct {place}")
    return Finding("✗", WHAT, f"{bucket} does not {doing} a file: {error}", "look at [files]")
