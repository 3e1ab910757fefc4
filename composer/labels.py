"""The labels of people and bots in a header, so that no two people have one name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import quote

from composer.guard import clean, label
from contract.chat import Speaker
from contract.looks import look, skeleton, without_marks
from contract.values import dataclass

ID_CHARS = 300  # a source of 32, a colon, an external id of 255
MENTION_CHARS = 128
UNKNOWN = "unknown"

# What tags a person, by the source of the sender id: elsewhere it is a name behind an `@`, and its
# server. iMessage has no mentions.
_NAME = r"@[\w][\w.+=-]*"
_SERVER = r"(?::[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?)"
AT_NAME = re.compile(f"{_NAME}{_SERVER}?")
_NOTHING = re.compile(r"(?!)")
MENTIONS = {
    "slack": re.compile(r"<@[UW][A-Z0-9]+>"),
    "discord": re.compile(r"<@!?[0-9]+>"),
    "bb": _NOTHING,
    "": _NOTHING,
}
_PLAIN_IN_IDS = ":/@#!$&'*+,;=~"
_CALLS_ITSELF_BOT = re.compile(r"\(bot\b")
_QUOTES = ('"', "''")  # the typographic ones look like two of one stroke
_MORE_THAN_A_ROLE = re.compile(r"""[()\[\]{}"]|''""")
_TASK = r" in room #| in this (?:group )?direct message"  # the invocation's own words
_TASK_BEGINS = "respondto"
_MORE_THAN_A_NAME = re.compile(rf"""[,()\[\]{{}}"]|''| and |^ \+?\d+ more $|{_TASK}""")
_MORE_THAN_A_ROOM = re.compile(rf"""\(project\b|{_TASK}""")


def mention(speaker: Speaker) -> str | None:
    """The speaker's mention token, if it is one of their platform's."""
    token = speaker.mention
    if token is None or speaker.kind == "bot" or len(token) > MENTION_CHARS:
        return None
    pattern = MENTIONS.get(speaker.id.partition(":")[0], AT_NAME)
    return token if pattern.fullmatch(token) and clean(token) == token else None


@lru_cache(maxsize=4096)
def display(name: str) -> str:
    """A name as a label: in double quotes if it could read as two, or as more than a name.

    That is one with a comma, a bracket, a double quote or ` and ` in it, or what looks so; one like
    `3 more`; and one with words of the invocation. Quotes within become `'`: doubled ones would
    look like the end of a name and the beginning of another.
    """
    return _quoted(label(name), _MORE_THAN_A_NAME)


@lru_cache(maxsize=4096)
def display_room(name: str, cap: int) -> str:
    """A room's name without its `#`: in double quotes if it could read as more than a name."""
    return _quoted(label(name, cap).lstrip("# "), _MORE_THAN_A_ROOM)


@lru_cache(maxsize=4096)
def display_role(role: str) -> str:
    """A role as it stands in parentheses: in double quotes if it could end them."""
    return _quoted(label(role), _MORE_THAN_A_ROLE)


def _quoted(plain: str, more: re.Pattern[str]) -> str:
    seen = without_marks(look(plain))
    if not more.search(f" {seen} ") and _TASK_BEGINS not in "".join(filter(str.isalnum, seen)):
        return plain
    return '"' + "".join("'" if look(sign) in _QUOTES else sign for sign in plain) + '"'


def bare(speaker: Speaker) -> str:
    """The name as a label, before anybody else's is looked at."""
    return display(speaker.name) or _id(speaker)


def _id(speaker: Speaker) -> str:
    """The sender id; other than plain signs are percent-encoded, so that no two look alike."""
    return quote(speaker.id, _PLAIN_IN_IDS, errors="surrogatepass")[:ID_CHARS] or UNKNOWN


@lru_cache(maxsize=4096)
def at_name(name: str) -> str:
    """A bot's label with one `@` before it."""
    return "@" + (display(label(name).lstrip("@ ")) or UNKNOWN)


def tagged(name: str, speaker: Speaker) -> str:
    """`Name`, or `Name (mention token)` where the platform has one."""
    token = mention(speaker)
    return f"{name} ({token})" if token else name


def joined(names: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


@dataclass(frozen=True, slots=True)
class _Alone:
    """A speaker before anybody else is looked at.

    id: ` (sender id)`. tag: ` (mention token)`, or nothing. looks: everything that they may be
    shown as, by its looks. like_a_bot: a person whose name says that they are one. who: the same
    for two speakers who are one. at: a bot's name with one `@` before it.
    """

    name: str
    id: str
    tag: str
    looks: frozenset[str]
    like_a_bot: bool
    who: tuple[str, str]
    at: str = ""


@lru_cache(maxsize=8192)
def _alone(speaker: Speaker) -> _Alone:
    name, id, token = bare(speaker), f" ({_id(speaker)})", mention(speaker)
    plain = label(speaker.name) or _id(speaker)  # quotes don't tell two apart
    if speaker.kind == "bot":
        at = at_name(plain.lstrip("@ ") or _id(speaker))
        looks = frozenset(skeleton(one).lstrip("@ ") for one in (plain, f"{plain} (bot)"))
        return _Alone(name, id, "", looks, False, ("bot", skeleton(at)), at)
    tag = f" ({token})" if token else ""
    shown = {plain, plain + id, plain + tag, plain + id + tag}
    looks = frozenset(skeleton(one).lstrip("@ ") for one in shown)
    like_a_bot = any(map(_CALLS_ITSELF_BOT.search, looks))
    return _Alone(name, id, tag, looks, like_a_bot, ("human", speaker.id))


class Labels:
    """The names of all who appear in one header.

    A person who could be taken for another person or for a bot gets ` (sender id)`, and so does a
    bot that could be taken for another one; `you` keeps its name. name: without a mention token,
    in the session context and the invocation; line: in the transcript and the thread; listed: as
    a participant, where a bot is `@codex (bot)`. at: a bot's with one `@` before it. who: the
    same for one bot, which may have an id of its own on each platform.
    """

    def __init__(self, speakers: Iterable[Speaker], you: Speaker | None = None) -> None:
        known = {speaker: _alone(speaker) for speaker in speakers}
        owners: dict[str, set[tuple[str, str]]] = {}
        for speaker, alone in known.items():
            for seen in alone.looks:
                owners.setdefault(seen, set()).add((speaker.kind, speaker.id))
        self.name: dict[Speaker, str] = {}
        self.line: dict[Speaker, str] = {}
        self.listed: dict[Speaker, str] = {}
        self.at: dict[Speaker, str] = {}
        self.who = {speaker: alone.who for speaker, alone in known.items()}
        for speaker, alone in known.items():
            rivals = {rival for seen in alone.looks for rival in owners[seen]}
            if alone.at:
                rivals = {rival for rival in rivals if rival[0] == "bot" and speaker != you}
            id = alone.id if alone.like_a_bot or len(rivals) > 1 else ""
            self.name[speaker] = alone.name + id
            self.line[speaker] = alone.name + id + alone.tag
            self.at[speaker] = alone.at + id
            self.listed[speaker] = f"{alone.at}{id} (bot)" if alone.at else alone.name + id
