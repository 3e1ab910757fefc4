"""`moot memory export` and `import`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from sqlalchemy import Connection

from contract.errors import ConfigError
from gateway.cli.memory.context import MemoryContext, progress
from gateway.cli.memory.index import index_what_waits
from gateway.core.clock import clock
from memory.transfer.importing import Imported, export, import_lines
from memory.transfer.rows import check_lines

SPOOL_BYTES = 64 << 20  # of standard input that is held in memory


async def export_all(on: MemoryContext) -> int:
    """Everything, to a file or to standard output."""

    def work(connection: Connection, write: Callable[[bytes], object]) -> None:
        with progress("exporting", None, "rows") as count:
            for line in export(connection):
                write(line)
                count(1)

    if on.given.file == "-":
        on.out.flush()
        out = on.out.buffer
        await on.store.read(lambda c: work(c, out.write), cursor=True)
        out.flush()
        return 0
    path = Path(on.given.file)
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)  # one that a killed export left may be open to others
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            await on.store.read(lambda c: work(c, file.write), cursor=True)
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: can't be written: {error.strerror}") from None
    return 0


async def import_all(on: MemoryContext) -> int:
    """Check every line, store all in one transaction, and index what is new."""
    with _opened(on.given.file) as file:
        count = check_lines(file)

        def work(connection: Connection) -> Imported:
            file.seek(0)  # a write may run a second time
            with progress("importing", count, "lines") as tick:
                return import_lines(connection, _ticking(file, tick), clock())

        result = await on.store.write(work)
    added = {name: number for name, number in result.rows.items() if number}
    told = ", ".join(f"{number} {name}" for name, number in added.items()) or "nothing"
    notes = f"; {result.known} were there already" if result.known else ""
    if result.strange:
        notes += f"; {result.strange} spoke of other messages than those that are here"
    on.say(f"imported {told}{notes}", added=added, known=result.known, strange=result.strange)
    await index_what_waits(on)
    return 0


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    """The lines, to be read more than once."""
    if name == "-":
        with tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES) as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool)
            spool.seek(0)
            yield cast(IO[bytes], spool)
        return
    try:
        with Path(name).open("rb") as file:
            yield file
    except OSError as error:
        raise ConfigError(f"{name}: can't be read: {error.strerror}") from None


def _ticking(lines: IO[bytes], tick: Callable[[int], object]) -> Iterator[bytes]:
    for line in lines:
        tick(1)
        yield line
