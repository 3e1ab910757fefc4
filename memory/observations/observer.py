"""The layer "observations" learns from what agents did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path

import structlog
from sqlalchemy import Connection

from contract.errors import ModelError
from memory.layers import AnsweredTurn, EndedSession
from memory.model import ModelOf
from memory.observations.prompts import (
    INSTRUCTIONS,
    OVERVIEW,
    USES_A_CALL,
    overview_prompt,
    plain_overview,
    plain_record,
    plain_session,
    uses_prompt,
)
from memory.observations.records import NewObservation, ParsedRecords, SessionOutline, read_records
from memory.observations.rows import (
    AgentSession,
    add_observation,
    end_session,
    find_session,
    observations_of,
    open_session,
    session_key,
    tell_session,
)
from memory.observations.tool_uses import (
    WaitingUse,
    add_uses,
    lose_withdrawn,
    remove_uses,
    remove_withdrawn,
    waiting_uses,
    worth_reading,
)
from store.database import Store

log = structlog.stdlib.get_logger("moot.memory")

ANSWER_CHARS = 40_000  # more than max_tokens allows; what is longer is no answer of a model
CALLS_A_TURN = 5  # of 40 uses each: all that can wait
OVERVIEW_OF = 60  # observations


class Observer:
    """Uses of tools wait on disk until they are read: by the model, one call a turn, or plainly.

    model: None: plain records. own_workspaces: folder of the workspaces that have no name.
    """

    name = "observations"
    reads_chat = False

    def __init__(
        self,
        store: Store,
        model: ModelOf | None,
        clock: Callable[[], datetime],
        own_workspaces: Path | None = None,
    ) -> None:
        self._store = store
        self._model = model
        self._clock = clock
        self._own_workspaces = own_workspaces
        self._all_read = set[tuple[str, str]]()  # scope and persona; nobody else lets uses wait

    def wants(self, interaction: AnsweredTurn, *, last: bool) -> bool:
        """See Learner."""
        key = (interaction.scope, interaction.persona)
        return bool(interaction.uses) or key not in self._all_read

    async def learn(self, interaction: AnsweredTurn) -> None:
        """Keep the uses, then read all that wait. Raises ModelError: they wait on."""
        uses = worth_reading(interaction.uses)
        scope, persona, at = interaction.scope, interaction.persona, interaction.at
        session_id = interaction.session_id
        if uses:

            def keep(connection: Connection) -> None:
                remove_withdrawn(connection, scope)
                session = open_session(
                    self._store,
                    connection,
                    scope=scope,
                    persona=persona,
                    session_id=session_id,
                    project=interaction.room.project or self._name_of(interaction.workspace),
                    at=at,
                )
                add_uses(
                    connection,
                    uses,
                    scope=scope,
                    persona=persona,
                    session=session.id,
                    turn_id=interaction.turn_id,
                    at=at,
                )

            self._all_read.discard((scope, persona))
            await self._store.write(keep)
        if (scope, persona) not in self._all_read:
            await self._read_waiting(scope, persona, interaction)

    def _name_of(self, workspace: str) -> str:
        """The name of a workspace that somebody configured; "" for one of our own."""
        own = self._own_workspaces
        if not workspace or (own is not None and Path(workspace).is_relative_to(own)):
            return ""
        return Path(workspace).name

    async def _read_waiting(self, scope: str, persona: str, told: AnsweredTurn | None) -> None:
        waiting = await self._store.read(lambda c: waiting_uses(c, scope, persona))
        if not waiting:
            self._all_read.add((scope, persona))
        for uses in self._batches(waiting)[:CALLS_A_TURN]:
            await self._observe(uses, told)

    def _batches(self, waiting: Sequence[WaitingUse]) -> list[list[WaitingUse]]:
        """The uses that are read at once: of one session; without a model, of one turn."""
        plain = self._model is None
        groups = groupby(waiting, key=lambda item: item.turn_id if plain else item.session_id)
        uses = [list(group) for _, group in groups]
        return [g[at : at + USES_A_CALL] for g in uses for at in range(0, len(g), USES_A_CALL)]

    async def _observe(self, uses: Sequence[WaitingUse], told: AnsweredTurn | None) -> None:
        """Turn uses of one session into observations; both happen or none."""
        last = uses[-1]
        session = await self._store.read(lambda c: find_session(c, last.session_id), small=True)
        if session is None:  # forgotten meanwhile, and its uses with it
            await self._store.write(lambda c: remove_uses(c, [item.seq for item in uses]))
            return
        of_turn = told if told is not None and told.turn_id == last.turn_id else None
        workspace = told.workspace if told is not None else ""
        reading = await self._reading(uses, of_turn, session, workspace)
        about = None
        if not session.title and reading.records:
            about = reading.session or plain_session(_request(of_turn), reading.records)

        def work(connection: Connection) -> None:
            if lose_withdrawn(connection, uses):
                return  # the others are read again, without what was forgotten
            if about is not None:
                tell_session(connection, session.id, about)
            for record in reading.records:
                add_observation(connection, session.id, record, turn_id=last.turn_id, at=last.at)
            remove_uses(connection, [item.seq for item in uses])

        await self._store.write(work)

    async def _reading(
        self,
        waiting: Sequence[WaitingUse],
        of_turn: AnsweredTurn | None,
        session: AgentSession,
        workspace: str,
    ) -> ParsedRecords:
        uses = [item.use for item in waiting]
        request, reply = _request(of_turn), of_turn.reply if of_turn else ""
        if self._model is None:
            record = plain_record(uses, request=request, reply=reply, workspace=workspace)
            return ParsedRecords((record,), None, ())
        prompt = uses_prompt(uses, request=request, reply=reply, new_session=session.title is None)
        answer = (
            await self._model(session.scope).complete(system=INSTRUCTIONS, prompt=prompt)
        ).text
        reading = read_records(answer[:ANSWER_CHARS], workspace=workspace)
        if not answer.strip() or (reading.rejected and not reading.records):
            raise ModelError("observations that can't be read", passing=False)
        if reading.rejected:
            log.info("observations.rejected", count=len(reading.rejected))
        return reading

    async def end(self, session: EndedSession) -> None:
        """Read what still waits, then say in 2 or 3 sentences what came of the session."""
        key = session_key(session.persona, session.scope, session.session_id)
        known = await self._store.read(lambda c: find_session(c, key), small=True)
        if known is None or known.ended_at is not None:
            return
        try:
            await self._read_waiting(session.scope, session.persona, None)
        except ModelError as error:
            log.warning("observations.waiting", reason=str(error))
        observed = partial(
            observations_of,
            scopes={session.scope},
            personas={session.persona},
            session=key,
            limit=OVERVIEW_OF,
        )
        found = await self._store.read(observed)
        overview = await self._overview(known, found[::-1]) if found else ""
        now = self._clock()

        def work(connection: Connection) -> None:
            left = observed(connection)
            told = overview if left == found else plain_overview(left[::-1]) if left else ""
            end_session(connection, key, told, now)  # forgotten meanwhile: not in its words

        await self._store.write(work)

    async def _overview(self, session: AgentSession, records: Sequence[NewObservation]) -> str:
        about = SessionOutline(session.title or "", session.subtitle or "")
        if self._model is not None:
            try:
                prompt = overview_prompt(about, records)
                model = self._model(session.scope)
                answer = await model.complete(system=OVERVIEW, prompt=prompt, max_tokens=500)
            except ModelError as error:
                log.warning("observations.no_overview", reason=str(error))
            else:
                told = read_records(answer.text[:ANSWER_CHARS]).session
                if told is not None and told.overview:
                    return told.overview
        return plain_overview(records)


def _request(told: AnsweredTurn | None) -> str:
    return told.text if told is not None else ""
