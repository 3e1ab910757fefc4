"""Discord's interactions as values: commands that were run or are being written, and buttons that
were pressed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from pydantic import ValidationError

from bots.discord.events import Channel, NewMessage, Person, moment, person
from bots.discord.wire import WireData, WireInteraction, WireMessage, WireOption
from bots.kit.events import faulty_fields
from contract.chat import SLASH
from contract.values import dataclass

MESSAGE_MENU = 3  # the type of a command in a message's menu
ASK = "Ask "  # begins the name of ours, before a persona's
ABOUT = "Please answer this message."
CHOOSE = "moot:"  # begins the custom id of a question's button

_COMMAND, _COMPONENT, _WRITING = 2, 3, 4  # types of an interaction


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
    """A slash command, or one in a message's menu. given: its options, in the order in which they
    were filled in. about: the id of the message; quoted: the message, as far as Discord tells."""

    interaction: str
    token: str
    room: Channel
    by: Person
    name: str
    given: tuple[tuple[str, str], ...] = ()
    about: str | None = None
    quoted: WireMessage | None = field(default=None, repr=False)  # no log shows it

    @property
    def text(self) -> str:
        """The command as one would type it, e.g. `!new codex`."""
        if self.about is not None:
            return f"@{self.name.removeprefix(ASK)} {ABOUT}"
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
            reply_to=self.about,
            quoted=self.quoted,
        )


@dataclass(frozen=True, slots=True)
class CommandDraft:
    """A slash command is being written. option: the one that is, typed: what there is of it."""

    interaction: str
    token: str
    room: Channel
    by: Person
    name: str
    option: str
    typed: str


@dataclass(frozen=True, slots=True)
class UnknownInteraction:
    """An interaction that isn't ours to answer."""

    interaction: str
    token: str


Interaction = ButtonPress | CommandUse | CommandDraft | UnknownInteraction


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
    where = Channel(event.channel_id, event.guild_id) if event.channel_id else None
    if event.type == _COMPONENT:
        return _press(event, event.data, by, where)
    if event.type == _COMMAND and where is not None:
        return _command(event, event.data, by, where)
    if event.type == _WRITING and where is not None:
        return _draft(event, event.data, by, where)
    return None


def _draft(event: WireInteraction, data: WireData, by: Person, where: Channel) -> CommandDraft:
    option = next((one for one in data.options if one.focused), WireOption())
    typed = str(option.value or "")
    return CommandDraft(event.id, event.token, where, by, data.name, option.name, typed)


def _press(
    event: WireInteraction, data: WireData, by: Person, where: Channel | None
) -> ButtonPress | UnknownInteraction:
    number, _, rest = data.custom_id.removeprefix(CHOOSE).partition(":")
    digest, _, question = rest.partition(":")
    if not (data.custom_id.startswith(CHOOSE) and number.isascii() and number.isdigit()):
        return UnknownInteraction(event.id, event.token)
    return ButtonPress(
        event.id, event.token, question, int(number), event.guild_id, by, digest, where
    )


def _command(
    event: WireInteraction, data: WireData, by: Person, where: Channel
) -> CommandUse | UnknownInteraction:
    given = tuple((o.name, str(o.value)) for o in data.options if o.value is not None)
    used = CommandUse(event.id, event.token, where, by, data.name, given)
    if data.type != MESSAGE_MENU:
        return used
    if data.target_id is None or not data.name.startswith(ASK):
        return UnknownInteraction(event.id, event.token)
    quoted = data.resolved.messages.get(data.target_id) if data.resolved else None
    return replace(used, about=data.target_id, quoted=quoted)
