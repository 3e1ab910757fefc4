"""What becomes of a fact that its owner shares."""

from __future__ import annotations

import re
from datetime import datetime

from memory.owner.owner import MemoryRefusal, Owner
from memory.recall.facts import NewFact, StoredFact, origin_of

SOURCE = "!share"
PLAIN_KINDS = ("message", "project")  # where a fact was learned or lies: no kind of its own


def target(owner: Owner, *, project: bool) -> str:
    """Where something shared goes. Raises Refusal."""
    if not project:
        return owner.profile
    slug = owner.at.room.project
    if not slug:
        raise MemoryRefusal("No project is bound to this room.")
    scope = f"project:{slug}"
    if scope not in owner.gate().scopes:
        raise MemoryRefusal("A project's memory can't be reached from here.")
    return scope


def copied(fact: StoredFact, owner: Owner, *, project: bool) -> NewFact:
    """A fact as it is shared, with its origin and date. Raises Refusal."""
    kind = "fact" if fact.kind in PLAIN_KINDS else fact.kind
    return NewFact(
        scope=target(owner, project=project),
        kind="project" if project else kind,
        text=named(fact.text, owner.name),
        said_at=fact.said_at,
        source=SOURCE,
        person=owner.id,
        person_name=owner.name,
        persona=fact.persona,
        origin=fact.origin,
        room_id=fact.room_id,
        speakers=(owner.id,),
        shared_from=fact.id,
    )


def named(text: str, name: str) -> str:
    """The text, which says of whom it speaks: `Andi: I like tea`."""
    if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
        return text
    return f"{name}: {text}"


def worded(words: str, owner: Owner, of: int, said_at: datetime, *, project: bool) -> NewFact:
    """A person's own words, said in message `of`, as a fact. Raises Refusal.

    It bears no range of messages: it has to be recalled elsewhere, whatever is shown there.
    """
    return NewFact(
        scope=target(owner, project=project),
        kind="project" if project else "fact",
        text=named(" ".join(words.split()), owner.name),
        said_at=said_at,
        source=SOURCE,
        person=owner.id,
        person_name=owner.name,
        persona=owner.at.persona,
        origin=origin_of(owner.at.room.kind, owner.at.room.name),
        room_id=owner.at.room.id,
        speakers=(owner.id,),
        data={"message_seq": of},
    )
