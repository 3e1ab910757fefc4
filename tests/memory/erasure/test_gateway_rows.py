"""What a deleted person leaves in the roles: nothing of theirs, and no name on what they gave."""

from __future__ import annotations

from sqlalchemy import Connection, select

from memory.erasure.person import erase_person, plan_erasure
from store.database import Store
from store.gateway_schema import grants, pairings, refusals
from tests.doubles.planted import plant

ANDI, BUDI = "slack:U1", "slack:U2"


async def test_roles_codes_and_refusals_of_a_person_go_and_those_they_gave_lose_their_name(
    store: Store,
) -> None:
    def work(connection: Connection) -> None:
        for person, by in ((ANDI, BUDI), (BUDI, ANDI)):
            about = {"person_id": person, "by_id": by, "by_name": by}
            plant(connection, "grants", **about)
            plant(connection, "pairings", **about)
            plant(connection, "refusals", person_id=person)
        erase_person(connection, plan_erasure(connection, ANDI))

    def left(connection: Connection) -> list[str]:
        return [
            str(row)
            for table in (grants, pairings, refusals)
            for row in connection.execute(select(table))
        ]

    await store.write(work)
    rows = await store.read(left)
    assert len(rows) == 3
    assert all(BUDI in row and ANDI not in row for row in rows)
