"""A terminal's answers when a program asks it about itself.

Without these answers Gemini CLI starts two seconds later and aider prints a warning. Left
unanswered on purpose: title reports, reads of the clipboard (OSC 52), the kitty keyboard
(`CSI ?u`) and graphics; the first two would let what is on the screen type into the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

CELL_WIDTH_PX, CELL_HEIGHT_PX = 10, 20
_FIXED = {
    "c": "\x1b[?62;22c",  # VT220 with colours
    "0c": "\x1b[?62;22c",
    ">c": "\x1b[>0;10;1c",
    ">0c": "\x1b[>0;10;1c",
    "=c": "\x1bP!|00000000\x1b\\",
    "=0c": "\x1bP!|00000000\x1b\\",
    ">q": "\x1bP>|moot 1.0\x1b\\",
    ">0q": "\x1bP>|moot 1.0\x1b\\",
    "5n": "\x1b[0n",
    "?996n": "\x1b[?997;1n",  # dark
    "16t": f"\x1b[6;{CELL_HEIGHT_PX};{CELL_WIDTH_PX}t",
}
_FOREGROUND, _BACKGROUND = "rgb:ffff/ffff/ffff", "rgb:0000/0000/0000"
_COLOURS = {10: _FOREGROUND, 11: _BACKGROUND, 12: _FOREGROUND}
ASKS_FOR_COLOURS = frozenset({"4", "10", "11", "12"})  # the codes of an OSC that may do so
# xterm's first 16 colours.
_PALETTE = (
    *("0000/0000/0000", "cdcd/0000/0000", "0000/cdcd/0000", "cdcd/cdcd/0000"),
    *("0000/0000/eeee", "cdcd/0000/cdcd", "0000/cdcd/cdcd", "e5e5/e5e5/e5e5"),
    *("7f7f/7f7f/7f7f", "ffff/0000/0000", "0000/ffff/0000", "ffff/ffff/0000"),
    *("5c5c/5c5c/ffff", "ffff/0000/ffff", "0000/ffff/ffff", "ffff/ffff/ffff"),
)
_LEVELS = (0, 95, 135, 175, 215, 255)  # of the 6 × 6 × 6 colours
_MODE_QUERY = re.compile(r"\?([0-9]{1,5})\$p")
_NUMBER_LIMIT = 9_999  # of a parameter: larger ones mean the same

# DEC private modes that are known, and how they stand at power-on.
_OFF_AT_FIRST = (
    *(1, 5, 6, 9, 12, 47, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1047, 1048, 1049),
    *(2004, 2026, 2027, 2031),
)
MODES: Final = dict.fromkeys(_OFF_AT_FIRST, False) | {7: True, 25: True}

# As DECSTR leaves them: the cursor shows, lines wrap, rows count from the top.
SOFT_RESET: Final = {6: False, 7: True, 25: True}


class Csi(NamedTuple):
    """A control sequence. key: private marker, intermediates and final byte: "?h", "$p", "m"."""

    key: str
    numbers: tuple[int, ...]

    @property
    def amount(self) -> int:
        """The first number, at least 1, as cursor moves and the like take it."""
        return max(1, self.numbers[0])


@lru_cache(maxsize=4096)
def parse(csi: str) -> Csi:
    """Take a CSI token apart. Missing and malformed parameters are 0; there is at least one."""
    body = csi[:-1].rstrip(" !\"#$%&'()*+,-./")
    intermediates = csi[len(body) : -1]
    marker = body[0] if body[:1] in ("<", "=", ">", "?") else ""
    numbers = tuple(_number(part) for part in body[len(marker) :].split(";"))
    return Csi(marker + intermediates + csi[-1], numbers)


def _number(digits: str) -> int:
    whole = digits.isascii() and digits.isdigit()
    return min(int(digits[:9]), _NUMBER_LIMIT) if whole and digits else 0


def answer_csi(csi: str, modes: Mapping[int, bool], cols: int, rows: int) -> bytes:
    """The answer to a control sequence that asks, b"" to all others. Not of the cursor."""
    answer = _FIXED.get(csi, "")
    if csi == "14t":
        answer = f"\x1b[4;{rows * CELL_HEIGHT_PX};{cols * CELL_WIDTH_PX}t"
    elif csi == "18t":
        answer = f"\x1b[8;{rows};{cols}t"
    elif match := _MODE_QUERY.fullmatch(csi):
        on = modes.get(int(match[1]))
        answer = f"\x1b[?{int(match[1])};{0 if on is None else 1 if on else 2}$y"  # DECRPM
    return answer.encode()


def cursor_report(csi: str, x: int, y: int) -> bytes:
    """The answer to `6n` or `?6n`; x, y from 0, as the program counts them."""
    return (f"\x1b[?{y + 1};{x + 1};1R" if csi == "?6n" else f"\x1b[{y + 1};{x + 1}R").encode()


def answer_string(payload: str) -> bytes:
    """The answer to a DCS: what it asks for is never there."""
    if payload.startswith("P+q"):
        return b"\x1bP0+r\x1b\\"
    return b"\x1bP0$r\x1b\\" if payload.startswith("P$q") else b""


def answer_osc(payload: str) -> bytes:
    """The answer to a question for colours: OSC 4, 10, 11, 12."""
    code, *values = payload.split(";")
    answers = []
    if code == "4":
        for index, value in zip(values[::2], values[1::2], strict=False):
            if value == "?" and index.isascii() and index.isdigit() and len(index) < 4:
                answers += [f"4;{index};{_palette(int(index))}"] if int(index) < 256 else []
    elif code in ("10", "11", "12"):
        for number, value in enumerate(values[:3], int(code)):
            if value == "?" and number in _COLOURS:
                answers.append(f"{number};{_COLOURS[number]}")
    return "".join(f"\x1b]{answer}\x1b\\" for answer in answers[:256]).encode()


def _palette(index: int) -> str:
    if index < 16:
        return f"rgb:{_PALETTE[index]}"
    if index < 232:
        cube = index - 16
        levels = [_LEVELS[n] for n in (cube // 36, cube // 6 % 6, cube % 6)]
    else:
        levels = [8 + 10 * (index - 232)] * 3
    return "rgb:" + "/".join(f"{level:02x}" * 2 for level in levels)
