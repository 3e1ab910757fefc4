"""An agent's permission questions: asked in the room, answered once, by those allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from secrets import token_hex
from typing import TypedDict

import structlog

from bots.bot import Bot
from bots.kit.questions import ALONE, refused_markdown, unowned_markdown
from bots.kit.recent import Recent
from contract.agent import GONE, Question
from contract.chat import Chosen, Destination, Inbound, Room, Speaker, persona_speaker
from contract.errors import MootError, PlatformError, Rejected
from contract.language import later, say
from gateway.access.access import Access
from gateway.audit.audit import Audit
from gateway.core.events import Publish, QuestionAsked, QuestionClosed
from gateway.core.ledger import Turn
from gateway.core.quoting import quoted
from gateway.core.sql_ledger import SqlLedger
from gateway.core.views import OpenQuestion
from gateway.questions.ballot import Ballot
from gateway.questions.open_question import PendingQuestion, all_stand, label, refusing, told
from gateway.questions.posts import QuestionPosts
from gateway.questions.replies import Choice, line_of
from gateway.questions.typed import Refusal, TypedChoice, codes, meant
from gateway.settings.access import EVERYBODY
from gateway.settings.danger import Danger

log = structlog.stdlib.get_logger("moot.questions")

REMEMBERED = 500  # closed questions, and people who were told something
NAME_CHARS = 80


class Questions:
    """The questions that wait for an answer, of all rooms. name_of: gives an account's name."""

    def __init__(
        self,
        *,
        ledger: SqlLedger,
        access: Access,
        audit: Audit,
        publish: Publish,
        clock: Callable[[], datetime],
        timeout_s: float,
        clean: Callable[[Question], Question] = lambda question: question,
        decided: Callable[[str], None] = lambda how: None,
    ) -> None:
        """clean: takes secrets out of a question. decided: told how each ended: a word."""
        self._clean = clean
        self._counted = decided
        self._ledger = ledger
        self._posts = QuestionPosts(ledger)
        self._access = access
        self._audit = audit
        self._publish = publish
        self._clock = clock
        self._timeout_s = timeout_s
        self._danger = cache(partial(Danger.of, access.table.dangerous))  # forty patterns
        self._open: dict[str, PendingQuestion] = {}
        self._closed: Recent[str, PendingQuestion] = Recent(REMEMBERED)
        self._told: Recent[tuple[str, str, str], None] = Recent(REMEMBERED)
        self._codes = codes()
        self.name_of: Callable[[str], str] = str

    # ── Asking ──────────────────────────────────────────────────────────────────────────

    async def ask(
        self,
        question: Question,
        turn: Turn,
        bot: Bot,
        place: Destination,
        workspace: Path | None = None,
    ) -> int:
        """Ask the room and wait; the index of the chosen option. Refuses when nobody answers."""
        question = self._clean(question)
        known = question.id in self._open or question.id in self._closed
        if known or await self._posts.were_made(turn, question):
            question = replace(question, id=token_hex(8))  # an answer to the one before is none
        danger = await asyncio.to_thread(lambda: self._danger().reason(question, workspace))
        why = self._why_two(turn, danger)
        if not self._access.has_approvers(turn.room, turn.persona):
            asker = await self._ledger.asker_of(turn.message_seq)
            question = replace(question, note=unowned_markdown(asker))
        elif why is not None and self._is_alone(turn):
            return await self._refuse_at_once(question, turn, bot, place)
        now = self._clock()
        refuses = [i for i, option in enumerate(question.options) if option.refuses]
        entry = PendingQuestion(
            question,
            turn,
            bot,
            place,
            at=now,
            expires_at=now + timedelta(seconds=self._timeout_s),
            ballot=Ballot(1 if why is None else 2, refuses or [refusing(question)]),
            why=why,
            danger=danger,
            code=next(self._codes),
        )
        entry.beside(self._open.values())
        self._open[question.id] = entry
        self._note(entry, "ask", persona_speaker(turn.persona), two=why is not None, why=why)
        return await self._wait(entry)

    async def _wait(self, entry: PendingQuestion) -> int:
        """Show it, wait for its answer, and have it on disk before anybody acts on it."""
        chosen, by, reason = refusing(entry.question), None, "stopped"
        self._publish(QuestionAsked(entry.card(self._access, self.name_of)))
        showing = asyncio.create_task(self._posts.show(entry), name=f"question {entry.question.id}")
        try:
            async with asyncio.timeout(self._timeout_s):
                chosen, by, via = await entry.answer
            reason = "answered"
        except TimeoutError:
            reason = "timeout"
        except asyncio.CancelledError as error:
            reason = GONE if GONE in error.args else reason
            raise
        finally:
            del self._open[entry.question.id]
            self._closed[entry.question.id] = entry
            entry.close()
            shown = by.proven if by else None
            self._counted(reason)
            self._publish(
                QuestionClosed(
                    entry.turn.room.id, entry.question.id, chosen if by else None, shown, reason
                )
            )
            try:
                if by is None:
                    await self._record_lapse(entry.turn, entry.question, chosen, reason, reason)
                else:
                    await self._record_answer(entry, chosen, by, via)
            finally:
                await self._posts.close(entry, showing, chosen, shown, reason)
        return chosen

    def _why_two(self, turn: Turn, danger: str | None) -> str | None:
        """The reason why two people must allow it; None: one may."""
        match self._access.second_person(turn.persona):
            case "never":
                return None
            case "always":
                return "always"
        return danger

    def _is_alone(self, turn: Turn) -> bool:
        """True if two people can't agree here, as only one of those who may answer is there."""
        who = self._access.approvers(turn.room, turn.persona)
        if turn.room.source == "web":  # only accounts of the page are proven to be two people
            accounts = self._access.page_users
            who = accounts if EVERYBODY in who else who & accounts
        return EVERYBODY not in who and len(who) < 2

    async def _refuse_at_once(
        self, question: Question, turn: Turn, bot: Bot, place: Destination
    ) -> int:
        refusal = refusing(question)
        self._counted("policy")
        await self._record_lapse(turn, question, refusal, "policy", "alone")
        line = refused_markdown(question, turn.persona, say(ALONE))
        await self._posts.tell(turn, question, bot, place, line)
        return refusal

    # ── On record ───────────────────────────────────────────────────────────────────────

    async def _record_answer(
        self, entry: PendingQuestion, chosen: int, by: Speaker, via: str
    ) -> None:
        """Both rows in one commit, whoever breaks off the wait for them; whichever fails, the agent
        is told no."""
        noted = self._audit.note(
            "answer",
            by,
            **_where(entry.turn),
            **told(entry.question),
            option=label(entry.question, chosen),
            allowed=chosen not in entry.ballot.refusing,
            via=via,
        )
        decided = self._decided(entry.turn, entry.question, chosen, by.proven.id)
        await asyncio.shield(asyncio.gather(noted, decided))

    async def _record_lapse(
        self, turn: Turn, question: Question, chosen: int, by: str, reason: str
    ) -> None:
        noted = self._audit.note(
            "lapse", persona_speaker(turn.persona), **_where(turn), **told(question), reason=reason
        )
        decided = self._decided(turn, question, chosen, by)
        await asyncio.shield(asyncio.gather(noted, decided))

    async def _decided(self, turn: Turn, question: Question, chosen: int, by: str) -> None:
        chosen_label = question.options[chosen].label
        await self._ledger.decide(turn.id, question.title, chosen_label, by, self._clock())
        log.info("question.decided", turn=turn.id, option=chosen, by=by)

    def _note(
        self, entry: PendingQuestion, act: str, by: Speaker, **detail: str | int | bool | None
    ) -> None:
        """On disk before whatever is written next."""
        self._audit.note_later(act, by, **_where(entry.turn), **told(entry.question), **detail)

    # ── Answering ───────────────────────────────────────────────────────────────────────

    def choose(
        self,
        question_id: str,
        option: int,
        by: Speaker,
        *,
        digest: str | None = None,
        via: str = "room",
        room: Room | None = None,
    ) -> Choice:
        """Answer a question. Raises Rejected when it has no such option.

        digest: of what the button stood under, see `Question.digest`; None: it was typed. via: for
        the audit log. room: where it was pressed, as far as that is told. What a program brings
        came with an owner's token, whoever it names.
        """
        entry = self._open.get(question_id)
        if entry is None:
            return self._too_late(question_id, option, by, room)
        if not 0 <= option <= (most := len(entry.question.options) - 1):
            raise Rejected("option", later("must be {least} to {most}", least=0, most=most))
        room, persona = entry.turn.room, entry.turn.persona
        if by.kind == "bot" or not (by.through or self._access.may_approve(room, by, persona)):
            self._deny(entry, by, option)
            return "forbidden"
        if digest is not None and digest != entry.question.digest:
            self._deny(entry, by, option, reason="changed")
            return "changed"
        if entry.answer.done():
            return self._too_late(question_id, option, by, room)
        if entry.ballot.wants_people(option) and by.through is not None:
            self._deny(entry, by, option, reason="token")
            return "token"
        return self._vote(entry, option, by, via)

    def _vote(self, entry: PendingQuestion, option: int, by: Speaker, via: str) -> Choice:
        """Count the choice of somebody who may make it."""
        lost = self._withdraw_votes(entry)
        entry.voters[by.id] = by
        match entry.ballot.choose(option, by.id):
            case "decided":
                entry.answer.set_result((option, by, "api" if by.through else via))
                return "taken"
            case "waits":
                self._agreed(entry, option, by, via)
        return "alone" if lost else "agreed"

    def _too_late(self, question_id: str, option: int, by: Speaker, room: Room | None) -> Choice:
        """Note that it answers nothing: once for each person and question."""
        entry = self._entry(question_id)
        if entry is None:
            if self._is_first("unknown there", question_id, by):
                self._audit.note_later(
                    "deny", by, room=room, question=question_id, option=option, reason="unknown"
                )
            return "unknown"
        self._deny(entry, by, option, reason="closed")
        return "closed"

    def _withdraw_votes(self, entry: PendingQuestion) -> bool:
        """Count those no more who agreed when they still might; True if there was one."""
        room, persona = entry.turn.room, entry.turn.persona
        lost = [v for v in entry.voters.values() if not self._access.may_approve(room, v, persona)]
        for voter in lost:
            del entry.voters[voter.id]
            option = entry.ballot.withdraw(voter.id)
            self._note(entry, "deny", voter, option=option, reason="role")
            if entry.agreed is not None and entry.agreed[1].id == voter.id:
                entry.agreed = None
        return bool(lost)

    def _deny(self, entry: PendingQuestion, by: Speaker, option: int, **why: str) -> None:
        """Note a refused answer: once for each person, question and reason."""
        if self._is_first(f"denied {why}", entry.question.id, by):
            self._note(entry, "deny", by, option=option, **why)

    async def choose_typed(self, typed: TypedChoice) -> str:
        """Answer the question that was meant; the reply, in Markdown. Raises Rejected."""
        by, replied = typed.message.by, typed.message.reply_to
        if replied and (gone := await self._asked_by(replied)) and self._entry(gone) is None:
            return self.reply(self._too_late(gone, typed.option, by, typed.room), gone, by)
        await all_stand([e for e in self._open.values() if typed.awaits(e)])
        found = meant(typed, tuple(self._open.values()), tuple(self._closed.values()))
        if found is None:
            return say("Nothing is being asked here.")
        if isinstance(found, Refusal):
            for entry in found.about:
                self._deny(entry, by, typed.option, reason=found.why)
            return found.line(typed, quoted(by.name, NAME_CHARS))
        question_id = found.question.id
        return self.reply(self.choose(question_id, typed.option, by), question_id, by)

    def turned_away(self, inbound: Inbound, option: int) -> None:
        """Note the typed choice of somebody who may ask nothing here: it is refused."""
        for entry in self._open.values():
            is_one = 0 <= option < len(entry.question.options)
            if is_one and entry.is_seen_in(inbound.room.id, inbound.thread_id):
                self._deny(entry, inbound.meta.speaker(), option)

    def _agreed(self, entry: PendingQuestion, option: int, by: Speaker, via: str) -> None:
        """One of two people allowed it."""
        self._note(entry, "agree", by, option=label(entry.question, option), via=via)
        entry.agreed = entry.agreed or (option, by)
        entry.moved.set()
        self._publish(QuestionAsked(entry.card(self._access, self.name_of)))

    def reply(self, choice: Choice, question_id: str, by: Speaker) -> str:
        """The line for somebody who chose, in Markdown: once each; "": nothing."""
        if by.kind == "bot":
            return ""
        line = line_of(choice, quoted(by.name, NAME_CHARS))
        return line if self._is_first(choice, question_id, by) else ""

    async def pressed(self, event: Chosen, bot: Bot) -> None:
        """Somebody pressed a button, or a reaction that stands for one. Raises LeadLost."""
        await self._ledger.sure_to_lead()
        question_id, by = event.question_id, event.by
        question_id = question_id or await self._asked_by(event.post_id) or ""
        if not question_id:
            return  # a digit under another post
        try:
            digest = event.digest if event.question_id else None  # its post proves it
            choice = self.choose(question_id, event.option, by, digest=digest, room=event.room)
        except MootError as error:
            log.info("question.bad_choice", reason=str(error))
            return
        if choice == "agreed" or not (line := self.reply(choice, question_id, by)):
            return
        entry = self._entry(question_id)
        known = entry if not event.is_private else None
        bot, place = (known.bot, known.place) if known else (bot, event.place)
        if place is None:
            return
        log.info("question.replied", choice=choice, by=by.id)
        key = f"{entry.turn.id if entry else ''}:{question_id}:{choice}:{by.id}"
        try:
            await bot.post(place, line, key)
        except PlatformError as error:
            log.info("question.not_told", by=by.id, reason=str(error))

    async def _asked_by(self, post_id: str) -> str | None:
        """The id of the question that a post asked, also before the start; None: it asked none."""
        every = (*self._open.values(), *self._closed.values())
        known = (entry.question.id for entry in every if post_id in entry.all_ids)
        return next(known, None) or await self._ledger.question_of(post_id)

    def _entry(self, question_id: str) -> PendingQuestion | None:
        return self._open.get(question_id) or self._closed.get(question_id)

    def _is_first(self, what: str, question_id: str, by: Speaker) -> bool:
        key = (what, question_id, by.id)
        known = key in self._told
        self._told[key] = None
        return not known

    # ── What is open ────────────────────────────────────────────────────────────────────

    def open_in(self, room_id: str) -> list[OpenQuestion]:
        """The questions that wait in a room, oldest first."""
        return [one for one in self.all_open() if one.room_id == room_id]

    def all_open(self) -> list[OpenQuestion]:
        """The questions that wait in any room, oldest first."""
        return [entry.card(self._access, self.name_of) for entry in self._open.values()]

    async def close_left(self, turn: Turn, bot: Bot, place: Destination) -> None:
        """Close what an earlier process asked in a turn that is taken up again."""
        by, where = persona_speaker(turn.persona), _where(turn)
        for question_id in await self._posts.close_left(turn, bot, place):
            self._audit.note_later("lapse", by, **where, reason="restart", question=question_id)


class _Where(TypedDict):
    persona: str
    room: Room
    turn_id: str


def _where(turn: Turn) -> _Where:
    return {"persona": turn.persona, "room": turn.room, "turn_id": turn.id}
