"""`!pin` and its kin, `!unpin`, `!landmarks`."""

from __future__ import annotations

from contract.language import phrase, say
from gateway.core.ledger import Turn
from gateway.core.quoting import number_in, quoted
from gateway.core.reading import Pin, reading_of
from gateway.turns.commands import CommandRequest
from memory.landmarks import Landmarks, NewLandmark
from memory.readable import ReadableMessages
from store.rows import StoredMessage
from store.transcript import Transcript

ECHOED_CHARS = 80
LISTED_CHARS = 200
MOST = 20  # of one message
HOW = phrase("Say what: `!pin <text>`, or `!pin` as a reply to a message.")
KEPT_OUT = phrase("That is kept out of memory, so I don't pin it.")


class PinCommands:
    """Handles them, for people; a bot's words pin nothing."""

    def __init__(
        self, landmarks: Landmarks, slices: ReadableMessages, transcript: Transcript
    ) -> None:
        self._landmarks = landmarks
        self._slices = slices
        self._transcript = transcript

    async def run(self, request: CommandRequest) -> str:
        """Do it; return the reply."""
        name, argument, turn, asked = request.name, request.argument, request.turn, request.asked
        if asked.by.kind != "human":
            return ""
        match name:
            case "landmarks":
                return await self._list(turn.scope, number_in(argument))
            case "unpin":
                return await self._unpin(turn.scope, argument)
        return await self.pin(turn, asked)

    async def pin(self, turn: Turn, asked: StoredMessage) -> str:
        """Pin what a message says; harmless when it is done twice."""
        if asked.by.kind != "human" or asked.deleted:
            return ""
        pins = reading_of(asked).pins
        done = [await self._pin(pin, turn, asked) for pin in pins[:MOST]]
        if len(pins) > MOST:
            done.append(say("More than {most} pins of one message I leave out.", most=MOST))
        return "\n".join(done)

    async def _pin(self, pin: Pin, turn: Turn, asked: StoredMessage) -> str:
        if pin.text:
            text = await self._slices.keepable(asked.seq, pin.text)
            return await self._put(pin.kind, text, asked, turn, asked)
        if asked.reply_to is None:
            return say(HOW)
        said = await self._transcript.find(turn.room.id, asked.reply_to)
        if said is None or said.scope != turn.scope or said.deleted:
            return say("I don't know the message that you reply to; say it behind `!pin`.")
        if await self._slices.keepable(asked.seq, "") is None:
            return say(KEPT_OUT)
        part = await self._slices.after(said.scope, said.seq - 1, until=said.seq)
        text = part.spoken[0].text if part and part.spoken else None
        return await self._put(pin.kind, text, said, turn, asked, author_id=said.by.id)

    async def _put(
        self,
        kind: str,
        text: str | None,
        said: StoredMessage,
        turn: Turn,
        asked: StoredMessage,
        author_id: str | None = None,
    ) -> str:
        if not text:
            return say(KEPT_OUT)
        pinned = await self._landmarks.pin(
            NewLandmark(
                scope=turn.scope,
                kind=kind,
                text=text,
                by_id=asked.by.id,
                by_name=asked.by.name,
                message_seq=said.seq,
                at=asked.sent_at,
                author_id=author_id,
            )
        )
        return say(
            "📌 Pinned as {seq}: {text}", seq=pinned.seq, text=quoted(pinned.text, ECHOED_CHARS)
        )

    async def _unpin(self, scope: str, argument: str) -> str:
        seq = number_in(argument)
        if seq is None:
            return say("Say which: `!unpin 12`; `!landmarks` lists them.")
        gone = await self._landmarks.unpin(scope, seq)
        if gone is None:
            return say("Nothing is pinned as {seq} here; `!landmarks` lists what is.", seq=seq)
        return say("Unpinned {seq}: {text}", seq=seq, text=quoted(gone.text, ECHOED_CHARS))

    async def _list(self, scope: str, most: int | None) -> str:
        found = list(await self._landmarks.listed(scope))
        found = found[-most:] if most else found
        if not found:
            return say("Nothing is pinned here. {how}", how=say(HOW))
        lines = (
            say(
                "- {seq} [{date}] {text} (by {by_name})",
                seq=item.seq,
                date=self._landmarks.date(item.at),
                text=quoted(item.text, LISTED_CHARS),
                by_name=quoted(item.by_name, ECHOED_CHARS),
            )
            for item in found
        )
        return "\n".join([say("Pinned here (agents see the newest ten):"), *lines])
