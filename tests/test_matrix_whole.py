"""The whole way: a real Synapse, `moot run`, the demo agent in its terminal, and a bad day."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from pathlib import Path

from tests.doubles.inbox import PATIENCE_S
from tests.doubles.matrix_person import ElementPerson, NioPerson
from tests.doubles.service import service
from tests.doubles.synapse import SERVER, Person, Synapse

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
[[bots]]
platform = "matrix"
personas = ["demo"]
url = "{url}"
invites = "everybody"
[access]
rooms = "open"
dms = "open"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""


def account(homeserver: Synapse) -> tuple[str, dict[str, str]]:
    """A new bot's id, and its secrets."""
    name = f"moot{secrets.token_hex(3)}"
    homeserver.register(name)
    return f"@{name}:{SERVER}", {"MATRIX_USER": name, "MATRIX_PASSWORD": "pass"}


async def joined(person: Person, room_id: str, user_id: str) -> None:
    async with asyncio.timeout(30):
        while (
            user_id not in (await person.call("GET", f"/rooms/{room_id}/joined_members"))["joined"]
        ):
            await asyncio.sleep(0.05)


async def answers(person: Person, room_id: str, bot_id: str) -> Counter[tuple[str, str]]:
    """How often each question was answered: by the thread's root and the words as they stand."""
    found: dict[str, tuple[str, str]] = {}
    for event in await person.events(room_id):
        content = event["content"]
        if event["type"] != "m.room.message" or event["sender"] != bot_id or not content:
            continue
        relation = content.get("m.relates_to", {})
        if relation.get("rel_type") == "m.replace":
            root, _ = found[relation["event_id"]]
            found[relation["event_id"]] = root, content["m.new_content"]["body"]
        else:
            found[event["event_id"]] = relation.get("event_id", ""), content["body"]
    return Counter(one for one in found.values() if one[1].startswith("word "))


async def answered(
    person: Person, room_id: str, bot_id: str, asked: list[tuple[str, str]], within_s: float
) -> None:
    """Wait until every question has its answer, and nothing more is said."""
    async with asyncio.timeout(within_s):
        while not (await answers(person, room_id, bot_id)).keys() >= set(asked):
            await asyncio.sleep(0.2)
    await asyncio.sleep(0.7)
    assert await answers(person, room_id, bot_id) == Counter(asked)


async def ask(person: Person, room_id: str, bot_id: str, number: int) -> tuple[str, str]:
    mentions = {"user_ids": [bot_id]}
    root = await person.say(room_id, f"@demo echo word {number}", **{"m.mentions": mentions})
    return root, f"word {number}"


async def test_what_is_asked_while_it_is_killed_is_answered_once(
    homeserver: Synapse, tmp_path: Path
) -> None:
    bot_id, secret = account(homeserver)
    andi = Person(homeserver, "andi")
    room = await andi.room(bot_id, name="general")
    async with service(tmp_path, CONFIG.format(url=homeserver.url), **secret) as moot:
        await joined(andi, room, bot_id)
        asked = [await ask(andi, room, bot_id, n) for n in range(3)]
        await answered(andi, room, bot_id, asked, 60)
        asked.append(await ask(andi, room, bot_id, 3))
        await moot.kill()
        asked += [await ask(andi, room, bot_id, n) for n in range(4, 14)]
        await moot.start()
        await answered(andi, room, bot_id, asked, 60)
        assert "Traceback" not in moot.log()
        assert moot.leaks("word 1") == []


async def test_an_encrypted_room_is_answered_encrypted(homeserver: Synapse, tmp_path: Path) -> None:
    bot_id, secret = account(homeserver)
    async with (
        service(tmp_path / "moot", CONFIG.format(url=homeserver.url), **secret) as moot,
        NioPerson.open(homeserver, "cara", tmp_path) as cara,
    ):
        room = await cara.room(bot_id)
        await cara.say(room, "@demo echo word 1")
        first = await cara.sees(lambda e: (e["content"] or {}).get("body") == "word 1")
        await moot.kill()
        await cara.say(room, "@demo echo word 2")
        await moot.start()
        second = await cara.sees(lambda e: (e["content"] or {}).get("body") == "word 2")
        assert "Traceback" not in moot.log()
    assert first["was_encrypted"]
    assert second["was_encrypted"]


async def test_element_asks_it_and_verifies_it(homeserver: Synapse, tmp_path: Path) -> None:
    bot_id, secret = account(homeserver)
    async with ElementPerson.open(homeserver, "ella", tmp_path) as ella:
        config = CONFIG.replace("[access]", f'[access]\nowners = ["matrix:{ella.user_id}"]')
        async with service(tmp_path / "moot", config.format(url=homeserver.url), **secret) as moot:
            room = await ella.room(bot_id, name="", direct=True)
            await ella.say(room, "@demo echo word 1")
            answer = await ella.sees(lambda e: e["content"].get("body") == "word 1")
            await ella("verify", user=bot_id, room=room)
            assert await ella("compared", same=True) == {"done": True}
            async with asyncio.timeout(PATIENCE_S):
                while not (await ella("devices", user=bot_id))["verified"]:
                    await asyncio.sleep(0.1)
            key = (moot.folder / "data/bots/matrix/recovery-key").read_text().strip()
            assert moot.leaks("word 1", key, key.replace(" ", "")) == []
            assert "Traceback" not in moot.log()
    assert answer["was_encrypted"]
