"""One process in a terminal of its own."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from adapters.pty.terminal import PtyClosed, Terminal
from tests.doubles.processes import gone, until_gone

HOUSE = Path(__file__).parent.parent.parent
ENV = {"PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8"}


class Output:
    """Collects what a program writes."""

    def __init__(self) -> None:
        self.data = b""
        self._more = asyncio.Event()

    def take(self, data: bytes) -> None:
        self.data += data
        self._more.set()

    async def until(self, wanted: bytes) -> bytes:
        async with asyncio.timeout(20):
            while wanted not in self.data:
                self._more.clear()
                await self._more.wait()
        return self.data


Run = Callable[..., AbstractAsyncContextManager[tuple[Terminal, Output]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    @asynccontextmanager
    async def start(code: str) -> AsyncIterator[tuple[Terminal, Output]]:
        output = Output()
        argv = [sys.executable, "-I", "-S", "-c", code]
        terminal = Terminal.open(
            argv, env=ENV, cwd=tmp_path, cols=100, rows=30, on_output=output.take
        )
        async with terminal:
            yield terminal, output

    return start


ECHO_RAW = """
import os, sys, time
os.write(1, b"ready")
left = int({size})
while left:
    data = os.read(0, 4096)
    os.write(1, data)
    left -= len(data)
    if {slow}: time.sleep(0.001)
os.write(1, b"<end>")
"""


@pytest.mark.parametrize("slow", [False, True])
async def test_a_long_text_arrives_byte_for_byte_while_the_program_writes_as_much(
    run: Run, slow: bool
) -> None:
    text = bytes(range(32, 127)) * 800 + bytes([0, 3, 4, 13, 17, 19, 26, 28, 127, 255])
    async with run(ECHO_RAW.format(size=len(text), slow=slow)) as (terminal, output):
        await output.until(b"ready")
        async with asyncio.timeout(20):
            await terminal.write(text)
        got = await output.until(b"<end>")
    assert got == b"ready" + text + b"<end>"


async def test_a_write_that_is_cancelled_leaves_the_terminal_usable(run: Run) -> None:
    code = """
import os, time
time.sleep(1)
while True: os.write(1, os.read(0, 4096)[-1:])
"""
    async with run(code) as (terminal, output):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await terminal.write(b"x" * 1_000_000)
        async with asyncio.timeout(20):
            await terminal.write(b"!")
        await output.until(b"!")


async def test_the_program_has_exactly_the_environment_it_was_given(tmp_path: Path) -> None:
    output = Output()
    terminal = Terminal.open(
        ["/usr/bin/env"],
        env={"A": "b=c", "PATH": "/bin"},
        cwd=tmp_path,
        cols=80,
        rows=24,
        on_output=output.take,
    )
    async with asyncio.timeout(20):
        await terminal.wait()
    assert sorted(output.data.split()) == [b"A=b=c", b"PATH=/bin"]


async def test_the_program_leads_a_session_with_a_controlling_terminal_and_no_other_descriptor(
    run: Run,
) -> None:
    held = os.open("/", os.O_RDONLY)
    os.set_inheritable(held, True)
    code = """
import os
tty = os.open("/dev/tty", os.O_RDWR)
os.close(tty)
def is_open(fd):
    try: os.fstat(fd)
    except OSError: return False
    return True
leads = os.getsid(0) == os.getpid() == os.tcgetpgrp(0)
print([fd for fd in range(200) if is_open(fd)], leads, "<end>")
"""
    try:
        async with run(code) as (_, output):
            got = await output.until(b"<end>")
    finally:
        os.close(held)
    assert b"[0, 1, 2] True" in got


async def test_the_size_is_told_and_told_again(run: Run) -> None:
    code = """
import os, signal, time
def tell(*_): os.write(1, b"size %d %d " % os.get_terminal_size(0))
signal.signal(signal.SIGWINCH, tell)
tell()
while True: time.sleep(1)
"""
    async with run(code) as (terminal, output):
        await output.until(b"size 100 30 ")
        terminal.resize(80, 24)
        await output.until(b"size 80 24 ")


async def test_the_last_output_comes_before_the_exit_and_its_code(run: Run) -> None:
    ended: list[bytes] = []
    output = Output()
    terminal = Terminal.open(
        [sys.executable, "-I", "-S", "-c", "print('x' * 30000 + 'last')\nraise SystemExit(7)"],
        env=ENV,
        cwd=Path.cwd(),
        cols=80,
        rows=24,
        on_output=output.take,
        on_exit=lambda: ended.append(output.data[-6:]),
    )
    async with asyncio.timeout(20):
        assert await terminal.wait() == 7
    assert ended == [b"last\r\n"]
    await terminal.close()


async def test_writing_to_a_program_that_ended_raises(run: Run) -> None:
    async with run("pass") as (terminal, _):
        await terminal.wait()
        with pytest.raises(PtyClosed):
            await terminal.write(b"x")


async def test_a_write_under_way_ends_with_the_program(run: Run) -> None:
    async with run("import os\nos.read(0, 10)\nraise SystemExit(1)") as (terminal, _):
        with pytest.raises(PtyClosed):
            async with asyncio.timeout(20):
                await terminal.write(b"x" * 1_000_000)
        assert await terminal.wait() == 1


async def test_a_program_that_cannot_run_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    output = Output()
    terminal = Terminal.open(
        [str(broken)], env=ENV, cwd=tmp_path, cols=80, rows=24, on_output=output.take
    )
    async with asyncio.timeout(20):
        assert await terminal.wait() == 127
    assert b"No such file" in output.data


STUBBORN = """
import os, signal, subprocess, time
for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "300"])
print("child", child.pid, "<end>", flush=True)
while True: time.sleep(1)
"""


async def test_close_ends_a_program_that_ignores_every_signal_and_what_it_started(
    run: Run,
) -> None:
    async with run(STUBBORN) as (terminal, output):
        child = int((await output.until(b"<end>")).split()[1])
        assert not gone(child)
        await terminal.close(grace_s=0.1)
        assert terminal.exit_code == -signal.SIGKILL
        await until_gone(child)


async def test_a_program_that_ended_is_no_zombie_and_its_children_are_gone(run: Run) -> None:
    code = """
import subprocess
child = subprocess.Popen(["sleep", "300"])
print("child", child.pid, "<end>", flush=True)
"""
    async with run(code) as (terminal, output):
        child = int((await output.until(b"<end>")).split()[1])
        await terminal.wait()
        with pytest.raises(ChildProcessError):
            os.waitpid(terminal.pid, os.WNOHANG)
        await until_gone(child)


async def test_a_program_that_floods_is_read_no_further_than_wanted(run: Run) -> None:
    async with run("import os\nwhile True: os.write(1, b'y' * 4096)") as (terminal, output):
        await output.until(b"y" * 10_000)
        terminal.pause()
        held = len(output.data)
        await asyncio.sleep(0.05)
        assert len(output.data) == held
        terminal.resume()
        await output.until(b"y" * (held + 1))


async def test_the_exit_is_noticed_where_there_are_no_pidfds(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)  # as on macOS
    async with run("import os\nos.read(0, 1)\nraise SystemExit(5)") as (terminal, _):
        await terminal.write(b"x")
        async with asyncio.timeout(20):
            assert await terminal.wait() == 5
    async with run("import time\nprint('up', flush=True)\ntime.sleep(60)") as (terminal, output):
        await output.until(b"up")
        await terminal.close()
        assert terminal.exit_code in (-signal.SIGHUP, -signal.SIGTERM)  # it gets both at once


GATEWAY = """
import asyncio, sys
from pathlib import Path
from adapters.pty.terminal import Terminal
async def main():
    code = "import time\\nprint('up', flush=True)\\nwhile True: time.sleep(1)"
    up = asyncio.Event()
    terminal = Terminal.open([sys.executable, "-I", "-S", "-c", code], env={}, cwd=Path("/"),
                             cols=80, rows=24, on_output=lambda _: up.set())
    await up.wait()
    print(terminal.pid, flush=True)
    await asyncio.sleep(300)
asyncio.run(main())
"""


async def test_a_gateway_killed_outright_leaves_no_program_behind() -> None:
    gateway = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        GATEWAY,
        stdout=asyncio.subprocess.PIPE,
        env={**ENV, "PYTHONPATH": str(HOUSE)},
    )
    assert gateway.stdout
    async with asyncio.timeout(60):
        pid = int(await gateway.stdout.readline())
    assert not gone(pid)
    gateway.kill()
    await gateway.wait()
    await until_gone(pid)
