"""Checks whether the database takes what is written."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import get_args

import aiohttp
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from contract.errors import ConfigError
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.core.lock import address_of, holder, reached
from gateway.web.signin.secret import read_secret
from store.database import Store
from store.health import REMEDY, WHY, Refused, StoreRefusal, has_room, refusal_of
from store.versions import look_into

ASKED_S = 5.0


async def check_store(of: Installation) -> list[Finding]:
    """The database, where it takes no writes: a Moot that runs is asked, else it is tried here,
    without changing it."""
    data = of.config.gateway.data_dir
    url = address_of(data)
    if holder(data) is not None and url is not None:
        told = await _asked(data, url, of.environment)
        if told is not None:
            return [_finding(state) for state in get_args(Refused) if state == told]
    try:
        parsed = make_url(of.config.store_url)
    except ArgumentError:  # the configuration's own check says so
        return []
    try:
        if parsed.get_backend_name() == "sqlite":
            await asyncio.to_thread(_try_sqlite, Path(parsed.database or ""), of.config.store_url)
        else:
            await _try_server(of.config.store_url)
    except StoreRefusal as refusal:
        return [_finding(refusal.state, refusal.reason)]
    except ConfigError as error:
        if isinstance(error.__cause__, OSError):  # nobody answers at the address
            return [_finding("away", error.say)]
        return [Finding("✗", "database", error.say)]
    return []


async def _try_server(url: str) -> None:
    """Raises StoreRefusal; ConfigError where it can't be reached."""
    try:
        async with Store.open(url, read_only=True) as store:
            await store.health.look()
            if store.health.trouble is not None:
                raise store.health.trouble
    except ConfigError as error:
        if error.__cause__ is not None:  # else it has no tables of today's Moot yet: a start helps
            raise


def _finding(state: Refused, reason: str = "") -> Finding:
    text = f"{WHY[state]}: {reason}" if reason else WHY[state]
    return Finding("✗", "database", text, REMEDY[state])


async def _asked(data: Path, url: str, environment: Mapping[str, str]) -> str | None:
    """The word of the Moot that runs; "": it has none, or it doesn't answer. None: it stands by,
    and writes nothing."""
    token = read_secret(data) or environment.get("MOOT_TOKEN") or ""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = aiohttp.ClientTimeout(total=ASKED_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=headers) as client,
            client.get(f"{reached(url)}healthz") as answer,
        ):
            told = await answer.json()
            return None if told.get("standby") else str(told.get("detail", {}).get("store", ""))
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return ""


def _try_sqlite(path: Path, url: str) -> None:
    """Look into it, lock it and let go of it again. Raises StoreRefusal, ConfigError."""
    if not path.exists():  # the first start makes it
        return
    look_into(url)
    has_room(path.parent)
    uri = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()
    except sqlite3.Error as error:
        if (refusal := refusal_of(error, remote=False)) is not None:
            raise refusal from error
