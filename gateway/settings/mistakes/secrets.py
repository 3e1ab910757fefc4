"""Secrets that somebody wrote into moot.toml, where they don't belong."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bots.platforms import SPECS

_LIKE = re.compile(r"token|secret|passw|api_?key|signing|^key$|_key$", re.IGNORECASE)
_ELSEWHERE = {
    "gateway": "MOOT_TOKEN",
    "memory": "ANTHROPIC_API_KEY",
    "oidc": "MOOT_OIDC_SECRET",
    "transcribe": "MOOT_TRANSCRIBE_KEY",
}


def variable_of(location: Sequence[str | int], value: object) -> str:
    """The variable that holds such a secret; "": the key names none."""
    key = str(location[-1])
    if not _LIKE.search(key) or isinstance(value, dict | list):
        return ""
    if location[0] == "bots" and len(location) > 2 and location[2] in SPECS:
        form = SPECS[str(location[2])].form
        names = [field.key for login in form.logins for field in login.fields]
        own = [name for name in names if name.endswith(key.upper())]
        return (own or names)[0]
    return _ELSEWHERE.get(str(location[0]), key.upper())
