"""How a prompt gets into a program's input box."""

from __future__ import annotations

import asyncio
import re
import unicodedata

import structlog

from adapters.cli_profile import Profile
from adapters.pty.console import Console
from adapters.reading.queries import text_on
from adapters.turn_signs import PromptTyping

BEGIN, END = b"\x1b[200~", b"\x1b[201~"

_LINE_ENDS = re.compile("\r\n?")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # C0 but TAB and LF, DEL, C1


def clean(prompt: str, typing: PromptTyping) -> str:
    """The typed form of a prompt: no control but LF (and TAB where the program keeps it).

    Without ESC and the C1 controls nothing in it can end a paste or start a sequence.
    """
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", prompt)).replace("\t", typing.text.tab)
    if typing.text.nfc:
        text = unicodedata.normalize("NFC", text)
    text = typing.text.harmless(text)
    return text + typing.text.after_backslash if text.endswith("\\") else text


def keystrokes(prompt: str, typing: PromptTyping, *, asks_for_pastes: bool = True) -> bytes:
    """The bytes to write before Enter.

    asks_for_pastes: whether the program wants pastes marked, where the profile leaves it to that.
    """
    text = clean(prompt, typing)
    if not pastes(typing, asks_for_pastes):
        lines = text.strip("\n").split("\n")
        return typing.before + typing.newline.join(lines).encode("utf-8", "replace")
    texts = typing.text.pieces(text) if typing.text.pieces else (text,)
    pieces = [BEGIN + piece.encode("utf-8", "replace") + END for piece in texts]
    return typing.before + b"".join(pieces)


def pastes(typing: PromptTyping, asks_for_pastes: bool) -> bool:
    """True when a prompt goes in as a bracketed paste."""
    return asks_for_pastes if typing.paste is None else typing.paste


log = structlog.stdlib.get_logger("moot.adapters.entry")

PROMPT_S = 5.0  # from the recorded end of a turn to the prompt for the next
REST_S = 3.0  # of waiting for a title to show that the turn before is over
LOOK_S = 0.05  # between looks at the screen
LIMIT_S = 3.0  # of waiting for the echo of a paste, and
ECHO_BYTES_S = 8_000  # for a long one, on a busy machine (Claude Code 2.1.330: 10 s for 60 KB)


class PromptEntry:
    """Waits for what a program shows before and after it is typed to."""

    def __init__(self, profile: Profile, console: Console) -> None:
        self._profile = profile
        self._console = console
        self._time = asyncio.get_running_loop().time

    async def prompted(self) -> None:
        """Wait until the program shows that it reads."""
        await self.rested()
        prompt, end = self._profile.typing.prompt, self._time() + PROMPT_S
        while prompt and self._time() < end and self._console.alive:
            if prompt.search(text_on(await self._console.screen())):
                return
            await asyncio.sleep(LOOK_S)

    async def rested(self) -> None:
        """Wait a little while its title still shows the turn before."""
        title, end = self._profile.signs.title, self._time() + REST_S
        while title and title.busy.search(self._console.title) and self._time() < end:
            await self._console.wait_change(LOOK_S)
            if not self._console.alive:
                return

    async def echoed(self, keys: bytes, quiet_s: float) -> None:
        """Wait until the box shows what was typed and is quiet; type it again if it never does."""
        if not await self._shown():
            log.info("prompt.typed_again", agent=self._profile.name)
            await self._console.write(self._profile.controls.interrupt.clear + keys)
            await self._shown()
        if quiet_s:
            limit_s = LIMIT_S + len(keys) / ECHO_BYTES_S
            await self._console.wait_quiet(quiet_s, limit_s, from_now=True)

    async def _shown(self) -> bool:
        """True when the box shows the text, for programs that may lose it."""
        typing = self._profile.typing
        if not (typing.echo_s and typing.holding):
            return True
        end = self._time() + typing.echo_s
        while self._time() < end and self._console.alive:
            if typing.holding.search(text_on(await self._console.screen())):
                return True
            await self._console.wait_change(LOOK_S)
        return False
