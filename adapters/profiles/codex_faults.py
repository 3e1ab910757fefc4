"""Why Codex gave no answer, in one line. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from adapters.profiles.profile import Failed
from contract import AgentFault


def failure(error: Mapping[str, Any], turn: str) -> Failed:
    """From a turn's error: its message, and what Codex knows of its kind."""
    message = error.get("message")
    said = " ".join(message.split()) if isinstance(message, str) else "an error"
    return Failed("api", said, f"Codex: {said}", turn)
