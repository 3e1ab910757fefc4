"""Which files an agent read and edited, as its uses of tools tell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_EDITS = re.compile(r"edit|write|patch|replace|create", re.IGNORECASE)
_KEYS = ("file_path", "notebook_path", "path", "filePath", "absolute_path")
_BY_KEY = re.compile(
    r"[\"']?\b(?:file_path|notebook_path|path|filePath|absolute_path)[\"']?\s*[:=]\s*[\"']?"
    r"([^\s\"',}]{1,500})"
)
_BARE = re.compile(r"[^\s\"'`]{1,500}")
_READS = re.compile(r"read|open|view|edit|write|patch|replace|create", re.IGNORECASE)


def used_files(tool: str, given: str) -> Iterator[tuple[str, bool]]:
    """Paths in what a tool was given, and whether it edits them; none for tools of another kind.

    given: JSON, JSON that was cut off, `key: value` lines, or nothing but a path.
    """
    if _READS.search(tool):
        edits = _EDITS.search(tool) is not None
        for path in _paths(given):
            yield path, edits


def _paths(given: str) -> list[str]:
    try:
        parsed = json.loads(given)
    except ValueError:
        if _BARE.fullmatch(given.strip()):
            return [given.strip()]
        return _BY_KEY.findall(given)
    if not isinstance(parsed, dict):
        return []
    found = (parsed.get(key) for key in _KEYS)
    return [path for path in found if isinstance(path, str) and 0 < len(path) <= 500]
