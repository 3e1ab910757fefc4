"""Discord's interactions as values: commands that were run, and buttons that were pressed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bots.discord.events import Channel, NewMessage, Person, moment, person
from bots.discord.wire import WireInteraction
from bots.kit.events import faulty_fields
from contract.chat import SLASH

CHOOSE = "moot:"  # begins the custom id of a question's button

_COMMAND, _COMPONENT = 2, 3  # types of an interaction


@dataclass(frozen=True, slots=True)
class ButtonPress:
    """A button of a question was pressed. digest: of what stood above it. room: None: not told."""

    interaction: str
    token: str
    question_id: str
    option: int
    guild: str | None
    by: Person
    digest: str = ""
    room: Channel | None = None


@dataclass(frozen=True, slots=True)
class CommandUse:
    """A slash command. given: its options, in the order in which they were filled in."""

    interaction: str
    token: str
    room: Channel
    by: Person
    name: str
    given: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The command as one would type it, e.g. `!new codex`."""
        return " ".join((f"!{self.name}", *(value for _, value in self.given)))

    def message(self) -> NewMessage:
        """The same as a message; its id is the interaction's, and nobody can reply to it."""
        at = moment(None, self.interaction)
        return NewMessage(
            room=self.room,
            id=f"{SLASH}{self.interaction}",
            by=self.by,
            content=self.text,
            at=at,
            mentioned=True,
            is_command=True,
        )


@dataclass(frozen=True, slots=True)
class UnknownInteraction:
    """An interaction that isn't ours to answer."""

    interaction: str
    token: str


Interaction = ButtonPress | CommandUse | UnknownInteraction


def parse_interaction(data: Mapping[str, Any]) -> Interaction | None:
    """The interaction that a payload reports; None: none of ours.

    Raises ValueError on one that Discord doesn't write.
    """
    try:
        return _interaction(WireInteraction.model_validate(data))
    except ValidationError as error:
        raise ValueError(f"INTERACTION_CREATE can't be read: {faulty_fields(error)}") from None


def _interaction(event: WireInteraction) -> Interaction | None:
    user = event.user or (event.member.user if event.member else None)
    if user is None or event.data is None:
        return None
    by = person(user, event.member)
    if event.type == _COMPONENT:
        number, _, rest = event.data.custom_id.removeprefix(CHOOSE).partition(":")
        digest, _, question = rest.partition(":")
        if event.data.custom_id.startswith(CHOOSE) and number.isascii() and number.isdigit():
            guild = event.guild_id
            where = Channel(event.channel_id, guild) if event.channel_id else None
            return ButtonPress(
                event.id, event.token, question, int(number), guild, by, digest, where
            )
        return UnknownInteraction(event.id, event.token)
    if event.type != _COMMAND or not event.channel_id:
        return None
    given = tuple((o.name, str(o.value)) for o in event.data.options if o.value is not None)
    room = Channel(event.channel_id, event.guild_id)
    return CommandUse(event.id, event.token, room, by, event.data.name, given)
