"""Taking back the last exchange: the steps that the profile gives, each seen to be taken."""

from __future__ import annotations

import asyncio

from adapters.cli_profile import Profile
from adapters.pty.console import Console
from adapters.pty.terminal import PtyClosed
from adapters.reading.queries import text_on
from adapters.session.session import last_words
from adapters.turn_signs import UndoStep
from contract.errors import AgentError
from contract.language import later

STILL_S, STILL_LIMIT_S = 0.3, 1.5  # of quiet before keys: a menu opens behind a typed `/`
STEP_S = 10.0  # from keys to what they show
AGAIN_S = 0.4  # between keys that are pressed again
LOOK_S = 0.05


async def take_back(profile: Profile, console: Console) -> None:
    """Go through the steps; return when the program waits again. Raises AgentError: it did not, and
    what its screen shows then is not known."""
    undo = profile.controls.undo
    assert undo
    try:
        for step in undo.steps:
            await console.wait_quiet(STILL_S, STILL_LIMIT_S)
            if step.where and not step.where.search(text_on(await console.screen())):
                continue
            if not await _taken(step, profile, console):
                raise _refused(profile, text_on(await console.screen()))
        if undo.clear:
            await console.wait_quiet(STILL_S, STILL_LIMIT_S)
            console.cleared_at = asyncio.get_running_loop().time()
            await console.write(undo.clear)
            await console.wait_quiet(STILL_S, STILL_LIMIT_S, from_now=True)
    except PtyClosed as error:
        raise _refused(profile, "it ended") from error


async def _taken(step: UndoStep, profile: Profile, console: Console) -> bool:
    """Press a step's keys; True when the screen shows that they were taken."""
    undo, time = profile.controls.undo, asyncio.get_running_loop().time
    end, pressed_at = time() + STEP_S, time()
    await console.write(step.keys)
    while time() < end and console.alive:
        text = text_on(await console.screen())
        if step.shows.search(text):
            return True
        if undo and undo.refuses and undo.refuses.search(text):
            return False
        if step.again and time() >= pressed_at + AGAIN_S:
            pressed_at = time()
            await console.write(step.keys)
        await console.wait_change(LOOK_S)
    return False


def _refused(profile: Profile, text: str) -> AgentError:
    say = later(
        "{title} did not take its last answer back; what it changed still stands.",
        title=profile.title,
    )
    return AgentError("missing", f"{profile.name}: not taken back: {last_words(text)}", say=say)
