"""A prompt's way into a program's input box, and what the program shows before and after it."""

from __future__ import annotations

import asyncio
import re
import time

import structlog

from adapters.agent import Reply
from adapters.cli_profile import Profile
from adapters.pty.console import Console
from adapters.reading.queries import text_on
from adapters.turn_signs import PastedPicture, PromptTyping
from contract.looks import normalized

BEGIN, END = b"\x1b[200~", b"\x1b[201~"

_LINE_ENDS = re.compile("\r\n?")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # C0 but TAB and LF, DEL, C1


def clean(prompt: str, typing: PromptTyping) -> str:
    """The typed form of a prompt: no control but LF (and TAB where the program keeps it).

    Without ESC and the C1 controls nothing in it can end a paste or start a sequence.
    """
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", prompt)).replace("\t", typing.text.tab)
    if typing.text.nfc:
        text = normalized("NFC", text)
    text = typing.text.harmless(text)
    return text + typing.text.after_backslash if text.endswith("\\") else text


def keystrokes(prompt: str, typing: PromptTyping, *, paste: bool = True) -> bytes:
    """The bytes to write before Enter. paste: see `pastes`."""
    text = clean(prompt, typing)
    if not paste:
        lines = text.strip("\n").split("\n")
        return typing.before + typing.newline.join(lines).encode("utf-8", "replace")
    texts = typing.text.pieces(text) if typing.text.pieces else (text,)
    pieces = [BEGIN + piece.encode("utf-8", "replace") + END for piece in texts]
    return typing.before + b"".join(pieces)


def pastes(typing: PromptTyping, console: Console) -> bool:
    """True when a prompt goes in as a bracketed paste."""
    return console.bracketed_paste if typing.paste is None else typing.paste


log = structlog.stdlib.get_logger("moot.adapters.entry")

PROMPT_S = 5.0  # from the recorded end of a turn to the prompt for the next
REST_S = 3.0  # of waiting for a title to show that the turn before is over
LOOK_S = 0.05  # between looks at the screen
LIMIT_S = 3.0  # of waiting for the echo of a paste, and
ECHO_BYTES_S = 8_000  # for a long one, on a busy machine (Claude Code 2.1.330: 10 s for 60 KB)


async def prompted(prompt: re.Pattern[str], console: Console) -> None:
    """Wait until the program shows that it reads."""
    end = time.monotonic() + PROMPT_S
    while time.monotonic() < end and console.alive:
        if prompt.search(text_on(await console.screen())):
            return
        await asyncio.sleep(LOOK_S)


async def rested(profile: Profile, console: Console) -> None:
    """Wait a little while its title still shows the turn before."""
    title, end = profile.signs.title, time.monotonic() + REST_S
    while title and title.busy.search(console.title) and time.monotonic() < end:
        await console.wait_change(LOOK_S)
        if not console.alive:
            return


async def echoed(profile: Profile, console: Console, keys: bytes) -> None:
    """Wait until the box shows what was typed and is quiet; type it again if it never does. A
    program without a box can't mistake an Enter that comes soon for a part of the text."""
    typing = profile.typing
    if typing.echo_s and typing.holding and not await _shown(typing, typing.holding, console):
        log.info("prompt.typed_again", agent=profile.name)
        await console.write(profile.controls.interrupt.clear + keys)
        await _shown(typing, typing.holding, console)
    if typing.settle_s and not console.takes_lines:
        limit_s = LIMIT_S + len(keys) / ECHO_BYTES_S
        await console.wait_quiet(typing.settle_s, limit_s, from_now=True)


async def attach(picture: PastedPicture, profile: Profile, console: Console, reply: Reply) -> None:
    """Paste where the turn's pictures are, each by itself, into a program that takes them so.

    One that it does not take stands in its box as the path that it is.
    """
    paths = [file.path or "" for file in reply.occasion.pictures]
    for path in filter(picture.path.fullmatch, paths):
        if not path.isprintable():
            continue
        before = len(picture.taken.findall(text_on(await console.screen())))
        await console.write(BEGIN + b"\n" + END + BEGIN + path.encode() + END)
        end = time.monotonic() + picture.wait_s
        while len(picture.taken.findall(text_on(await console.screen()))) <= before:
            if time.monotonic() > end or not console.alive:
                log.warning("picture.not_taken", agent=profile.name)
                break
            await console.wait_change(LOOK_S)
        await console.wait_quiet(profile.typing.settle_s, LIMIT_S, from_now=True)


async def _shown(typing: PromptTyping, holding: re.Pattern[str], console: Console) -> bool:
    """True when the box shows the text, for programs that may lose it."""
    end = time.monotonic() + typing.echo_s
    while time.monotonic() < end and console.alive:
        if holding.search(text_on(await console.screen())):
            return True
        await console.wait_change(LOOK_S)
    return False
