"""Decoded terminal output in, tokens out: text runs, controls, escape sequences, strings.

The grammar is ECMA-48's as terminals in UTF-8 mode read it. Whatever arrives, in whatever
pieces, the same characters give the same tokens, and what is held of an unfinished sequence
is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Final

# What a token is, and what its text holds.
ASCII: Final = 1  # a run of printable ASCII
TEXT: Final = 2  # a run of other printable characters
CONTROL: Final = 3  # one C0 control or DEL
CSI: Final = 4  # parameters, intermediates and final byte: "?25h"
ESCAPE: Final = 5  # intermediates and final byte: "(0"
OSC: Final = 6  # the payload: "0;title"
STRING: Final = 7  # a DCS, SOS, PM or APC, as its introducer in 7 bits and its payload: "P+q544e"

# (kind, text, number of characters behind it in the piece that was given)
Token = tuple[int, str, int]

# Characters kept of a string: titles and notices are far shorter. An OSC that is longer and
# holds a line feed was never ended; reading goes on behind its first line.
STRING_LIMIT: Final = 8_192

_PARAMETERS = r"[0-?]{0,256}[ -/]{0,8}"
_GROUND = re.compile(
    r"([ -~]+)"
    r"|([^\x00-\x1f -~\x7f-\x9f]+)"
    r"|([\x00-\x1a\x1c-\x1f\x7f])"
    rf"|(?:\x1b\[|\x9b)({_PARAMETERS}[@-~])"
    r"|\x1b([ -/]{0,8}[0-OQ-WYZ\\`-~])"
    r"|([\x1b\x80-\x9f])"
)
_UNUSUAL: Final = 6  # the group of _GROUND that is the beginning of something else
_STRING_STARTS: Final = "PX]^_"  # behind ESC: DCS, SOS, OSC, PM, APC
_BEGUN_CSI = re.compile(_PARAMETERS)
_CSI_BODY = re.compile(r"[\x00-\x17\x19\x1c-\x3f\x7f]*")
_ESCAPE_BODY = re.compile(r"[\x00-\x17\x19\x1c-\x2f\x7f]*")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_OSC_END = re.compile(r"[\x07\x18\x1a\x1b\x9c]")
_STRING_END = re.compile(r"[\x18\x1a\x1b\x9c]")


class Tokenizer:
    """Cuts one stream of characters into tokens."""

    def __init__(self) -> None:
        self._held = ""  # the unfinished sequence at the end of the last piece
        self._introducer = ""  # of the string that is open, "" when none is
        self._payload: list[str] = []
        self._payload_size = 0
        self._ignoring = False  # inside a malformed CSI: drop it up to its final byte
        self.resting = True  # nothing is unfinished: what comes next begins a token

    def split(self, text: str) -> Iterator[Token]:
        """The tokens that `text` completes, in order. Exhaust it before the next call."""
        text, self._held = self._held + text, ""
        position = 0
        while position < (size := len(text)):
            if self._introducer:
                position, string = self._read_string(text, position)
                if string is not None:
                    yield *string, size - position
            elif self._ignoring:
                position = yield from self._ignore(text, position)
            else:
                for match in _GROUND.finditer(text, position):
                    kind, position = match.lastindex or 0, match.end()
                    if kind == _UNUSUAL:
                        position = yield from self._read_unusual(text, position - 1)
                        break
                    yield kind, match[kind], size - position
            if self._held and position < size:
                text, position, self._held = self._held + text[position:], 0, ""
        self.resting = not (self._held or self._introducer or self._ignoring)

    def _read_unusual(self, text: str, position: int) -> Generator[Token, None, int]:
        """A sequence that is not whole, or not plain: C1, controls inside, a string's start."""
        char, position, size = text[position], position + 1, len(text)
        head, body = "", ""
        if char != "\x1b":
            head = chr(ord(char) - 0x40)
            if head in _STRING_STARTS:
                self._introducer = head
                return position
            if head != "[":
                yield ESCAPE, head, size - position
                return position
        while True:
            more, position = yield from self._read_body(text, position, csi=bool(head))
            body += more
            if head and not _BEGUN_CSI.fullmatch(body):
                self._ignoring = True
                return position
            if not head:
                body = body[:8]
            if position == size:
                self._held = f"\x1b{head}{body}"
                return position
            char = text[position]
            if head or body or char not in f"[{_STRING_STARTS}":
                break
            if char != "[":
                self._introducer = char
                return position + 1
            head, position = char, position + 1
        kind, first = (CSI, "@") if head else (ESCAPE, "0")
        if first <= char <= "~":
            yield kind, body + char, size - position - 1
            return position + 1
        return position  # broken off; what broke it off is read as something new

    @staticmethod
    def _read_body(
        text: str, position: int, *, csi: bool
    ) -> Generator[Token, None, tuple[str, int]]:
        """The parameters from here on, without the controls among them, and where they end."""
        part = (_CSI_BODY if csi else _ESCAPE_BODY).match(text, position)
        assert part is not None  # both match the empty string
        for control in _CONTROLS.findall(part[0]):
            for one in control:
                yield CONTROL, one, len(text) - part.end()
        return _CONTROLS.sub("", part[0]), part.end()

    def _read_string(self, text: str, position: int) -> tuple[int, tuple[int, str] | None]:
        """Go on in the open string: the new position, and the string when it has ended well."""
        end = (_OSC_END if self._introducer == "]" else _STRING_END).search(text, position)
        stop = end.start() if end else len(text)
        room = STRING_LIMIT - self._payload_size
        if room >= 0:
            self._payload.append(text[position : min(stop, position + room)])
            self._payload_size += len(self._payload[-1])
        if 0 <= room < stop - position:
            payload = "".join(self._payload)
            if self._introducer == "]" and "\n" in payload:
                self._held = payload.partition("\n")[2]
                self._close_string()
                return position + room, None
            self._payload, self._payload_size = [payload], STRING_LIMIT + 1
        if end is None:
            return stop, None
        if end[0] == "\x1b" and stop + 1 == len(text):
            self._held = "\x1b"  # the first half of ST, perhaps
            return stop + 1, None
        if end[0] in "\x07\x9c":
            return stop + 1, self._close_string()
        if text.startswith("\x1b\\", stop):
            return stop + 2, self._close_string()
        self._close_string()
        return stop, None

    def _close_string(self) -> tuple[int, str]:
        payload, introducer = "".join(self._payload), self._introducer
        self._introducer, self._payload, self._payload_size = "", [], 0
        return (OSC, payload) if introducer == "]" else (STRING, introducer + payload)

    def _ignore(self, text: str, position: int) -> Generator[Token, None, int]:
        _, position = yield from self._read_body(text, position, csi=True)
        if position < len(text):
            self._ignoring = False
            position += "@" <= text[position] <= "~"
        return position
