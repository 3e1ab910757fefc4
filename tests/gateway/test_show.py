"""What lies in the store, as the page is given it."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select, update

from contract.chat import Inbound, IngestMetadata, Room
from store.schema import turns
from tests.doubles.remembered import START
from tests.doubles.running import gateway

META = IngestMetadata(
    source="fake", sender_id="fake:ash", sender_display_name="Ash", sender_type="human"
)


@pytest.mark.parametrize(
    ("memory", "left_out"),
    [
        ({"missing": ["recall"], "late": ["recall"]}, [("recall", "took too long")]),
        ({"missing": ["recall"], "late": []}, [("recall", "failed")]),
        ({"missing": ["recall"]}, [("recall", "failed")]),
        ({"missing": [], "ms": {"recall": 12}}, []),
        (None, []),
    ],
)
async def test_a_turn_tells_which_layers_were_left_out(
    tmp_path: Path, memory: object, left_out: list[tuple[str, str]]
) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(Inbound("@demo hi", META, Room("fake:C1", "x"), "m1", START))
        await moot.settle()
        record = {"memory": memory} if memory is not None else {}
        store = moot.house.memories.store
        await store.write(lambda c: c.execute(update(turns).values(record=record)))
        turn_id = await store.read(lambda c: c.execute(select(turns.c.id)).scalar_one())
        shown = await moot.house.services.chat.turn(turn_id)
    assert shown is not None
    assert [(item.layer, item.reason) for item in shown.left_out] == left_out
