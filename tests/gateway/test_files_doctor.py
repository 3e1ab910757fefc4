"""`moot doctor` on the bucket of attachments: what is wrong has a line and a remedy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from contract.chat import Attachment
from gateway.cli.diagnosis.files import check_files
from gateway.cli.diagnosis.finding import Installation
from gateway.files.s3 import open_s3
from gateway.files.shared import SharedFiles
from gateway.settings.config import Config
from gateway.settings.connections import FilesTable, WorkersTable
from gateway.settings.tables import GatewayTable
from gateway.workers.credentials import gateway_key
from tests.doubles.bucket import KEYS, Bucket, bucket
from tests.doubles.workers import Broker

NOW = datetime(2026, 4, 21, 12, tzinfo=UTC)
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def s3() -> Iterator[Bucket]:
    with bucket() as opened:
        yield opened


async def told(
    data_dir: Path, table: FilesTable, nats: str = "", environment: Mapping[str, str] = KEYS
) -> list[str]:
    config = Config(
        gateway=GatewayTable(data_dir=data_dir),
        files=table,
        workers=WorkersTable(nats=nats) if nats else None,
    )
    of = Installation(config, data_dir / "moot.toml", environment, NOW)
    return [str(one) for one in await check_files(of)]


@asynccontextmanager
async def refusing(s3: Bucket, method: str) -> AsyncIterator[FilesTable]:
    """The bucket behind somebody who refuses a method to this key, as a policy does."""

    async def passed(request: web.Request) -> web.Response:
        if request.method == method:
            return web.Response(status=403, text="<Error><Code>AccessDenied</Code></Error>")
        async with aiohttp.ClientSession(s3.endpoint) as client:
            headers = {k: v for k, v in request.headers.items() if k != "Host"}
            data = await request.read()
            async with client.request(
                request.method, request.rel_url, data=data, headers=headers
            ) as answer:
                body, given = await answer.read(), answer.headers
                kept = {name: given[name] for name in ("ETag", "Last-Modified") if name in given}
                return web.Response(status=answer.status, body=body, headers=kept)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", passed)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        port = runner.addresses[0][1]
        yield s3.table.model_copy(update={"endpoint": f"http://127.0.0.1:{port}"})
    finally:
        await runner.cleanup()


async def test_a_bucket_that_is_well_is_told_and_nothing_is_left_in_it(
    s3: Bucket, tmp_path: Path
) -> None:
    assert await told(tmp_path, s3.table) == [
        "✓ attachments: the bucket moot-files takes, gives, lists and deletes a file"
    ]
    assert await s3.names() == []
    assert await told(tmp_path, FilesTable()) == []


async def test_a_bucket_that_is_not_there_and_a_server_that_is_not_are_told_apart(
    s3: Bucket, tmp_path: Path
) -> None:
    none_such = s3.table.model_copy(update={"bucket": "none-such"})
    assert await told(tmp_path, none_such) == [
        "✗ attachments: there is no bucket none-such — make it, or correct `bucket` under [files]"
    ]
    [line] = await told(tmp_path, s3.table.model_copy(update={"endpoint": NOBODY}))
    assert line.startswith("✗ attachments: the bucket moot-files can't be reached (")
    assert line.endswith("— start it, or correct `endpoint` under [files]")


@pytest.mark.parametrize(
    ("method", "doing"), [("PUT", "take"), ("GET", "give"), ("POST", "delete")]
)
async def test_what_a_key_may_not_do_is_named(
    s3: Bucket, tmp_path: Path, method: str, doing: str
) -> None:
    async with refusing(s3, method) as table:
        assert await told(tmp_path, table) == [
            f"✗ attachments: the bucket moot-files refuses to {doing} a file — its key needs the "
            "rights PutObject, GetObject, ListBucket and DeleteObject: see MOOT_BUCKET_KEY_ID and "
            "MOOT_BUCKET_SECRET_KEY"
        ]


async def test_what_waits_for_the_bucket_is_counted(s3: Bucket, tmp_path: Path) -> None:
    away = open_s3(s3.table.model_copy(update={"endpoint": NOBODY}), *KEYS.values())
    path = tmp_path / "files" / "F1" / "plan.txt"
    path.parent.mkdir(parents=True)
    path.write_text("the plan")
    files = SharedFiles(tmp_path / "files", away)
    await files.keep([Attachment("plan.txt", "text/plain", 8, str(path))])
    assert (await told(tmp_path, s3.table))[1:] == [
        "⚠ attachments: 1 wait on this disk for the bucket — they are put there while Moot runs "
        "and the bucket takes them"
    ]


async def test_the_bucket_of_a_broker_is_tried_as_well(tmp_path: Path) -> None:
    broker, table = Broker(tmp_path), FilesTable(store="nats")
    assert await told(tmp_path, table, broker.url) == []  # nobody has a key yet
    gateway_key(tmp_path)
    broker.start()
    try:
        assert await told(tmp_path, table, broker.url) == [
            "✓ attachments: the broker's bucket takes, gives, lists and deletes a file"
        ]
    finally:
        broker.kill()
    assert await told(tmp_path, table, broker.url) == [
        "✗ attachments: the broker's bucket can't be reached (the broker does not answer) — "
        "start it, or correct `nats` under [workers]"
    ]
