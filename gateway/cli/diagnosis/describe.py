"""`moot describe -- CMD`: a terminal program is watched, described, and written into moot.toml."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Item

from adapters.agent import Launch
from adapters.cli.session import CliAgent
from adapters.cli_profile import Profile
from adapters.describing.proposal import ProposedSettings, Seen, propose, refusing_keys
from adapters.describing.watch import Watcher
from adapters.profiles.generic import GenericSettings, generic_profile
from adapters.reading.queries import reply_on
from contract.errors import AgentError, ConfigError
from contract.values import dataclass
from gateway.cli.command_line import printable
from gateway.cli.diagnosis.explain import ask_and_show, say_screen
from gateway.cli.init.asking import Asker
from gateway.core.private_folders import make_data_folder
from gateway.sessions.programs import environment_for
from gateway.sessions.sandbox import Sandboxing
from gateway.settings.config import Config, parse_config
from gateway.settings.editing.files import File, document, read, section, write_all
from gateway.settings.personas.personas import parse_persona
from gateway.settings.tables import AgentTable

FIRST = "Say hello in one short sentence."
SECOND = (
    "Please answer in three parts:\n\n"
    "1. one long line of about 90 words, without a line break, about anything that you like: a "
    "garden in spring, the way to school, a kitchen at night, the sea, an old bicycle, what can be "
    "seen from a window, or how bread is made in a small village\n"
    "2. a short block of code\n"
    "3. one line in Japanese"
)
CHECK = "Say hello once more, in one short sentence."
_NAME = re.compile(r"[^a-z0-9-]+")
_LAUNCHERS = re.compile(r"python[\d.]*|node|deno|bun|ruby|perl|bash|sh|uv|npx|env")


@dataclass(frozen=True)
class DescribeOptions:
    """A program to describe. prompts: instead of Moot's own; permission: one that makes it ask."""

    name: str
    command: Sequence[str]
    prompts: Sequence[str] = ()
    permission: str = ""


def name_of(command: Sequence[str]) -> str:
    """A name for the agent: its program's, or that of the script that it runs."""
    words = [Path(word).stem.lower() for word in command if not word.startswith("-")]
    own = [word for word in words if not _LAUNCHERS.fullmatch(word)]
    return _NAME.sub("-", (own or words)[0]).strip("-") or "mine"


async def describe(
    config: Config, environment: Mapping[str, str], file: Path, wish: DescribeOptions, asking: Asker
) -> int:
    """Watch it, show what would be read, check it, write it after a yes. 1: nothing was written."""
    if wish.name in config.agents:
        raise ConfigError(f"{file.name} has [agents.{wish.name}] already: give it another --name")
    make_data_folder(config.gateway.data_dir)
    folder = Path(tempfile.mkdtemp(prefix="preflight-", dir=config.gateway.data_dir))
    try:
        launch = await _launch(config, environment, wish, folder)
        return await _described(launch, file, wish, asking)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _launch(
    config: Config, environment: Mapping[str, str], wish: DescribeOptions, folder: Path
) -> Launch:
    """As an agent is started: its environment, a HOME of its own, the sandbox where one is on."""
    table = AgentTable(profile="generic", command=tuple(wish.command))
    agents = {**config.agents, wish.name: table}
    known = config.model_copy(update={"agents": agents})
    profile = generic_profile(wish.name, GenericSettings(command=list(wish.command)))
    own = environment_for(profile, table, environment)
    home, workspace = folder / "home", folder / "work"
    for path in (home, workspace):
        path.mkdir(mode=0o700)
    persona = parse_persona("described", f"---\nagent: {wish.name}\n---\nYou are watched.\n")
    sandboxing = Sandboxing(known, environment.get("PATH", ""))
    confined = await sandboxing.of(persona, folder, workspace)
    return Launch(
        home,
        workspace,
        env=tuple(own.items()),
        sandbox=confined.sandbox,
        account=confined.account,
    )


async def _described(launch: Launch, file: Path, wish: DescribeOptions, asking: Asker) -> int:
    say = asking.say
    seen = await _watched(launch, wish, asking)
    proposal = propose(seen)
    profile = _profile(wish, proposal)
    for turn in seen.turns:
        say_screen(say, f"Its screen after {turn.prompt.splitlines()[0]!r}:", turn.screen, profile)
        say("\nI would read:\n")
        reply = reply_on(turn.screen, profile, turn.prompt, turn.since)
        for row in (reply or "(nothing)").splitlines():
            say(f"  > {printable(row)}")
    if seen.asked:
        say_screen(say, "Its screen when it asks:", seen.asked.screen, profile)
    text = tomlkit.dumps(_put(tomlkit.document(), wish, proposal))
    say(f"\nFor {file.name}:\n")
    for line in text.splitlines():
        say(printable(line))
    say()
    for note in proposal.notes:
        say(printable(f"Note: {note}."))
    say("\nNow as Moot would run it:")
    agent = CliAgent(profile, launch)
    try:
        said = await ask_and_show(agent, profile, CHECK, say)
        if wish.permission:
            await ask_and_show(agent, profile, wish.permission, say)
    except AgentError as error:
        say_screen(say, "Its last screen:", agent.screen, profile)
        say(f"\nThis does not work yet: {printable(error.say)}")
        return 1
    finally:
        await agent.close()
    if not said:
        say("\nNo reply was read: see the names before the rows above, and correct the patterns.")
    if (not said and asking.quiet) or not asking.agrees(f"Write this into {file.name}?"):
        say("Nothing was written.")
        return 1
    _write(file, wish, proposal)
    say(f"Written. A persona with `agent: {wish.name}` answers with it.")
    return 0


async def _watched(launch: Launch, wish: DescribeOptions, asking: Asker) -> Seen:
    profile = _profile(wish, ProposedSettings())
    asking.say(f"Starting {' '.join(wish.command)} ...")
    async with Watcher.open(profile, launch) as watcher:
        turns = []
        for prompt in wish.prompts or (FIRST, SECOND):
            asking.say(f"Typing: {prompt.splitlines()[0]} ...")
            turns.append(await watcher.ask(prompt))
        asked = None
        if wish.permission:
            asking.say(f"Typing: {wish.permission.splitlines()[0]} ...")
            asked = await watcher.ask(wish.permission, asks=True)
        seen = Seen(watcher.idle, turns, watcher.cols, watcher.started_s, asked)
        if asked:
            await watcher.press(refusing_keys(seen))
        return seen


def _profile(wish: DescribeOptions, proposal: ProposedSettings) -> Profile:
    given = {"command": list(wish.command), **proposal.settings}
    ready = str(proposal.settings.get("ready", ""))
    return generic_profile(wish.name, GenericSettings.model_validate(given), ready)


# ── moot.toml ───────────────────────────────────────────────────────────────────────────


def _put(
    made: tomlkit.TOMLDocument, wish: DescribeOptions, proposal: ProposedSettings
) -> tomlkit.TOMLDocument:
    """Add the agent's tables."""
    agent, settings = tomlkit.table(), tomlkit.table()
    agent.add("profile", "generic")
    agent.add("command", list(wish.command))
    for key, value in proposal.settings.items():
        settings.add(key, _item(value))
    agent.add("settings", settings)
    if "agents" not in made:
        made.add("agents", tomlkit.table(is_super_table=True))
    section(made, "agents").add(wish.name, agent)
    return made


def _item(value: Any) -> Item:
    """Patterns stand in single quotes, where a backslash is one."""
    literal = isinstance(value, str) and "'" not in value
    return tomlkit.string(value, literal=True) if literal else tomlkit.item(value)


def _write(file: Path, wish: DescribeOptions, proposal: ProposedSettings) -> None:
    before = read(file)
    text = tomlkit.dumps(_put(document(before), wish, proposal))
    parse_config(tomlkit.parse(text).unwrap(), file)
    write_all([File(file, text, before)])
