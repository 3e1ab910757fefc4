"""Opens the store, the index and the model for one command of `moot memory`, and runs it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TextIO

from gateway.cli.command_line import configured
from gateway.cli.memory.context import MemoryContext
from gateway.cli.memory.delete_person import delete_person
from gateway.cli.memory.forget import forget, wipe_all
from gateway.cli.memory.index import check, consolidate, rebuild
from gateway.cli.memory.lists import list_facts, list_scopes, search
from gateway.cli.memory.transfer import export_all, import_all
from gateway.core.private_folders import make_data_folder
from gateway.remembering.indexes import OpenIndex, open_configured
from gateway.remembering.models import open_model
from gateway.settings.config import Config
from memory.model import Model
from store.database import Store

COMMANDS: Mapping[str, Callable[[MemoryContext], Awaitable[int]]] = {
    "list": list_facts,
    "scopes": list_scopes,
    "search": search,
    "export": export_all,
    "import": import_all,
    "forget": forget,
    "wipe": wipe_all,
    "delete-person": delete_person,
    "rebuild": rebuild,
    "check": check,
    "consolidate": consolidate,
}


async def look_after(
    given: argparse.Namespace,
    *,
    environment: Mapping[str, str],
    open_index: OpenIndex = open_configured,
    model: Model | None = None,
    out: TextIO | None = None,
) -> int:
    """Do what the command line says; return the exit code. Raises MootError.

    model: instead of the configured one.
    """
    config = configured(given)
    make_data_folder(config.gateway.data_dir)
    async with (
        Store.open(config.store_url) as store,
        open_index(config) as index,
        _model(config, environment, given.command) as own_model,
    ):
        on = MemoryContext(config, store, index, model or own_model, given, out=out or sys.stdout)
        try:
            return await COMMANDS[given.command](on)
        finally:
            on.out.flush()


def _model(
    config: Config, environment: Mapping[str, str], command: str
) -> AbstractAsyncContextManager[Model | None]:
    """The configured model, for the one command that asks it."""
    return open_model(config, environment) if command == "consolidate" else nullcontext()
