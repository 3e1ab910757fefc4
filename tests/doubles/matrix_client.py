"""A person with an encrypting client (matrix-nio), a program of its own: a JSON line in, one out.

In a process of its own because nio's store binds its tables to one database a process.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
from typing import Any
from uuid import uuid4

from nio import AsyncClient, AsyncClientConfig
from nio.api import Api
from nio.crypto.attachments import decrypt_attachment
from nio.event_builders import ToDeviceMessage


class Client:
    def __init__(self) -> None:
        self.nio: Any = None
        self.held: list[Any] = []

    async def login(
        self, url: str, user: str, password: str, folder: str, **_: str
    ) -> dict[str, Any]:
        config = AsyncClientConfig(encryption_enabled=True, store_sync_tokens=False)
        self.nio = AsyncClient(url, user, store_path=folder, config=config)
        await self.nio.login(password)
        await self.nio.keys_upload()
        await self.sync()
        return {"user_id": self.nio.user_id}

    async def sync(self) -> dict[str, Any]:
        """What was said since the last time, decrypted where that can be."""
        answer = await self.nio.sync(timeout=500, full_state=False)
        for room_id in list(self.nio.invited_rooms):
            await self.nio.join(room_id)
        if self.nio.should_upload_keys:
            await self.nio.keys_upload()
        if self.nio.should_query_keys:
            await self.nio.keys_query()
        found = [
            {
                "room": room_id,
                "sender": event.sender,
                "event_id": event.event_id,
                "was_encrypted": bool(getattr(event, "decrypted", False)),
                "content": event.source.get("content"),
            }
            for room_id, joined in answer.rooms.join.items()
            for event in joined.timeline.events
        ]
        return {"events": found}

    async def create(self, invite: list[str], name: str, direct: bool) -> dict[str, Any]:
        state = [
            {
                "type": "m.room.encryption",
                "state_key": "",
                "content": {"algorithm": "m.megolm.v1.aes-sha2"},
            }
        ]
        made = await self.nio.room_create(
            invite=invite, name=name or None, is_direct=direct, initial_state=state
        )
        await self.sync()
        return {"room": made.room_id}

    async def comes(self, room: str, user: str) -> dict[str, Any]:
        """What was said until somebody is in the room."""
        while user not in {m.user_id for m in (await self.nio.joined_members(room)).members}:
            await asyncio.sleep(0.05)
        return await self.sync()  # it tells of devices that came after the invitation

    async def invite(self, room: str, user: str) -> dict[str, Any]:
        await self.nio.room_invite(room, user)
        return {}

    async def send(self, room: str, content: dict[str, Any]) -> dict[str, Any]:
        sent = await self.nio.room_send(
            room, "m.room.message", content, ignore_unverified_devices=True
        )
        return {"event_id": sent.event_id}

    async def send_before_key(self, room: str, content: dict[str, Any]) -> dict[str, Any]:
        """Send with a key that nobody gets before `hand_over`."""
        await self.nio.joined_members(room)
        if self.nio.should_query_keys:
            await self.nio.keys_query()
        if missing := self.nio.get_missing_sessions(room):
            await self.nio.keys_claim(missing)
        olm = self.nio.olm
        olm.outbound_group_sessions.pop(room, None)
        users = list(self.nio.rooms[room].users)
        found = olm.share_group_session_parallel(room, users, ignore_unverified_devices=True)
        self.held = [body for _, body in found]
        olm.outbound_group_sessions[room].shared = True
        return await self.send(room, content)

    async def key_for(self, room: str, user: str, device: str) -> dict[str, Any]:
        """Give the next message's key to one device alone."""
        await self.send_before_key(room, {"msgtype": "m.notice", "body": "before"})
        held, self.held = self.held, []
        for body in held:
            mine = body["messages"].get(user, {}).get(device)
            if mine is not None:
                self.held.append({"messages": {user: {device: mine}}})
        return await self.hand_over()

    async def ask_for_key(self, room: str, event: dict[str, Any]) -> dict[str, Any]:
        """Ask the account's other devices for the key of an event."""
        body = {
            "algorithm": "m.megolm.v1.aes-sha2",
            "room_id": room,
            "session_id": event["session_id"],
            "sender_key": event["sender_key"],
        }
        content = {
            "action": "request",
            "body": body,
            "request_id": uuid4().hex,
            "requesting_device_id": self.nio.device_id,
        }
        await self.nio.to_device(
            ToDeviceMessage("m.room_key_request", self.nio.user_id, "*", content)
        )
        return {}

    async def has_key(self, session: str) -> dict[str, Any]:
        """Whether it holds a session's key."""
        return {"held": any(one.id == session for one in self.nio.olm.inbound_group_store)}

    async def hand_over(self) -> dict[str, Any]:
        for body in self.held:
            method, path, data = Api.to_device(
                self.nio.access_token, "m.room.encrypted", body, uuid4()
            )
            kind = {"Content-Type": "application/json"}
            answer = await self.nio.send(method, path, data, kind)
            assert answer.status == 200, await answer.text()
        return {"bodies": len(self.held)}

    async def upload(self, room: str, name: str, text: str) -> dict[str, Any]:
        data = text.encode()
        kept, keys = await self.nio.upload(
            io.BytesIO(data), "text/plain", name, encrypt=True, filesize=len(data)
        )
        file = {**keys, "url": kept.content_uri}
        content = {"msgtype": "m.file", "body": name, "file": file, "info": {"size": len(data)}}
        return await self.send(room, content)

    async def download(self, file: dict[str, Any]) -> dict[str, Any]:
        answer = await self.nio.download(file["url"])
        data = decrypt_attachment(
            answer.body, file["key"]["k"], file["hashes"]["sha256"], file["iv"]
        )
        return {"text": data.decode()}


async def main() -> None:
    logging.disable(logging.CRITICAL)
    client = Client()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        wanted = json.loads(line)
        answer = await getattr(client, wanted.pop("do"))(**wanted)
        print(json.dumps(answer), flush=True)
    if client.nio is not None:
        await client.nio.close()


if __name__ == "__main__":
    asyncio.run(main())
