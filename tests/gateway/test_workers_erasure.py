"""Erasure at the broker: of a scope that goes nothing is kept, of others all."""

from __future__ import annotations

import asyncio
from pathlib import Path

from contract.agent import Answer
from gateway.sessions.scope_folders import delete_scope
from gateway.sessions.sessions import digest, scope_folder
from gateway.workers.credentials import GATEWAY, Key, gateway_key
from gateway.workers.link import HOMES, LEASES, Link
from gateway.workers.messages import Answered
from tests.doubles.workers import Broker

GONE, KEPT = digest("dm:web:ana:ash"), digest("room:web:general")


async def test_records_leases_and_answers_of_a_scope_go_and_others_stay(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    worker = Key.read(broker.worker_key("w1"))
    broker.start()
    try:
        async with (
            Link.open(broker.url, gateway_key(tmp_path), GATEWAY) as link,
            Link.open(broker.url, worker, "w1") as away,
        ):
            await link.prepare()
            await link.forget({GONE}, lambda said: True)  # where there is nothing
            for scope in (GONE, KEPT):
                said = Answered(session=f"{scope}.s", epoch=1, turn=scope, answer=Answer("word"))
                await link.lease(f"{scope}.s", "w1")
                await link.keep(HOMES, f"homes/{scope}/s.1", b"record")
                await away.log("w1", scope, said.encoded())
            await link.keep(HOMES, "of-an-earlier-version", b"record")
            scope_of = Answered.model_validate_json
            await link.forget({GONE}, lambda said: scope_of(said).scope_digest == GONE)
            assert await link.names(HOMES) == [f"homes/{KEPT}/s.1"]
            assert await link.kept(HOMES, f"homes/{GONE}/s.1") is None
            await link.keep(HOMES, f"{KEPT}.s", b"of an earlier version")
            await link.drop_old_records()
            assert await link.names(HOMES) == [f"homes/{KEPT}/s.1"]
            leases = await link._stream.key_value(LEASES)
            assert await leases.keys() == [f"{KEPT}.s"]
            async with asyncio.timeout(5):
                async for logged in link.logged(0):
                    assert scope_of(logged.data).turn == KEPT
                    await logged.done()
                    break
    finally:
        broker.kill()


def test_of_a_scopes_folder_a_configured_workspace_and_work_stay(tmp_path: Path) -> None:
    folder, other = tmp_path / scope_folder("room:a"), tmp_path / scope_folder("room:b")
    outside = tmp_path / "outside"
    for made in (folder, other):
        (made / "ash" / "home").mkdir(parents=True)
        (made / "ash" / "work").mkdir()
        (made / "ash" / "home" / "record").touch()
    (outside / "home").mkdir(parents=True)
    (folder / "linked").symlink_to(outside)
    delete_scope(tmp_path, digest("room:a"), [], whole=False)
    assert sorted(path.name for path in (folder / "ash").iterdir()) == ["work"]
    assert (outside / "home").exists()
    delete_scope(tmp_path, digest("room:a"), [(folder / "ash" / "work").resolve()], whole=True)
    assert sorted(path.name for path in folder.rglob("*")) == ["ash", "work"]
    delete_scope(tmp_path, digest("room:a"), [], whole=True)
    assert not folder.exists()
    assert (other / "ash" / "home" / "record").exists()
