"""The state of one turn, gathered from every sign. Pure: the clock is an argument."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import Literal

from adapters.cli.tool_uses import ToolUses
from adapters.records.spent import total
from adapters.records.work import WorkSteps
from adapters.session.session import readable
from adapters.turn_events import (
    ContextCompacted,
    PromptTaken,
    ReplyBlock,
    ReplyDelta,
    ReplyEnded,
    ReplyFailed,
    ReplyRetracted,
    State,
    TokensSpent,
    ToolReport,
    ToolUsed,
    TurnEvent,
)
from adapters.turn_signs import TurnSigns
from contract.agent import Answer, ToolUse, Usage
from contract.values import dataclass

Source = Literal["hook", "record"]
Sign = Literal["hook", "record", "state", "title", "footer"]


REPLY_CHARS = 200_000  # forty pages; the longest answer of a model's one call is about 500,000
MOST_PARTS = 200  # what was said between that many tools; only drafts show it
MOST_TOOLS = 2_000
_OF_A_TURN_BEGUN = (PromptTaken, ReplyBlock, ReplyDelta, ToolUsed, ToolReport)
_OF_THE_TURN = (*_OF_A_TURN_BEGUN, ReplyRetracted, ReplyEnded)
CUT = "\n\n[... the middle of a very long answer is left out ...]\n\n"


def cut_reply(text: str) -> str:
    """The beginning and the end of an answer without end, e.g. of a program that repeats itself."""
    if len(text) <= REPLY_CHARS:
        return text
    return f"{text[: REPLY_CHARS * 6 // 10]}{CUT}{text[-REPLY_CHARS * 3 // 10 :]}"


@dataclass(slots=True)
class Passage:
    """The words between two uses of tools, while they grow: their middle goes now and then."""

    _pieces: list[str] = field(default_factory=list)
    _chars: int = 0

    def add(self, text: str) -> None:
        """Go on."""
        self._pieces.append(text)
        self._chars += len(text)
        if self._chars > 2 * REPLY_CHARS:
            self._pieces = [cut_reply(self.text())]
            self._chars = len(self._pieces[0])

    def text(self) -> str:
        """So far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""


class TurnState:
    """One prompt and what came of it.

    began: a sign of it was seen. told: by hook, record or state, so it is none of the turn before.
    failed: it ended without an answer. blocked: a dialog waits,
    so no idle sign counts. ending: a sign says that it is over, and the record has perhaps still
    to catch up. past: ids of earlier turns, whose late events are not this one's. kept: the record
    has something of it, so what it does not hold was not said. patient: the record had all of the
    turn before, so words that a hook gave are waited for until `RecordFormat.late_s`.
    """

    def __init__(self, signs: TurnSigns, past: Collection[str] = ()) -> None:
        self.id = ""
        self.began = self.told = False
        self.blocked = False
        self.ending = False
        self.kept = False
        self.patient = True
        self.failed: ReplyFailed | None = None
        self.ended: ReplyEnded | None = None
        self.tools: list[str] = []
        self.compacted = False
        self.state: State | None = None
        self.work: WorkSteps | None = None  # its steps, made with the first of them
        self._ended_by: Sign | None = None
        self._uses = ToolUses()
        self._used: list[ToolUse] = []  # by programs that tell no more of a use than one line
        self._spent: dict[str, Usage] = {}
        self._signs = signs
        self._past = past
        self._parts: list[Passage] = []  # what was said between tools
        self._last: str | None = None  # the last block, None when a tool was used since
        self._streamed = ""
        self._ended_at = 0.0
        self._recorded_end = False
        self._told_by: Source = "record"  # the last words in `ended`
        self._recorded: str | None = None  # the turn that the record's rows are of, None: this one
        self._busy_seen: set[Sign] = set()
        self._idle_since: dict[Sign, float] = {}

    # ── What comes in ───────────────────────────────────────────────────────────────────

    def note(self, event: TurnEvent, source: Source, now: float) -> None:
        """An event of the program's hooks or record."""
        if not self._is_mine(event, source):
            return
        if isinstance(event, _OF_A_TURN_BEGUN):
            self.began = self.told = True
        self.kept |= source == "record" and isinstance(event, _OF_THE_TURN)
        match event:
            case PromptTaken(turn):
                self.id = turn
            case ReplyBlock(text, sep):
                self._note_block(text, sep)
            case ReplyDelta(delta) if len(self._streamed) < REPLY_CHARS:
                self._streamed += delta
            case ReplyRetracted():
                self._retract()
            case ToolUsed():
                self._note_use(event)
            case ToolReport():
                self._uses.note(event, source)
                self._steps().note(event)
            case TokensSpent(key, usage):
                self._spent[key or str(len(self._spent))] = usage
            case ContextCompacted():
                self.compacted = True
            case ReplyFailed():
                self.failed = self.failed or event
            case ReplyEnded():
                if self.work is not None:
                    self.work.settle()
                self._recorded_end = self._recorded_end or source == "record"
                if self.ended is None or (event.text is not None and event.whole):
                    self.ended, self._told_by = event, source
        if self._ended_by is None and (self.failed or self.ended):
            self._ended_by, self._ended_at, self.ending = source, now, True

    def _note_block(self, text: str, sep: str) -> None:
        if self.work is not None:
            self.work.settle()
        if self._last is None:
            self._parts = [*self._parts[-MOST_PARTS:], Passage()]
            sep = ""
        self._parts[-1].add(f"{sep}{text}")
        self._last = text

    def _retract(self) -> None:
        self._parts.clear()
        self._last = None
        self._streamed = ""
        if self._wordless():
            self.ended = self._ended_by = None
            self.ending = False

    def _wordless(self) -> bool:
        """True when its end came without a word, after which some ask their model once more."""
        ended = self.ended
        return bool(ended and ended.recorded and not ended.well and not self.text().strip())

    def _works_on(self) -> bool:
        """True while its title shows it busy behind such an end."""
        return "title" in self._busy_seen - self._idle_since.keys() and self._wordless()

    def _note_use(self, event: ToolUsed) -> None:
        self._last = None
        used = f"{event.tool}: {event.detail}" if event.detail else event.tool
        # the hook and the record report the same
        if len(self.tools) < MOST_TOOLS and used not in self.tools[-1:]:
            self.tools.append(used)
            self._used.append(ToolUse(event.tool, event.detail))
            self._steps().use(event.tool, event.detail)

    def _is_mine(self, event: TurnEvent, source: Source) -> bool:
        turn = getattr(event, "turn", "")
        if source == "record" and isinstance(event, PromptTaken):
            self._recorded = turn
        if turn:
            return turn not in self._past and (not self.id or turn == self.id)
        recorded = self._recorded
        return source == "hook" or recorded is None or (bool(recorded) and recorded == self.id)

    def follows(self) -> None:
        """The record holds earlier turns, and perhaps not yet all of the one before."""
        if self._signs.record and self._signs.record.opens:
            self._recorded = ""

    def tell(self, state: State, now: float) -> None:
        """The program told its state in-band."""
        self.state, self.told = state, True
        self.blocked = state == "blocked"
        self.ending = self._ended_by is not None or state in ("done", "error")
        self.show("state", busy=state in ("working", "blocked"), now=now)
        if state in ("done", "error"):  # these need not have been busy before
            self._idle_since.setdefault("state", now)

    def show(self, sign: Sign, *, busy: bool, now: float) -> None:
        """An inexact sign shows the program busy or idle."""
        if busy:
            self.began = True
            self._busy_seen.add(sign)
            self._idle_since.pop(sign, None)
        elif sign in self._busy_seen or (self.began and sign == "footer"):
            self._idle_since.setdefault(sign, now)

    def untaken(self) -> None:
        """The prompt still stands in the box: what looked busy was the turn before."""
        if not self.told:
            self.began = False
            self._busy_seen.clear()
            self._idle_since.clear()

    def wake(self, *signs: Sign) -> None:
        """Something happened that shows it isn't idle: idle times (of these signs) start again."""
        for sign in signs or tuple(self._idle_since):
            self._idle_since.pop(sign, None)

    def _steps(self) -> WorkSteps:
        self.work = self.work or WorkSteps()
        return self.work

    # ── What comes of it ────────────────────────────────────────────────────────────────

    def draft(self) -> str:
        """The reply so far, "" when only the screen can tell; blanks are no word of it."""
        parts = "\n\n".join(part.text() for part in self._parts)
        said = max(parts, self._streamed.strip("\n"), key=len)
        return said if said.strip() else ""

    def uses(self) -> tuple[ToolUse, ...]:
        """The tools that were used, as exactly as the program tells."""
        return self._uses.all() or tuple(self._used)

    def spent(self) -> Usage | None:
        """The tokens that its calls of the model took, as far as the program reports them."""
        return total(tuple(self._spent.values())) if self._spent else None

    def text(self) -> str:
        """The exact reply as far as its own signs tell, "" without one."""
        parts = (part.text() for part in reversed(self._parts))
        said = next((part for part in parts if part.strip()), "")
        ended = self.ended
        if ended is None:
            return said
        last = ended.text or ""
        if last and ended.whole:
            return last
        if self._told_by == "hook" and not (said or self._streamed.strip()):
            return ""  # see `heard`
        if last and not self._caught_up(last):  # its record is late
            return last if self._last is None or not said else f"{ended.restore(said)}\n\n{last}"
        return ended.restore(said) if said else last

    def heard(self) -> str:
        """The session's last words, as a hook gave them: perhaps they are an earlier turn's.

        They count where something was said in this one, or where the screen shows them.
        """
        ended = self.ended
        if ended is None or ended.whole or self._told_by == "record":
            return ""
        return ended.text or ""

    def exact(self, sign: Sign) -> Answer | None:
        """The answer, where the program's own signs say that it ended well: no error shows then."""
        ended = self.ended
        if ended is None or ended.interrupted or self.failed:
            return None
        if ended.recorded and not ended.well:
            return None
        text = self.text()
        return self.answer(text, "record", sign) if text.strip() else None

    def answer(self, text: str, source: Literal["record", "screen"], sign: Sign) -> Answer:
        """The answer that has this text. source: where it was read."""
        text, tools = cut_reply(readable(text)), tuple(self.tools)
        return Answer(text, source, sign, tools, self.uses(), self.compacted, self.spent())

    def over(self, now: float) -> Sign | None:
        """The sign that ended it, None while it runs or its record has still to catch up."""
        if self.failed:
            return self._ended_by
        if self._ended_by:
            waits = 0.0 if self.complete() and not self._works_on() else self._grace_s()
            return self._ended_by if now >= self._ended_at + waits else None
        if self.blocked:
            return None
        for sign, since in self._idle().items():
            if now >= since + self._patience_s(sign):
                return sign
        return None

    def _idle(self) -> dict[Sign, float]:
        """The signs that show it idle, and since when. A title that shows it busy is believed
        before a footer, which some releases leave out now and then."""
        idle = self._idle_since
        titled = "title" in self._busy_seen and "title" not in idle
        if "footer" in idle and titled and self._signs.exact:
            return {sign: since for sign, since in idle.items() if sign != "footer"}
        return idle

    def due(self, now: float) -> float | None:
        """Seconds until `over` may say something else by time alone."""
        if self._ended_by:
            return max(self._ended_at + self._grace_s() - now, 0.0)
        times = [since + self._patience_s(sign) for sign, since in self._idle().items()]
        return max(min(times) - now, 0.0) if times else None

    def awaits_prompt(self) -> bool:
        """True when it told that it is done, and what it shows then is proof of it."""
        record = self._signs.record
        return bool(record and record.ahead) and self.state == "done" and bool(self.text().strip())

    def proven(self) -> bool:
        """True when it waits for the next prompt, and its record has all of this turn."""
        return self.awaits_prompt() and "footer" in self._idle_since

    def owes_words(self) -> bool:
        """True when nothing was said since its last tool, and that was not refused."""
        refused = bool(self.ended and self.ended.interrupted)
        return bool(self.tools) and self._last is None and not refused

    def finished(self) -> bool:
        """True when the program's own signs say that it is done."""
        return bool(self.ended or (self.failed and not self.failed.goes_on))

    def complete(self) -> bool:
        """True when the exact text is all there."""
        ended = self.ended
        if ended is None or ended.recorded or self._recorded_end:
            return True
        if ended.text is None:
            return self._signs.record is None
        return ended.whole or self._caught_up(ended.text)

    def _caught_up(self, last: str) -> bool:
        """True when the record has the block that another sign gave as the last one."""
        return self._last is not None and last.strip() == self._last.strip()

    def _grace_s(self) -> float:
        record = self._signs.record
        if record is None:
            return 0.0
        late = self._works_on() or (self.patient and self._lacks_words())
        return record.late_s if late else record.grace_s

    def _lacks_words(self) -> bool:
        """True when a hook gave words that were said in this turn, and its record lacks them.

        Where the record has begun and nobody has heard a word, they are an earlier turn's.
        """
        last = self.ended.text if self.ended and self._told_by == "hook" else None
        if not last or self.complete() or any(last.strip() in p.text() for p in self._parts):
            return False
        return not self.kept or bool(self.draft().strip())

    def _patience_s(self, sign: Sign) -> float:
        """The time for which an inexact sign must hold before it ends the turn."""
        if sign == "state" and self.state in ("done", "error"):
            return 0.0 if self.proven() else self._grace_s()
        if self._signs.exact:
            return self._signs.fallback_s
        return self._signs.footer.debounce_s if self._signs.footer else 0.5
