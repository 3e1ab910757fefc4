"""Keyboard input: bytes in, keys out."""

from __future__ import annotations

import codecs
import re
from collections import namedtuple

Key = namedtuple("Key", "name text")
Key.__doc__ = """name: "text", "paste", "enter", "esc", "up", "down", "erase", "clear", "quit"."""

PASTE, END = "\x1b[200~", "\x1b[201~"
_ESCAPE = re.compile(  # CSI, SS3, and the strings that answers to queries are
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~]|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)|[ -NQ-WYZ\\`-~])"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O|[\]P_^X][^\x07]*)?\Z")
_ARROWS = {"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down"}
_CONTROLS = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "erase",
    "\x08": "erase",
    "\x15": "clear",
    "\x03": "esc",
    "\x04": "quit",
}


class Keys:
    """Keys of a raw terminal. `waiting`: an unfinished escape sequence, or a lone Esc."""

    __slots__ = ("_decoder", "_paste", "_pasting", "waiting")

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._paste: list[str] = []
        self._pasting = False
        self.waiting = ""

    def feed(self, data: bytes) -> list[Key]:
        """The keys that these bytes complete."""
        text = self.waiting + self._decoder.decode(data)
        self.waiting = ""
        keys: list[Key] = []
        while text:
            text = self._in_paste(text, keys) if self._pasting else self._outside(text, keys)
        return keys

    def flush(self) -> list[Key]:
        """No more came: an escape alone was the Esc key."""
        if self.waiting != "\x1b" or self._pasting:
            return []
        self.waiting = ""
        return [Key("esc", "")]

    def _in_paste(self, text: str, keys: list[Key]) -> str:
        body, end, rest = text.partition(END)
        if not end:  # the end mark may be torn
            tail = next((n for n in range(len(END) - 1, 0, -1) if text.endswith(END[:n])), 0)
            self._paste.append(text[: len(text) - tail])
            self.waiting = text[len(text) - tail :]
            return ""
        keys.append(Key("paste", "".join([*self._paste, body])))
        self._paste, self._pasting = [], False
        return rest

    def _outside(self, text: str, keys: list[Key]) -> str:
        if text.startswith(PASTE):
            self._pasting = True
            return text[len(PASTE) :]
        if match := _ESCAPE.match(text):
            if match[0] in _ARROWS:
                keys.append(Key(_ARROWS[match[0]], ""))
            return text[match.end() :]
        if _UNFINISHED.match(text):
            self.waiting = text
            return ""
        if text[0] == "\x1b":
            keys.append(Key("esc", ""))
        elif text[0] in _CONTROLS:
            keys.append(Key(_CONTROLS[text[0]], ""))
        elif text[0] >= " " or text[0] == "\t":
            keys.append(Key("text", text[0]))
        return text[1:]
