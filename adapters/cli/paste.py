"""A prompt as keystrokes that press no keys of their own. Pure."""

from __future__ import annotations

import re
import unicodedata

from adapters.cli_profile import PromptTyping

BEGIN, END = b"\x1b[200~", b"\x1b[201~"
_LINE_ENDS = re.compile("\r\n?")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # C0 but TAB and LF, DEL, C1


def clean(prompt: str, typing: PromptTyping) -> str:
    """What is typed of a prompt: no control but LF (and TAB where the program keeps it).

    Without ESC and the C1 controls nothing in it can end a paste or start a sequence.
    """
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", prompt)).replace("\t", typing.tab)
    if typing.nfc:
        text = unicodedata.normalize("NFC", text)
    text = typing.harmless(text)
    return text + typing.after_backslash if text.endswith("\\") else text


def keystrokes(prompt: str, typing: PromptTyping, *, asks_for_pastes: bool = True) -> bytes:
    """The bytes to write before Enter.

    asks_for_pastes: whether the program wants pastes marked, where the profile leaves it to that.
    """
    text = clean(prompt, typing)
    if not pastes(typing, asks_for_pastes):
        lines = text.strip("\n").split("\n")
        return typing.before + typing.newline.join(lines).encode("utf-8", "replace")
    pieces = [BEGIN + piece.encode("utf-8", "replace") + END for piece in typing.pieces(text)]
    return typing.before + b"".join(pieces)


def pastes(typing: PromptTyping, asks_for_pastes: bool) -> bool:
    """Whether a prompt goes in as a bracketed paste."""
    return asks_for_pastes if typing.paste is None else typing.paste
