"""`moot mcp --scope`: an administrator looks into one scope of the database, reading only."""

from __future__ import annotations

from contract.errors import ConfigError
from gateway.mcp.server import serve_stdio
from gateway.mcp.tools import MemoryTools, SessionTools
from gateway.settings.config import Config
from memory.observations.work_log import WorkLog, WorkReader
from memory.scopes import Gate, ScopeError, check_scope
from store.database import Store


async def serve_database(config: Config, persona: str | None, scope: str) -> None:
    """Serve one scope on stdio. persona: None: everybody's work. Raises ConfigError."""
    try:
        gate = Gate(frozenset({check_scope(scope)}))
    except ScopeError as error:
        raise ConfigError(f"--scope: {error}") from None
    reader = WorkReader(gate, None if persona is None else frozenset({persona}))
    async with Store.open(config.store_url, read_only=True) as store:
        tools = MemoryTools(WorkLog(store), None, config.gateway.zone)
        await serve_stdio(SessionTools(tools, lambda: reader))
