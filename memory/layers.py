"""All layers of the memory together: asked before a turn, told after it."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, fields, replace
from datetime import datetime
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Protocol

import structlog
from sqlalchemy import Exists, select

from contract.agent import ToolUse
from contract.briefing import Fact, Landmark, Note, Observation
from contract.chat import Room, Speaker
from contract.private import has_private
from contract.values import dataclass
from memory.given import NOTHING, GivenText
from memory.pace import LearningPace
from memory.scopes import Invocation
from store.database import Store
from store.together import running

if TYPE_CHECKING:
    from memory.readable import ReadableMessages


log = structlog.stdlib.get_logger("moot.memory")

OWN_TOOLS = "mcp__moot__"  # how an agent's program calls those that read the memory


@dataclass(frozen=True, slots=True)
class BriefRequest:
    """A request for all that the layers have to say before a turn.

    text: the message that triggered. recalls: whether recall may run for it. given: what the
    prompt shows anyway, and what the session was given before; neither need be recalled. covered:
    seq of the last message that the wanted summary has to cover, because the prompt leaves it out;
    0: no summary is wanted. peek: nobody is given it; nothing may change.
    """

    invocation: Invocation
    text: str
    at: datetime
    recalls: bool = True
    given: GivenText = NOTHING
    covered: int = 0
    peek: bool = False


@dataclass(frozen=True, slots=True)
class LayerAnswers:
    """The layers' answers to a request.

    missing: layers that failed or took too long; late: those of them that took too long. ms: how
    long each layer took, in milliseconds.
    """

    recall: tuple[Fact, ...] = ()
    pins: tuple[Note, ...] = ()
    recommendations: tuple[Note, ...] = ()
    landmarks: tuple[Landmark, ...] = ()
    summary: str = ""
    observations: tuple[Observation, ...] = ()
    missing: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    ms: tuple[tuple[str, float], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """A turn that was answered and posted.

    text, reply, uses: a learner gets them without private parts. message_seq: of the message that
    asked. session_id: of the agent's session, "" when it has none; workspace: its
    working directory. compacted: the agent's program compacted its context meanwhile.
    """

    turn_id: str
    scope: str
    room: Room
    persona: str
    sender: Speaker
    text: str
    reply: str
    message_seq: int
    at: datetime
    session_id: str
    workspace: str = ""
    uses: tuple[ToolUse, ...] = ()
    compacted: bool = False


@dataclass(frozen=True, slots=True)
class EndedSession:
    """An agent's session that ended: idle for an hour, or by `!new`."""

    scope: str
    persona: str
    room: Room
    session_id: str


def ends_a_run(interaction: AnsweredTurn, *, last: bool) -> bool:
    """A layer that reads the chat from where it stopped wants these turns: of turns that wait
    together the last, and those in which the agent did something."""
    return last or bool(interaction.uses) or interaction.compacted


class Learner(Protocol):
    """A layer that learns in the background."""

    name: str
    reads_chat: bool
    """It reads the chat itself, and a turn's own texts are nothing to it, but for what its agent
    used."""

    def wants(self, interaction: AnsweredTurn, *, last: bool) -> bool:
        """True if a turn has anything for it; asked first, for its texts are read only then.

        last: no other turn of the scope waits. Its texts are as they were typed: keep nothing.
        """

    async def learn(self, interaction: AnsweredTurn) -> None:
        """Take in a turn. Never two calls at a time for one scope; may be cancelled at any
        moment, and is then asked again with the next turn."""

    async def end(self, session: EndedSession) -> None:
        """Take in that a session ended."""


HELD_S = 1.0  # for the one look at which layers hold anything
SETTLED_S = 20.0  # a model call or two; a person who said !forget waits for it
FRESH_S = 0.5  # a lesson is read again for the next layer when a model took longer than this

Spawn = Callable[[Coroutine[Any, Any, None], str], object]
"""Runs a coroutine in the background as a named task that belongs to somebody."""

About = Callable[[AnsweredTurn | EndedSession], AbstractContextManager[object]]
"""So that log lines and traces tell the turn."""

_Told = tuple[AnsweredTurn | EndedSession, asyncio.Future[None]]


class Source(Protocol):
    """A layer that has something to say for a briefing."""

    name: str
    deadline_s: float

    @property
    def held(self) -> Exists | None:
        """A condition on the rows that it may have for the parameters `home`, `persona`, `sender`
        and `scopes`, which are those behind the gate as a list of JSON: where it does not hold, it
        is not asked. None: it always is."""

    async def brief(self, ask: BriefRequest) -> LayerAnswers:
        """The layer's part of the briefing; the fields of other layers stay empty."""


class Layers:
    """The memory as the middle sees it. learned: told the id of a room that was learned from.

    A layer that fails or takes too long counts as empty. Learning happens in the background, one
    thing at a time a scope, in the order in which it was told.
    """

    def __init__(
        self,
        store: Store,
        sources: Sequence[Source],
        learners: Sequence[Learner],
        slices: ReadableMessages,
        spawn: Spawn,
        learned: Callable[[str], None] = lambda room_id: None,
        *,
        about: About = lambda told: nullcontext(),
        pace: LearningPace | None = None,
    ) -> None:
        """about: what is learned from is worked on within it. pace: None: it is learned from at
        once."""
        self._store = store
        self._about = about
        self._slices = slices
        self._pace = pace
        self._sources = tuple(sources)
        holding = [one.held.label(one.name) for one in sources if one.held is not None]
        self._holding = select(*holding) if holding else None
        self._learners = tuple(learners)
        self._spawn = spawn
        self._learned = learned
        self._waiting: dict[str, deque[_Told]] = {}

    async def brief(self, ask: BriefRequest) -> LayerAnswers:
        """Ask the layers that may have an answer, at once, and join these. Never raises.

        Where two layers fill the same field, as those that recall, theirs are added up.
        """
        empty = await self._empty(ask)
        asked = (source for source in self._sources if source.name not in empty)
        parts = await asyncio.gather(*(_timed(source, ask) for source in asked))
        parts.append(LayerAnswers(ms=tuple((name, 0.0) for name in empty)))
        values: dict[str, Any] = {}
        for name in (one.name for one in fields(LayerAnswers)):
            given = [getattr(part, name) for part in parts if getattr(part, name)]
            if given:
                values[name] = reduce(add, given)
        return LayerAnswers(**values)

    async def _empty(self, ask: BriefRequest) -> Sequence[str]:
        """The names of the layers that hold nothing for it."""
        if (holding := self._holding) is None:
            return ()
        try:
            of = ask.invocation
            where = {"home": of.home, "persona": of.persona, "sender": of.sender_id}
            where["scopes"] = json.dumps(sorted(of.gate.scopes))
            async with asyncio.timeout(HELD_S):
                [row] = await self._store.read(running(holding, where), small=True)
        except Exception:  # the layers' border: each is asked, and says what is wrong
            log.debug("prompt.layers_unread", exc_info=True)
            return ()
        return [name for name, held in row._asdict().items() if not held]

    def remember(self, told: AnsweredTurn | EndedSession) -> asyncio.Future[None]:
        """Learn from a turn, or from a session's end, in the background.

        The future is done when every layer was told, and cancelled when that was broken off.
        """
        learned = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(told.scope, deque())
        waiting.append((told, learned))
        if len(waiting) == 1:
            self._spawn(self._learn(told.scope, waiting), f"memory {told.scope}")
        return learned

    async def _learn(self, scope: str, waiting: deque[_Told]) -> None:
        try:
            await (asyncio.sleep(0) if self._pace is None else self._pace.begin())
            while waiting:
                told, learned = waiting[0]
                with self._about(told):
                    await self._teach(told, last=len(waiting) == 1)
                waiting.popleft()
                if not learned.done():
                    learned.set_result(None)
        finally:
            del self._waiting[scope]
            for _, learned in waiting:
                learned.cancel()

    async def _teach(self, told: AnsweredTurn | EndedSession, *, last: bool) -> None:
        if isinstance(told, AnsweredTurn) and has_private(told.text):
            return
        lessons = _LearnInputs(told, self._slices)
        for learner in self._learners:
            try:
                if isinstance(told, AnsweredTurn) and not learner.wants(told, last=last):
                    continue
                await _tell(learner, lessons)
            except Exception as error:  # a layer's border: the others learn all the same
                kind = type(error).__name__
                log.warning("memory.not_learned", layer=learner.name, error=kind)
                log.debug("memory.not_learned", exc_info=True)
        self._learned(told.room.id)

    async def settled(self, scope: str) -> None:
        """Return once what was told of a scope until now has been learned from; at the latest
        after SETTLED_S."""
        if learning := [learned for _, learned in self._waiting.get(scope, ())]:
            await asyncio.wait(learning, timeout=SETTLED_S)

    def learning(self) -> int:
        """The number of turns and ends that wait to be learned from, including those under way."""
        return sum(map(len, self._waiting.values()))


async def _timed(source: Source, ask: BriefRequest) -> LayerAnswers:
    """A layer's part and how long it took; an empty one, that says so, when it failed."""
    since = time.perf_counter()
    try:
        async with asyncio.timeout(source.deadline_s):
            part = await source.brief(ask)
    except TimeoutError:
        log.warning("prompt.layer_late", layer=source.name)
        part = LayerAnswers(missing=(source.name,), late=(source.name,))
    except Exception as error:  # a layer's border: the turn goes on without it
        log.warning("prompt.layer_failed", layer=source.name, error=type(error).__name__)
        log.debug("prompt.layer_failed", exc_info=True)
        part = LayerAnswers(missing=(source.name,))
    ms = round((time.perf_counter() - since) * 1000, 3)
    return replace(part, ms=((source.name, ms),))


async def _tell(learner: Learner, lessons: _LearnInputs) -> None:
    if isinstance(lessons.told, EndedSession):
        await learner.end(lessons.told)
    elif learner.reads_chat and not lessons.told.uses:
        await learner.learn(lessons.told)
    elif lesson := await lessons.of(lessons.told):
        await learner.learn(lesson)


class _LearnInputs:
    """All that may be learned from a turn: read again when a layer took its time, for the message
    may have been deleted meanwhile."""

    def __init__(self, told: AnsweredTurn | EndedSession, slices: ReadableMessages) -> None:
        self.told = told
        self._slices = slices
        self._lesson: AnsweredTurn | None = None
        self._read_at = float("-inf")

    async def of(self, turn: AnsweredTurn) -> AnsweredTurn | None:
        now = time.monotonic()
        if now - self._read_at > FRESH_S:
            self._lesson, self._read_at = await self._slices.lesson(turn), now
        return self._lesson
