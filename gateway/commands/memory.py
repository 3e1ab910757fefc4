"""`!memory`, `!share`, `!unshare` and `!forget`: people look after their own memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import tzinfo

from contract.errors import MootError
from contract.language import phrase, say
from gateway.access.access import Access
from gateway.core.quoting import number_in, quoted
from gateway.sessions.sessions import KeptRecords, Sessions
from gateway.turns.commands import CommandRequest
from memory.owner.commands import MemoryCommands
from memory.owner.forgetting import Forgotten
from memory.owner.owner import Known, Owner
from memory.recall.facts import StoredFact
from memory.scopes import Invocation
from store.rows import StoredMessage
from store.timestamps import day
from store.transcript import Transcript

FACT_CHARS = 300
LISTED = 200
NO_MODEL = phrase(
    "No model works behind my memory (`model` under `[memory]`): I keep "
    "what was said as it was said, and draw no conclusions."
)
OFF = phrase("This conversation is kept out of my memory: nothing that is said here is learned.")


class RememberCommands:
    """Handles them, each for whoever says it and within what may be seen where it is said."""

    def __init__(
        self,
        keeper: MemoryCommands,
        *,
        transcript: Transcript,
        sessions: Sessions,
        access: Access,
        has_model: bool,
        zone: tzinfo,
    ) -> None:
        """zone: in which the dates of facts are told."""
        self._keeper = keeper
        self._transcript = transcript
        self._sessions = sessions
        self._access = access
        self._has_model = has_model
        self._zone = zone

    async def run(self, request: CommandRequest) -> str:
        """Do it; return the reply."""
        asked = request.asked
        if asked.by.kind != "human":
            return ""
        owner = _owner(request)
        argument = request.argument
        try:
            match request.name:
                case "memory":
                    return await self._memory(argument.lower(), owner)
                case "share":
                    return await self._share(argument, owner, asked)
                case "unshare":
                    return await self._unshare(argument, owner)
            return await self._forget(argument, owner, request)
        except MootError as error:
            return error.say

    # ── !memory ─────────────────────────────────────────────────────────────────────────

    async def _memory(self, argument: str, owner: Owner) -> str:
        if argument in ("on", "off"):
            return await self._keep(owner, kept=argument == "on")
        return self._told(await self._keeper.known(owner), owner)

    async def _keep(self, owner: Owner, *, kept: bool) -> str:
        room = owner.at.room
        if room.kind != "dm" and not self._access.is_owner(room, owner.id):
            return say(
                "{owner}, only an owner (`[access] owners`) may say that here.",
                owner=quoted(owner.name, 80),
            )
        await self._keeper.keep(room.id, kept)
        if not kept:
            return say(
                "From now on nothing that is said here reaches my memory. What I "
                "know already stays: see `!memory`, `!forget`."
            )
        if (await self._keeper.known(owner)).excluded:
            return say(
                "This room stays out of my memory: `excluded_rooms` under `[memory]` lists it."
            )
        return say(
            "From now on I remember again what is said here; what was said meanwhile I don't."
        )

    def _told(self, known: Known, owner: Owner) -> str:
        lines = [say(OFF)] if known.excluded or not known.kept else []
        if not known.facts and not known.insights:
            lines.append(say("I know nothing of you here."))
        if known.facts:
            lines.append(say("What I know of you here, {owner}:", owner=quoted(owner.name, 80)))
            lines += [_fact(fact, owner, self._zone) for fact in known.facts[-LISTED:]]
        if (more := len(known.facts) - LISTED) > 0:
            lines.append(say("and {more} older ones", more=more))
        if known.insights:
            lines.append(
                say("My notes for working with you here (they fade; `!forget all` removes them):")
            )
            lines += [f"- {quoted(note.text, FACT_CHARS)}" for note in known.insights]
        if not self._has_model:
            lines += ["", say(NO_MODEL)]
        return "\n".join(lines)

    # ── !share, !unshare ────────────────────────────────────────────────────────────────

    async def _share(self, argument: str, owner: Owner, asked: StoredMessage) -> str:
        first, *rest = argument.split(None, 1) or [""]
        project = first.lower() == "project"
        what = "".join(rest) if project else argument
        fact = await self._shared(what, owner, asked, project=project)
        if fact is None:
            return say(
                "Say what: `!share 12`, `!share <text>`, or `!share` as a reply to your message."
            )
        whom = (
            say("the rooms of project {project}", project=owner.at.room.project)
            if project
            else say("your rooms")
        )
        said = quoted(fact.text, 80)
        return say(
            "Shared as {seq} with {whom}: {said} (`!unshare {seq}` takes it back)",
            seq=fact.seq,
            whom=whom,
            said=said,
        )

    async def _shared(
        self, what: str, owner: Owner, asked: StoredMessage, *, project: bool
    ) -> StoredFact | None:
        if (seq := number_in(what)) is not None:
            return await self._keeper.share_fact(owner, seq, project=project)
        if what:
            return await self._keeper.share_words(
                owner, what, of=asked.seq, said_at=asked.sent_at, project=project
            )
        if asked.reply_to is None:
            return None
        said = await self._transcript.find(owner.at.room.id, asked.reply_to)
        if said is None:
            return None
        return await self._keeper.share_message(owner, said, project=project)

    async def _unshare(self, argument: str, owner: Owner) -> str:
        seq = number_in(argument)
        if seq is None:
            return say("Say which: `!unshare 12`; `!memory` lists them.")
        gone = await self._keeper.unshare(owner, seq)
        if not gone:
            return say("{seq} isn't shared with anybody.", seq=seq)
        return say(
            "Taken back. An agent that was told before may still know it; `!new` begins afresh."
        )

    # ── !forget ─────────────────────────────────────────────────────────────────────────

    async def _forget(self, argument: str, owner: Owner, request: CommandRequest) -> str:
        if argument.lower() == "all":
            return await self._forget_all(owner)
        seq = number_in(argument)
        if seq is None:
            return say("Say which: `!forget 12`, or `!forget all`; `!memory` lists them.")
        done = await self._keeper.forget(owner, seq)
        lines = [_forgotten(done)]
        room = request.turn.room
        known = [await self._sessions.known(one, request.key(one), room) for one in request.here]
        if any(known):
            lines.append(say("The agent's own session may still know it; `!new` begins another."))
        return " ".join(lines)

    async def _forget_all(self, owner: Owner) -> str:
        gone = await self._keeper.forget_all(owner)
        facts = say("1 fact") if gone == 1 else say("{gone} facts", gone=gone)
        if not owner.alone:
            return say(
                "Forgotten: {facts} about you, and my notes on you here. What you "
                "said here until now won't be learned from again. What was made from "
                "several people's words stays, and so do pins and the transcript; "
                "the agent's own session may still know it, `!new` begins another.",
                facts=facts,
            )
        kept = await self._sessions.forget(owner.home)
        told = say(
            "Forgotten: {facts}, and every note, summary, pin and observation of "
            "this conversation; the agent's next turn begins a new session. The "
            "transcript and the record of past turns stay, and won't be learned "
            "from again.",
            facts=facts,
        )
        return " ".join([told, *_records_kept(kept)])


def _forgotten(done: Forgotten) -> str:
    """What went, and what stays."""
    numbers = ", ".join(map(str, done.facts))
    shared = say(", and {copies} shared or replaced", copies=done.copies) if done.copies else ""
    rows = say("1 row") if done.reworded == 1 else say("{reworded} rows", reworded=done.reworded)
    where = say(", and its words in {rows} of summaries, notes and observations", rows=rows)
    told = where if done.reworded else ""
    pins = ", ".join(map(str, done.pins))
    kept = say(", and so does what is pinned (`!unpin` {pins})", pins=pins) if pins else ""
    return say(
        "Forgotten: {numbers}{shared}{told}. The message stays in the "
        "transcript{kept}, and won't be learned from again.",
        numbers=numbers,
        shared=shared,
        told=told,
        kept=kept,
    )


def _records_kept(kept: KeptRecords) -> list[str]:
    """A sentence on what programs recorded of a conversation, or more of what goes later."""
    lines: list[str] = []
    if kept.working:
        lines.append(say("An agent still works here: its own record goes when it has ended."))
    if kept.places:
        places = ", ".join(place or say("the broker") for place in kept.places)
        lines.append(
            say("Its own record is not gone yet from {places}: it goes there later.", places=places)
        )
    return lines or [say("Its own record of it is gone, too.")]


def _owner(request: CommandRequest) -> Owner:
    """The asker and their place: a room's project, else the persona's own."""
    turn, by = request.turn, request.asked.by
    persona = next((p for p in request.here if p.name == turn.persona), None)
    project = turn.room.project or (persona.front.project if persona else None)
    return Owner(Invocation(replace(turn.room, project=project), by.id, turn.persona), by.name)


def _fact(fact: StoredFact, owner: Owner, zone: tzinfo) -> str:
    about = [fact.kind, day(fact.said_at, zone), fact.origin]
    if fact.kind == "project":
        about = [say("project memory")]
    if fact.scope == owner.profile:
        about.append(say("shared"))
    told = ", ".join(quoted(part, 80) for part in about if part)
    return f"- {fact.seq}: {quoted(fact.text, FACT_CHARS)} ({told})"
