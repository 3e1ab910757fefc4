"""Questions that a program asks in mid-turn, put to the room."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import structlog

from adapters.agent import Reply
from adapters.turn_events import HookQuestion
from contract.agent import Question

log = structlog.stdlib.get_logger("moot.adapters.permission")


class RoomQuestions:
    """The questions of one turn that the room has not answered yet."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._open: set[asyncio.Task[int]] = set()
        self.responding = 0  # hooks that wait

    def ask(self, question: Question) -> asyncio.Task[int]:
        """Put it to the room; the task's result is the index of the chosen option."""
        asked = replace(question, id=question.id or secrets.token_hex(8))
        task = asyncio.create_task(self._reply.choose(asked), name=f"question-{asked.id}")
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task

    async def respond(self, asked: HookQuestion) -> Mapping[str, Any]:
        """The response to a hook's questions; a refusal when nobody decided."""
        self.responding += 1
        try:
            while True:
                task = self.ask(asked.question)
                await _finished(task)
                response = asked.responses[chosen(task, asked.question)]
                if not isinstance(response, HookQuestion):
                    return response
                asked = response
        finally:
            self.responding -= 1

    async def close(self) -> None:
        """Withdraw what is open."""
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open)


async def _finished(task: asyncio.Task[int]) -> None:
    """Wait for a task; cancelled, cancel it."""
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()


def chosen(task: asyncio.Task[int], question: Question) -> int:
    """The option that a finished task chose; the refusal when it was withdrawn or failed."""
    if not task.cancelled():
        error = task.exception()
        if error is None and 0 <= task.result() < len(question.options):
            return task.result()
        log.warning("question.not_answered", question=question.id, reason=error)
    return refusal(question)


def refuse(asked: HookQuestion) -> Mapping[str, Any]:
    """The response of the option that says no."""
    response = asked.responses[refusal(asked.question)]
    assert not isinstance(response, HookQuestion)
    return response


def refusal(question: Question) -> int:
    """The option that says no; the last one when none is marked."""
    for index, option in enumerate(question.options):
        if option.refuses:
            return index
    return len(question.options) - 1
