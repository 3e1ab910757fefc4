"""`moot header`, `replay`, `mcp` and `completion`: for programs, and for whoever writes one."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

from contract.errors import ConfigError
from contract.refusals import why
from gateway.cli.command_line import add_config, configured

SHELLS = ("bash", "zsh", "fish")


def add_programs(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add them all."""
    header = commands.add_parser("header", help="print the header for a briefing")
    header.add_argument("briefing", nargs="?", type=Path, metavar="BRIEFING.json")
    header.add_argument("--schema", action="store_true", help="print the briefing's JSON Schema")
    header.set_defaults(do=_header)
    replay = commands.add_parser("replay", help="print the reply read from a recorded terminal")
    replay.add_argument("recording", type=Path, metavar="RECORDING.jsonl")
    replay.add_argument("--agent", required=True, metavar="NAME", help="e.g. claude-code")
    replay.set_defaults(do=_replay)
    mcp = commands.add_parser("mcp", help="serve the memory to an agent over MCP, on stdio")
    mcp.add_argument("--persona", help="whose work; without --scope: the session's own")
    mcp.add_argument("--scope", metavar="SCOPE", help="e.g. room:slack:C06RY3YBSLE")
    add_config(mcp)
    mcp.set_defaults(do=_mcp)
    completion = commands.add_parser(
        "completion",
        help="print what lets a shell complete moot's words by the Tab key",
        description='For bash add to ~/.bashrc: eval "$(moot completion bash)". For zsh: '
        "moot completion zsh > ~/.zfunc/_moot, with fpath+=~/.zfunc before compinit in ~/.zshrc. "
        "For fish: moot completion fish > ~/.config/fish/completions/moot.fish",
    )
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(do=_completion)


def _header(arguments: argparse.Namespace) -> int:
    from composer.briefing import briefing_schema, parse_briefing
    from gateway.turns.prompt import finished

    if arguments.schema:
        print(json.dumps(briefing_schema(), indent=2, ensure_ascii=False))  # noqa: T201
        return 0
    if arguments.briefing is None:
        raise ConfigError("say which briefing: moot header BRIEFING.json, or --schema")
    _, _, text = finished(parse_briefing(_read(arguments.briefing)), arguments.redactor)
    sys.stdout.buffer.write(text.encode())
    return 0


def _mcp(arguments: argparse.Namespace) -> int:
    if arguments.scope is None:
        from gateway.mcp import pipe

        if not os.environ.get(pipe.URL):
            raise ConfigError(
                "moot mcp: Moot starts it in an agent's session; by hand say whose memory: "
                "--persona claude --scope room:slack:C06RY3YBSLE"
            )
        pipe.main()
        return 0
    from gateway.cli.memory.mcp import serve_database

    config = configured(arguments)
    asyncio.run(serve_database(config, arguments.persona, arguments.scope))
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    from adapters.replay import replay

    text = replay(arguments.recording, arguments.agent)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n" * bool(text))
    return 0


def _read(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {why(error)}") from None


def _completion(arguments: argparse.Namespace) -> int:
    import shtab

    _complete_paths(arguments.whole)
    print(shtab.complete(arguments.whole, arguments.shell))  # noqa: T201
    return 0


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    """Let the shell complete the names of files where one is meant."""
    import shtab

    for action in parser._actions:
        if action.type is Path:
            folder = action.metavar in ("DIR", "FOLDER")
            action.complete = shtab.DIRECTORY if folder else shtab.FILE  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _complete_paths(below)
