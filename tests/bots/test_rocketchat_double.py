"""The double itself, checked by what knows nothing of it: three published clients, and the
official schemas of requests and messages.
"""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import rocketchat_async
from rocketchat_API.APIExceptions.RocketExceptions import (
    RocketApiException,
    RocketBadStatusCodeException,
)
from rocketchat_API.rocketchat import RocketChat

from bots.rocketchat.bot import RocketChatBot
from contract.agent import Option, Question
from contract.chat import Destination, PersonaIdentity, Room
from tests.doubles.inbox import PATIENCE_S, Inbox, running, until
from tests.doubles.rocketchat import (
    ASH,
    CLAUDE,
    DM,
    GENERAL,
    OLIVIA,
    SECRET,
    Fault,
    RocketChatDouble,
)
from tests.doubles.rocketchat_routes import ROUTES

Json = dict[str, Any]
CLIENTS = Path(__file__).parent.parent / "clients" / "rocketchat"


# ── Node ────────────────────────────────────────────────────────────────────────────────────


def need_node() -> str:
    """Node with the packages installed; without, the test is skipped, or fails where CI is set."""
    node = shutil.which("node")
    reason = "needs Node.js" if node is None else "needs `npm ci` in tests/clients/rocketchat"
    if node is not None and (CLIENTS / "node_modules" / "@rocket.chat" / "ddp-client").is_dir():
        return node
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def bundled(name: str, folder: Path) -> list[str]:
    """The command that runs a script; the packages import folders, which Node can't."""
    node, target = need_node(), folder / name
    esbuild = CLIENTS / "node_modules" / "esbuild" / "bin" / "esbuild"
    how = ["--bundle", "--platform=node", "--format=esm", "--log-level=error"]
    # Within a bundle there is no `require` for what the packages ask Node for.
    banner = 'import{createRequire}from"module";const require=createRequire(import.meta.url);'
    how += [f"--banner:js={banner}", f"--outfile={target}"]
    subprocess.run([esbuild, name, *how], cwd=CLIENTS, check=True, timeout=60)
    return [node, str(target)]


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """requests: by their validator's name; components: IMessage and its like."""
    command = bundled("schemas.mjs", tmp_path_factory.mktemp("schemas"))
    told = subprocess.run(command, check=True, capture_output=True, timeout=60)
    found: Json = plain(json.loads(told.stdout))
    return found


def plain(schema: Any) -> Any:
    """OpenAPI 3.0's `nullable` in the words of JSON Schema."""
    if isinstance(schema, list):
        return [plain(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: plain(v) for k, v in schema.items() if k not in ("nullable", "discriminator")}
    if any("$ref" in option for option in kept.get("oneOf", ())):
        kept["anyOf"] = kept.pop("oneOf")  # written from TypeScript's unions, whose parts overlap
    return {"anyOf": [kept, {"type": "null"}]} if schema.get("nullable") is True else kept


VALIDATORS = {
    "chat.sendMessage": "isChatSendMessageProps",
    "chat.postMessage": "isChatPostMessageProps",
    "chat.update": "isChatUpdateProps",
    "chat.delete": "isChatDeleteProps",
    "chat.react": "isChatReactProps",
    "chat.getMessage": "isChatGetMessageProps",
    "chat.getThreadMessages": "isChatGetThreadMessagesProps",
    "chat.syncMessages": "isChatSyncMessagesProps",
    "channels.history": "isChannelsHistoryProps",
    "groups.history": "isGroupsHistoryProps",
    "im.history": "isDmHistoryProps",
    "groups.members": "isGroupsMembersProps",
    "im.members": "isDmMemberProps",
    "channels.roles": "isChannelsRolesProps",
    "groups.roles": "isGroupsRolesProps",
    "users.info": "isUsersInfoParamsGetProps",
    "rooms.info": "isRoomsInfoProps",
    "subscriptions.get": "isSubscriptionsGetProps",
    "settings.public": "isSettingsPublicWithPaginationProps",
}


def typed(args: Json) -> Json:
    """A query's numbers, as the server reads them before it checks."""
    return {k: int(v) if k in ("count", "offset") else v for k, v in args.items()}


async def test_what_the_bot_sends_is_what_the_official_schemas_ask_for(
    rocketchat: RocketChatDouble, rocketchat_bot: Callable[..., RocketChatBot], schemas: Json
) -> None:
    inbox, bot = Inbox(), rocketchat_bot()
    rocketchat.fail("chat.syncMessages", Fault("error", code="x"), 3)
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.listening(CLAUDE)
        root = rocketchat.say("root")
        asked = rocketchat.say("@claude hello", thread=root)
        await inbox.kept(2)
        place = Destination(
            Room(f"rocketchat:{GENERAL}", "general"), root, PersonaIdentity("c", "https://x/y.png")
        )
        posted = await bot.post(place, "hi", "k")
        await bot.edit(place, posted, "ho")
        await bot.ask(place, Question("q", "Run?", "", (Option("Yes"), Option("No"))), "k2")
        await bot.react(place, asked, "done")
        await bot.find(place, "k", inbox.messages[0].sent_at, ())
        await bot.upload(place, "a.md", b"a", "", "k3")
        await bot.find(place, "k3", inbox.messages[0].sent_at, ())
        await bot.delete(place, posted)
        for rid in (GENERAL, SECRET, DM):
            await bot.members(Room(f"rocketchat:{rid}", "x"))
    await bot.check()
    seen = set()
    for call in rocketchat.calls:
        if name := VALIDATORS.get(call.route):
            jsonschema.validate(typed(call.args), schemas["requests"][name])
            seen.add(call.route)
    assert seen >= VALIDATORS.keys() - {"chat.postMessage", "users.info", "rooms.info"}


def test_the_double_takes_the_keys_that_the_official_schemas_know(schemas: Json) -> None:
    assert VALIDATORS.keys() <= ROUTES.keys()
    for route, name in VALIDATORS.items():
        known = ROUTES[route]
        official = keys(schemas["requests"][name])
        assert {*known.needs, *known.takes} <= official, route


def keys(schema: Json) -> set[str]:
    parts = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    return {*schema.get("properties", {})}.union(*(keys(part) for part in parts))


async def test_the_double_s_messages_are_what_the_official_schema_says(
    rocketchat: RocketChatDouble, schemas: Json
) -> None:
    root = rocketchat.say("@claude @all hello")
    rocketchat.say("reply", ASH, thread=root)
    rocketchat.react(root, "tada")
    rocketchat.pin(root)
    rocketchat.say("look", files=(rocketchat.file("a.txt", b"a"),))
    schema = {"$ref": "#/components/schemas/IMessage", "components": schemas["components"]}
    for message in rocketchat.messages.values():
        jsonschema.validate(message, schema)


# ── @rocket.chat/ddp-client ─────────────────────────────────────────────────────────────────


@asynccontextmanager
async def javascript(
    rocketchat: RocketChatDouble, folder: Path, **secrets: str
) -> AsyncIterator[list[str]]:
    """The echo bot at work, and the lines that it prints."""
    command = bundled("echo.mjs", folder)
    host = rocketchat.base.removeprefix("http://")
    process = await asyncio.create_subprocess_exec(
        *command,
        env={"PATH": os.environ["PATH"], "ROCKETCHAT_HOST": host, **secrets},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    lines: list[str] = []

    async def read() -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            lines.append(line.decode().strip())

    reading = asyncio.create_task(read())
    try:
        await until(lambda: bool(lines))
        assert lines[0] == "ready", "\n".join(lines)
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.listening(CLAUDE)
        yield lines
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


@pytest.mark.parametrize(
    "secrets",
    [{"TOKEN": "token-claude"}, {"USERNAME": "claude", "PASSWORD": "password-claude"}],
    ids=["token", "password"],
)
async def test_the_official_client_works_against_the_double(
    rocketchat: RocketChatDouble, tmp_path: Path, secrets: dict[str, str]
) -> None:
    async with javascript(rocketchat, tmp_path, **secrets) as lines:
        asked = rocketchat.say("@claude hello")
        echo = "Olivia in general (c): @claude hello (1)"
        await until(lambda: rocketchat.texts() == [echo])
        assert rocketchat.messages[asked]["reactions"] == {":eyes:": {"usernames": ["claude"]}}
        assert rocketchat.sockets.typing[0]["doing"] == ["user-typing"]
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.watched(GENERAL)
        rocketchat.remove(asked)
        await until(lambda: f"deleted {asked}" in lines)
        rocketchat.sockets.cut()
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.listening(CLAUDE, 2)
        rocketchat.say("@claude again")
        await until(lambda: len(rocketchat.texts()) == 2)


# ── rocketchat_async ────────────────────────────────────────────────────────────────────────


async def test_a_published_realtime_client_works_against_the_double(
    rocketchat: RocketChatDouble,
) -> None:
    heard: list[tuple[Any, ...]] = []
    client = rocketchat_async.RocketChat()
    address = f"ws{rocketchat.base.removeprefix('http')}/websocket"
    await client.start(address, "claude", "password-claude")
    try:
        assert client.user_id == CLAUDE
        rooms = dict(await client.get_channels())
        assert (rooms[GENERAL], rooms[DM]) == ("c", "d")
        await client.subscribe_to_channel_messages(GENERAL, lambda *told: heard.append(told))
        wanted = ("stream-room-messages", GENERAL)
        await until(lambda: any(wanted in c.subs.values() for c in rocketchat.sockets.clients))
        sent = rocketchat.say("hello")
        await until(lambda: bool(heard))
        assert heard[0][:5] == (GENERAL, OLIVIA, sent, None, "hello")
        await client.send_message("hi", GENERAL, sent)
        await client.send_reaction(sent, ":eyes:")
        await client.send_typing_event(GENERAL)
        await until(lambda: ":eyes:" in rocketchat.messages[sent].get("reactions", {}))
        await rocketchat.sockets.ping()
        await until(lambda: {"msg": "pong"} in rocketchat.sockets.clients[0].heard)
    finally:
        client._ws_connection_task.cancel()
        client.dispatch_task.cancel()
        await asyncio.gather(
            client._ws_connection_task, client.dispatch_task, return_exceptions=True
        )
    assert rocketchat.texts() == ["hi"]


# ── rocketchat_API ──────────────────────────────────────────────────────────────────────────


def use(base: str) -> list[Any]:
    """What somebody does with it, in a thread of its own."""
    client = RocketChat("claude", "password-claude", server_url=base)
    try:
        me = client.me()["username"]
        posted = client.chat_post_message("posted", room_id=GENERAL)["message"]["_id"]
        sent = client.chat_send_message({"rid": GENERAL, "msg": "sent", "_id": "chosen"})
        again = client.chat_send_message({"rid": GENERAL, "msg": "sent", "_id": "chosen"})
        client.chat_update(GENERAL, posted, "updated")
        client.chat_react("chosen", "eyes")
        found = client.chat_get_message("chosen")["message"]["reactions"]
        history = [m["_id"] for m in client.channels_history(GENERAL, count=1)]
        members = [m["username"] for m in client.channels_members(room_id=GENERAL, count=2)]
        file = client.rooms_media(GENERAL, ("a.txt", b"bytes", "text/plain"))["file"]["_id"]
        shared = client.rooms_media_confirm(GENERAL, file, msg="a file")["message"]["_id"]
        synced = client.chat_sync_messages(GENERAL, "2020-01-01T00:00:00.000Z")["result"]
        client.chat_delete(GENERAL, posted)
        return [
            *(me, sent["message"]["_id"], "message" in again, found, history[0] == "chosen"),
            *(members, shared in [m["_id"] for m in synced["updated"]]),
        ]
    finally:
        client.session.close()


async def test_a_published_rest_client_works_against_the_double(
    rocketchat: RocketChatDouble,
) -> None:
    told = await asyncio.to_thread(use, rocketchat.base)
    reactions = {":eyes:": {"usernames": ["claude"]}}
    members = ["olivia", "ash", "claude", "codex"]
    assert told == ["claude", "chosen", False, reactions, True, members, True]
    assert rocketchat.texts() == ["sent", "a file"]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda c: c.chat_post_message("x", room_id="nowhere"), "error-not-allowed"),
        (lambda c: c.chat_post_message("x" * 5_001, room_id=GENERAL), "error-message-size"),
        (lambda c: c.chat_post_message("x", room_id=GENERAL, strange=1), "error-invalid-params"),
        (lambda c: c.chat_update(GENERAL, "nothing", "x"), "error-message-not-found"),
        (lambda c: c.chat_post_message("x", room_id=GENERAL, alias="me"), "error-not-allowed"),
        (lambda c: c.users_info(user_id="nobody"), "error-invalid-user"),
    ],
)
async def test_the_double_refuses_what_the_server_refuses(
    rocketchat: RocketChatDouble, call: Callable[[RocketChat], Any], code: str
) -> None:
    def ask() -> str:
        client = RocketChat(auth_token="token-ash", user_id=ASH, server_url=rocketchat.base)
        try:
            with pytest.raises(RocketApiException) as caught:
                call(client)
            return str(caught.value)
        finally:
            client.session.close()

    assert code in await asyncio.to_thread(ask)


async def test_the_double_counts_the_calls_of_those_without_the_role(
    rocketchat: RocketChatDouble,
) -> None:
    rocketchat.limited = True

    def ask() -> int:
        client = RocketChat(auth_token="token-ash", user_id=ASH, server_url=rocketchat.base)
        try:
            for _ in range(10):
                client.users_info(username="ash")
            client.me()
            with pytest.raises((RocketApiException, RocketBadStatusCodeException)) as caught:
                client.users_info(username="ash")
            assert "You must wait" in str(caught.value)
        finally:
            client.session.close()
        return len(rocketchat.called("users.info"))

    assert await asyncio.to_thread(ask) == 11
