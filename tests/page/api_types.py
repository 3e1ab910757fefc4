"""The values of the HTTP API as TypeScript, made from the models that the server answers with.

`python -m tests.page.api_types` writes gateway/web/api.d.ts again; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import gateway.web.page
import gateway.web.persona_api  # noqa: F401 - every view is below one of these

WRITTEN = Path(__file__).parents[2] / "gateway" / "web" / "api.d.ts"
HEAD = """\
// The values of the HTTP API, made from the server's models: python -m tests.page.api_types
// A time is a string in ISO 8601 with its zone.

declare namespace Api {
"""
_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def declarations() -> str:
    """The whole file: an interface for each view, by name."""
    views = {
        model.__name__: model
        for model in _below(BaseModel)
        if model.__name__.endswith("View") and model.model_fields
    }
    return HEAD + "\n".join(_interface(*named) for named in sorted(views.items())) + "}\n"


def _below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for child in model.__subclasses__():
        if child.__module__.startswith("gateway."):
            yield child
        yield from _below(child)


def _interface(name: str, model: type[BaseModel]) -> str:
    fields = model.model_json_schema(mode="serialization").get("properties", {})
    lines = [f"    {field}: {_type(schema)};\n" for field, schema in fields.items()]
    return f"  interface {name} {{\n{''.join(lines)}  }}\n"


def _type(schema: Mapping[str, Any] | bool) -> str:
    """The TypeScript for a part of a JSON Schema; raises KeyError for what no view has yet."""
    if isinstance(schema, bool):  # any value at all
        return "unknown"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(f'"{value}"' for value in schema["enum"])
    match schema.get("type"):
        case None:
            return "unknown"
        case "array":
            return f"Array<{_type(schema['items'])}>"
        case "object":
            return f"Record<string, {_type(schema['additionalProperties'])}>"
        case kind:
            return _PLAIN[kind]


if __name__ == "__main__":
    WRITTEN.write_text(declarations(), encoding="utf-8")
