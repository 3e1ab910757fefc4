"""Questions that a program asks in mid-turn, put to the room."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from adapters.agent import Reply
from adapters.profiles.profile import Asked, Profile, State
from adapters.screen import Screen
from adapters.sight import question_on
from contract import Option, Question

log = logging.getLogger("moot.adapters.permission")

DRAWN_S = 1.5  # from a state that tells of a prompt to a prompt that can be read
AGAIN_S = 5.0  # a prompt that still stands so long after it was answered is asked again


class Asking:
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

    async def respond(self, asked: Asked) -> Mapping[str, Any]:
        """The response to a hook's questions; a refusal when nobody decided."""
        self.responding += 1
        try:
            while True:
                task = self.ask(asked.question)
                await _finished(task)
                response = asked.responses[chosen(task, asked.question)]
                if not isinstance(response, Asked):
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
        log.warning("the question %s was not answered: %r", question.title, error)
    return refusal(question)


def refuse(asked: Asked) -> Mapping[str, Any]:
    """The response of the option that says no."""
    response = asked.responses[refusal(asked.question)]
    assert not isinstance(response, Asked)
    return response


def refusal(question: Question) -> int:
    """The option that says no; the last one when none is marked."""
    for index, option in enumerate(question.options):
        if option.refuses:
            return index
    return len(question.options) - 1


class ScreenPrompt:
    """The permission prompt that may stand on the screen.

    stands: whether one was there at the last look. `wake` is called when the room decided.
    """

    def __init__(self, profile: Profile, asking: Asking, wake: Callable[[], None]) -> None:
        self.stands = False
        self._profile = profile
        self._asking = asking
        self._wake = wake
        self._time = asyncio.get_running_loop().time
        self._question: Question | None = None
        self._task: asyncio.Task[int] | None = None
        self._since = self._answered = 0.0
        self._by_hook = False
        self._unreadable = Question(
            "",
            f"{profile.title} asks for permission in its terminal",
            "",
            (Option("Allow"), Option("Refuse", refuses=True)),
        )

    def asked_by_hook(self) -> None:
        """The prompt on the screen is one that a hook asks about already."""
        self._by_hook = True

    def decided(self) -> bool:
        """Whether the room's answer waits to be pressed, or something must be looked at again."""
        return (self._task is not None and self._task.done()) or self.stands

    def see(self, screen: Screen, text: str, state: State | None) -> bytes:
        """Look at the screen; ask the room; return the keys of its answer when it is there."""
        permission = self._profile.permission
        if permission is None:
            return b""
        question = None
        if permission.pattern.search(text) or state == "blocked":
            question = question_on(screen, self._profile)
        if question is None and state == "blocked":
            question = self._unreadable
        if question is None or not _same(question, self._question):
            self._withdraw()
            self._question, self._since = question, self._time()
        self.stands = question is not None
        if question is None:
            self._by_hook = self._by_hook and self._asking.responding > 0  # not drawn yet
            return b""
        return self._proceed(question, permission.late_s)

    def _proceed(self, question: Question, late_s: float) -> bytes:
        now = self._time()
        if self._task and self._task.done():
            index = chosen(self._task, question)
            self._task, self._answered = None, now
            return self._keys(question, index)
        waits = late_s if self._profile.signs.hooks else 0.0
        if self._profile.permission:
            waits = max(waits, self._profile.permission.settle_s)
        if question is self._unreadable:  # it may not be drawn yet
            waits = max(waits, DRAWN_S)
        if self._task or self._by_hook or now < self._since + waits:
            return b""
        if now >= self._answered + AGAIN_S or not self._answered:
            self._task = self._asking.ask(question)
            self._task.add_done_callback(lambda _: self._wake())
        return b""

    def _withdraw(self) -> None:
        if self._task:
            self._task.cancel()
        self._task, self._answered = None, 0.0

    def _keys(self, question: Question, index: int) -> bytes:
        permission = self._profile.permission
        assert permission
        if question is self._unreadable and index:
            return permission.refuse
        if index < len(permission.keys):
            return permission.keys[index]
        return str(index + 1).encode()


def _same(one: Question, other: Question | None) -> bool:
    return other is not None and replace(one, id="") == replace(other, id="")
