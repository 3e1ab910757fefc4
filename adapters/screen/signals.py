"""Signals in raw terminal output, found without drawing it.

For the driver that keeps bytes and draws only when somebody looks: give every chunk to
`Signals.feed` at once, send back the answers, and give the bytes to a `Screen(answers=False)`
later. One of the two answers, never both.
"""

from __future__ import annotations

import codecs
import re
from typing import Literal

from adapters.screen.queries import (
    ASKS_FOR_COLOURS,
    MODES,
    SOFT_RESET,
    answer_csi,
    answer_osc,
    answer_string,
    parse,
)
from adapters.screen.tokens import ASCII, CONTROL, CSI, ESCAPE, OSC, STRING, TEXT, Tokenizer
from contract.values import dataclass

# Most of what a program writes is no signal and is passed over in one go: text, controls, and
# whole sequences that end otherwise than those that may be one. Two to four times as fast.
_FINALS = "hlcnqtp"
_DULL = re.compile(
    r"(?:[^\x07\x1b\x80-\x9f]++|\x1b\[[0-?]*+[ -/]*+[@-bd-gi-kmorsu-~]"
    r"|\x1b[78=>DEHM]|\x1b[()][0B])*+"
)
_WHOLE = re.compile(  # its group is the kind of the token
    r"(?P<control>\x07)"
    r"|\x1b\[(?P<csi>[0-?]{0,256}[ -/]{0,8}[hlcnqtp])"
    r"|\x1b\](?P<osc>[^\x07\x18\x1a\x1b\x9c]{0,4096})(?:\x07|\x1b\\)"
)
_KINDS = {"control": CONTROL, "csi": CSI, "osc": OSC}
_TITLE_LIMIT = 1_024

SignalKind = Literal[
    "title",  # text: the window's new title
    "bell",
    "osc",  # number, and text: its payload; e.g. 9, 99, 133, 777, 7501
    "mode",  # number and `on`: a private mode was switched, e.g. 1049, 2004, 2026
    "query",  # answer: what to send back now
    "cursor",  # text: "6n" or "?6n"; see `behind`
]


@dataclass(frozen=True, slots=True)
class Signal:
    """Something that the program told or asked its terminal.

    behind: bytes of the chunk that come after it. For "cursor" the answer needs the screen:
    feed the screen all bytes but these, then send `screen.cursor_report(signal.text)`.
    """

    kind: SignalKind
    text: str = ""
    number: int = 0
    on: bool = False
    answer: bytes = b""
    behind: int = 0


def title(payload: str) -> str:
    """A window's title, without control characters; the rest of a very long one is cut."""
    shown = payload[:_TITLE_LIMIT].encode("utf-8", "replace").decode()
    return "".join(char for char in shown if char >= " " and not "\x7f" <= char <= "\x9f")


class Signals:
    """Finds the signals in one program's output, wherever it is cut. Tell it of a new size."""

    def __init__(self, cols: int, rows: int) -> None:
        self.cols, self.rows = cols, rows
        self.title = ""
        self._modes = MODES.copy()
        self._tokens = Tokenizer()
        # surrogateescape can be turned back, which makes `behind` exact for any bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    @property
    def bracketed_paste(self) -> bool:
        """True when the program wants pastes marked (mode 2004)."""
        return self._modes[2004]

    @property
    def alternate(self) -> bool:
        """True when the program asked for the alternate screen."""
        return any(self._modes[mode] for mode in (47, 1047, 1049))

    @property
    def synchronized(self) -> bool:
        """True when the program is in the middle of a frame (mode 2026)."""
        return self._modes[2026]

    def resize(self, cols: int, rows: int) -> None:
        """The terminal has a new size."""
        self.cols, self.rows = cols, rows

    def feed(self, data: bytes) -> list[Signal]:
        """The signals that `data` completes, in order."""
        text = self._decoder.decode(data)
        behind = len(text.encode("utf-8", "surrogateescape")) + len(self._decoder.getstate()[0])
        done = 0
        signals: list[Signal] = []
        for kind, body, end in self._tokens_of(text):
            behind -= len(text[done:end].encode("utf-8", "surrogateescape"))
            done = max(done, end)
            signals += _READERS[kind](self, body, min(behind, len(data)))
        return signals

    def _tokens_of(self, text: str) -> list[tuple[int, str, int]]:
        """The tokens that may be signals, each with where it ends."""
        position = 0
        found: list[tuple[int, str, int]] = []
        while self._tokens.resting:
            dull = _DULL.match(text, position)
            assert dull  # it matches the empty string
            position = dull.end()
            whole = _WHOLE.match(text, position)
            if not whole:
                break
            position = whole.end()
            assert whole.lastgroup
            found.append((_KINDS[whole.lastgroup], whole[whole.lastgroup], position))
        if position < len(text):
            for kind, body, left in self._tokens.split(text[position:]):
                if kind not in (ASCII, TEXT) and (kind != CSI or body[-1] in _FINALS):
                    found.append((kind, body, len(text) - left))
        return found

    def _read_control(self, body: str, behind: int) -> list[Signal]:
        return [Signal("bell", behind=behind)] if body == "\a" else []

    def _read_escape(self, body: str, _behind: int) -> list[Signal]:
        if body == "c":
            self._modes = MODES.copy()
        return []

    def _read_string(self, body: str, behind: int) -> list[Signal]:
        return _query(body, answer_string(body), behind)

    def _read_csi(self, body: str, behind: int) -> list[Signal]:
        csi = parse(body)
        if csi.key in ("?h", "?l"):
            on = csi.key == "?h"
            self._modes |= {number: on for number in csi.numbers if number in self._modes}
            return [Signal("mode", number=number, on=on, behind=behind) for number in csi.numbers]
        if csi.key == "!p":
            self._modes |= SOFT_RESET
        if body in ("6n", "?6n"):
            return [Signal("cursor", body, behind=behind)]
        return _query(body, answer_csi(body, self._modes, self.cols, self.rows), behind)

    def _read_osc(self, body: str, behind: int) -> list[Signal]:
        code, _, payload = body.partition(";")
        if code in ("0", "2"):
            self.title = title(payload)
            return [Signal("title", self.title, behind=behind)]
        answer = answer_osc(body) if code in ASKS_FOR_COLOURS else b""
        if not answer and code.isascii() and code.isdigit() and len(code) < 6:
            return [Signal("osc", payload, int(code), behind=behind)]
        return _query(body, answer, behind)


def _query(body: str, answer: bytes, behind: int) -> list[Signal]:
    return [Signal("query", body, answer=answer, behind=behind)] if answer else []


_READERS = {
    CONTROL: Signals._read_control,
    CSI: Signals._read_csi,
    ESCAPE: Signals._read_escape,
    OSC: Signals._read_osc,
    STRING: Signals._read_string,
}
"""By the kind of a token."""
