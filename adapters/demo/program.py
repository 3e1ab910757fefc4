"""The demo agent's loop: keys in, frames out."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time

from adapters.demo.answers import COMPACT, Session, answer, compacted
from adapters.demo.header import Header
from adapters.demo.keys import Key, Keys
from adapters.demo.memory import Record, open_session
from adapters.demo.paint import SPINNER, Paint, box, dialog, echo, reply, tell, welcome
from adapters.demo.turn import Turn

ESC_S = 0.03  # an escape alone for this long is the Esc key
IDLE_TITLE, BUSY_TITLE, ASKING_TITLE = "✳ Moot demo", "⠋ Moot demo", "✋ Moot demo"
FOOTERS = {"idle": "? for help", "working": "esc to interrupt"}


class Program:
    """State of the screen and of the turn that runs, if one does."""

    def __init__(self, session: Session, record: Record, pace: float) -> None:
        self.session = session
        self.record = record
        self.pace = pace
        size = os.get_terminal_size(1)
        self.paint = Paint(size.columns, size.lines)
        self.typed = ""
        self.question = ""
        self.turn: Turn | None = None
        self.chosen = 0
        self.drawn = 0  # rows of the reply that have scrolled into the transcript
        self.ended = False

    # ── Drawing ─────────────────────────────────────────────────────────────────────────

    def live(self, now: float) -> list[str]:
        """The live region: the reply's last row, spinner and box, or a dialog."""
        columns = self.paint.columns
        turn = self.turn
        if not turn:
            return box(self.typed, columns, FOOTERS["idle"])
        said = turn.visible(now)
        tail = reply(said, columns)[self.drawn :] if said else []
        if ask := turn.ask:
            shown = dialog(ask.title, ask.detail, ask.options, self.chosen, columns)
            return [*tail, "", *shown]
        spin = SPINNER[int(now * 12) % len(SPINNER)]
        return [*tail, "", f"{spin} Thinking…", *box(self.typed, columns, FOOTERS["working"])]

    def draw(self, now: float) -> None:
        """One frame. Rows of the reply that can no longer change scroll away."""
        turn = self.turn
        fresh: list[str] = []
        if turn:
            said = turn.visible(now)
            settled = reply(said, self.paint.columns)[:-1] if said else []
            fresh = settled[self.drawn :]
            self.drawn += len(fresh)
        self.paint.frame(fresh, self.live(now))

    def resize(self) -> None:
        """The window has another size: draw everything that is not finished again."""
        size = os.get_terminal_size(1)
        self.paint.resize(size.columns, size.lines)
        self.drawn = 0

    # ── Keys ────────────────────────────────────────────────────────────────────────────

    def press(self, key: Key, now: float) -> None:
        """Take one key."""
        if self.turn and self.turn.ask:
            self.press_dialog(key, now)
        elif key.name in ("text", "paste"):
            self.typed += key.text
        elif key.name == "erase":
            self.typed = self.typed[:-1]
        elif key.name == "clear":
            self.typed = ""
        elif key.name == "esc" and self.turn:
            self.turn.interrupt()
        elif key.name == "enter" and self.typed and not self.turn:
            self.submit(now)
        elif key.name == "quit" and not self.typed:
            self.ended = True

    def press_dialog(self, key: Key, now: float) -> None:
        """A key while a permission prompt waits."""
        turn = self.turn
        assert turn
        assert turn.ask
        last = len(turn.ask.options) - 1
        if key.name == "up":
            self.chosen = max(self.chosen - 1, 0)
        elif key.name == "down":
            self.chosen = min(self.chosen + 1, last)
        elif key.name == "enter":
            self.decide(self.chosen, now)
        elif key.name == "esc":
            self.decide(last, now)
        elif key.name == "text" and key.text.isdigit() and 1 <= int(key.text) <= last + 1:
            self.decide(int(key.text) - 1, now)

    def decide(self, option: int, now: float) -> None:
        """A choice was made in the dialog."""
        assert self.turn
        self.chosen = 0
        self.paint.raw(tell("working", BUSY_TITLE))
        self.turn.choose(option, now)

    # ── Turns ───────────────────────────────────────────────────────────────────────────

    def submit(self, now: float) -> None:
        """Take what is in the box as the prompt."""
        prompt, self.typed = self.typed, ""
        header = Header(prompt)
        self.question = header.question()
        number = len(self.session.questions) + 1
        size = len(prompt.encode("utf-8", "surrogateescape"))
        row = {"type": "prompt", "turn": number, "bytes": size}
        self.record.write({**row, "text": prompt, "question": self.question})
        steps = compacted() if prompt == COMPACT else answer(header, self.session)
        self.turn = Turn(number, steps, self.pace)
        self.drawn = 0
        self.paint.raw(tell("working", BUSY_TITLE))
        self.paint.frame(echo(prompt, self.paint.columns), self.live(now))

    def work(self, now: float) -> float | None:
        """Go on with the turn; the time of the next call."""
        turn = self.turn
        if not turn:
            return None
        asked = turn.ask
        due = turn.advance(now)
        if turn.crash is not None:
            self.draw(now)
            os._exit(turn.crash)
        if turn.over:
            self.finish(turn)
            return None
        if turn.ask and not asked:
            self.paint.raw(tell("blocked:kind=permission", ASKING_TITLE))
        self.draw(now)
        return due

    def finish(self, turn: Turn) -> None:
        """Put the reply on record, then on the screen, then say that it is over."""
        over = turn.over
        assert over
        text = turn.text if over.how != "interrupted" else turn.visible(time.monotonic())
        rows: list[dict[str, object]] = [
            {"type": "tool", "turn": turn.number, "tool": use.tool, "detail": use.detail}
            for use in turn.tools
        ]
        if self.question == COMPACT and over.how == "done":
            self.session.questions.clear()
            rows.append({"type": "compacted", "turn": turn.number})
        if text or over.how == "done":
            rows.append({"type": "reply", "turn": turn.number, "text": text})
        rows.append({"type": "end", "turn": turn.number, "how": over.how, "message": over.message})
        self.record.write(*rows)
        self.session.questions.append(self.question)
        notes = {"interrupted": "  ⎿ Interrupted", "error": f"● {over.message}"}
        shown = reply(text, self.paint.columns)[self.drawn :] if text else []
        note = [notes[over.how]] if over.how in notes else []
        self.turn = None
        state = tell("error" if over.how == "error" else "done", IDLE_TITLE)
        self.paint.frame([*shown, *note, ""], self.live(0.0), after=state)


def pace_of(text: str) -> float:
    """Its speed: 1.0 as meant, 0.0 answers at once; what is no number counts as 1.0."""
    try:
        return max(float(text), 0.0)
    except ValueError:
        return 1.0


def main(arguments: list[str]) -> None:
    """Run until the terminal hangs up or Ctrl-D is pressed."""
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    session_id = options.get("--resume") or options.get("--session-id") or os.urandom(8).hex()
    opened = open_session(session_id, resume="--resume" in options)
    if opened is None:
        sys.exit(f"No conversation found with session ID: {session_id}")
    pace = pace_of(os.environ.get("MOOT_DEMO_PACE", ""))
    before = termios.tcgetattr(0)
    raw = termios.tcgetattr(0)
    raw[0] &= ~(termios.ICRNL | termios.IXON | termios.BRKINT | termios.ISTRIP)
    raw[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
    termios.tcsetattr(0, termios.TCSANOW, raw)
    try:
        run(Program(*opened, pace))
    finally:
        os.write(1, b"\x1b[?2004l\r\n")
        termios.tcsetattr(0, termios.TCSANOW, before)


def run(program: Program) -> None:
    """The loop: keys, size, and the time of the next frame."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGWINCH, lambda *_: None)
    keys = Keys()
    paint = program.paint
    paint.raw("\x1b[?2004h\x1b[c")
    greeting = welcome(paint.columns, program.session.id, program.session.resumed)
    paint.frame(greeting, program.live(0.0), after=tell("idle", IDLE_TITLE))
    due: float | None = None
    typed_at = 0.0
    while not program.ended:
        moments = [due, typed_at + ESC_S if keys.waiting else None]
        waits = [max(at - time.monotonic(), 0.0) for at in moments if at is not None]
        ready, _, _ = select.select([0, woken], [], [], min(waits, default=None))
        now = time.monotonic()
        if woken in ready:
            os.read(woken, 512)
            program.resize()
        pressed: list[Key] = []
        if 0 in ready:
            data = os.read(0, 65_536)
            if not data:
                return
            pressed, typed_at = keys.feed(data), now
        elif keys.waiting and now >= typed_at + ESC_S:
            pressed, typed_at = keys.flush(), now + 60.0
        for key in pressed:
            program.press(key, now)
        if program.turn:
            due = program.work(now)
        elif pressed or woken in ready:
            due = None
            program.draw(now)
