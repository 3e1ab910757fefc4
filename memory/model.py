"""The model that works behind the memory: its calls are on record, and never too many at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Protocol
from weakref import WeakValueDictionary

from sqlalchemy import Connection, insert

from contract.agent import Completion, Tool, Usage
from contract.errors import ModelError
from contract.values import dataclass
from store.database import Store
from store.schema import model_calls
from store.timestamps import micros


class Model(Protocol):
    """Answers one question about a conversation. Keeps nothing between calls."""

    name: str  # for people and for the record, e.g. "claude-haiku-4-5"

    async def complete(
        self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
    ) -> Completion:
        """Ask once. With `tool`, the model is made to call it; what came is not yet checked.

        Raises ModelError only.
        """


ModelOf = Callable[[str], Model]
"""The model for a scope: its calls are on record as that scope's."""


AT_ONCE = 2  # in the whole process: learning may take its time, and a key has a rate limit
PAUSE_S = 5.0  # before a second try; doubles. The API's client has already waited for its own
FAULT_CHARS = 200

Called = Callable[[str, str, Usage, float, str | None], object]
"""Told the purpose, the model, what it took, milliseconds, and what went wrong."""


class Calls:
    """Asks the model for every layer, records what it took, and bounds how many ask at once.

    One call a (purpose, scope) and `at_once` in all; the others wait. Recorded are numbers and the
    kind of a fault, never a text of a conversation.
    """

    def __init__(
        self,
        model: Model,
        store: Store,
        clock: Callable[[], datetime],
        *,
        called: Called = lambda purpose, model, usage, ms, fault: None,
        at_once: int = AT_ONCE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """called: told of each call once it is over."""
        self.name = model.name
        self._model = model
        self._store = store
        self._clock = clock
        self._called = called
        self._sleep = sleep
        self._places = asyncio.Semaphore(at_once)
        self._taken: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    def of(self, purpose: str, scope: str) -> Model:
        """A `Model` whose calls are recorded as a layer's, for one scope."""
        return _CallsOf(self, purpose, scope, self.name)

    async def ask(
        self,
        purpose: str,
        scope: str,
        *,
        system: str,
        prompt: str,
        tool: Tool | None = None,
        max_tokens: int = 4096,
        tries: int = 1,
    ) -> Completion:
        """Ask the model. tries: how often at most, when a failure may pass. Raises ModelError."""
        ask = partial(
            self._model.complete, system=system, prompt=prompt, tool=tool, max_tokens=max_tokens
        )
        pause_s = PAUSE_S
        async with self._taken.setdefault((purpose, scope), asyncio.Lock()):
            for left in range(tries - 1, -1, -1):
                try:
                    async with self._places:
                        return await self._recorded(purpose, scope, ask)
                except ModelError as error:
                    if not error.passing or not left:
                        raise
                await self._sleep(pause_s)
                pause_s *= 2
        raise ValueError(f"{tries} tries")

    async def _recorded(
        self, purpose: str, scope: str, ask: Callable[[], Awaitable[Completion]]
    ) -> Completion:
        began = time.perf_counter()
        usage, fault = Usage(self.name), "cancelled"
        try:
            completion = await ask()
            usage, fault = completion.usage, ""
            return completion
        except ModelError as error:
            usage, fault = error.usage or usage, str(error)[:FAULT_CHARS]
            raise
        finally:
            ms = (time.perf_counter() - began) * 1000
            row = {
                "purpose": purpose,
                "scope": scope,
                "model": usage.model,
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cached_tokens": usage.cached_tokens,
                "cost_usd": usage.cost_usd,
                "ms": round(ms),
                "fault": fault or None,
                "at": micros(self._clock()),
            }
            self._store.write_later(partial(_add_call, row=row))
            self._called(purpose, usage.model, usage, ms, fault or None)


def _add_call(connection: Connection, row: dict[str, object]) -> None:
    connection.execute(insert(model_calls), row)


@dataclass(slots=True)
class _CallsOf:
    """See Calls.of."""

    calls: Calls
    purpose: str
    scope: str
    name: str

    async def complete(
        self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
    ) -> Completion:
        """See `Model`."""
        return await self.calls.ask(
            self.purpose,
            self.scope,
            system=system,
            prompt=prompt,
            tool=tool,
            max_tokens=max_tokens,
        )
