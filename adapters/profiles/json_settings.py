"""Settings that a program keeps as a JSON object, read and changed without losing what is there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from adapters.agent import MemoryServer


def object_of(text: str) -> dict[str, Any]:
    """The object in a file; an empty one where there is none."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def member_of(parent: dict[str, Any], name: str) -> dict[str, Any]:
    """The object of that name, made where there is none."""
    if not isinstance(parent.get(name), dict):
        parent[name] = {}
    member: dict[str, Any] = parent[name]
    return member


def mcp_server(memory: MemoryServer, **more: object) -> dict[str, Any]:
    """The session's MCP server as most programs have it in their settings."""
    program, *arguments = memory.command
    return {"command": program, "args": arguments, "env": dict(memory.env), **more}


def set_members(settings: dict[str, Any], members: Mapping[str, Mapping[str, Any]]) -> None:
    """Set what each of these objects has to say; a dotted name is an object within another."""
    for path, values in members.items():
        member = settings
        for name in path.split("."):
            member = member_of(member, name)
        member.update(values)
