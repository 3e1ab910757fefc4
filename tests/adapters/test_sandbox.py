"""A program in its sandbox: what it can't see, whatever it tries."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from adapters.agent import Launch, Mount, Sandbox
from adapters.catalog import profiles
from adapters.cli.session import CliAgent
from adapters.pty.terminal import StartCommand, Terminal
from adapters.sandbox.bubblewrap import SandboxView, wrap
from adapters.sandbox.enclosure import enclose
from adapters.sandbox.installation import find_installation, trail
from contract.errors import AgentError
from gateway.observability.metering import measure
from tests.doubles.cells import bwrap, obedient, ran
from tests.doubles.processes import until_gone

SECRET = "the word is xylophone"


@dataclass
class House:
    """A data directory with two scopes, and what is Moot's own."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data"

    def scope(self, name: str) -> Path:
        return self.data / "scopes" / name / "ash"

    def sandbox(self, *mounts: Mount) -> Sandbox:
        return Sandbox(bwrap(), mounts, forbidden=(self.data, self.root / "moot.toml"))


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Planted secrets everywhere."""
    made = House(tmp_path)
    places = (
        made.scope("other") / "home" / "secret",
        made.scope("other") / "work" / "secret",
        made.data / "moot.db",
        made.data / "audit.log",
        tmp_path / "moot.toml",
        tmp_path / "private" / "secret",
    )
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(SECRET)
    return made


@pytest.fixture
async def inside(house: House) -> AsyncIterator[CliAgent]:
    agent = obedient(house.scope("mine"), house.sandbox())
    yield agent
    await agent.close()


READS = {
    "another scope's HOME": "cat {data}/scopes/other/ash/home/secret",
    "its workspace by ..": "cat ../../../other/ash/work/secret",
    "the database": "cat {data}/moot.db",
    "the audit log": "cat {data}/audit.log",
    "moot.toml": "cat {root}/moot.toml",
    "a link to it": "ln -s {root}/moot.toml there; cat there",
    "a hard link to it": "ln {root}/moot.toml there; cat there",
    "anything below": "grep -rs xylophone {root} /tmp",
    "by the parent's root": "cat /proc/1/root{root}/moot.toml /proc/*/root{root}/moot.toml",
    "by the parent's folder": "cat /proc/1/cwd/moot.toml; cat /proc/*/cwd/../moot.toml",
    "a mount of its own": "mkdir m; mount --bind {root} m; cat m/moot.toml",
    "namespaces of its own": "unshare -rm sh -c 'mount --bind {root} /tmp; cat /tmp/moot.toml'",
    "a new root": "mkdir r; chroot /proc/1/root cat {root}/moot.toml",
}


@pytest.mark.parametrize("how", READS)
async def test_what_is_not_its_own_can_not_be_read(
    house: House, inside: CliAgent, how: str
) -> None:
    command = READS[how].format(root=house.root, data=house.data)
    assert "xylophone" not in await ran(inside, command)


@pytest.mark.parametrize("how", ["another scope's HOME", "the database", "a link to it"])
async def test_without_a_sandbox_it_can_be_read(house: House, how: str) -> None:
    agent = obedient(house.scope("mine"), None)
    try:
        command = READS[how].format(root=house.root, data=house.data)
        assert "xylophone" in await ran(agent, command)
    finally:
        await agent.close()


async def test_it_works_in_its_own_folders_at_their_own_paths(
    house: House, inside: CliAgent
) -> None:
    mine = house.scope("mine")
    said = await ran(inside, f"pwd; echo kept > made; echo {mine}/home; cd; pwd; echo h > made")
    assert said.split(" | ")[0] == str(mine / "work")
    assert (mine / "work" / "made").read_text() == "kept\n"
    assert (mine / "home" / "made").read_text() == "h\n"


async def test_the_system_is_read_only_and_tmp_is_its_own(house: House, inside: CliAgent) -> None:
    said = await ran(inside, "touch /usr/x /etc/x /x; touch /tmp/moot-was-here && echo fine")
    assert said.count("Read-only file system") == 3
    assert said.endswith("fine")
    assert not Path("/tmp/moot-was-here").exists()


async def test_it_sees_no_process_but_its_own_and_has_no_rights(inside: CliAgent) -> None:
    said = await ran(inside, "ls -d /proc/[0-9]*; grep CapEff /proc/self/status")
    assert len([word for word in said.split(" | ") if word.startswith("/proc/")]) < 8
    assert said.endswith("0000000000000000")


async def test_it_sets_nothing_of_the_kernel_even_where_it_is_root(inside: CliAgent) -> None:
    told = await ran(inside, "find /proc/[!0-9st]* /proc/sys -writable | grep -v press; echo end")
    assert told == "end"


async def test_another_process_can_not_be_signalled(inside: CliAgent) -> None:
    assert "No such process" in await ran(inside, f"kill -9 {os.getpid()}")


async def test_a_chosen_mount_is_there_as_it_was_said(house: House) -> None:
    private = house.root / "private"
    for writable in (False, True):
        agent = obedient(house.scope("mine"), house.sandbox(Mount(private, writable)))
        try:
            said = await ran(agent, f"cat {private}/secret; echo more > {private}/more; echo end")
        finally:
            await agent.close()
        assert SECRET in said
        assert (private / "more").exists() == writable


async def test_the_inner_of_two_mounts_decides(house: House) -> None:
    private = house.root / "private"
    (private / "inner").mkdir()
    mounts = (Mount(private / "inner", True), Mount(private))
    agent = obedient(house.scope("mine"), house.sandbox(*mounts))
    try:
        await ran(agent, f"touch {private}/no {private}/inner/yes")
    finally:
        await agent.close()
    assert sorted(path.name for path in private.rglob("*")) == ["inner", "secret", "yes"]


async def test_of_a_login_home_nothing_is_there_but_a_copy_of_the_login(house: House) -> None:
    login = house.root / "login"
    login.mkdir()
    for name in ("token", "diary"):
        (login / name).write_text(f"the old {name}")
    for renewed in ("printf new > ~/token", "printf newer > half; mv half ~/token"):
        agent = obedient(house.scope("mine"), house.sandbox(), login=login)
        said = await ran(agent, f"cat ~/token; ls {login}; cat {login}/diary; {renewed}")
        await agent.close()
        assert "No such file" in said
        assert "the old diary" not in said
    other = obedient(house.scope("third"), house.sandbox(), login=login)
    assert await ran(other, "cat ~/token") == "the old token"
    await other.close()
    again = obedient(house.scope("mine"), house.sandbox(), login=login)
    assert await ran(again, "cat ~/token") == "newer"
    await again.close()
    assert (login / "token").read_text() == "the old token"


async def test_sockets_of_the_machine_are_not_there(house: House, inside: CliAgent) -> None:
    name = house.root / "docker.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(name))
        listening.listen()
        said = await ran(inside, f"ls {name} /run /var/run; env | grep -c SOCK; echo end")
    assert said.count("No such file") == 3
    assert "0 | end" in said


async def test_without_a_network_there_is_its_own_loopback_alone(house: House) -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    knock = (
        f"{sys.executable} -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'"
    )
    for network, works in (("host", True), ("none", False)):
        box = house.sandbox()
        agent = obedient(
            house.scope("mine"),
            Sandbox(box.bwrap, forbidden=box.forbidden, network=network),  # type: ignore[arg-type]
        )
        try:
            assert ("refused" not in await ran(agent, f"{knock}; echo end")) == works
        finally:
            await agent.close()
    server.close()
    await server.wait_closed()


async def test_everything_ends_with_its_session(house: House, tmp_path: Path) -> None:
    agent = obedient(house.scope("mine"), house.sandbox())
    said = await ran(agent, "setsid sleep 1000 >/dev/null 2>&1 & echo begun")
    assert said == "begun"
    pid = agent.pid
    assert pid is not None
    below = [int(c) for c in _children(pid)]
    everyone = [pid, *below, *(int(c) for b in below for c in _children(b))]
    assert len(everyone) >= 4
    await agent.close()
    for one in everyone:
        await until_gone(one)


async def test_what_it_takes_of_the_machine_is_measured(house: House) -> None:
    agent = obedient(house.scope("mine"), house.sandbox())
    eater = f"{sys.executable} -c 'x = bytes([1]) * 60_000_000; print(1, flush=True); input()'"
    wait = "until [ -s fed ]; do sleep 0.05; done"
    await ran(agent, f"mkfifo held; {eater} <> held > fed 2>&1 & {wait}")
    assert agent.pid is not None
    taken = measure([agent.pid])[agent.pid]
    await agent.close()
    assert taken.memory_bytes > 70_000_000


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


async def test_a_program_is_told_to_end_before_it_is_killed(house: House) -> None:
    farewell = (
        "trap 'echo bye > bye; exit' TERM; trap '' HUP; echo ready; while :; do sleep 0.05; done"
    )
    command = _enclosed(house, "/bin/sh", "-c", farewell)
    output: list[bytes] = []
    async with Terminal.open(
        command.argv,
        env=command.env,
        cwd=command.cwd,
        cols=80,
        rows=24,
        enclosure=command.enclosure,
        on_output=output.append,
    ):
        await _until(output, b"ready")
    assert (house.scope("mine") / "work" / "bye").exists()


async def test_keys_and_the_terminals_size_arrive(house: House) -> None:
    script = (
        "trap 'stty size' WINCH; trap 'echo broken' INT; echo ready; while :; do sleep 0.05; done"
    )
    command = _enclosed(house, "/bin/sh", "-c", script)
    output: list[bytes] = []
    async with Terminal.open(
        command.argv,
        env=command.env,
        cwd=command.cwd,
        cols=80,
        rows=24,
        shell=True,
        enclosure=command.enclosure,
        on_output=output.append,
    ) as terminal:
        await _until(output, b"ready")
        terminal.resize(101, 33)
        await _until(output, b"33 101")
        await terminal.write(b"\x03")
        await _until(output, b"broken")


async def _until(output: list[bytes], wanted: bytes) -> None:
    async with asyncio.timeout(20):
        while wanted not in b"".join(output):
            await asyncio.sleep(0.02)


def _enclosed(house: House, *argv: str, sandbox: Sandbox | None = None) -> StartCommand:
    folder = house.scope("mine")
    for name in ("home", "work"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    launch = Launch(folder / "home", folder / "work", sandbox=sandbox or house.sandbox())
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "TERM": "xterm"}
    return enclose(profiles()["demo"], launch, StartCommand(argv, env, folder / "work"))


# ── What it refuses to show ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", ["data", "data/scopes/other", ".", "moot.toml", "data/moot.db"])
def test_a_mount_that_would_show_what_is_moots_own_is_refused(house: House, place: str) -> None:
    with pytest.raises(AgentError) as caught:
        _enclosed(house, "/bin/true", sandbox=house.sandbox(Mount(house.root / place)))
    assert "Moot's own" in caught.value.say


@pytest.mark.parametrize("place", ["/", "/proc", "/sys", "/run", "/dev/shm"])
def test_the_kernels_own_folders_are_no_mounts(house: House, place: str) -> None:
    with pytest.raises(AgentError, match="never shown"):
        _enclosed(house, "/bin/true", sandbox=house.sandbox(Mount(Path(place))))


def test_a_mount_that_is_a_link_counts_as_what_it_leads_to(house: House) -> None:
    (house.root / "innocent").symlink_to(house.data)
    with pytest.raises(AgentError):
        _enclosed(house, "/bin/true", sandbox=house.sandbox(Mount(house.root / "innocent")))


def test_a_link_in_what_may_be_written_to_leads_to_no_mount(house: House) -> None:
    outer = house.root / "outer"
    (outer / "inner").mkdir(parents=True)
    mounts = (Mount(outer, True), Mount(outer / "inner"))
    _enclosed(house, "/bin/true", sandbox=house.sandbox(*mounts))
    (outer / "inner").rmdir()
    (outer / "inner").symlink_to(house.root / "private")  # as a program in it could
    with pytest.raises(AgentError, match="an agent may have made"):
        _enclosed(house, "/bin/true", sandbox=house.sandbox(*mounts))


def test_a_workspace_around_the_data_is_refused(house: House) -> None:
    launch = Launch(house.scope("mine") / "home", house.root, sandbox=house.sandbox())
    launch.home.mkdir(parents=True)
    with pytest.raises(AgentError, match="Moot's own"):
        enclose(profiles()["demo"], launch, StartCommand(("/bin/true",), {}, house.root))


def test_what_moot_runs_is_shown_and_not_written_to(house: House) -> None:
    code = house.root / "code"
    code.mkdir()
    box = Sandbox(bwrap(), (Mount(code),), fixed=(code,))
    _enclosed(house, "/bin/true", sandbox=box)
    with pytest.raises(AgentError, match="which Moot runs"):
        _enclosed(
            house, "/bin/true", sandbox=Sandbox(box.bwrap, (Mount(code, True),), fixed=(code,))
        )


def test_a_mount_that_is_not_there_is_named(house: House) -> None:
    with pytest.raises(AgentError, match="there is no"):
        _enclosed(house, "/bin/true", sandbox=house.sandbox(Mount(house.root / "gone")))


async def test_a_home_that_leads_elsewhere_is_not_written_to(house: House) -> None:
    mine, other = house.scope("mine"), house.scope("other")
    (mine / "home").mkdir(parents=True)
    (mine / "home" / ".moot-demo").symlink_to(other / "home")
    launch = Launch(mine / "home", mine / "work", command=("/bin/sh",))
    agent = CliAgent(profiles()["demo"], launch)
    with pytest.raises(AgentError, match="leads out of HOME"):
        await agent.start()
    await agent.close()
    assert [path.name for path in (other / "home").iterdir()] == ["secret"]


# ── The command line ────────────────────────────────────────────────────────────────────


def test_the_command_line_is_made_of_values_alone() -> None:
    view = SandboxView(
        reads=(Path("/usr"), Path("/srv/a")),
        writes=(Path("/srv/a/b"),),
        links=((Path("/bin"), "usr/bin"), (Path("/srv/a/link"), "b")),
    )
    words = wrap(Sandbox(Path("/b"), network="none"), view, cwd=Path("/srv"))
    text = " ".join(words)
    assert text.startswith("/b --die-with-parent --new-session --cap-drop ALL --unshare-user")
    assert text.endswith("--chdir /srv --")
    assert "--unshare-net" in words
    assert "--disable-userns" in words
    assert text.index("--ro-bind /srv/a /srv/a") < text.index("--bind /srv/a/b /srv/a/b")
    assert "--symlink usr/bin /bin" in text
    assert "/srv/a/link" not in words  # it lies in what is shown


def test_links_are_followed_step_by_step(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "one").symlink_to("real")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    links, real = trail(tmp_path / "two" / ".." / "two" / "file")
    assert real == tmp_path / "real" / "file"
    assert list(links.values()) == [str(tmp_path / "one"), "real"]
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"):
        trail(tmp_path / "round" / "x")


def test_a_script_needs_its_package_and_its_interpreter(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "node_modules" / "agent"
    package.mkdir(parents=True)
    (package / "cli.js").write_text("#!/usr/bin/env -S node --flag\n")
    (package / "cli.js").chmod(0o755)
    for folder in ("bin", "node"):
        (tmp_path / folder).mkdir()
    (tmp_path / "node" / "node").write_text("")
    (tmp_path / "node" / "node").chmod(0o755)
    (tmp_path / "bin" / "agent").symlink_to("../lib/node_modules/agent/cli.js")
    found = find_installation(tmp_path / "bin" / "agent", str(tmp_path / "node"))
    assert found.reads == {tmp_path / "lib" / "node_modules", tmp_path / "node" / "node"}
    assert tmp_path / "bin" / "agent" in found.links


def test_a_virtual_environment_needs_the_python_that_it_is_made_from() -> None:
    found = find_installation(Path(sys.executable), "")
    assert Path(sys.prefix).resolve() in found.reads
    base = Path(sys.base_prefix).resolve()
    assert base.is_relative_to("/usr") or base in found.reads


async def test_a_killed_driver_takes_the_sandbox_with_it(house: House) -> None:
    code = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from adapters.pty.terminal import Terminal\n"
        "async def main():\n"
        "    cut = sys.argv.index('--') + 1\n"
        "    t = Terminal.open(sys.argv[cut:], env={}, cwd=Path('/'), cols=80, rows=24,"
        " enclosure=sys.argv[1:cut], on_output=lambda data: None)\n"
        "    print(t.pid, flush=True)\n    await asyncio.sleep(100)\n"
        "asyncio.run(main())"
    )
    command = _enclosed(house, "/bin/sh", "-c", "trap '' HUP TERM; while :; do sleep 1; done")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        *command.enclosure,
        *command.argv,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    pid = int(await process.stdout.readline())
    async with asyncio.timeout(20):
        while not (found := [g for c in _children(pid) for g in _children(int(c))]):
            await asyncio.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    for one in (pid, *map(int, found)):
        await until_gone(one)
