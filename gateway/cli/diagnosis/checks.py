"""The checks, and which of them a command makes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from bots.platforms import SPECS
from gateway.cli.diagnosis.agents import check_agents
from gateway.cli.diagnosis.configuration import (
    check_configuration,
    check_file,
    check_sandbox,
    check_secrets,
)
from gateway.cli.diagnosis.data_folder import check_audit, check_data, check_folder
from gateway.cli.diagnosis.files import check_files
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.cli.diagnosis.machine import check_clocks, check_machine, check_page, check_port
from gateway.cli.diagnosis.personas import check_followed
from gateway.cli.diagnosis.platforms import check_platforms
from gateway.cli.diagnosis.settings import check_tables
from gateway.cli.diagnosis.sources import check_sources
from gateway.cli.diagnosis.store import check_store
from gateway.cli.diagnosis.workers import check_workers

Check = Callable[[Installation], Awaitable[list[Finding]]]

CONFIGURED: Sequence[Check] = (
    check_folder,
    check_configuration,
    check_sandbox,
    check_file,
    check_store,
    check_audit,
    check_port,
)
"""Made by `moot check`."""
ASKED: Sequence[Check] = (check_platforms, check_sources)
"""Made by it as well, unless --offline: the platforms and other Mem0s are asked."""
EVERYTHING: Sequence[Check] = (
    check_machine,
    check_data,
    check_store,
    check_audit,
    check_secrets,
    check_configuration,
    check_file,
    check_followed,
    check_tables,
    check_sandbox,
    check_page,
    check_platforms,
    check_sources,
    check_clocks,
    check_workers,
    check_files,
    check_agents,
)
"""Made by `moot doctor`, in the order in which things depend on one another."""
_NEEDS_OTHERS = (check_platforms, check_sources, check_clocks, check_workers, check_files)

_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|_KEY")
_PREFIXES = "|".join(["web", *(platform.form.prefix for platform in SPECS.values())])
_PERSON = re.compile(rf"@[\w.=/+-]+:[\w.-]+|\b(?:{_PREFIXES}):[^\s,;'\"]+")


async def examine(of: Installation, checks: Sequence[Check]) -> list[Finding]:
    """Make the checks one after the other; they change nothing."""
    return [finding for check in checks for finding in await check(of)]


async def diagnose(of: Installation, *, offline: bool = False) -> list[Finding]:
    """Make every check; what is found may stand in a bug report. What is wrong with an agent is
    said once, though it is also wrong with the personas that name it."""
    checks = [check for check in EVERYTHING if not (offline and check in _NEEDS_OTHERS)]
    found = await examine(of, checks)
    remedies = {one.remedy for one in found if one.what.startswith("agent ") and one.remedy}
    told = [one for one in found if not any(remedy in one.text for remedy in remedies)]
    return [anonymous(finding, of.environment) for finding in told]


def anonymous(finding: Finding, environment: Mapping[str, str]) -> Finding:
    """The finding without secrets, ids of people and the path of the home folder."""

    def plain(text: str) -> str:
        for key, value in environment.items():
            if value and len(value) > 2 and _SECRET.search(key):
                text = text.replace(value, "…")
        home = environment.get("HOME", "")
        return _PERSON.sub("…", text.replace(home, "~") if len(home) > 1 else text)

    return replace(finding, text=plain(finding.text), remedy=plain(finding.remedy))
