"""`moot agents NAME --explain`: how an agent's screen is read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from adapters.agent import Launch
from adapters.cli.command import NullReply
from adapters.cli.hooks import HookListener
from adapters.cli.session import CliAgent
from adapters.cli_profile import Profile
from adapters.describing.marks import marked_rows
from adapters.profiles.generic import GENERIC
from adapters.screen.screen import Screen
from contract.agent import Question
from contract.errors import AgentError, ConfigError
from gateway.cli.command_line import printable
from gateway.core.private_folders import make_data_folder
from gateway.sessions.api_programs import API_PROGRAMS
from gateway.sessions.programs import environment_for, make_profile
from gateway.settings.config import Config
from gateway.settings.tables import AgentTable
from gateway.web.listening.listener import serving_hooks

PROMPT = "Say hello in one short sentence."
MOST_ROWS = 60
NAMES = 18  # columns

Say = Callable[[str], None]


class Refusing(NullReply):
    """Refuses what is asked, and says what the room would be asked."""

    def __init__(self, say: Say) -> None:
        self._say = say

    async def choose(self, question: Question) -> int:
        """See `NullReply`."""
        self._say(f"It asks: {printable(question.title)}")
        for row in question.detail.splitlines():
            self._say(f"    {printable(row)}")
        for number, option in enumerate(question.options, 1):
            refuses = " (refuses)" if option.refuses else ""
            self._say(f"    !{number} {printable(option.label)}{refuses}")
        return await super().choose(question)


def screen_lines(screen: Screen, profile: Profile) -> Iterator[str]:
    """The last rows of a screen, each behind the names of the patterns that match it."""
    rows = marked_rows(screen, profile)
    if len(rows) > MOST_ROWS:
        yield f"{'':<{NAMES}} │ … {len(rows) - MOST_ROWS} rows above"
    for names, row in rows[-MOST_ROWS:]:
        yield f"{names:>{NAMES}} │ {printable(row)}"


def say_screen(say: Say, title: str, screen: Screen | None, profile: Profile) -> None:
    """Print it with its marks."""
    say(f"\n{title}\n")
    for line in screen_lines(screen, profile) if screen else ():
        say(line)


async def ask_and_show(agent: CliAgent, profile: Profile, prompt: str, say: Say) -> str:
    """Ask it, print its screen and what is read of it, and return that. Raises AgentError."""
    answer = await agent.ask(prompt, Refusing(say))
    say_screen(say, f"Its screen after {prompt.splitlines()[0]!r}:", agent.screen, profile)
    source = "its own record" if answer.source == "record" else "the screen"
    say(f"\nIts reply, read from {source}; its end was told by: {answer.ended_by}\n")
    for row in (answer.text or "(nothing)").splitlines():
        say(f"  > {printable(row)}")
    return answer.text


async def explain(config: Config, environment: Mapping[str, str], name: str, say: Say) -> int:
    """Start the agent, ask it one thing, and print how both are read. 1: it failed."""
    table = config.agents.get(name, AgentTable(profile=name))
    if table.profile in API_PROGRAMS or table.driver == "acp":
        raise ConfigError(f"agents.{name}: it has no terminal to look at")
    profile = make_profile(name, table)
    make_data_folder(config.gateway.data_dir)
    folder = Path(tempfile.mkdtemp(prefix="preflight-", dir=config.gateway.data_dir))
    try:
        async with HookListener.open(serving_hooks()) as hooks:
            own = environment_for(profile, table, environment)
            launch = Launch(
                folder / "home",
                folder / "work",
                command=() if table.profile == GENERIC.name else table.command,
                env=tuple(own.items()),
                login=table.login,
            )
            return await _explained(CliAgent(profile, launch, hooks), profile, say)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _explained(agent: CliAgent, profile: Profile, say: Say) -> int:
    try:
        await agent.start()
        say_screen(say, "Its screen when it was ready:", agent.screen, profile)
        await ask_and_show(agent, profile, PROMPT, say)
    except AgentError as error:
        say_screen(say, "Its last screen:", agent.screen, profile)
        say(f"\n{printable(error.say)}")
        return 1
    finally:
        await agent.close()
    return 0
