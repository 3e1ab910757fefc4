"""Takes out of Discord's OpenAPI what the tests need: python tests/bots/extract_openapi.py FILE

FILE: openapi.json of https://github.com/discord/discord-api-spec. Writes openapi.json into
tests/bots/discord_openapi/, beside the licence that it came under.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "discord_openapi" / "openapi.json"

CALLS = {
    "/gateway": ("get",),
    "/gateway/bot": ("get",),
    "/users/@me": ("get",),
    "/users/@me/guilds": ("get",),
    "/users/@me/channels": ("post",),
    "/applications/@me": ("get",),
    "/oauth2/applications/@me": ("get",),
    "/channels/{channel_id}": ("get",),
    "/channels/{channel_id}/messages": ("get", "post"),
    "/channels/{channel_id}/messages/{message_id}": ("get", "patch"),
    "/channels/{channel_id}/messages/{message_id}/threads": ("post",),
    "/guilds/{guild_id}/members": ("get",),
    "/guilds/{guild_id}/members/{user_id}": ("get",),
    "/applications/{application_id}/commands": ("put",),
    "/interactions/{interaction_id}/{interaction_token}/callback": ("post",),
}
_JSON = "application/json"


def extracted(whole: dict[str, Any]) -> dict[str, Any]:
    """The needed calls with what is sent and answered, and every schema that these name."""
    paths = {path: _slim(whole["paths"][path], methods) for path, methods in CALLS.items()}
    parts: dict[str, dict[str, Any]] = {"schemas": {}}
    todo = [paths]
    while todo:
        for kind, name in _references(todo.pop()):
            if name not in parts[kind]:
                found = _bare(whole["components"][kind][name])
                parts[kind][name] = found
                todo.append(found)
    sorted_parts = {kind: dict(sorted(found.items())) for kind, found in parts.items()}
    return {"info": whole["info"], "paths": paths, "components": sorted_parts}


def _slim(path: dict[str, Any], methods: Sequence[str]) -> dict[str, Any]:
    """The calls of a path: bodies and good answers in JSON only."""
    slim = {}
    for method in methods:
        answers = path[method]["responses"].items()
        good = {status: _in_json(answer) for status, answer in answers if status[0] == "2"}
        slim[method] = {"responses": good}
        if "requestBody" in path[method]:
            slim[method]["requestBody"] = _in_json(path[method]["requestBody"])
    return slim


def _in_json(part: dict[str, Any]) -> dict[str, Any]:
    content = part.get("content", {})
    return {"content": {_JSON: _bare(content[_JSON])}} if _JSON in content else {}


def _bare(value: Any) -> Any:
    """Without what checks nothing."""
    if isinstance(value, dict):
        kept = {k: _bare(v) for k, v in value.items() if not k.startswith("x-")}
        if isinstance(kept.get("description"), str):
            del kept["description"]
        return kept
    return [_bare(entry) for entry in value] if isinstance(value, list) else value


def _references(value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        found = [r for entry in value.values() for r in _references(entry)]
        reference = value.get("$ref")
        if isinstance(reference, str):
            _, _, kind, name = reference.split("/")
            found.append((kind, name))
        return found
    return [r for entry in value for r in _references(entry)] if isinstance(value, list) else []


if __name__ == "__main__":
    OUT.parent.mkdir(exist_ok=True)
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    OUT.write_text(json.dumps(extracted(whole), indent=1, sort_keys=True) + "\n", encoding="utf-8")
