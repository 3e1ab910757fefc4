"""No statement of a turn looks through a table that grows with what was said."""

import asyncio
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event

from store.together import _Compiled
from tests.doubles.platform import said
from tests.doubles.running import gateway

SOON_OVER = re.compile(  # the newest row, whether there is any, and what another look found
    r"SCAN (audit in (SELECT coalesce..SELECT audit.hash|UPDATE|INSERT INTO audit)"
    r"|insights USING COVERING INDEX|anon_1|CONSTANT ROW)"
)


@contextmanager
def heard() -> Iterator[dict[str, Any]]:
    """The statements that are run, each with the last of its parameters."""
    run: dict[str, Any] = {}

    def note(_c: Connection, _cursor: Any, statement: str, given: Any, _x: Any, many: bool) -> None:
        run[statement] = given[0] if many else given

    given_of = _Compiled.given

    def note_given(self: _Compiled, values: Mapping[str, Any]) -> list[Any]:
        run[self.text] = given = given_of(self, values)
        return given

    event.listen(Engine, "before_cursor_execute", note)
    _Compiled.given = note_given  # type: ignore[method-assign]
    try:
        yield run
    finally:
        event.remove(Engine, "before_cursor_execute", note)
        _Compiled.given = given_of  # type: ignore[method-assign]


async def test_no_statement_of_a_turn_looks_through_all_that_was_ever_said(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo we decided on Mars", message_id="1"))
        await moot.settle()
        with heard() as run:
            await moot.hear(said("just so", message_id="2"))
            await moot.hear(said("@demo why?", message_id="3"))
            await moot.settle()
            await asyncio.sleep(2.5)  # the memory learns from it
    [file] = tmp_path.rglob("*.db")
    looks: list[str] = []
    with closing(sqlite3.connect(file)) as database:
        for statement, given in run.items():
            if statement.split()[0] in ("SELECT", "UPDATE", "INSERT", "DELETE"):
                plan = database.execute(f"EXPLAIN QUERY PLAN {statement}", given)
                looks += [f"{row[-1]} in {statement}" for row in plan]
    assert len(looks) > 20
    assert [one for one in looks if "SCAN" in one and not SOON_OVER.match(one)] == []
