"""The labels of people and bots in a header, so that no two people have one name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import quote

from composer.guard import clean, label, skeleton
from contract.chat import Speaker

ID_CHARS = 300  # a source of 32, a colon, an external id of 255
MENTION_CHARS = 128
UNKNOWN = "unknown"

# What tags a person, by the source of the sender id. iMessage has no mentions.
_NAME = r"@[\w][\w.+=-]*"
_SERVER = r"(?::[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?)"
MENTIONS = {
    "slack": re.compile(r"<@[UW][A-Z0-9]+>"),
    "discord": re.compile(r"<@!?[0-9]+>"),
    "rocketchat": re.compile(f"{_NAME}{_SERVER}?"),
    "matrix": re.compile(f"{_NAME}{_SERVER}?"),
    "web": re.compile(_NAME),
}
_PLAIN_IN_IDS = ":/@#!$&'*+,;=~"
_CALLS_ITSELF_BOT = re.compile(r"\(bot\b")


def mention(speaker: Speaker) -> str | None:
    """The speaker's mention token, if it is one of their platform's."""
    token = speaker.mention
    if token is None or speaker.kind == "bot" or len(token) > MENTION_CHARS:
        return None
    pattern = MENTIONS.get(speaker.id.partition(":")[0])
    return token if pattern and pattern.fullmatch(token) and clean(token) == token else None


def bare(speaker: Speaker) -> str:
    """The name as a label, before anybody else's is looked at."""
    return label(speaker.name) or _id(speaker)


def _id(speaker: Speaker) -> str:
    """The sender id; other than plain signs are percent-encoded, so that no two look alike."""
    return quote(speaker.id, _PLAIN_IN_IDS, errors="surrogatepass")[:ID_CHARS] or UNKNOWN


def at_name(name: str) -> str:
    """A bot's label with one `@` before it."""
    return "@" + (label(name).lstrip("@ ") or UNKNOWN)


def tagged(name: str, speaker: Speaker) -> str:
    """`Name`, or `Name (mention token)` where the platform has one."""
    token = mention(speaker)
    return f"{name} ({token})" if token else name


def joined(names: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


@lru_cache(maxsize=8192)
def _looks(speaker: Speaker) -> frozenset[str]:
    """Everything that this speaker may be shown as, by its looks."""
    name = bare(speaker)
    if speaker.kind == "bot":
        shown = [name, f"{name} (bot)"]
    else:
        full = f"{name} ({_id(speaker)})"
        shown = [name, full, tagged(name, speaker), tagged(full, speaker)]
    return frozenset(skeleton(look).lstrip("@ ") for look in shown)


class Labels:
    """The names of all who appear in one header.

    A person who could be taken for another person or for a bot gets ` (sender id)`; bots keep
    their names.
    """

    def __init__(self, speakers: Iterable[Speaker]) -> None:
        self._owners: dict[str, set[tuple[str, str]]] = {}
        self._names: dict[Speaker, str] = {}
        for speaker in set(speakers):
            for look in _looks(speaker):
                self._owners.setdefault(look, set()).add((speaker.kind, speaker.id))

    def name(self, speaker: Speaker) -> str:
        """The label without a mention token: in the session context and the invocation."""
        name = self._names.get(speaker)
        if name is None:
            name = self._names[speaker] = bare(speaker) + self._suffix(speaker)
        return name

    def _suffix(self, speaker: Speaker) -> str:
        if speaker.kind == "bot":
            return ""
        looks = _looks(speaker)
        mistakable = any(len(self._owners.get(look, ())) > 1 for look in looks)
        if mistakable or any(_CALLS_ITSELF_BOT.search(look) for look in looks):
            return f" ({_id(speaker)})"
        return ""

    def line(self, speaker: Speaker) -> str:
        """The label of a line in the transcript or the thread."""
        return tagged(self.name(speaker), speaker)

    def listed(self, speaker: Speaker) -> str:
        """As a participant: a bot is `@codex (bot)`."""
        return f"{at_name(speaker.name)} (bot)" if speaker.kind == "bot" else self.name(speaker)


def same_bot(one: Speaker, other: Speaker) -> bool:
    """Return True if both are one bot, which may have an id of its own on each platform."""
    if one.kind != "bot" or other.kind != "bot":
        return one.id == other.id
    return one.id == other.id or skeleton(at_name(one.name)) == skeleton(at_name(other.name))
