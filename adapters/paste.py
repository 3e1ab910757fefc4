"""A prompt as keystrokes that press no keys of their own. Pure."""

from __future__ import annotations

import re
import unicodedata

from adapters.profiles.profile import Typing

BEGIN, END = b"\x1b[200~", b"\x1b[201~"
_LINE_ENDS = re.compile("\r\n?")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # C0 but TAB and LF, DEL, C1


def clean(prompt: str, typing: Typing) -> str:
    """What is typed of a prompt: no control but LF (and TAB where the program keeps it).

    Without ESC and the C1 controls nothing in it can end a paste or start a sequence.
    """
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", prompt)).replace("\t", typing.tab)
    if typing.nfc:
        text = unicodedata.normalize("NFC", text)
    text = typing.harmless(text)
    return text + typing.after_backslash if text.endswith("\\") else text


def keystrokes(prompt: str, typing: Typing) -> bytes:
    """The bytes to write before Enter."""
    text = clean(prompt, typing)
    if not typing.paste:
        lines = text.strip("\n").split("\n")
        return typing.before + typing.newline.join(lines).encode("utf-8", "replace")
    pastes = [BEGIN + piece.encode("utf-8", "replace") + END for piece in typing.pieces(text)]
    return typing.before + b"".join(pastes)
