"""The demo agent's screen: finished rows scroll away above a live region that is redrawn."""

from __future__ import annotations

import os

from adapters.demo.wrap import decorate, rows, width

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
RULE = "─"
MARK = "❯ "
BULLET = "● "


def tell(state: str, title: str) -> str:
    """The sequences that report the state in-band, and the window title."""
    return f"\x1b]7501;state={state}:app=demo\x1b\\\x1b]0;{title}\x07"


class Paint:
    """Writes to the terminal. Every frame is one write, a synchronized update."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns = columns
        self.lines = lines
        self._live = 0
        self._out: list[str] = []

    def resize(self, columns: int, lines: int) -> None:
        """Take the new size; what was wrapped by the terminal is drawn over."""
        self.columns, self.lines = columns, lines
        self._out.append("\x1b[H\x1b[2J")
        self._live = 0

    def raw(self, text: str) -> None:
        """Send a control sequence with the next frame."""
        self._out.append(text)

    def frame(self, finished: list[str], live: list[str], after: str = "") -> None:
        """Draw finished rows for good and the live region again below them, then send `after`."""
        live = live[-max(self.lines - 1, 1) :]
        up = f"\x1b[{self._live - 1}A" if self._live > 1 else ""
        body = "\r\n".join([*finished, *live])
        self._out.append(f"\x1b[?2026h\r{up}\x1b[J{body}\x1b[?2026l{after}")
        self._live = len(live)
        data = "".join(self._out).encode("utf-8", "replace")
        self._out.clear()
        while data:
            data = data[os.write(1, data) :]


def welcome(columns: int, session_id: str, resumed: bool) -> list[str]:
    """The box that greets."""
    inner = max(min(columns, 64) - 4, 10)
    verb = "resumed" if resumed else "new"
    lines = [
        "Moot demo agent",
        "a real terminal program; no model, no key",
        f"{verb} session {session_id}",
    ]
    body = [f"│ {line[:inner]}{' ' * (inner - width(line[:inner]))} │" for line in lines]
    return [f"╭{RULE * (inner + 2)}╮", *body, f"╰{RULE * (inner + 2)}╯", ""]


def echo(prompt: str, columns: int) -> list[str]:
    """The prompt as the transcript shows it: long ones as a line that tells their size."""
    lines = prompt.split("\n")
    if len(lines) > 3:
        return [f"{MARK}[Pasted text · {len(lines)} lines]", ""]
    wrapped = rows(prompt, max(columns - 2, 8))
    return [f"{MARK if n == 0 else '  '}{row}" for n, row in enumerate(wrapped)] + [""]


def reply(text: str, columns: int) -> list[str]:
    """A reply as rows: a bullet, then everything indented by two and wrapped hard."""
    wrapped = rows(text, max(columns - 4, 8))
    return [
        f"{BULLET if n == 0 else '  '}{decorate(row)}".rstrip() for n, row in enumerate(wrapped)
    ]


def box(text: str, columns: int, footer: str) -> list[str]:
    """The input box and the line below it."""
    lines = text.split("\n")
    if len(lines) > 3:
        shown = [f"[Pasted text · {len(lines)} lines]"]
    else:
        shown = [row for line in lines for row in rows(line, max(columns - 3, 8))][-6:]
    body = [f"{MARK if n == 0 else '  '}{row}".rstrip() for n, row in enumerate(shown)]
    return [RULE * columns, *body, RULE * columns, f"  {footer}"]


def dialog(
    title: str, detail: str, options: tuple[str, ...], chosen: int, columns: int
) -> list[str]:
    """A permission prompt."""
    choices = [
        f" {'❯' if n == chosen else ' '} {n + 1}. {option}" for n, option in enumerate(options)
    ]
    shown = [f"   {row}" for row in rows(detail, max(columns - 6, 8))]
    hint = " Enter to confirm · Esc to say no"
    return [RULE * columns, " Bash command", "", *shown, "", f" {title}", *choices, "", hint]
