"""Terminal output as nobody should write it: what the fuzz of the screen feeds.

A stream is made from a `random.Random` alone, so its seed repeats it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

Step = bytes | tuple[int, int]  # output, or a new size in (columns, rows)

MOST_BYTES = 200_000  # of one stream
COLS, ROWS = (1, 2, 3, 20, 80, 120, 250, 500), (1, 2, 5, 24, 40, 60, 200)

_OPENINGS = ("\x1b[", "\x9b")
_FINALS = "@ABCDEFGHIJKLMPSTXZ`abcdefghilmnpqrstux"
_NUMBERS = ("", "0", "1", "2", "7", "40", "999", "65535", "4294967296", "9" * 400, "²", "4:3", "-1")
_MODES = (1, 3, 5, 6, 7, 25, 47, 1000, 1004, 1047, 1048, 1049, 2004, 2026, 2027, 9999)
_OPENERS = ("\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x9d", "\x90", "\x9f")
_ENDS = ("\x07", "\x1b\\", "\x9c", "\x18", "\x1a", "", "\x1b[m")
_PAYLOADS = (
    *("0;title", "2;\x00\x7f\ud800", "10;?", "4;1;?", "4" + ";1;?" * 400, "7501;state=done"),
    *("8;;http://x/", "52;c;?", "133;A", "+q544e", "$qm", "x\ny", "9;" + "y" * 9_000, "²;1"),
)
_ESCAPES = ("7", "8", "D", "E", "M", "H", "c", "=", ">", "(0", "(B", ")0", "#8", "%G", "\x1b", "N")
_STORM = (
    *("\x1b[9999L", "\x1b[9999M", "\x1b[9999@", "\x1b[9999P", "\x1b[9999b", "\x1b[9999S"),
    *("\x1b[9999T", "\x1b[2J", "\x1b[1J", "\x1b[22J", "\x1b[2K", "\x1b[9999X", "\x1bM", "\x1b#8"),
    *("\x1b[9999I", "\x1b[9999Z", "\x1bH\t", "\x1b[3g", "\x1b[6n", "\x1b[c", "\n", "\x1bD", "\t"),
    *("\x1b[?1049h\x1b[?1049l", "\x1b[?47h", "\x1b[?1047l", "\x1b7\x1b8", "\x1bc", "\x1b[!p"),
    *("\x1b[2;3r\n\n\n", "\x1b[r", "\x1b[?6h\x1b[9;9H", "漢\x1b[2D\x1b[P", "\x1b]0;t\x07", "\a"),
    *(
        "\x1b[38;2;1;2;3mx",
        "e\u0301",
        "\x1b[4hx",
        "\x1b[?2026h\x1b[?2026l",
        "\x1b[",
        "\x1b]",
        "\x9b",
    ),
)
_WIDE = (
    "漢",
    "👨‍👩‍👧‍👦",
    "⚠️",
    "🇩🇪",
    "🇩",
    "1️⃣",
    "👍🏽",
    "🏽",
    "e\u0301",
    "\u200d",
    "\ufe0f",
    "\u200b",
    "\xad",
    "ﷺ",
)
_PILES = ("\u0301", "\u200d", "\ufe0f", "\u20e3", "🏽", "🇩", "\u200d👦", "\U000e0061")


def stream(random: Random, recordings: Sequence[bytes]) -> list[Step]:
    """One program's output, cut anywhere, with a resize now and then."""
    kinds = (_noise, _grammar, _storm, _endless, _wide, _pile, _regions)
    if random.random() < 0.4:
        data = _mutated(random, recordings)
    else:
        data = b"".join(random.choice(kinds)(random) for _ in range(random.randint(1, 4)))
    return _cut(random, data[:MOST_BYTES])


def size(random: Random) -> tuple[int, int]:
    """Columns and rows, from one cell to a wall of them."""
    return random.choice(COLS), random.choice(ROWS)


def _cut(random: Random, data: bytes) -> list[Step]:
    pieces = random.choice((1, 3, 20, 100))
    edges = sorted({0, len(data), *(random.randint(0, len(data)) for _ in range(pieces))})
    steps: list[Step] = [data[start:end] for start, end in pairwise(edges)]
    if random.random() < 0.3:
        for _ in range(random.randint(1, 5)):
            steps.insert(random.randint(0, len(steps)), size(random))
    return steps


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _noise(random: Random) -> bytes:
    data = random.randbytes(random.choice((10, 1_000, 20_000)))
    if random.random() < 0.5:  # mostly controls
        data = bytes(byte & 0x9F for byte in data)
    return data


def _csi(random: Random) -> str:
    numbers = ";".join(random.choices(_NUMBERS, k=random.choice((0, 1, 1, 2, 3, 40))))
    marker, middle = (
        random.choice(("", "", "", "?", ">", "<", "=")),
        random.choice(' !$"\n\x18\x1b'),
    )
    middle = middle if random.random() < 0.1 else ""
    return f"{random.choice(_OPENINGS)}{marker}{numbers}{middle}{random.choice(_FINALS)}"


def _piece(random: Random) -> str:
    match random.randrange(8):
        case 0 | 1 | 2:
            return _csi(random)
        case 3:
            return f"\x1b[?{random.choice(_MODES)}{random.choice('hl')}"
        case 4:
            return random.choice(_OPENERS) + random.choice(_PAYLOADS) + random.choice(_ENDS)
        case 5:
            return "\x1b" + random.choice(_ESCAPES)
        case 6:
            return random.choice("\r\n\t\b\a\v\f\x0e\x0f\x00\x7f\x84\x85\x8d\x9c")
        case _:
            return random.choice(("words ", "─" * 40, "x" * 300, *_WIDE))


def _grammar(random: Random) -> bytes:
    return _encoded("".join(_piece(random) for _ in range(random.choice((5, 100, 2_000)))))


def _storm(random: Random) -> bytes:
    few = random.sample(_STORM, random.choice((1, 2, 5)))
    count = random.choice((10, 1_000, 5_000))
    filled = "x" * 400 if random.random() < 0.5 else ""
    return _encoded(filled + "".join(random.choice(few) for _ in range(count)))


def _endless(random: Random) -> bytes:
    """A string, or a CSI, that is not ended for a long time."""
    opener = random.choice((*_OPENERS, "\x1b[", "\x1b", "\x1b]0;"))
    body = random.choice(("y", "1;", "z\n", "\x00", "漢", "\x1b", "\t"))
    return _encoded(opener + body * random.choice((300, 9_000, 60_000)) + random.choice(_ENDS))


def _wide(random: Random) -> bytes:
    few = random.sample(_WIDE, random.choice((1, 3, len(_WIDE))))
    return _encoded("".join(random.choice(few) for _ in range(random.choice((50, 3_000, 20_000)))))


def _pile(random: Random) -> bytes:
    """Marks upon marks in one cell."""
    return _encoded(random.choice("e漢1") + random.choice(_PILES) * random.choice((200, 60_000)))


def _regions(random: Random) -> bytes:
    out = []
    for _ in range(random.choice((10, 500))):
        top, bottom = random.randint(0, 70), random.randint(0, 70)
        end = random.choice(("\n", "\x1bM", "\x1b[3L", "\x1b[3M", "\x1b[S", "\x1b[T")) * 5
        out.append(f"\x1b[{top};{bottom}r\x1b[{random.randint(0, 70)};1Hrow{end}")
    return "".join(out).encode()


def _mutated(random: Random, recordings: Sequence[bytes]) -> bytes:
    """A part of what a real program wrote, with a few things wrong."""
    data = random.choice(recordings)
    start = random.randrange(len(data))
    data = data[start : start + random.choice((500, 5_000, 60_000))]
    for _ in range(random.choice((0, 1, 10, 100))):
        at, length = random.randint(0, len(data)), random.choice((1, 5, 200))
        match random.randrange(4):
            case 0:
                data = data[:at] + data[at + length :]
            case 1:
                data = data[:at] + data[at : at + length] * 2 + data[at + length :]
            case 2:
                data = data[:at] + random.randbytes(length) + data[at + length :]
            case _:
                data = data[:at] + _encoded(_piece(random)) + data[at:]
    return data
