"""`moot check`: one line for each thing that is wrong, with its remedy."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.catalog import find_program
from composer.headings import HEADINGS
from contract.errors import ConfigError
from gateway.app.platforms import make_bots
from gateway.core.redaction import can_be_redacted, names_a_secret, secrets_in
from gateway.remembering.models import describe_model
from gateway.sessions.api_programs import API_PROGRAMS
from gateway.sessions.programs import make_profile, without_acp
from gateway.settings.config import Config
from gateway.settings.personas.personas import Persona, Personas
from gateway.settings.tables import AgentTable
from gateway.web.auth import PageAuth

_OURS = re.compile(
    r"MOOT_|SLACK_|ROCKETCHAT_|DISCORD_|MATRIX_|BLUEBUBBLES_|ANTHROPIC_|OPENAI_|GEMINI_|OTEL_"
)


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One line. mistake: Moot can't do what the files say until it is fixed. warning: it can, and
    somebody will be surprised."""

    text: str
    mistake: bool = False
    warning: bool = False

    def __str__(self) -> str:
        return f"{self.mark} {self.text}"

    @property
    def mark(self) -> str:
        """✗, ⚠, or · where all is well."""
        return "✗" if self.mistake else "⚠" if self.warning else "·"


def check(config: Config, environment: Mapping[str, str]) -> list[CheckFinding]:
    """Look at the configuration, the personas and the programs; opens and starts nothing."""
    personas = Personas(config.personas_folder, tuple(HEADINGS))
    findings = [CheckFinding(problem, True) for problem in personas.problems.values()]
    findings += [CheckFinding(text, warning=True) for text in personas.warnings.values()]
    findings += _agents(config, environment, personas)
    findings += _access(config)
    for number, bot in enumerate(config.bots):
        findings += [
            CheckFinding(
                f"bots.{number}.personas: there is no {name}.md in {config.personas_folder}", True
            )
            for name in bot.personas
            if personas.get(name) is None and name not in personas.problems
        ]
    for test in (
        lambda: make_bots(config, environment, personas),
        lambda: PageAuth(token=environment.get("MOOT_TOKEN") or None).check(config.gateway.host),
    ):
        try:
            test()
        except ConfigError as error:
            findings.append(CheckFinding(error.say, True))
    findings += [CheckFinding(text, warning=True) for text in weak_secrets(environment)]
    try:
        findings.append(CheckFinding(describe_model(config, environment)))
    except ConfigError as error:
        findings.append(CheckFinding(error.say, True))
    findings += _second_person(config)
    if not any(finding.mistake for finding in findings):
        findings.append(CheckFinding("the configuration is sound"))
    return findings


def _second_person(config: Config) -> list[CheckFinding]:
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
    return [CheckFinding(text, warning=True)]


def _access(config: Config) -> list[CheckFinding]:
    """True if anybody on a platform may ask at all, and anybody can let somebody in."""
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
        return [CheckFinding(text, warning=True)]
    if not access.owners and not any(grant.role == "owner" for grant in access.grants):
        text = (
            "moot.toml makes nobody an owner in the chat: `!pair`, `!role` and permission "
            'questions need owners = ["<platform>:<id>"] under [access], or `moot access grant '
            "ID owner`; until then the page and `moot pair` do"
        )
        return [CheckFinding(text, warning=True)]
    return []


def weak_secrets(environment: Mapping[str, str]) -> list[str]:
    """Warn about secrets of Moot, its bots and agents that can't be kept out of logs."""
    return [
        f"{name} is too short, or a word: Moot can't take it out of its logs and answers; "
        "let it be long and random"
        for name, value in environment.items()
        if value and _OURS.match(name) and names_a_secret(name) and not can_be_redacted(value)
    ]


def readable_by_others(file: Path) -> list[str]:
    """A moot.toml that holds secrets and that others on the machine can read."""
    try:
        mode = file.stat().st_mode
        holds = any(secrets_in(tomllib.loads(file.read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return []
    if not holds or not mode & 0o044:
        return []
    return [f"{file} holds secrets and others on this machine can read it: chmod 600 {file}"]


def _agents(
    config: Config, environment: Mapping[str, str], personas: Personas
) -> list[CheckFinding]:
    findings = []
    for name, table in config.agents.items():
        try:
            _describe(name, table, environment)
        except ConfigError as error:
            findings.append(CheckFinding(str(error), True))
    for persona in personas.all().values():
        agent = persona.front.agent
        table = config.agents.get(agent, AgentTable(profile=agent))
        try:
            title, place, hint = _describe(agent, table, environment)
        except ConfigError:
            if agent not in config.agents:
                findings.append(
                    CheckFinding(
                        f"@{persona.name} can't answer: no agent {agent!r}; add [agents.{agent}]"
                    )
                )
            continue
        if reason := _misled(agent, table, persona):
            findings.append(CheckFinding(f"@{persona.name} can't answer: {reason}", True))
            continue
        if place is None:
            findings.append(CheckFinding(f"@{persona.name} can't answer yet: {hint}", warning=True))
        else:
            findings.append(CheckFinding(f"@{persona.name} answers with {title} ({place})"))
        if table.profile in API_PROGRAMS and (persona.front.driver or persona.front.login):
            text = f"@{persona.name} runs no program: leave out `driver` and `login`"
            findings.append(CheckFinding(text, warning=True))
    return findings


def _describe(
    name: str, table: AgentTable, environment: Mapping[str, str]
) -> tuple[str, str | None, str]:
    """An agent's title, where it is (None: it can't be had), and how to get it."""
    if by_api := API_PROGRAMS.get(table.profile):
        program = by_api(name, table, environment)
        return program.title, "by API" if program.available else None, program.hint
    profile = make_profile(name, table)
    path = find_program(profile, table.command, environment.get("PATH", ""))
    return profile.title, str(path) if path else None, profile.missing


def _misled(name: str, table: AgentTable, persona: Persona) -> str:
    """Why the agent can't be driven as the persona wants it; "": it can."""
    driver = persona.front.driver or table.driver
    if driver != "acp" or table.profile in API_PROGRAMS:
        return ""
    return without_acp(make_profile(name, table))
