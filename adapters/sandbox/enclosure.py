"""A program about to be started, put into its session's sandbox."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from adapters.agent import Launch, Mount, Sandbox
from adapters.cli_profile import Profile
from adapters.pty.process_tree import PYTHON
from adapters.pty.terminal import StartCommand
from adapters.sandbox import way_out
from adapters.sandbox.account import under_account
from adapters.sandbox.bubblewrap import ETC, SYSTEM, SandboxView, overlap, wrap
from adapters.sandbox.installation import USR, Installation, find_installation, trail
from contract.errors import AgentError
from contract.language import later, phrase

CERTIFICATES = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE")
KERNEL = tuple(Path(name) for name in ("/dev", "/proc", "/run", "/sys", "/var/run"))


def enclose(profile: Profile, launch: Launch, command: StartCommand) -> StartCommand:
    """The command in the launch's sandbox, or under its account; as it is, when it has neither.

    Raises AgentError when the sandbox would show what it must not; OSError.
    """
    sandbox = launch.sandbox
    if sandbox is None:
        if launch.account is None:
            return command
        needs = _installed(profile, launch, command)
        places = (*(link.parent for link in needs.links), *needs.reads)
        return under_account(launch, launch.account, profile.title, command, places)
    system = _system(command.env)
    found = _needed(profile, launch, command)
    writes = _written(launch, sandbox, found)
    for path in (launch.workspace, *(mount.path for mount in sandbox.mounts)):
        _check_way(path, writes)
    own = launch.home.parent.resolve()
    for mount in (*map(Mount, found.reads - system.reads), *(Mount(path, True) for path in writes)):
        _check(mount, sandbox, own)
    reads = tuple(sorted((found.reads | system.reads) - set(writes)))
    links = tuple(sorted((system.links | found.links).items()))
    shown = (*_accounts(launch), *way_out.files(sandbox))
    view = SandboxView(reads, tuple(writes), links, shown)
    cwd, root = command.cwd.absolute(), os.geteuid() == 0
    words = wrap(sandbox, view, cwd=cwd, nests=profile.program.nests, root=root)
    env = {**command.env, **way_out.environment(sandbox)}
    return replace(command, env=env, enclosure=(*words, *way_out.words(sandbox)))


def _needed(profile: Profile, launch: Launch, command: StartCommand) -> Installation:
    """The files that are needed beside what every program needs."""
    found = _installed(profile, launch, command)
    _add_memory(launch, found)
    if launch.files:
        launch.files.mkdir(mode=0o700, parents=True, exist_ok=True)
        found.add(launch.files)
    return found


def _installed(profile: Profile, launch: Launch, command: StartCommand) -> Installation:
    """The files that the program is started with and reads."""
    found = find_installation(Path(command.argv[0]), command.env.get("PATH", ""))
    for word in (*(launch.command or profile.program.begin)[1:], *profile.program.reads):
        if word.startswith("/") and Path(word).exists():
            found.join(find_installation(Path(word), ""))
    return found


def _written(launch: Launch, sandbox: Sandbox, found: Installation) -> list[Path]:
    """The paths it may write; the mounts that it may only read are added to `found`."""
    writes = [found.follow(launch.home), found.follow(launch.workspace)]
    for mount in sandbox.mounts:
        real = found.follow(mount.path)
        if not real.exists():
            raise _refused(f"there is no {mount.path}, which `mounts` names")
        (writes.append if mount.writable else found.reads.add)(real)
    return writes


def _add_memory(launch: Launch, found: Installation) -> None:
    """Add what the memory's server is started with and reads."""
    if launch.memory is None:
        return
    found.join(find_installation(Path(launch.memory.command[0]), ""))
    for path in launch.memory.reads:
        found.add(path)


def _system(env: Mapping[str, str]) -> Installation:
    """The part of the machine that every program needs."""
    found = Installation({USR})
    found.join(find_installation(Path(PYTHON), ""))
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            found.links[path] = str(path.readlink())
        elif path.is_dir():
            found.reads.add(path)
    for name in ETC:
        if (path := Path("/etc") / name).exists():
            found.add(path)
    for name in CERTIFICATES:
        if (value := env.get(name)) and value.startswith("/") and Path(value).exists():
            found.add(Path(value))
    return found


def _check_way(path: Path, writes: Sequence[Path]) -> None:
    """Raise AgentError where a program could have made the link that leads there."""
    for link in trail(path)[0]:
        if any(link.is_relative_to(written) for written in writes):
            raise _refused(f"{path} leads through {link}, which an agent may have made")


def _check(mount: Mount, sandbox: Sandbox, own: Path) -> None:
    """Raise AgentError unless the path may be shown. own: the folder of this scope."""
    path = mount.path
    if path.is_relative_to(own):
        return
    if path == Path("/") or any(path.is_relative_to(kernel) for kernel in KERNEL):
        raise _refused(phrase("{path} is never shown in a sandbox"), path=path)
    for forbidden in sandbox.forbidden:
        if overlap(path, forbidden.resolve()):
            shows = phrase("{path} would show {other}, which is Moot's own")
            raise _refused(shows, path=path, other=forbidden)
    if mount.writable:
        for fixed in sandbox.fixed:
            if overlap(path, fixed.resolve()):
                changes = phrase("{path} would let me change {other}, which Moot runs")
                raise _refused(changes, path=path, other=fixed)


def _refused(english: str, **paths: Path) -> AgentError:
    say = later(
        "I am to run in a sandbox, and {reason}. An administrator can fix that.",
        reason=later(english, **paths),
    )
    return AgentError("missing", f"sandbox: {english.format(**paths)}", say=say)


def _accounts(launch: Launch) -> tuple[tuple[Path, Path], ...]:
    """The program's own account, and no other, as /etc has them."""
    folder = launch.home.parent / "etc"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    user, group = os.getuid(), os.getgid()
    name = "root" if user == 0 else "user"
    texts = {
        "passwd": f"{name}:x:{user}:{group}::{launch.home}:/bin/sh\n"
        "nobody:x:65534:65534::/:/usr/sbin/nologin\n",
        "group": f"{name}:x:{group}:\nnogroup:x:65534:\n",
    }
    for kind, text in texts.items():
        (folder / kind).write_text(text, encoding="utf-8")
    return tuple((folder.resolve() / kind, Path("/etc") / kind) for kind in texts)
