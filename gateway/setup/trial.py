"""One question, asked for real: of a persona's agent, with its login, in its folder."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.cli.hooks import HookListener
from contract.agent import Answer
from contract.chat import Room
from contract.errors import AgentError
from contract.values import dataclass
from gateway.core.clock import clock
from gateway.core.ledger import SessionKey
from gateway.core.private_folders import make_data_folder
from gateway.questions.unwatched import UnwatchedReply
from gateway.sessions.opener import NoSessions, Opener
from gateway.sessions.programs import Programs
from gateway.sessions.sandbox import Sandboxing
from gateway.settings.config import Config
from gateway.settings.personas.personas import Persona

ANSWER_S = 180.0  # the start of a slow program and retries of the API included
MOST_SHOWN = 300  # characters of an answer
ROOM = Room("web:trial", "trial", "dm")
SCOPE = "dm:web:trial:trial"
PROMPT = """\
[SESSION CONTEXT]
Room: direct message with Moot

[RAW TRANSCRIPT — most recent 40 messages]
[00:00 | Moot] Name one file that is in your working directory: look there, and change nothing. \
Answer with its name alone. If nothing is there, reply with the one word: nothing

[CURRENT INVOCATION]
Respond to Moot in this direct message.
"""


@dataclass(frozen=True, slots=True)
class Tried:
    """answer: the agent's words. asked: titles of its permission questions, which were refused.
    trouble: why that is no good answer, one sentence; "": it is one. at_login: because the agent
    isn't logged in."""

    answer: str = ""
    asked: Sequence[str] = ()
    seconds: float = 0.0
    trouble: str = ""
    at_login: bool = False


async def try_persona(
    persona: Persona, config: Config, environment: Mapping[str, str], hooks: HookListener
) -> Tried:
    """What the persona's agent answers, as it would run: sandbox, login and folder included.

    Its HOME is one of its own, and gone afterwards.
    """
    make_data_folder(config.gateway.data_dir)
    folder = Path(tempfile.mkdtemp(prefix="trial-", dir=config.gateway.data_dir))
    opener = Opener(
        programs=Programs(config.agents, environment, hooks),
        ledger=NoSessions(),
        data_dir=folder,
        clock=clock,
        sandboxing=Sandboxing(config, environment.get("PATH", "")),
    )
    reply, began, names = UnwatchedReply(), time.monotonic(), list[str]()
    try:
        async with asyncio.timeout(ANSWER_S):
            live = await opener.open(persona, SessionKey(persona.name, SCOPE), ROOM)
            names = os.listdir(live.workspace)
            try:
                answer = await live.agent.ask(PROMPT, reply)
            finally:
                await opener.close(live)
    except AgentError as error:
        say, at_login = " ".join(error.say.split()), error.kind == "login"
        return Tried(asked=reply.asked, trouble=say, at_login=at_login)
    except TimeoutError:
        trouble = f"It gave no answer within {ANSWER_S:.0f} s."
        return Tried(asked=reply.asked, trouble=trouble)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    return _judged(answer, names, reply.asked, time.monotonic() - began)


def _judged(answer: Answer, names: Sequence[str], asked: Sequence[str], seconds: float) -> Tried:
    """The answer, and whether it names what stands in the folder."""
    said = answer.text.strip()
    short = said if len(said) <= MOST_SHOWN else f"{said[:MOST_SHOWN]} …"
    words = {word.strip("`'\"*.,:()") for word in re.split(r"[\s/]+", said)}
    trouble = ""
    if not said:
        trouble = "It ended without a word."
    elif names and not words & {*names, *(name.rstrip(".") for name in names)}:
        trouble = "Its answer names nothing that is in the folder."
    return Tried(short, tuple(asked), seconds, trouble)
