"""The command that brings a hook's payload to the listener."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.cli.hooks import HookListener
from adapters.records import relay
from gateway.web.listening.listener import serving_hooks


async def relayed(file: Path, given: bytes) -> tuple[int | None, bytes]:
    """How the command ends, and what it prints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", relay.__file__, str(file)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await asyncio.wait_for(process.communicate(given), 20)
    return process.returncode, said


async def test_a_payload_arrives_and_its_response_is_printed(tmp_path: Path) -> None:
    seen: list[Mapping[str, Any]] = []

    async def receive(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        seen.append(payload)
        return {"decision": "allow"}

    async with HookListener.open(serving_hooks()) as hooks:
        (tmp_path / "url").write_text(hooks.register(receive))
        ended = await relayed(tmp_path / "url", '{"text": "漢字"}'.encode())
    assert seen == [{"text": "漢字"}]
    assert ended == (0, b'{"decision": "allow"}')


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/hook/x", "nonsense", ""])
async def test_a_listener_that_is_gone_stops_no_turn(tmp_path: Path, url: str) -> None:
    (tmp_path / "url").write_text(url)
    assert await relayed(tmp_path / "url", b"{}") == (0, b"{}")


async def test_a_session_that_is_over_stops_no_turn(tmp_path: Path) -> None:
    async with HookListener.open(serving_hooks()) as hooks:
        url = hooks.register(lambda _: asyncio.sleep(0, {}))
        hooks.release(url)
        (tmp_path / "url").write_text(url)
        assert await relayed(tmp_path / "url", b"{}") == (0, b"{}")
