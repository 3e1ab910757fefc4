"""The gateway's own consolidation, over a whole house."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from memory.recall.facts import NewFact, add_facts, facts_in
from tests.doubles.index import WordIndex
from tests.doubles.model import ScriptedModel
from tests.doubles.running import gateway

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ROOM, OTHER = "room:fake:r", "room:fake:x"


async def test_every_scope_is_gone_over_and_never_two_in_one_question(tmp_path: Path) -> None:
    model = ScriptedModel(rest={"merges": [], "superseded": []})
    async with gateway(tmp_path, index=WordIndex(hostile=True), model=model) as opened:
        memories = opened.house.memories
        new = [
            NewFact(scope, "fact", f"{scope[-1]} has {what}", NOW, "s")
            for scope in (ROOM, OTHER)
            for what in ("tea", "green tea", "Green tea.")
        ]
        await memories.store.write(lambda c: add_facts(c, new, NOW))
        assert memories.recall is not None
        await memories.recall.index_pending()
        outcomes = await memories.consolidation.run_all()
        assert [outcome.duplicates for outcome in outcomes] == [1, 1]
        left = await memories.store.read(lambda c: facts_in(c, [ROOM, OTHER]))
        assert len(left) == 4
    assert len(model.asked) == 2
    assert not any("r has" in asked.prompt and "x has" in asked.prompt for asked in model.asked)
