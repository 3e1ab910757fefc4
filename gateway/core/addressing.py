"""The personas that a message is for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Generic, TypeVar

from contract.chat import MENTION, Inbound, unaddressed
from contract.values import dataclass
from gateway.settings.personas.personas import Persona

_CODE = re.compile(r"(`{3,}+).*?(?:(?<!`)\1|\Z)|(~{3,}+).*?(?:(?<!~)\2|\Z)|`[^`\n]*`", re.DOTALL)
_NAME = re.compile(r"(?<![\w@.<])@([a-zA-Z][\w-]*)")
_ACCOUNT = re.compile(
    MENTION  # Slack, Discord
    + r"|(?<![\w@.<])(@[\w.=/+-]+:[A-Za-z0-9-][A-Za-z0-9.-]*(?::\d{1,5})?)"  # Matrix
    r"|(?<![\w@.<])@([a-zA-Z][\w.-]*)"
)
UNSEEN = "\u200b\u200c\u200d\u2060\ufeff"
_SLASH = re.compile(r"[/\uff0f]moot\b[ \t\u3000]*[!/\uff01\uff0f]*", re.IGNORECASE)


def named(text: str, personas: Sequence[Persona]) -> list[Persona]:
    """The personas that a text addresses as `@name`, in its order; code doesn't count."""
    by_name = {name: persona for persona in personas for name in persona.names}
    found = (by_name.get(name.lower()) for name in _NAME.findall(_CODE.sub(" ", text)))
    return list(dict.fromkeys(persona for persona in found if persona is not None))


Named = TypeVar("Named")


@dataclass(frozen=True, slots=True)
class Addressing(Generic[Named]):
    """The names of some people or personas in a text, in lower case.

    names: behind an `@`. accounts: external ids, which stand in a mention token (`<@U09>`,
    `@codex:example.org`).
    """

    names: Mapping[str, Named]
    accounts: Mapping[str, Named] = field(default_factory=dict)

    def mentions(self, text: str) -> Iterator[Named | None]:
        """Everybody whom a text mentions, in its order; None: somebody else. Code doesn't count."""
        for match in _ACCOUNT.finditer(_CODE.sub(" ", text)):
            tagged, full, name = (part and part.lower() for part in match.groups())
            somebody_elses = full is not None and "." in full.partition(":")[2]
            yield self._tagged(tagged or full) or self._named(
                None if somebody_elses else full or name
            )

    def _tagged(self, token: str | None) -> Named | None:
        return self.accounts.get(token.rstrip(".:-")) if token else None

    def _named(self, name: str | None) -> Named | None:
        """By the whole name, else by what stands before the first sign that no persona's has."""
        if not name:
            return None
        bare = name.lstrip("@")
        whole = self.names.get(bare.rstrip(".:-"))
        return whole or self.names.get(re.split(r"[^\w-]", bare, maxsplit=1)[0])


def said_to(
    inbound: Inbound, personas: Sequence[Persona], *, require_mention: bool = True
) -> list[Persona]:
    """The personas (of those that the bot serves) that a message is for; often none.

    A bot's account that serves several personas answers with the first one when no name was
    said. In a direct message exactly one answers: its scope is that one's alone.
    """
    if not personas:
        return []
    if inbound.meta.recipient_id:
        wanted = inbound.meta.recipient_id.removeprefix("bot:").lower()
        return [persona for persona in personas if wanted in persona.names][:1]
    said = named(inbound.content, personas)
    if not inbound.room.is_shared:
        return said[:1] or list(personas[:1])
    if said:
        return said
    return list(personas[:1]) if inbound.mentioned or not require_mention else []


def as_typed(text: str) -> str:
    """A text without the mentions it begins with, and a command in it as keyboards write it: what
    can't be seen before it gone, `\uff01` as `!`, and without the `/moot` that may stand before it.
    """
    return spelled(unaddressed(text.lstrip(UNSEEN)))


def spelled(bare: str) -> str:
    """The same of a text whose mentions are gone."""
    bare = bare.lstrip(UNSEEN)
    if match := _SLASH.match(bare):
        bare = f"!{bare[match.end() :] or 'help'}"
    return f"!{bare[1:].lstrip(UNSEEN)}" if bare[:1] in ("!", "\uff01") else bare
