"""What PostgreSQL can't hold is taken out of messages, answers and records, on every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.agent import Reply
from contract.chat import Edited, Inbound
from contract.errors import Rejected
from tests.conftest import NewUrl
from tests.doubles.platform import ROOM, said
from tests.doubles.running import gateway
from tests.doubles.scripted import ScriptedPrograms


async def hostile(prompt: str, reply: Reply) -> str:
    assert "\0" not in prompt
    reply.draft("a dr\0aft")
    return "an \0answer with half \ud83d of a pair and a typed \\u0000"


def named(message: Inbound, name: str) -> Inbound:
    return replace(message, meta=message.meta.model_copy(update={"sender_display_name": name}))


@pytest.mark.parametrize("driver", ["sqlite", "postgresql"])
async def test_nul_and_half_characters_cost_no_message_and_no_answer(
    tmp_path: Path, driver: str, new_url: NewUrl
) -> None:
    url = await new_url(driver)
    async with gateway(tmp_path, programs=ScriptedPrograms(hostile), url=url) as moot:
        message = replace(said("@demo a \0question"), room=replace(ROOM, name="gen\0eral"))
        await moot.hear(named(message, "A\0sh"))
        await moot.settle()
        answer = "an answer with half \ufffd of a pair and a typed \\u0000"
        house = moot.house
        asked, own = sorted(await house.transcript.page(ROOM.id, None, 9), key=lambda m: m.seq)
        assert (asked.content, asked.by.name) == ("@demo a question", "Ash")
        assert own.content == answer
        change = Edited(ROOM, asked.message_id, "chan\0ged \ud83d", datetime.now(UTC))
        await moot.receive(change)
        stored = await house.transcript.get(asked.seq)
        assert stored is not None
        assert stored.content == "changed \ufffd"
        await house.audit.note("test", asked.by, what="an a\0ct")
        assert (await house.audit.verify()).broken is None
        [turn] = await house.ledger.turns_of(asked.seq)
        assert turn.answer == answer


async def test_nul_in_an_id_is_rejected(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        with pytest.raises(Rejected):
            await moot.hear(said("@demo hi", message_id="m\0"))
