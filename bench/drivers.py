"""The drivers side by side: the real agents in their terminals, over ACP, and the API agent.

    python -m bench.drivers [--turns 7] [--adapters FOLDER] [NAME ...]

Prints a row of Markdown for each agent and driver: seconds until it is ready, milliseconds from the
question to its answer with a model that answers at once, the memory of its processes (PSS),
how many of the answers were exact, and what a turn that runs a command shows: its drafts and steps,
and whether the room is asked. adapters: a folder of npm's in which `claude-agent-acp` and
`codex-acp` are installed, which speak the protocol for Claude Code and Codex. An agent that is not
installed is left out.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import psutil

from adapters.acp.session import AcpAgent
from adapters.agent import Agent, Launch
from adapters.profiles.generic import GenericSettings, generic_profile
from contract.agent import Question
from contract.errors import AgentError
from tests.doubles.api_stage import ApiStage
from tests.doubles.model_steps import Message, Text
from tests.doubles.replies import Replies
from tests.every_agent.stage import HEADER, NODE_22, PERSONA, Cli, Stage, clis

SHORT = "A **short** reply.\n\n- one\n- two"
HEAD = (
    "agent",
    "driver",
    "ready, s",
    "answer, ms",
    "worst",
    "exact",
    "MB",
    "drafts",
    "steps",
    "asks",
)
ADAPTERS = {"claude-code": "claude-agent-acp", "codex": "codex-acp"}


def megabytes(pid: int | None) -> str:
    """The memory of a process and all that it started; pages that several share count once."""
    if pid is None:
        return "0"
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return f"{sum(one.memory_full_info().pss for one in processes) / 1e6:.0f}"


class _Allowing(Replies):
    """A room that agrees to whatever it is asked."""

    async def choose(self, question: Question) -> int:
        self.questions.append(question)
        self.asked.set()
        return next(n for n, option in enumerate(question.options) if not option.refuses)


async def row(
    name: str, driver: str, stage: Stage | ApiStage, agent: Agent, ready_s: float, turns: int
) -> None:
    """Take the turns, and print what they took."""
    times, exact = [], 0
    for number in range(turns + 1):
        stage.api.forget()
        stage.api.when(f"Turn {number}", SHORT)
        began = time.monotonic()
        answer = await agent.ask(f"{HEADER}Turn {number}", Replies())
        exact += answer.text == SHORT
        times += [round((time.monotonic() - began) * 1000)] if number else []
    told = [
        f"{ready_s:.1f}",
        f"{statistics.median(times):.0f}",
        str(max(times)),
        f"{exact}/{turns + 1}",
    ]
    cells = [name, driver, *told, megabytes(agent.pid), *await shown(stage, agent)]
    print(f"| {' | '.join(cells)} |", flush=True)


async def shown(stage: Stage | ApiStage, agent: Agent) -> list[str]:
    """Whether a turn that runs a command shows drafts and steps, and asks."""
    reply = _Allowing()
    stage.api.forget()
    script = [Message((Text("One line.\n\nThe last one."),), delta=2)]
    shell = stage.cli.shell if isinstance(stage, Stage) else None
    command = shell("touch made-by-the-bench") if shell else None
    stage.api.when("Use your tool", *([command] if command else []), *script)
    try:
        await agent.ask(f"{HEADER}Use your tool", reply)
    except AgentError as error:
        return [f"({error.kind})", "", ""]
    steps = len(reply.works[-1].steps) if reply.works else 0
    none = "–" if command is None else "no"
    marks = reply.drafts, steps, reply.asked.is_set()
    return [("yes" if marks[0] else "no"), *("yes" if mark else none for mark in marks[1:])]


def _codex(url: str) -> str:
    """The configuration of the adapter for Codex."""
    provider = {"name": "d", "base_url": f"{url}/v1", "wire_api": "responses"}
    provider["env_key"] = "OPENAI_API_KEY"
    told = {"model_providers": {"d": provider}, "model_provider": "d", "model": "gpt-5.5"}
    return json.dumps({**told, "approval_policy": "on-request"})


def over_acp(stage: Stage, folder: Path, adapters: Path | None) -> AcpAgent | None:
    """The agent over the protocol, by itself or by an adapter; None: there is neither."""
    cli = stage.cli
    env, profile, command = stage.env(), cli.profile, str(cli.program)
    if not profile.acp.command:
        if adapters is None or cli.name not in ADAPTERS:
            return None
        program = adapters / "node_modules" / ".bin" / ADAPTERS[cli.name]
        if not program.exists():
            return None
        own = {"claude-code": "CLAUDE_CODE_EXECUTABLE", "codex": "CODEX_PATH"}[cli.name]
        env |= {own: command, "PATH": f"{NODE_22}:{os.environ['PATH']}"}
        env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
        env["CODEX_CONFIG"] = _codex(stage.api.url)
        settings_file = folder / "home" / ".claude" / "settings.json"  # else nobody is asked
        settings_file.parent.mkdir(parents=True)
        settings_file.write_text('{"permissions": {"defaultMode": "default"}}')
        command = str(program)
        settings = GenericSettings.model_validate({"command": [command]})
        profile = generic_profile(cli.name, settings)
    launch = Launch(
        home=folder / "home",
        workspace=folder / "work",
        persona=PERSONA,
        model=cli.model or None,
        command=(command,),
        env=tuple(env.items()),
    )
    return AcpAgent(profile, launch)


async def measured(cli: Cli, turns: int, folder: Path, adapters: Path | None) -> None:
    """The rows of one real program."""
    async with Stage.open(cli, folder) as stage:
        typed = stage.agent("terminal")
        spoken = over_acp(stage, folder / "acp", adapters)
        for driver, agent in (("terminal", typed), ("acp", spoken)):
            if agent is None:
                continue
            began = time.monotonic()
            try:
                await agent.start()
                await row(cli.name, driver, stage, agent, time.monotonic() - began, turns)
            finally:
                await agent.close()


async def by_api(turns: int, folder: Path) -> None:
    """The row of the agent that runs no program."""
    async with ApiStage.open(folder) as stage:
        began = time.monotonic()
        agent = await stage.agent()
        await row("anthropic", "API", stage, agent, time.monotonic() - began, turns)


async def run(names: list[str], turns: int, folder: Path, adapters: Path | None) -> None:
    """All rows, one after the other."""
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
    for cli in clis():
        if cli.program.exists() and (cli.name in names or not names):
            try:
                await measured(cli, turns, folder / cli.name, adapters)
            except AssertionError:
                print(f"({cli.name} looked up hosts beside its API)", flush=True)
    if "anthropic" in names or not names:
        await by_api(turns, folder / "anthropic")


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--adapters", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(options.names, options.turns, Path(folder), options.adapters))


if __name__ == "__main__":
    main()
