"""The tools whose schemas the API can hold a model to, sample by sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Anthropic: strict tool use, JSON Schema limitations; platform.claude.com, read 2026-11
_WORDS = {
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
}


def is_strict(schema: Mapping[str, Any]) -> bool:
    """True if every object names all of its keys as required and forbids others, and nothing
    stands in the schema that the API might not know."""
    if not schema.keys() <= _WORDS:
        return False
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    if "items" in schema:
        inner.append(schema["items"])
    if schema.get("type") == "object" and not (
        schema.get("additionalProperties") is False
        and set(schema.get("required", ())) == set(schema.get("properties", {}))
    ):
        return False
    return all(is_strict(part) for part in inner)
