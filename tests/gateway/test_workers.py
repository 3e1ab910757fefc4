"""Workers and their gateway: who may say what, whose word holds, and who is given up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.cli.hooks import HookListener
from contract.agent import Answer
from contract.chat import Room
from contract.errors import ConfigError, MachineLost
from gateway.mcp.endpoint import McpGrant
from gateway.sessions.homes.packing import pack, unpack
from gateway.settings.connections import WorkersTable, broker_fault
from gateway.settings.personas.personas import FrontMatter, Persona
from gateway.web.listening.listener import serving_hooks
from gateway.workers.credentials import FOLDER, Key, remove
from gateway.workers.door import RemoteDoor
from gateway.workers.fleet import Fleet
from gateway.workers.link import HOMES, Link, LinkDown
from gateway.workers.messages import VERSION, Answered, Ask, Beat, Done, DraftShown, OfSession, Open
from gateway.workers.opener import Workers
from gateway.workers.remote import GatewaySide, NoSeat, RemoteAgent
from tests.doubles.replies import Replies
from tests.doubles.running import until
from tests.doubles.workers import Broker, connected, worker
from tests.test_commands import moot as command

SEED = "SUAI7PSMIQZLXZOAAWGYRASRPTYT6ICTY4ZFLM7I5XL32LPIOQU254WPFA"
ROOM = Room("web:general", "general")
PERSONA = Persona("demo", FrontMatter(agent="demo"), "You are the demo.")


@asynccontextmanager
async def broker(folder: Path, *names: str) -> AsyncIterator[Broker]:
    made = Broker(folder / "gateway")
    for name in names:
        made.worker_key(name)
    made.start()
    try:
        yield made
    finally:
        made.kill()


def link_of(made: Broker, name: str) -> Any:
    """As this worker."""
    return Link.open(made.url, Key.read(made.data_dir / FOLDER / f"{name}.nk"), name)


def wanted(session: str = "s", epoch: int = 1, term: int = 1) -> Open:
    return Open(
        session=session,
        epoch=epoch,
        term=term,
        persona="demo",
        front={"agent": "demo"},
        body="",
        scope="room:web:general",
        room=ROOM,
    )


async def opened(workers: Workers, *, look: Any = None) -> RemoteAgent:
    """A session of the demo agent on w1."""
    await until(lambda: workers.fleet.seats > 0)
    assert workers.link is not None
    epoch = await workers.link.lease("s", "w1")
    place = GatewaySide(workers.link, workers.fleet, workers.answers, workers.calls, look)
    agent = RemoteAgent(place, "s", "w1", epoch)
    await agent.open(wanted(epoch=epoch, term=workers.fleet.term))
    return agent


# ── Who may say and hear what ───────────────────────────────────────────────────────────


async def test_a_worker_hears_and_says_nothing_of_another_ones(tmp_path: Path) -> None:
    async with (
        broker(tmp_path, "w1", "w2") as made,
        connected(made) as workers,
        link_of(made, "w1") as thief,
        link_of(made, "w2") as victim,
    ):
        stolen: list[str] = []
        got: list[str] = []

        async def steal(subject: str, _data: bytes) -> None:
            stolen.append(subject)

        async def get(subject: str, _data: bytes) -> None:
            got.append(subject)

        for subject in ("moot.to.w2.>", "moot.from.>", "moot.>", ">", "_INBOX_w2.>"):
            await thief.hear(subject, steal)
        await victim.hear("moot.to.w2.>", get)
        beat = Beat(at=0.0, life="x", version=VERSION, seats=8).encoded()
        await until(lambda: workers.link is not None)
        await thief.say("moot.from.w2.beat", beat)
        assert workers.link is not None
        with pytest.raises(LinkDown):
            await thief.ask("$JS.API.STREAM.NAMES", b"", 0.5)
        with pytest.raises(LinkDown):
            await thief.kept(HOMES, "s")
        assert not workers.fleet.workers
        await victim.say("moot.from.w2.beat", beat)  # its own word is heard
        await until(lambda: list(workers.fleet.workers) == ["w2"])
        await workers.link.say("moot.to.w2.ask", b"a prompt")
        await until(lambda: "moot.to.w2.ask" in got)
        assert stolen == []
        assert list(workers.fleet.workers) == ["w2"]


async def test_a_key_that_was_removed_is_let_in_no_more(tmp_path: Path) -> None:
    made = Broker(tmp_path / "gateway")
    key = Key.read(made.worker_key("w1"))
    remove(made.data_dir, "w1")
    made.start()
    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1), Link.open(made.url, key, "w1"):
                pass
    finally:
        made.kill()


@pytest.mark.parametrize(
    "seed", ["", "SU", "SUAI7PSMIQZLXZOAAWGYRASRPTYT6ICTY4ZFLM7I5XL32LPIOQU254WPFB"]
)
def test_a_key_that_is_none_is_told(seed: str, tmp_path: Path) -> None:
    (tmp_path / "w1.nk").write_text(seed)
    with pytest.raises(ConfigError, match="this is no seed of an nkey; `moot worker add NAME`"):
        Key.read(tmp_path / "w1.nk")


@pytest.mark.parametrize(
    "address", ["broker:4222", "http://broker", "nats://", "nats://a:b@broker", "embedded://x:0"]
)
def test_an_address_that_is_none_is_told(address: str) -> None:
    assert broker_fault(address)


def test_a_broker_of_moots_own_listens_where_it_is_told() -> None:
    table = WorkersTable(nats="embedded://127.0.0.1:4300")
    assert table.embedded == ("127.0.0.1", 4300)
    assert table.url == "nats://127.0.0.1:4300"


# ── Whose word holds ────────────────────────────────────────────────────────────────────


async def test_what_has_an_old_epoch_is_refused_at_both_ends(tmp_path: Path) -> None:
    async with (
        broker(tmp_path, "w1") as made,
        connected(made) as workers,
        worker(made, tmp_path, "w1"),
    ):
        agent = await opened(workers)
        link, epoch = workers.link, agent.epoch
        assert link is not None
        old = Ask(session="s", epoch=epoch - 1, turn="t0", prompt="echo old")
        told = await link.ask("moot.to.w1.ask", old.encoded(), 5)
        assert Done.model_validate_json(told).word == "fenced"
        stale = wanted(epoch=epoch - 1, term=workers.fleet.term)
        again = await link.ask("moot.to.w1.open", stale.encoded(), 5)
        assert Done.model_validate_json(again).word == "fenced"

        reply = Replies()
        asking = asyncio.create_task(agent.ask("permission", reply))
        await reply.asked.wait()
        turn = agent._turn
        async with link_of(made, "w1") as other:
            late = Answered(session="s", epoch=epoch - 1, turn=turn, answer=Answer("late"))
            await other.log("w1", "late", late.encoded())
            draft = DraftShown(
                session="s", epoch=epoch - 1, turn=turn, number=99, text="late draft"
            )
            await other.say("moot.from.w1.shown", draft.encoded())
            await other.say("moot.from.w1.beat", Beat(**_beat(workers, epoch)).encoded())
        assert not asking.done()
        assert "late draft" not in reply.drafts
        await agent.interrupt()
        await asyncio.wait({asking})
        assert (await agent.ask("echo on", Replies())).text == "on"
        await agent.close()


def _beat(workers: Workers, epoch: int) -> dict[str, Any]:
    life = workers.fleet.workers["w1"].life
    return {"at": 0.0, "life": life, "version": VERSION, "seats": 4, "sessions": {"s": epoch}}


async def test_a_gateway_that_another_one_followed_is_heard_no_more(tmp_path: Path) -> None:
    async with broker(tmp_path, "w1") as made, connected(made) as old:
        await until(lambda: old.fleet.term > 0)
        async with connected(made) as new, worker(made, tmp_path, "w1"):
            agent = await opened(new)
            assert agent.epoch > new.fleet.term > old.fleet.term
            assert old.fleet.beaten("w1", Beat(**_beat(new, agent.epoch))).gone.keys() == {"s"}
            await until(lambda: old.fleet.seats > 0)
            with pytest.raises(NoSeat):
                await opened(old)
            for _ in range(4):  # the old one's replies come as often as the new one's
                await asyncio.sleep(0.5)
                assert agent.alive()
            told = await agent._do("interrupt")
            assert told.word == "done"  # the worker has it still
            await agent.close()


async def test_answers_are_the_gateways_that_began_last(tmp_path: Path) -> None:
    turns = [f"t{n}" for n in range(24)]
    async with broker(tmp_path, "w1") as made, connected(made) as old:
        await until(lambda: old.fleet.term > 0)
        left = [old.answers.wait(turn) for turn in turns]
        async with connected(made) as new, link_of(made, "w1") as worked:
            await until(lambda: new.fleet.term > 0)
            wanted_here = [new.answers.wait(turn) for turn in turns]
            for one in (old, new):
                one.answers.valid = lambda worker, session, epoch: True
            for turn in turns:
                answered = Answered(session="s", epoch=1, turn=turn, answer=Answer(turn))
                await worked.log("w1", turn, answered.encoded())
            await until(lambda: all(waiting.done() for waiting in wanted_here))
            assert not any(waiting.done() for waiting in left)


async def test_an_order_of_the_next_gateway_is_not_taken_for_an_earlier_one(tmp_path: Path) -> None:
    async with (
        broker(tmp_path, "w1") as made,
        connected(made) as old,
        worker(made, tmp_path, "w1"),
    ):
        agent = await opened(old)
        await agent._do("watch")  # its first order
        asking = asyncio.create_task(agent.ask("permission", reply := Replies()))
        await reply.asked.wait()
        async with connected(made) as new:
            await until(lambda: new.fleet.seats > 0)
            assert new.link is not None
            place = GatewaySide(new.link, new.fleet, new.answers, new.calls)
            heir = RemoteAgent(place, "s", "w1", agent.epoch)
            answer = new.answers.wait(agent._turn)
            await heir.interrupt()  # the first of this one
            told = await asyncio.wait_for(answer, 20)
            assert told.fault is not None
            assert told.fault.kind == "stopped"
            asking.cancel()


async def test_a_sessions_program_reaches_its_memory_through_the_gateway(tmp_path: Path) -> None:
    seen: list[Mapping[str, Any]] = []

    async def look(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        seen.append(payload)
        return {"message": {"found": "ü" * 5000}}

    async with (
        broker(tmp_path, "w1") as made,
        connected(made) as workers,
        worker(made, tmp_path, "w1"),
    ):
        agent = await opened(workers, look=look)
        async with link_of(made, "w1") as link, HookListener.open(serving_hooks()) as hooks:
            lease, grant = OfSession(session="s", epoch=agent.epoch), McpGrant()
            door = RemoteDoor(link, "w1", hooks, lease)
            server = door.open(grant)
            [(_, url)] = server.env
            payload = {"pipe": "p", "message": {"id": 1}}
            async with aiohttp.ClientSession() as client, client.post(url, json=payload) as told:
                assert await told.json() == {"message": {"found": "ü" * 5000}}
            door.close(grant)
            async with aiohttp.ClientSession() as client, client.post(url, json=payload) as told:
                assert told.status == 404
        assert seen == [payload]


async def test_a_worker_that_begins_another_life_has_lost_its_sessions(tmp_path: Path) -> None:
    async with (
        broker(tmp_path, "w1") as made,
        connected(made) as workers,
        worker(made, tmp_path, "w1"),
    ):
        agent = await opened(workers)
        reply = Replies()
        asking = asyncio.create_task(agent.ask("permission", reply))
        await reply.asked.wait()
        async with link_of(made, "w1") as other:
            beat = Beat(at=0.0, life="another", version=VERSION, seats=4)
            await other.say("moot.from.w1.beat", beat.encoded())
        with pytest.raises(MachineLost):
            await asking
        assert not agent.alive()


# ── Who is given up ─────────────────────────────────────────────────────────────────────


class Lease:
    def __init__(self, worker: str, life: str = "a", epoch: int = 1) -> None:
        self.worker, self.life, self.epoch, self.gone = worker, life, epoch, False

    def lost(self) -> None:
        self.gone = True

    async def close(self) -> None:
        self.gone = True


def beat(seats: int = 2, life: str = "a", **sessions: int) -> Beat:
    return Beat(at=0.0, life=life, version=VERSION, seats=seats, sessions=sessions)


async def test_a_silent_worker_is_given_up_but_not_by_a_deaf_gateway() -> None:
    fleet, now = Fleet(2.0), time.monotonic()
    fleet.beaten("w1", beat())
    lease = Lease("w1")
    fleet.let("s", lease)
    fleet.judge(now + 60)  # without its own echo it can't tell
    assert not lease.gone
    await fleet._echoed("", b"")
    fleet.judge(now + 1)
    assert not lease.gone
    fleet._echo_at = now + 61
    fleet._hearing_since = now + 60.5  # it hears again since just now
    fleet.judge(now + 61)
    assert not lease.gone
    fleet._echo_at = now + 63
    fleet.judge(now + 63)
    assert lease.gone
    assert fleet.seats == 0
    assert fleet.place("s") is None
    fleet.beaten("w1", beat())
    assert fleet.seats == 2


def test_a_session_goes_where_it_was_else_where_most_is_free() -> None:
    seats: list[int] = []
    fleet = Fleet(2.0, seats.append)
    fleet.beaten("w1", beat(2))
    fleet.beaten("w2", beat(3))
    assert seats == [2, 5]
    assert fleet.place("s") == "w2"
    fleet.let("s", first := Lease("w1"))
    assert fleet.place("t") == "w2"
    fleet.end("s", first)
    assert fleet.place("s") == "w1"
    for name in "abc":
        fleet.let(name, Lease("w2"))
    assert fleet.place("t") == "w1"
    assert fleet.place("t", frozenset({"w1"})) is None


def test_a_session_goes_to_its_pool_and_waits_for_it() -> None:
    fleet = Fleet(2.0)
    fleet.beaten("w1", beat(9))
    fleet.beaten("w2", beat(1))
    fleet.let("s", first := Lease("w1"))
    fleet.end("s", first)
    assert fleet.place("s", among={"w2", "w9"}) == "w2"
    fleet.let("t", Lease("w2"))
    assert fleet.place("s", among={"w2", "w9"}) is None
    assert fleet.place("s", among=()) is None
    assert fleet.place("s") == "w1"


def test_a_worker_is_told_what_it_no_longer_has() -> None:
    fleet = Fleet(2.0)
    fleet.beaten("w1", beat())
    fleet.let("s", Lease("w1", epoch=7))
    assert fleet.beaten("w1", beat(s=7)).gone == {}
    assert fleet.beaten("w1", beat(s=6)).gone.keys() == {"s"}
    assert fleet.beaten("w2", beat(s=7)).gone.keys() == {"s"}
    other = Beat(at=0.0, life="a", version=VERSION + 1, seats=9)
    fleet.beaten("w3", other)
    assert "w3" not in fleet.workers


def at_work(epoch: int) -> Beat:
    """It works on a turn of an earlier gateway."""
    return beat(s=epoch).model_copy(update={"turns": {"s": "t1"}})


def test_what_works_still_is_kept_for_its_turn_under_the_newest_lease() -> None:
    fleet = Fleet(2.0)
    assert fleet.beaten("w1", at_work(3)).gone == {"s": 3}  # nobody comes for its turn
    fleet.is_left = {"t1"}.__contains__
    assert fleet.beaten("w1", at_work(3)).gone == {}
    assert fleet.works("t1")
    assert fleet.beaten("w2", at_work(5)).gone == {}
    assert fleet.beaten("w1", at_work(3)).gone == {"s": 3}
    fleet.was("s", "w3", 7)  # another one had it after both
    assert not fleet.works("t1")
    assert fleet.beaten("w2", at_work(5)).gone == {"s": 5}
    assert fleet.beaten("w3", at_work(7)).gone == {}
    fleet.let("s", adopted := Lease("w3", epoch=7))
    assert fleet.works("t1")
    assert fleet.beaten("w3", at_work(7)).gone == {}
    fleet.end("s", adopted)
    assert not fleet.works("t1")


# ── Conversations ───────────────────────────────────────────────────────────────────────


def test_of_a_home_only_what_the_program_keeps_is_packed_and_no_link(tmp_path: Path) -> None:
    home, secret = tmp_path / "home", tmp_path / "secret"
    (home / "kept").mkdir(parents=True)
    secret.write_text("canary")
    (home / "kept" / "id.jsonl").write_text("words\n")
    (home / "kept" / "other.jsonl").write_text("of another\n")
    (home / "login.json").write_text("canary")
    (home / "linked").symlink_to(tmp_path)
    (home / "linked-id.jsonl").symlink_to(secret)
    globs = ("kept/{session_id}.jsonl", "linked*", "linked/secret")
    data = pack(home, globs, "id")
    unpack(data, tmp_path / "there", globs)
    found = [path for path in (tmp_path / "there").rglob("*") if path.is_file()]
    assert [str(path.relative_to(tmp_path / "there")) for path in found] == ["kept/id.jsonl"]
    assert found[0].read_text() == "words\n"
    assert pack(home, ("kept/{session_id}.jsonl",), None) == b""


def test_another_machine_has_no_say_in_the_rest_of_a_home_nor_in_what_is_newer(
    tmp_path: Path,
) -> None:
    home, there = tmp_path / "home", tmp_path / "there"
    for folder in (home, there):
        (folder / "kept").mkdir(parents=True)
    (home / "kept" / "id.jsonl").write_text("words\n")
    (home / "kept" / "settings.json").write_text("hooks")
    (home / "kept" / "new.jsonl").write_text("new\n")
    (there / "kept" / "id.jsonl").write_text("words\nand more\n")
    unpack(pack(home, ("kept/*",), "id"), there, ("kept/{session_id}.jsonl",))
    assert sorted(path.name for path in (there / "kept").iterdir()) == ["id.jsonl", "new.jsonl"]
    assert (there / "kept" / "id.jsonl").read_text() == "words\nand more\n"


async def test_moot_check_names_a_pool_that_there_is_not(tmp_path: Path) -> None:
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "ash.md").write_text("---\nagent: demo\nworkers: gpus\n---\nHi")
    for table, hint in (
        ("", "[workers.pools] in moot.toml names none"),
        ('[workers.pools.gpu]\nnames = ["w7"]\n', "did you mean gpu?"),
    ):
        (tmp_path / "moot.toml").write_text(table)
        done = await asyncio.to_thread(command, "check", cwd=tmp_path)
        assert f"ash.md: workers: there is no pool 'gpus'; {hint}" in done.stdout + done.stderr
        assert done.returncode != 0
    (tmp_path / "moot.toml").write_text('[workers.pools.gpus]\nnames = ["W 7"]\n')
    done = await asyncio.to_thread(command, "check", cwd=tmp_path)
    assert "workers.pools.gpus.names" in done.stdout + done.stderr
