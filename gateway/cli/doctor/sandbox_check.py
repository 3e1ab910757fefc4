"""The sandbox's part of `moot check`."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.cli.doctor.check import CheckFinding
from gateway.sessions.sandbox import REMEDY, trouble, wanted
from gateway.settings.config import Config
from gateway.settings.personas.personas import Persona, Personas


async def check_sandbox(config: Config, environment: Mapping[str, str]) -> list[CheckFinding]:
    """Findings on whether sandboxes can be made here, where a persona wants one."""
    personas = Personas(config.personas_folder).all().values()
    asking = [persona for persona in personas if wanted(config, persona).mode != "off"]
    if not asking:
        return []
    names = ", ".join(f"@{persona.name}" for persona in asking)
    if reason := await trouble(environment.get("PATH", "")):
        text = f"{names} can't answer: no sandbox can be made here ({reason}); {REMEDY}"
        return [CheckFinding(text, True)]
    return [_described(config, persona) for persona in asking]


def _described(config: Config, persona: Persona) -> CheckFinding:
    asked = wanted(config, persona)
    where = "in direct messages" if asked.mode == "dms" else "everywhere"
    shown = f", shows {', '.join(asked.mounts)}" if asked.mounts else ""
    return CheckFinding(
        f"@{persona.name} runs in a sandbox {where}, network: {asked.network}{shown}"
    )
