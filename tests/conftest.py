"""The databases that Moot is tested on."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from gateway.observability.logs import log_plainly
from store.database import Store
from tests.doubles import postgres, synapse
from tests.doubles.matrix import mark_long
from tests.doubles.migrated import migrated
from tests.doubles.synapse import Synapse

settings.register_profile("moot", deadline=None)  # a busy machine proves nothing
settings.load_profile("moot")

log_plainly()  # as commands do: `event key=value`, which pytest captures

for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if (
        signal.getsignal(_number) is signal.SIG_IGN
    ):  # by nohup or a shell's `&`: programs inherit it
        signal.signal(_number, _handler)

pytest.register_assert_rewrite("tests.every_agent.stage")  # a failure in it tells the values


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what tests/long.toml names."""
    mark_long(items)


NewUrl = Callable[[str], Awaitable[str]]


@pytest.fixture(scope="session")
def postgres_folder() -> Iterator[str]:
    """The folder with the socket of a PostgreSQL that lives as long as the tests."""
    if not postgres.installed():
        if os.environ.get("CI"):
            pytest.fail("there is no PostgreSQL here")
        pytest.skip("there is no PostgreSQL here")
    with postgres.server() as folder:
        yield folder


@pytest.fixture(scope="session")
def vectors_folder() -> Iterator[str]:
    """The same of a PostgreSQL with pgvector."""
    if not postgres.installed(vectors=True):
        if os.environ.get("CI"):
            pytest.fail("there is no PostgreSQL with pgvector here")
        pytest.skip("there is no PostgreSQL with pgvector here")
    with postgres.server(vectors=True) as folder:
        yield folder


@pytest.fixture
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> NewUrl:
    """Makes the address of an empty database for the name of a driver."""

    async def make(driver: str) -> str:
        if driver.startswith("sqlite"):
            return f"{driver}:///{tmp_path}/a/b/moot.db"
        return await postgres.new_database(request.getfixturevalue("postgres_folder"))

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(
    request: pytest.FixtureRequest, new_url: NewUrl, tmp_path: Path
) -> AsyncIterator[Store]:
    """An open store, empty: SQLite's and PostgreSQL's in turn."""
    on_disk = request.param == "sqlite"
    url = await (migrated(tmp_path / "moot.db") if on_disk else new_url(request.param))
    async with Store.open(url) as opened:
        yield opened


@pytest.fixture(scope="session")
def homeserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    """A Synapse that lives as long as the tests."""
    if not synapse.installed():
        if os.environ.get("CI"):
            pytest.fail("there is no Synapse here: sh tests/setup")
        pytest.skip("there is no Synapse here: sh tests/setup")
    with synapse.synapse(tmp_path_factory.mktemp("synapse")) as running:
        yield running
