"""Checks of what the files say: moot.toml, the personas, the secrets, the sandbox."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping

from adapters.catalog import find_program
from bots import PLATFORMS
from composer.headings import HEADINGS
from contract.chat import SOURCE_ALIASES
from contract.errors import ConfigError
from gateway.access.claims import OPEN_MINUTES
from gateway.app.platforms import make_bots
from gateway.cli.diagnosis.finding import Finding, Installation, Mark
from gateway.core.redaction import can_be_redacted, names_a_secret, secrets_in
from gateway.remembering.models import describe_model
from gateway.sessions.api_programs import API_PROGRAMS
from gateway.sessions.programs import agent_names, make_profile, without_acp
from gateway.sessions.sandbox import Sandboxing, dated
from gateway.settings.config import Config, located
from gateway.settings.env_file import env_file
from gateway.settings.mistakes.words import KeyPath
from gateway.settings.personas.personas import Persona, Personas
from gateway.settings.sandbox import OwnSandboxTable, parse_mount
from gateway.settings.tables import AgentTable
from gateway.setup.folder import look_at
from gateway.turns.voice import check_transcribe
from gateway.web.listening.configured import page_auth
from gateway.web.signin.own_token import check_own

_PLATFORMS = "".join(f"{name.upper()}_|" for name in PLATFORMS)
_OURS = re.compile(rf"{_PLATFORMS}MOOT_|ANTHROPIC_|OPENAI_|GEMINI_|OTEL_")


async def check_configuration(of: Installation) -> list[Finding]:
    """The configuration, the personas and the programs; opens and starts nothing."""
    return check(of.config, of.environment, of.personas)


async def check_file(of: Installation) -> list[Finding]:
    """A moot.toml that holds secrets and that others on the machine can read."""
    file = of.file
    try:
        mode = file.stat().st_mode
        holds = any(secrets_in(tomllib.loads(file.read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return []
    if not holds or not mode & 0o044:
        return []
    return [
        _warns(f"{file} holds secrets and others on this machine can read it: chmod 600 {file}")
    ]


async def check_secrets(of: Installation) -> list[Finding]:
    """The file of secrets beside moot.toml, where there is one."""
    path = env_file(of.file, of.file.parent)
    if not path.exists():
        return []
    if path.stat().st_mode & 0o077:
        return [Finding("✗", "secrets", f"others can read {path}", f"chmod 600 {path}")]
    return [Finding("✓", "secrets", f"{path.name} is its owner's alone")]


async def check_sandbox(of: Installation) -> list[Finding]:
    """Where each persona's sessions would run: a sandbox is tried here."""
    personas = of.personas.good.values()
    found = await Sandboxing(of.config, of.environment.get("PATH", "")).prospects(personas)
    old = [Finding("⚠", "sandbox", text) for text in dated(of.config, personas)]
    return old + [Finding(_MARKS[one.way], "sandbox", str(one)) for one in found]


_MARKS: Mapping[str, Mark] = {"sandbox": "✓", "account": "⚠", "open": "⚠", "nowhere": "✗"}


def check(
    config: Config, environment: Mapping[str, str], personas: Personas | None = None
) -> list[Finding]:
    """See check_configuration. personas: read from their folder where None."""
    personas = personas or Personas(config.gateway.personas_folder, tuple(HEADINGS))
    findings = [
        _wrong(line) for problem in personas.problems.values() for line in problem.splitlines()
    ]
    findings += [_warns(text) for text in personas.warnings.values()]
    findings += _agents(config, environment, personas)
    findings += _access(config)
    findings += _named_personas(config, personas)
    findings += _folders(config) + _programs(config) + _sources(config)
    findings += _unfit_folders(config, personas) + _pools(config, personas)
    for part in (
        lambda: make_bots(config, environment, personas),
        lambda: check_own(environment, beyond=page_auth(config).is_beyond),
        lambda: check_transcribe(config.transcribe, environment),
    ):
        try:
            part()
        except ConfigError as error:
            findings += map(_wrong, error.say.splitlines())
    findings += [_warns(text) for text in weak_secrets(environment)]
    try:
        findings.append(_well(describe_model(config, environment)))
    except ConfigError as error:
        findings.append(_wrong(error.say))
    findings += _second_person(config)
    if not any(finding.mistake for finding in findings):
        findings.append(_well("the configuration is sound"))
    return findings


def _named_personas(config: Config, personas: Personas) -> list[Finding]:
    """Tables that name a persona that isn't there."""
    return [
        _wrong(
            f"{located(config, path)}: there is no {name}.md in {config.gateway.personas_folder}; "
            f"{_meant(name, personas)}"
        )
        for path, name in _names(config)
        if personas.good.get(name) is None and name not in personas.problems
    ]


def _names(config: Config) -> Iterator[tuple[KeyPath, str]]:
    """Where moot.toml names a persona, and which."""
    for number, bot in enumerate(config.bots):
        for name in bot.personas:
            yield ("bots", number, "personas"), name
    for number, one in enumerate(config.schedules):
        yield ("schedules", number, "persona"), one.persona
    for number, grant in enumerate(config.access.grants):
        for name in sorted(grant.personas):
            yield ("access", "grants", number, "personas"), name
    for table, named in (("access", config.access.personas), ("limits", config.limits.personas)):
        for name in named:
            yield (table, "personas", name), name


def _folders(config: Config) -> list[Finding]:
    """Folders that an agent is to work in, and that are not there."""
    missing = (
        (located(config, ("agents", name, "workspace")), table.workspace)
        for name, table in config.agents.items()
        if table.workspace is not None and not table.workspace.is_dir()
    )
    gone = [_wrong(f"{key}: there is no folder {folder}; make it first") for key, folder in missing]
    own = [(("agents", name), table.sandbox) for name, table in config.agents.items()]
    tables: list[tuple[KeyPath, OwnSandboxTable | None]] = [(("sandbox",), config.sandbox), *own]
    for path, sandbox in tables:
        for text in sandbox.mounts if sandbox else ():
            if not (place := parse_mount(text).path).exists():
                key = located(config, (*path, "mounts"))
                gone.append(_wrong(f"{key}: there is no {place}; make it, or leave it out"))
    return gone


def _unfit_folders(config: Config, personas: Personas) -> list[Finding]:
    """Personas' folders in which no agent can work: one that isn't there is told already."""
    return [
        _wrong(f"{one.name}.md: workspace: {fault}")
        for one in personas.good.values()
        if (folder := one.front.workspace) and folder.expanduser().is_dir()
        if (fault := look_at(str(folder), config, config.gateway.data_dir).fault)
    ]


def _pools(config: Config, personas: Personas) -> list[Finding]:
    """Pools of workers that a persona names, and that there are not."""
    pools = config.workers.pools if config.workers is not None else {}
    return [
        _wrong(
            f"{one.name}.md: workers: there is no pool {pool!r}"
            + (_near(pool, pools) if pools else "; [workers.pools] in moot.toml names none")
        )
        for one in personas.good.values()
        if (pool := one.front.workers) is not None and pool not in pools
    ]


def _programs(config: Config) -> list[Finding]:
    """Programs that moot.toml names by their path, and that are not there."""
    return [
        _wrong(f"{located(config, ('agents', name, 'command'))}: there is no program {path}")
        for name, table in config.agents.items()
        for path in table.command[:1]
        if os.path.isabs(path) and not os.access(path, os.X_OK)
    ]


def _sources(config: Config) -> list[Finding]:
    """Ids of people of a platform that there is not."""
    access, known = config.access, {*PLATFORMS, *SOURCE_ALIASES.values(), "web"}
    named = access.owners | access.approvers | access.people
    where = located(config, ("access",))
    return [
        _warns(f"{where}: {id_}: there is no platform {source!r}{_near(source, known)}")
        for id_ in sorted(named)
        if (source := id_.partition(":")[0]) not in known
    ]


def _near(word: str, known: Collection[str]) -> str:
    """A hint of what was meant."""
    near = difflib.get_close_matches(word, sorted(known), 1)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(sorted(known))}"


def _meant(name: str, personas: Personas) -> str:
    near = difflib.get_close_matches(name.lower(), personas.good, 1)
    there = ", ".join(personas.good) or "none"
    return f"did you mean {near[0]}?" if near else f"there are: {there}"


def _second_person(config: Config) -> list[Finding]:
    """Two people who must agree, and fewer who may."""
    access = config.access
    rules = {access.second_person, *(own.second_person for own in access.personas.values())}
    may = access.approvers | access.owners
    if rules <= {"never", None} or len(may) > 1 or access.approve != "owner":
        return []
    text = (
        f"access.second_person: two people must agree, and {len(may)} may answer: such questions "
        "are refused, unless somebody is given the role; add to `approvers` or `owners`"
    )
    return [_warns(text)]


def _access(config: Config) -> list[Finding]:
    """Warnings where no one on a platform may ask, or no one can let somebody in."""
    access = config.access
    if not config.bots:
        return []
    if access.is_empty:
        text = (
            "moot.toml lets nobody ask an agent but on the page: under [access] add your own id, "
            'owners = ["<platform>:<your id>"], or let everybody in the rooms ask with '
            'rooms = "open"; or mention the bot, which tells your id, and type '
            "`moot access grant ID owner`; `moot access list` tells who was let in so "
            "(docs/access.md)"
        )
        return [_warns(text)]
    if not access.owners and not any(grant.role == "owner" for grant in access.grants):
        text = (
            "moot.toml makes nobody an owner in the chat: mention the bot within "
            f"{OPEN_MINUTES} minutes of `moot run` and say there that it is you, or add owners = "
            '["<platform>:<id>"] under [access], or type `moot access grant ID owner`; until then '
            "permission questions wait for the page, which lets people in, too"
        )
        return [_warns(text)]
    return []


def weak_secrets(environment: Mapping[str, str]) -> list[str]:
    """Warn about secrets of Moot, its bots and agents that can't be kept out of logs."""
    return [
        f"{name} is too short, or a word: Moot can't take it out of its logs and answers; "
        "let it be long and random"
        for name, value in environment.items()
        if value and _OURS.match(name) and names_a_secret(name) and not can_be_redacted(value)
    ]


def _agents(config: Config, environment: Mapping[str, str], personas: Personas) -> list[Finding]:
    findings = []
    for name, table in config.agents.items():
        try:
            _describe(name, table, environment)
        except ConfigError as error:
            findings.append(_wrong(str(error)))
    for persona in personas.good.values():
        agent = persona.front.agent
        table = config.agents.get(agent, AgentTable(profile=agent))
        try:
            title, place, hint = _describe(agent, table, environment)
        except ConfigError:
            if agent not in config.agents:
                near = _near(agent, agent_names(config.agents))
                findings.append(
                    _wrong(f"{persona.name}.md: agent: there is no agent {agent!r}{near}")
                )
            continue
        if reason := _misled(agent, table, persona):
            findings.append(_wrong(f"@{persona.name} can't answer: {reason}"))
            continue
        if place is None:
            findings.append(_warns(f"@{persona.name} can't answer yet: {hint}"))
        else:
            findings.append(_well(f"@{persona.name} answers with {title} ({place})"))
        if table.profile in API_PROGRAMS and (persona.front.driver or persona.front.login):
            text = f"@{persona.name} runs no program: leave out `driver` and `login`"
            findings.append(_warns(text))
    return findings


def _describe(
    name: str, table: AgentTable, environment: Mapping[str, str]
) -> tuple[str, str | None, str]:
    """An agent's title, where it is (None: it can't be had), and how to get it."""
    if by_api := API_PROGRAMS.get(table.profile):
        program = by_api(name, table, environment)
        return program.title, "by API" if program.available else None, str(program.hint)
    profile = make_profile(name, table)
    path = find_program(profile, table.command, environment.get("PATH", ""))
    return profile.title, str(path) if path else None, str(profile.setup.remedy)


def _misled(name: str, table: AgentTable, persona: Persona) -> str:
    """The reason why the agent can't be driven as the persona wants it; "": it can."""
    driver = persona.front.driver or table.driver
    if driver != "acp" or table.profile in API_PROGRAMS:
        return ""
    return str(without_acp(make_profile(name, table)) or "")


def _well(text: str) -> Finding:
    return Finding("✓", "configuration", text)


def _warns(text: str) -> Finding:
    return Finding("⚠", "configuration", text)


def _wrong(text: str) -> Finding:
    return Finding("✗", "configuration", text)
