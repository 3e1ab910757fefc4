"""`moot audit`, and the chain under everything that can be done to it."""

import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from contract.chat import Speaker
from contract.errors import MootError
from gateway.audit.audit import Audit
from gateway.audit.chain import ANCHOR, HALVES, Check, ranges, sealed
from gateway.cli.audit import since
from gateway.cli.commands import make_parser
from gateway.cli.diagnosis.configuration import check
from gateway.settings.config import Config
from store.database import Store

DOCS = Path(__file__).parents[2] / "docs"
NOW = datetime(2026, 11, 20, 14, 2, tzinfo=UTC)
WORDS = st.text(max_size=8)
ROWS = st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=12)


def chained(told: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for seq, (act, name, word) in enumerate(told, 1):
        row = {"at": seq, "act": f"a{act}", "by_id": f"x:{name}", "by_name": name, "persona": None,
               "room_id": None, "turn_id": None, "detail": {"word": word}}  # fmt: skip
        before = rows[-1]["hash"] if rows else ""
        rows.append({"seq": seq, **sealed(row, before, lambda: "salt")})
    return rows


def broken(rows: list[dict[str, Any]], *anchors: str) -> bool:
    look = Check(anchors)
    for i in range(0, len(rows), 3):
        look.feed(rows[i : i + 3])
    return bool(look.end())


@given(ROWS)
def test_what_was_only_appended_holds(told: list[tuple[str, str, str]]) -> None:
    rows = chained(told)
    assert not broken(rows, rows[0]["hash"], rows[-1]["hash"])


@given(ROWS, st.data())
def test_any_change_of_any_field_is_found(told: list[tuple[str, str, str]], data: Any) -> None:
    rows = chained(told)
    row = rows[data.draw(st.integers(0, len(rows) - 1))]
    name = data.draw(st.sampled_from(sorted(row.keys() - {"seq"})))
    changes: dict[str, Any] = {"at": -1, "detail": {"word": row["detail"]["word"] + "x"}}
    row[name] = changes.get(name, f"{row[name]}x")
    assert broken(rows)


@given(ROWS, st.data())
def test_a_row_removed_moved_or_put_in_is_found(
    told: list[tuple[str, str, str]], data: Any
) -> None:
    rows = chained(told)
    head = rows[-1]["hash"]
    at = data.draw(st.integers(0, len(rows) - 1))
    match data.draw(st.sampled_from(["remove", "move", "repeat"])):
        case "remove":
            rows.pop(at)
        case "repeat":
            rows.insert(at, rows[at])
        case _:
            rows.insert(data.draw(st.integers(0, len(rows) - 1)), rows.pop(at))
            if [row["seq"] for row in rows] == sorted(row["seq"] for row in rows):
                return
    assert broken(rows, head)


@given(ROWS, st.data())
def test_an_erased_half_holds_only_with_its_note(
    told: list[tuple[str, str, str]], data: Any
) -> None:
    rows = chained(told)
    half = data.draw(st.sampled_from(sorted(HALVES)))
    seqs = data.draw(st.sets(st.integers(1, len(rows)), min_size=1))
    for seq in seqs:
        rows[seq - 1] |= {**HALVES[half], f"{half}_salt": ""}
    assert broken(rows)
    note = {"at": 0, "act": "erase", "by_id": "bot:moot", "by_name": "moot", "persona": None,
            "room_id": None, "turn_id": None,
            "detail": {"half": half, "rows": ranges(seqs)}}  # fmt: skip
    rows.append({"seq": len(rows) + 1, **sealed(note, rows[-1]["hash"], lambda: "salt")})
    assert not broken(rows)


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A folder with a configuration, and a log of three rows."""
    (tmp_path / "moot.toml").write_text("")
    data = tmp_path / "data"
    async with Store.open(f"sqlite:///{data}/moot.db") as store:
        log = Audit(store, lambda: NOW, data / ANCHOR)
        await log.started(tmp_path / "moot.toml")
        await log.note("invoke", Speaker("fake:ash", "Ash\x1b[2J"), persona="demo", turn_id="t1")
        await log.note("answer", Speaker("fake:bo", "Bo"), option="Yes", allowed=True)
    return tmp_path


def run(folder: Path, *words: str) -> int:
    given = make_parser().parse_args(["audit", *words, "--config", str(folder / "moot.toml")])
    return int(given.do(given))


def test_the_command_shows_and_checks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "verify") == 0
    head = re.search(r"head: ([0-9a-f]{64})", capsys.readouterr().out)
    assert head is not None
    assert run(folder, "verify", "--head", head[1], "--json") == 0
    assert run(folder, "verify", "--head", "0" * 64) == 1
    capsys.readouterr()
    assert run(folder, "show", "--persona", "demo") == 0
    assert capsys.readouterr().out == ("2 2026-11-20 14:02:00 invoke Ash [2J <fake:ash> @demo\n")
    assert run(folder, "show", "--limit", "0", "--json", "--since", "2026-11-20") == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


async def test_the_command_names_the_broken_row(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    async with Store.open(f"sqlite:///{folder}/data/moot.db") as store:
        await store.write(lambda c: c.execute(text("DROP TRIGGER audit_no_update")))
        change = text("UPDATE audit SET by_name = 'Eve' WHERE seq = 3")
        await store.write(lambda c: c.execute(change))
    assert await asyncio.to_thread(run, folder, "verify") == 1
    assert "broken at row 3: it was changed" in capsys.readouterr().out


def test_a_moment_is_read_as_people_write_it() -> None:
    assert since("24h", NOW) == datetime(2026, 11, 19, 14, 2, tzinfo=UTC)
    assert since("2026-04-21", NOW) == datetime(2026, 4, 21, tzinfo=UTC)
    assert since("2026-04-21T14:00", NOW) == datetime(2026, 4, 21, 14, tzinfo=UTC)
    with pytest.raises(MootError, match="--since 'soon'"):
        since("soon", NOW)


@pytest.mark.parametrize("page", ["audit.md", "limits.md"])
def test_the_documents_examples_are_configurations(page: str) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.M | re.S)
    assert blocks
    for block in blocks:
        assert Config.model_validate(tomllib.loads(block))
    for line in re.findall(r"^moot (.*?)(?:\s+#.*)?$", (DOCS / page).read_text("utf-8"), re.M):
        assert make_parser().parse_args(line.replace("HASH", "0" * 64).split())


def test_the_check_warns_where_nobody_is_a_second_person() -> None:
    raw = {"access": {"second_person": "dangerous", "approvers": ["slack:U06"]}}
    found = [str(finding) for finding in check(Config.model_validate(raw), {"PATH": ""})]
    assert any("second_person" in line and "1 may answer" in line for line in found)
