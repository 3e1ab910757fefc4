"""The people who wait to be let in, as rows; and the codes that they get."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, Row, bindparam, select, update

from contract.chat import Room, Speaker
from contract.values import dataclass
from store.gateway_schema import pairings
from store.schema import messages
from store.timestamps import micros, moment

ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # nothing that looks like another: 0 O, 1 I L, U V
CODE_CHARS = 8  # 30 to the 8th: 6.6e11 codes, of which 20 at most are good

_C = pairings.c
WAITING = select(pairings).where(_C.state == "waiting").order_by(_C.seq)
LAST = (
    select(pairings)
    .where(_C.person_id == bindparam("person"), _C.state != "expired")
    .order_by(_C.seq.desc())
    .limit(1)
)
EXPIRE = (
    update(pairings)
    .where(_C.state.in_(["waiting", "displaced"]), _C.expires_at <= bindparam("now"))
    .values(state="expired")
)
PUT = update(pairings).where(_C.seq == bindparam("of")).values(state=bindparam("into"))
ASKS = (
    update(pairings)
    .where(_C.seq == bindparam("of"))
    .values(
        question_seq=bindparam("question"),
        persona=bindparam("asked"),
        room_id=bindparam("where"),
        bot=bindparam("through"),
    )
)
DECIDE = (
    update(pairings)
    .where(_C.seq == bindparam("of"))
    .values(
        state=bindparam("decided"),
        by_id=bindparam("decider"),
        by_name=bindparam("decider_name"),
        decided_at=bindparam("now"),
    )
)
MESSAGE = select(messages).where(messages.c.seq == bindparam("of"))

Decision = Literal["approved", "refused"]


@dataclass(frozen=True, slots=True)
class Pairing:
    """Somebody who waits. persona: whom they asked; None: nobody, they only said commands.

    message_seq: the message that the code answered. question_seq: the last question since.
    """

    seq: int
    code: str
    person: Speaker
    room_id: str
    persona: str | None
    bot: str
    message_seq: int
    question_seq: int | None
    at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A direct message of somebody unknown. persona: None: it is no question."""

    person: Speaker
    room: Room
    bot: str
    message_seq: int
    persona: str | None
    text: str

    def says(self, code: str) -> bool:
        """True if it tells their own code: it asks to be let in, and nothing of an agent."""
        return code in as_code(self.text)


def new_code(taken: set[str]) -> str:
    while True:
        code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARS))
        if code not in taken:
            return code


def as_code(text: str) -> str:
    """A code as people copy it: in any case, with blanks, dashes or marks around it."""
    return "".join(sign for sign in text.upper() if sign.isascii() and sign.isalnum())


def found_with(waiting: Sequence[Pairing], code: str) -> Pairing | None:
    """The pairing with this code. All are compared, in constant time: timing reveals nothing."""
    wanted = as_code(code).encode()
    same = [one for one in waiting if hmac.compare_digest(one.code.encode(), wanted)]
    return same[0] if same else None


def good_ones(connection: Connection, now: datetime) -> list[Pairing]:
    return [_pairing(r) for r in connection.execute(WAITING) if r.expires_at > micros(now)]


def _pairing(row: Row[tuple[object, ...]]) -> Pairing:
    return Pairing(
        row.seq,
        row.code,
        Speaker(row.person_id, row.person_name),
        row.room_id,
        row.persona,
        row.bot,
        row.message_seq,
        row.question_seq,
        moment(row.at),
        moment(row.expires_at),
    )
