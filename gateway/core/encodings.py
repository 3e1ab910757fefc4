"""The ways in which programs and people write a secret: as forms to look for, and read back where
there are too many of them. All of it takes time linear in the text."""

from __future__ import annotations

import html
import json
import re
import shlex
import unicodedata
import zlib
from base64 import b32encode, b64decode, b64encode
from binascii import Error as NoBase64
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

Found = list[tuple[int, int]]
"""Where something begins and ends in a text."""

WORD_CHARS = 16  # letters alone must be that many to be no word

# ── Escapes ─────────────────────────────────────────────────────────────────────────────

INVISIBLE = re.compile("[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
                       "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
                       "\U000e0000-\U000e0fff]")  # fmt: skip
_ESCAPE = re.compile(
    r"<!--|</?[a-z][^<>]{0,200}>|&\#?\w{1,31};|%(?:25){0,4}[0-9a-f]{2}"
    rf"|\\{{1,8}}(?:x[0-9a-f]{{2}}|u[0-9a-f]{{4}}|u\{{[0-9a-f]{{1,5}}\}})|{INVISIBLE.pattern}",
    re.IGNORECASE | re.DOTALL,
)
_COMMENT_CHARS = 1_000

MAY_ESCAPE = re.compile(r"<(?:!--|/?[a-z])|&\#?\w|%[0-9a-f]{2}|\\[xu]")
"""In small letters, the beginning of every escape but for what is invisible; quick where there is
none."""


def escapes(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each escape of a text begins and ends, and what is read of it; "": nobody sees it."""
    found = _ESCAPE.search(text)
    while found:
        end = found.end()
        if found[0] != "<!--":
            yield found.start(), end, _shown(found[0])
        elif (closed := text.find("-->", end, end + _COMMENT_CHARS + 3)) >= 0:
            end = closed + 3
            yield found.start(), end, ""
        found = _ESCAPE.search(text, end)


def _shown(word: str) -> str:
    if word[0] == "&":
        return html.unescape(word)
    if word[0] == "%":
        return chr(int(word[-2:], 16))
    return chr(int(word.lstrip("\\")[1:].strip("{}"), 16)) if word[0] == "\\" else ""


# ── Dumps and archives ──────────────────────────────────────────────────────────────────

_ALIKE = bytes(
    ord("0") if chr(byte) in "0123456789abcdef" else ord(" ") if byte == ord("\t") else byte
    for byte in range(256)
)
_OFFSETS = (b"000000 ", b"000000: ")
_ARCHIVES = (b"h4si", b"ejw", b"ejx", b"ejy", b"ejz")  # how their base64 begins


def may_hold(raw: bytes) -> bool:
    """False for bytes in small letters that have no row of a dump in them, and no archive: every
    row begins with an offset, of six digits at least."""
    alike = raw.translate(_ALIKE)
    return any(end in alike for end in _OFFSETS) or any(begin in raw for begin in _ARCHIVES)


_ROW = re.compile(  # of xxd, hexdump -C and od -tx1: an offset, and at most 16 bytes
    r"(?<![0-9a-z])[0-9a-f]{6,16}:?[ \t]{1,3}"
    r"((?:[0-9a-f]{2}){1,4}(?:[ \t]{1,2}(?:[0-9a-f]{2}){1,4}){0,15})(?![0-9a-z])"
)
_ROW_BYTES = 16
_PACKED = re.compile(  # what gzip and zlib begin with, in base64
    r"(?<![A-Za-z0-9+/_-])(?:H4sI|eJ[w-z])[A-Za-z0-9+/_-]{12,}"
    r"(?:[ \t>|]*\r?\n[ \t>|]*[A-Za-z0-9+/_-]+)*"
)
_MOST_GROWTH = 20  # times its size, of a text that is unpacked; ordinary text grows to ten times
_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/]")


def dumped(forms: Iterable[str], small: str) -> Found:
    """The rows of dumps that show one of these, given in hex, with the letters beside them."""
    rows = [(row, "".join(row[1].split())[: 2 * _ROW_BYTES]) for row in _ROW.finditer(small)]
    text, wanted = "".join(digits for _, digits in rows), set[int]()
    for form in forms:
        if form in text:
            for at in re.finditer(form, text):
                wanted |= set(range(at.start(), at.end(), 2)) if at.start() % 2 == 0 else set()
    found, begin = [], 0
    for row, digits in rows if wanted else ():
        end = begin + len(digits)
        if not wanted.isdisjoint(range(begin, end, 2)):
            found.append((row.start(1), _beside(small, row.end(1), len(digits) // 2)))
        begin = end
    return found


def _beside(text: str, end: int, size: int) -> int:
    """The end of a row's letters, which follow its bytes after some blanks."""
    line = text.find("\n", end)
    line = len(text) if line < 0 else line
    start = end
    while start < line and text[start] in " \t":
        start += 1
    if start == end or start - end > 3 * _ROW_BYTES + 4:
        return end
    return min(line, start + size + 2 * (text[start : start + 1] == "|"))


def packed(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Where gzip or zlib stands in base64, and what is inside."""
    for at in _PACKED.finditer(text):
        letters = _NO_BASE64.sub("", at[0].replace("-", "+").replace("_", "/"))
        inside, taken = _unpacked(letters[: len(letters) // 4 * 4 + (0, 0, 2, 3)[len(letters) % 4]])
        yield (at.start(), _letters_end(at, taken)), inside


def _unpacked(letters: str) -> tuple[str, int]:
    """The text, as much as there is of it, and how many of the letters it took."""
    try:
        data = b64decode(letters + "=" * (-len(letters) % 4))
        inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # gzip's or zlib's
        inside = inflate.decompress(data, len(data) * _MOST_GROWTH)
    except (zlib.error, NoBase64):
        return "", 0
    used = len(data) - len(inflate.unused_data)
    return inside.decode("utf-8", "replace"), -(-used * 4 // 3)


def _letters_end(at: re.Match[str], taken: int) -> int:
    """Where so many letters of base64 end; what wraps them isn't counted."""
    for offset, char in enumerate(at[0]):
        taken -= _NO_BASE64.match(char) is None or char in "-_"
        if not taken:
            return at.start() + offset + 1
    return at.end()


# ── Forms ───────────────────────────────────────────────────────────────────────────────


def forms_of(secret: str) -> set[str]:
    """The forms in which it may be written, letters of any case."""
    raw = secret.encode("utf-8", "replace")
    told = json.dumps(secret)[1:-1]
    return {
        secret,
        secret[1:-1] if len(secret) >= WORD_CHARS else secret,
        secret[::-1],
        *_escaped(secret),
        shlex.quote(secret)[1:-1] if shlex.quote(secret) != secret else secret,
        quote(secret, safe="", errors="replace"),
        quote(secret, errors="replace"),
        quote_plus(secret, errors="replace"),
        quote(quote(secret, safe="", errors="replace")),
        secret.replace("=", "=3d"),
        told,
        json.dumps(told)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        html.escape(secret),
        html.escape(secret, quote=False),
        raw.hex(),
        *base64_of(raw),
        *_base32(raw),
    }


def _escaped(secret: str) -> Iterator[str]:
    """With backslashes, as Markdown takes them, a pattern or a shell."""
    yield re.sub(r"([_*`~])", r"\\\1", secret)
    yield re.sub(r"([^\w])", r"\\\1", secret)
    yield re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", secret)
    yield re.escape(secret)


def _base32(raw: bytes) -> Iterator[str]:
    """The same among the five bytes of a group of base32."""
    for before in range(5):
        text = b32encode(b"\0" * before + raw).decode()
        yield text[-(-before * 8 // 5) : (before + len(raw)) * 8 // 5]


def wide_base64(secret: str) -> Iterator[str]:
    """Of two bytes a character, as PowerShell has it."""
    yield from dict.fromkeys(base64_of(secret.encode("utf-16-le", "replace")))


def base64_of(raw: bytes) -> Iterator[str]:
    """The characters of base64 that it fills alone, wherever it begins among the three bytes of a
    group."""
    for before in range(3):
        text = b64encode(b"\0" * before + raw).decode()
        text = text[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        yield from (text, text.replace("+", "-").replace("/", "_"))


# ── Letters ─────────────────────────────────────────────────────────────────────────────

_STYLED = (
    (0xFF01, 0xFF5F),
    (0x1D400, 0x1D800),
    (0x2460, 0x2500),
    (0x2070, 0x2150),
    (0x1F130, 0x1F16A),
)


def _plain_letters() -> Iterator[tuple[int, str]]:
    for first, end in _STYLED:
        for code in range(first, end):
            plain = unicodedata.normalize("NFKC", chr(code))
            if len(plain) == 1 and plain.isascii():
                yield code, plain.lower()


_PLAIN = dict(_plain_letters())  # full-width, mathematical and circled letters and digits

_STYLED_LETTER = re.compile(
    f"[{''.join(f'{chr(first)}-{chr(end - 1)}' for first, end in _STYLED)}]"
)


def small_of(text: str) -> str:
    """In small letters as a keyboard has them, each where it was."""
    small = text.lower()
    if len(small) != len(text):
        small = "".join(char if len(char.lower()) != 1 else char.lower() for char in text)
    if small.isascii() or _STYLED_LETTER.search(small) is None:
        return small
    return small.translate(_PLAIN)
