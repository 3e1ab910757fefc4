"""Checks whether the other Mem0s that are read answer. They change nothing there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from contract.errors import ConfigError
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.remembering.indexes import open_sources
from memory.recall.sources.source import MemorySource


async def check_sources(of: Installation) -> list[Finding]:
    """Every [memory.sources.NAME] is asked a question."""
    with TemporaryDirectory() as folder:
        async with open_sources(of.config, of.environment, Path(folder)) as sources:
            return list(await asyncio.gather(*map(_ask, sources)))


async def _ask(source: MemorySource) -> Finding:
    try:
        await source.answer()
    except ConfigError as error:
        return Finding("✗", "memory", f"{source.name}: {error.say}")
    except Exception as error:  # noqa: BLE001 - any client's own
        text = f"{source.name}: it doesn't answer: {type(error).__name__}"
        return Finding("✗", "memory", text, f"look at [memory.sources.{source.name}], and at it")
    return Finding("✓", "memory", f"{source.name}: it answers")
