"""A program in bubblewrap: it sees the system read-only, its own folders, and what is said beside.

Its processes live in namespaces of their own and end with it. They are a session of their own, in
which the program takes its terminal: in bubblewrap's session Ctrl-C would end bubblewrap.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from adapters.agent import Sandbox
from contract.values import dataclass

SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")  # links into /usr, or folders
ETC = (
    *(
        "alternatives",
        "ca-certificates",
        "crypto-policies",
        "fonts",
        "pki/ca-trust",
        "ssl/certs",
        "terminfo",
    ),
    *("gai.conf", "host.conf", "hosts", "nsswitch.conf", "protocols", "resolv.conf", "services"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "locale.alias", "os-release"),
    *("mime.types", "pki/tls/certs", "ssl/openssl.cnf", "timezone"),
)
"""Of /etc. Who lives on this machine (passwd, group) is told of the program's own account alone."""


KNOBS = tuple(f"/proc/{name}" for name in ("acpi", "asound", "fs", "mtrr", "scsi", "sys"))
"""Of /proc: what root sets for the whole machine, by its id alone, whatever rights it has dropped
(`kernel.core_pattern` runs a program outside). Bubblewrap covers `sysrq-trigger`, `irq` and `bus`,
and leaves these: it asks whether the folder can be written to, not what is in it."""


SCRATCH = ("/tmp", "/dev/shm")  # noqa: S108  # its own
"""Folders of memory."""


@dataclass(frozen=True, slots=True)
class SandboxView:
    """All that a program sees. Paths are real ones: no part of them is a link.

    reads, writes: shown at their own paths. links: (path, what it says). copies: (file, the path
    at which it is shown).
    """

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    links: tuple[tuple[Path, str], ...] = ()
    copies: tuple[tuple[Path, Path], ...] = field(default=())


def wrap(
    sandbox: Sandbox, view: SandboxView, *, cwd: Path, nests: bool = False, root: bool = False
) -> tuple[str, ...]:
    """The words that go before a command line to have it run so. Pure.

    nests: the program makes namespaces of its own, for a sandbox of its own.
    root: so is its account. Others can't set anything there, and where parts of /proc are covered
    the kernel refuses another one to a sandbox inside.
    """
    words = [str(sandbox.bwrap), "--die-with-parent", "--new-session"]
    words += ["--cap-drop", "ALL"]
    words += ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try"]
    if not nests:
        words += ["--disable-userns"]
    if sandbox.network == "none":
        words += ["--unshare-net"]
    words += ["--proc", "/proc", "--dev", "/dev"]
    size = ["--size", str(sandbox.scratch_bytes)] if sandbox.scratch_bytes else []
    for folder in SCRATCH:
        words += [*size, "--perms", "1777", "--tmpfs", folder]
    words += ["--remount-ro", "/dev"]  # or it would be one more
    for knobs in KNOBS if root else ():
        words += ["--ro-bind-try", knobs, knobs]
    words += _shown(view)
    return (*words, "--remount-ro", "/", "--chdir", str(cwd), "--")


def _shown(view: SandboxView) -> list[str]:
    """Mounts from the outside to the inside, so that the innermost decides; then the links."""
    ways = dict.fromkeys(view.reads, "--ro-bind") | dict.fromkeys(view.writes, "--bind")
    words: list[str] = []
    for path in sorted(ways, key=lambda path: (len(path.parts), path)):
        words += [ways[path], str(path), str(path)]
    for source, path in view.copies:
        words += ["--ro-bind", str(source), str(path)]
    for link, target in dict(view.links).items():
        if not any(link.is_relative_to(shown) for shown in ways):
            words += ["--symlink", target, str(link)]
    return words


def overlap(one: Path, other: Path) -> bool:
    """True when one of them is the other, or lies in it."""
    return one.is_relative_to(other) or other.is_relative_to(one)
