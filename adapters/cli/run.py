"""One prompt typed into a running program, and what comes of it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

import structlog

from adapters.agent import Reply
from adapters.cli.interruption import Interruption
from adapters.cli.keyboard import attach, echoed, keystrokes, pastes, prompted, rested
from adapters.cli.permission import ScreenPrompt
from adapters.cli.record import Follower
from adapters.cli.record_watch import RecordWatch
from adapters.cli.result import TurnResult
from adapters.cli.turn import Sign, Source, TurnState
from adapters.cli_profile import Profile
from adapters.pty.console import Console
from adapters.pty.terminal import PtyClosed
from adapters.reading.queries import above_input_on, text_on
from adapters.reading.standing import SettledQuestions
from adapters.screen.screen import Screen
from adapters.session.session import DRAFT_S, EXIT_S, RoomQuestions, readable
from adapters.turn_events import HookQuestion, SessionNamed, State, TurnEvent
from contract.agent import Answer, Usage

log = structlog.stdlib.get_logger("moot.adapters.exchange")

FIRST_S = 0.02  # until its record is looked at first, and listened to from then on
READ_REST = 4  # times as long as it took to read is not read, while it grows all the time
HURRY_S = 0.01  # between looks at a record that is about to have the end
NOTES = 500  # of the record's events between two turns of the loop: 4 ms
UNSEEN_S = 10.0  # a program that shows no more than before is done after that
LOCKED_S = 0.1  # between looks at a question that stands where a prompt is to be typed
SIGHT_S = 0.25  # between looks at the screen, while something was written to it
DRAFT_CHARS = 20_000  # a draft shows how an answer begins; no platform shows more in one message
WHOLE_S, WHOLE_LIMIT_S = 0.1, 0.4  # of quiet, after which a broken off reply is drawn
SCREEN_DRAFT_S = 0.75  # between drafts that only the screen can tell


class PromptRun:
    """Types a prompt, gathers the signs of its turn, and makes the answer of them.

    typed, submitted: how far it came. `run` is called once; the others may be called while it
    runs, on the same loop.
    """

    def __init__(
        self,
        profile: Profile,
        console: Console,
        follower: Follower | None,
        prompt: str,
        reply: Reply,
        *,
        settled: SettledQuestions,
        past: Collection[str],
        on_named: Callable[[str], None],
    ) -> None:
        self.turn = TurnState(profile.signs, past)
        self.typed = self.submitted = self._answered = self._told = False
        self.follower = follower
        self._profile = profile
        self._console = console
        self._prompt = prompt
        self._reply = reply
        self._settled = settled
        self._on_named = on_named
        self._time = asyncio.get_running_loop().time
        self._begin = self._time()
        self._asking = RoomQuestions(reply)
        self._prompt_seen: ScreenPrompt | None = None  # once it was looked at
        self._since = console.scrolled
        self._drafted = self._last_reply = ""
        self._record_due = self._sight_due = self._draft_due = self._confirm_due = 0.0
        self._drafted_at = self._entered_at = self._rested_at = 0.0
        self._tries = profile.typing.tries
        self._unbegun = self._seen_bytes = 0  # looks that found no sign of its turn
        self._undrafted = False  # the screen changed since its last draft
        self._unnoted: deque[TurnEvent] = deque()  # read from the record; a break loses none
        self._idle_gone = False  # the screen stopped showing that it waits
        self._watching = RecordWatch(self._record_grew)

    # ── The turn ────────────────────────────────────────────────────────────────────────

    async def run(self) -> Answer:
        """Type the prompt, wait for the end of the turn, return the answer. Raises AgentError."""
        if self.follower and await self.follower.skip():
            self.turn.follows()
        try:
            await self._type()
            while True:
                if sign := await self._look():
                    await self._read_record(last=True)
                    answer = await self._answer(sign)
                    self._told = True
                    return answer
                if not self._console.alive:
                    return await self._after_exit()
                await self._console.wait_change(self._pause_s())
        except PtyClosed:
            return await self._after_exit()
        finally:
            self._watching.close()
            self._show_work()
            await self._asking.close()

    async def _type(self) -> None:
        profile, typing, console = self._profile, self._profile.typing, self._console
        await rested(profile, console)
        if typing.prompt:
            await prompted(typing.prompt, console)
        await self._unlocked()
        console.look(self._remember)
        self.typed = True
        keys = keystrokes(self._prompt, typing, paste=pastes(typing, console))
        await console.write(keys)
        if profile.shown.permission and profile.shown.permission.certain:
            self._settled.type(self._prompt)
        await echoed(profile, console, keys)
        if typing.picture is not None:
            await attach(typing.picture, profile, console, self._reply)
        await self._unlocked()
        self.submitted = True
        now = self._entered_at = self._time()
        self._poll_s = profile.signs.record.poll_s if profile.signs.record else float("inf")
        self._record_due = now + min(self._poll_s, FIRST_S)
        self._sight_due = now + SIGHT_S
        self._draft_due = now + SCREEN_DRAFT_S
        self._confirm_due = now + typing.confirm_s
        self._seen_bytes = console.output_bytes
        if not (profile.signs.states or profile.signs.hooks):  # nothing else tells of a quick end
            self._listen()
        await console.write(typing.submit)

    async def _unlocked(self) -> None:
        """Wait until no question of the program would take what is typed for its answer.

        One that says in-band that it rests asks nothing.
        """
        permission, state = self._profile.shown.permission, self._console.state
        if permission is None or (state in ("idle", "done") and not permission.certain):
            return
        prompt = self._screen_prompt()
        while self._console.alive:
            screen = await self._console.screen()
            keys = prompt.see(screen, text_on(screen), self._console.state, typing=self.typed)
            if keys:
                await self._console.write(keys)
            if not prompt.stands:
                return
            await self._console.wait_change(LOCKED_S)

    def _pause_s(self) -> float:
        """Until the next look, unless a signal comes before."""
        if self.turn.ending:
            return HURRY_S
        now = self._time()
        times = [self._record_due, self._sight_due]
        if not self.turn.began:
            times.append(self._confirm_due)
        soonest = min(times) - now
        due = self.turn.due(now)
        return max(min(soonest, due) if due is not None else soonest, 0.0)

    # ── What the others tell ────────────────────────────────────────────────────────────

    def tell(self, state: State) -> None:
        """The program told its state in-band."""
        if self.submitted:
            self.turn.tell(state, self._time())

    def retitle(self, title: str) -> None:
        """The program changed its window title."""
        signs = self._profile.signs
        if signs.title and self.submitted:
            busy = bool(signs.title.busy.search(title))
            if busy or signs.title.idle.search(title):
                self.turn.show("title", busy=busy, now=self._time())

    def note(self, event: TurnEvent, source: Source) -> None:
        """An event of its hooks or record."""
        if isinstance(event, SessionNamed):
            self._on_named(event.session_id)
        elif self.submitted:
            self.turn.note(event, source, self._time())
            self._console.changed.set()

    async def decide(self, asked: HookQuestion) -> Mapping[str, Any]:
        """Let the room answer a hook's question."""
        self._screen_prompt().asked_by_hook()
        return await self._asking.respond(asked)

    # ── Looking ─────────────────────────────────────────────────────────────────────────

    async def _look(self) -> Sign | None:
        """The sign that ended it."""
        now = self._time()
        if self.turn.ending or now >= self._record_due:
            self._listen()
            await self._read_record()
            self._rested_at = self._time() + READ_REST * (self._time() - now)
            self._record_due = now + self._poll_s
        self._show_work()
        if not (self.turn.ended or self.turn.failed):
            await self._watch(now)
        return self.turn.over(self._time())

    def _listen(self) -> None:
        if self.follower and not self.turn.ending:  # one that is over at once needs no watch
            self._watching.follow(self.follower.folder())

    def _record_grew(self) -> None:
        self._record_due = min(self._record_due, self._rested_at)
        self._console.changed.set()

    async def _watch(self, now: float) -> None:
        """Look for what its exact signs do not tell: questions, other signs, and how far it is."""
        decided = self._prompt_seen is not None and self._prompt_seen.decided()
        due = now >= self._sight_due or self.turn.due(now) == 0 or self.turn.awaits_prompt()
        if due or decided:
            await self._see(now, decided=decided)
            self._sight_due = self._time() + SIGHT_S
        if not self.turn.began and now >= self._confirm_due:
            await self._confirm(now)
        if text := self.turn.draft():
            self._draft(text, now)

    def _show_work(self) -> None:
        if (work := self.turn.work) is not None and work.changed:
            self._reply.work(work.told())

    def _screen_prompt(self) -> ScreenPrompt:
        """The permission prompt that may be on the screen."""
        if self._prompt_seen is None:
            wake = self._console.changed.set
            self._prompt_seen = ScreenPrompt(self._profile, self._asking, self._settled, wake)
        return self._prompt_seen

    @cached_property
    def _ending(self) -> TurnResult:
        """The outcome that must be read from the screen, or is an error."""
        return TurnResult(self._profile, self._console, self.turn, self._prompt, self._since)

    async def _see(self, now: float, *, decided: bool) -> None:
        """Look at the screen, when something was written to it since.

        decided: the room's answer to what it asks waits to be pressed.
        """
        console, turn = self._console, self.turn
        changed = console.output_bytes != self._seen_bytes
        changed |= not turn.began and now >= self._entered_at + UNSEEN_S
        if not (changed or self._undrafted or decided):
            return
        self._seen_bytes = console.output_bytes
        screen = await console.screen()
        text = text_on(screen)
        ruled = self._ending.dialogs.stand(text, "turn")
        if keys := self._screen_prompt().see(screen, text, turn.state, ruled=ruled):
            await console.write(keys)
        turn.blocked = self._screen_prompt().stands or turn.state == "blocked"
        if fault := self._ending.dialogs.fault(text, "turn", breaks=True):
            fault.partial = self.partial()
            raise fault
        if keys := self._ending.dialogs.keys(text, "turn"):
            turn.wake()
            await console.write(keys)
        self._see_footer(screen, text)
        self._undrafted = now < self._draft_due
        if not turn.draft() and not turn.blocked and not self._undrafted:
            self._draft_due = now + SCREEN_DRAFT_S
            self._ending.shown = self._ending.reply(screen)
            if self._ending.shown:
                self._draft(self._ending.shown, now)

    def _see_footer(self, screen: Screen, text: str) -> None:
        footer, turn, since = self._profile.signs.footer, self.turn, self._console.last_output
        if footer is None:
            return
        busy, holds = bool(footer.busy and footer.busy.search(text)), self._holds(text)
        if footer.busy is None:
            turn.began = True  # it wrote something after Enter
            if self._moved(screen, text):
                turn.wake("footer", "title")
        elif holds and not busy:
            turn.untaken()
        if busy or footer.idle is None or footer.idle.search(text):
            if not (busy or holds or turn.began):  # perhaps nobody looked
                late = self._time() >= self._entered_at + UNSEEN_S
                turn.began = late or bool(self._ending.reply(screen))
            turn.show("footer", busy=busy, now=since)
        else:
            turn.wake("footer", "title")

    def _moved(self, screen: Screen, text: str) -> bool:
        """True while what is written may be of its answer: always, but of one that draws all the
        time. There the answer stands still when it is done, and the sign of that came with it."""
        footer = self._profile.signs.footer
        if not self._console.restless or not footer or not footer.idle:
            return True
        reply = self._ending.reply(screen)
        changed, self._last_reply = reply != self._last_reply, reply
        self._idle_gone |= not footer.idle.search(text)
        late = self._time() >= self._entered_at + UNSEEN_S
        return changed or not (self._idle_gone or reply or late)

    def _remember(self, screen: Screen) -> None:
        """What stands on the screen before the prompt is none of its answer."""
        if not self._told:  # else it was drawn later than that was known
            self._ending.before = above_input_on(screen, self._profile, self._ending.since)

    async def _confirm(self, now: float) -> None:
        """Nothing tells that Enter was heard: press it again while the box holds the text."""
        typing = self._profile.typing
        self._confirm_due = now + typing.confirm_s
        text = text_on(await self._console.screen())
        self._unbegun += 1
        if self._unbegun > 1 and self._console.quiet_s() >= typing.confirm_s:
            self._ending.refused(text)
        if self.turn.blocked or not self._holds(text):
            return
        self._tries -= 1
        if self._tries <= 0:
            raise self._ending.untaken(text)
        log.info("prompt.entered_again", agent=self._profile.name)
        await self._console.write(typing.submit)

    def _holds(self, text: str) -> bool:
        """True when the input box still holds the text: what changes above it is not its answer."""
        holding = self._profile.typing.holding
        return bool(holding and holding.search(text))

    def _draft(self, text: str, now: float) -> None:
        if text != self._drafted and now >= self._drafted_at + DRAFT_S:
            self._drafted, self._drafted_at = text, now
            self._reply.draft(readable(text[:DRAFT_CHARS]))

    # ── Its end ─────────────────────────────────────────────────────────────────────────

    def partial(self) -> str:
        """The program's words so far."""
        return self._ending.partial() if self.submitted else ""

    def usage(self) -> Usage | None:
        """The tokens that its record counted."""
        return self.turn.spent()

    async def _answer(self, sign: Sign) -> Answer:
        self._answered = True
        if exact := self.turn.exact(sign):
            return exact
        ended = self.turn.ended
        if ended and ended.recorded and (self.turn.tools or not self.turn.text()):
            await rested(self._profile, self._console)  # an error may not be drawn yet
        return await self._ending.answer(sign)

    async def _after_exit(self) -> Answer:
        """The program is gone; perhaps its record has the answer."""
        await self._console.wait_exit(EXIT_S)
        await self._read_record(last=True)
        if self.turn.failed or self.turn.ended:
            return await self._answer("record")
        raise await self._ending.crash()

    def unfinished(self) -> bool:
        """True while the program may still work on it, or its box hold the text."""
        return self.typed and not (self._answered or self.turn.finished())

    async def break_off(self) -> bool:
        """Press what interrupts; True when the program is idle again and its box is empty."""
        keeps = self._profile.controls.interrupt.keeps
        if not keeps:
            self._ending.freeze()
        interruption = Interruption(
            self._profile, self._console, self.turn, self._settled, self._read_record
        )
        idle = await interruption.run(submitted=self.submitted)
        if not idle:
            level = logging.DEBUG if self._profile.controls.interrupt.ends else logging.WARNING
            log.log(level, "program.not_idle", agent=self._profile.name, after="interrupt")
        else:
            if keeps:
                await self._console.wait_quiet(WHOLE_S, WHOLE_LIMIT_S, from_now=True)
            await self._console.end_younger(self._begin)
        return idle

    async def _read_record(self, *, last: bool = False) -> None:
        if self.follower is None:
            return
        self._unnoted += await self.follower.read(last=last)
        while self._unnoted:
            for _ in range(min(len(self._unnoted), NOTES)):
                self.note(self._unnoted.popleft(), "record")
            if self._unnoted:
                await asyncio.sleep(0)
