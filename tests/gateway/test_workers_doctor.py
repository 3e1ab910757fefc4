"""`moot doctor` on the broker and the workers: what is wrong has a line and a remedy."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.cli.diagnosis.finding import Installation
from gateway.cli.diagnosis.workers import check_workers
from gateway.settings.config import Config
from gateway.settings.connections import WorkersTable
from gateway.settings.tables import GatewayTable
from gateway.workers.broker import config as broker_config
from gateway.workers.broker import find
from gateway.workers.credentials import FOLDER, RULES, Key
from gateway.workers.link import Link
from gateway.workers.messages import VERSION, Beat
from tests.doubles.workers import Broker, worker

NOW = datetime(2026, 4, 21, 12, tzinfo=UTC)
REMEDY = f"include data/{FOLDER}/{RULES} in its configuration, and reload it"
SOUND = [
    "✓ broker: it answers, and has JetStream",
    "✓ broker: the key of w1 hears and says only what is its own",
]


async def told(made: Broker, nats: str = "", **more: object) -> list[str]:
    table = WorkersTable.model_validate({"nats": nats or made.url, **more})
    config = Config(gateway=GatewayTable(data_dir=made.data_dir), workers=table)
    of = Installation(config, made.data_dir / "moot.toml", {}, NOW)
    return [str(one) for one in await check_workers(of)]


@asynccontextmanager
async def broker(
    folder: Path, *names: str, old: str = "\0", new: str = ""
) -> AsyncIterator[Broker]:
    """One whose configuration has something else than what Moot writes, or ends before it."""
    made = Broker(folder / "gateway")
    for name in names:
        made.worker_key(name)
    path = broker_config(made.data_dir, "127.0.0.1", made.port)
    text = path.read_text() + (path.parent / RULES).read_text()
    text = text.replace(f"include ./{RULES}\n", "")
    assert old in f"{text}\0"
    path.write_text(text.replace(old, new) if new else text.partition(old)[0])
    made.process = subprocess.Popen([find(), "-c", str(path)], stderr=subprocess.DEVNULL)
    try:
        yield made
    finally:
        made.kill()


async def test_a_broker_and_a_worker_that_are_well_are_told_and_who_is_silent(
    tmp_path: Path,
) -> None:
    async with broker(tmp_path, "w1", "w2") as made, worker(made, tmp_path, "w1"):
        pools = {"gpu": {"names": ["w1", "w9"]}}
        assert await told(made, pools=pools) == [
            *SOUND,
            "✓ worker w1: it is there, 0 of 4 seats taken",
            "⚠ worker w2: it is not heard — start `moot worker run` there; "
            "`moot worker remove w2` forgets it",
            "⚠ pool gpu: w9 was never added — `moot worker add w9`",
        ]


@pytest.mark.parametrize(
    ("beat", "line"),
    [
        ({"version": VERSION + 1}, "✗ worker w1: it speaks another version of the messages"),
        ({"release": "0.0.1"}, "⚠ worker w1: it runs Moot 0.0.1, and the gateway"),
        ({"clock": -3600.0}, "⚠ worker w1: its clock and this one are 360"),
    ],
)
async def test_a_worker_of_another_version_or_time_is_told(
    beat: dict[str, float], line: str, tmp_path: Path
) -> None:
    if "clock" in beat:
        beat = {"clock": time.time() + beat["clock"]}
    given = Beat.model_validate({"at": 0.0, "life": "a", "version": VERSION, "seats": 4, **beat})

    async def beats(made: Broker) -> None:
        key = Key.read(made.data_dir / FOLDER / "w1.nk")
        async with Link.open(made.url, key, "w1") as link:
            while True:
                await link.say("moot.from.w1.beat", given.encoded())
                await asyncio.sleep(0.2)

    async with broker(tmp_path, "w1") as made:
        beating = asyncio.create_task(beats(made))
        [*sound, found] = await told(made)
        assert sound == SOUND
        assert found.startswith(line)
        beating.cancel()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("max_payload: 8388608", "max_payload: 1048576", "a message may have 1,048,576 bytes"),
        ("jetstream {", "# jetstream {", "✗ broker: it has no JetStream — add jetstream"),
        ('"moot.to.w1.>"', '"moot.to.>"', f"the key of w1 hears what is not its own — {REMEDY}"),
        ('"moot.answer.w1"', '"moot.>"', f"the key of w1 says what is not its own — {REMEDY}"),
        ("authorization {", "", f"it lets in a key that is not known — {REMEDY}"),
    ],
)
async def test_a_broker_that_is_set_up_wrong_is_told(
    old: str, new: str, line: str, tmp_path: Path
) -> None:
    async with broker(tmp_path, "w1", old=old, new=new) as made:
        found = [one for one in await told(made) if one.startswith("✗")]
        assert len(found) == 1
        assert line in found[0]


async def test_a_broker_that_is_away_or_knows_no_key_of_ours_is_told(tmp_path: Path) -> None:
    made = Broker(tmp_path / "gateway")
    [none] = await told(made)
    assert none == "⚠ broker: nobody has a key yet — `moot worker add w1` makes one"
    assert not made.data_dir.exists()
    made.worker_key("w1")
    [away] = await told(made)
    assert away.startswith("✗ broker: it can't be reached (")
    assert away.endswith("— start the broker, or correct `nats` under [workers]")
    [own] = await told(made, "embedded")
    assert own == "✓ broker: Moot starts it itself; neither runs now"
    public = Key.read(made.data_dir / FOLDER / "gateway.nk").public
    async with broker(tmp_path / "other", "w1") as other:
        assert public not in (other.data_dir / FOLDER / RULES).read_text()
        [refused] = await told(made, other.url)
        assert refused == f"✗ broker: it does not let the gateway's key in — {REMEDY}"
