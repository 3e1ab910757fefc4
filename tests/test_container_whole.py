"""The steps of deploy/Containerfile, run in a root of their own by bubblewrap, without a network.

Stand-ins: the machine's own system for the base image, links to the installed libraries for what
pip would download, and a script for apt-get, which keeps what it was asked for.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.doubles.installed import HOUSE, make_shelf

CONTAINERFILE = HOUSE / "deploy" / "Containerfile"
LIBRARIES = Path(sys.prefix).resolve()
_ETC = ("passwd", "group", "shadow", "gshadow", "login.defs", "ld.so.cache", "nsswitch.conf")
TALK = """
{start} &
moot=$!
until {health} 2>/dev/null; do kill -0 $moot || exit 9; sleep 0.2; done
moot status && moot ask '@demo echo hello from the container'
kill -TERM $moot; wait $moot
"""


def steps() -> Iterator[tuple[str, str]]:
    """Each instruction and its words."""
    text = CONTAINERFILE.read_text("utf-8")
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for line in plain.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.partition(" ")
            yield name, re.sub(r"\s+", " ", rest).strip()


@dataclass
class Stage:
    """A root in the making. last: of the instructions that only the container's start reads."""

    root: Path
    stand_ins: Path
    shelf: Path
    folder: str = "/"
    env: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/local/bin:/usr/bin:/bin"})
    user: str = ""
    last: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.root / "etc").mkdir(parents=True)
        self.root.chmod(0o755)
        for shown in ("/shelf", LIBRARIES, sys.base_prefix):  # bwrap would let root alone in
            (self.root / str(shown).lstrip("/")).mkdir(parents=True)
        (self.root / "tmp").mkdir(exist_ok=True)  # a tmpfs would hide what lies in it
        (self.root / "tmp").chmod(0o1777)
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.root / name).symlink_to(f"usr/{name}")
        for name in _ETC:
            if Path("/etc", name).exists():
                shutil.copy(f"/etc/{name}", self.root / "etc" / name)

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """A shell in it, as the user that was named; root before."""
        env = {**self.env, "PYTHONPATH": "/shelf", "PIP_NO_INDEX": "1"}
        env["PATH"] += "" if self.user else ":/usr/sbin:/sbin"
        who = ["setpriv", "--reuid", self.user, "--regid", self.user, "--clear-groups"]
        command = [
            *("bwrap", "--unshare-net", "--unshare-pid", "--die-with-parent", "--cap-add", "ALL"),
            *("--bind", str(self.root), "/", "--ro-bind", "/usr", "/usr", "--proc", "/proc"),
            *("--dev", "/dev", "--ro-bind", str(self.stand_ins)),
            *("/usr/local/bin", "--ro-bind", str(self.shelf), "/shelf"),
            *("--ro-bind", str(LIBRARIES), str(LIBRARIES)),
            *("--ro-bind", sys.base_prefix, sys.base_prefix, "--chdir", self.folder, "--clearenv"),
            *(word for name, value in env.items() for word in ("--setenv", name, value)),
            *(who if self.user else ()),
            *("sh", "-ec", script),
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    def inside(self, path: str) -> Path:
        """Where a path of it is on this machine."""
        return self.root / os.path.join(self.folder, path).lstrip("/")

    def copy(self, source: Path, to: Path) -> None:
        """As COPY does: a folder's content, or a file."""
        to.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, to, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy(source, to / source.name if to.is_dir() else to)


def allowed(source: str) -> bool:
    """True if .dockerignore lets the builder see it."""
    lines = (HOUSE / ".dockerignore").read_text("utf-8").splitlines()
    shown = {line[1:] for line in lines if line.startswith("!")}
    return not shown.isdisjoint({source, *map(str, Path(source).parents)})


def build(tmp_path: Path, stand_ins: Path, shelf: Path) -> Stage:
    """Follow the file; the last of its stages."""
    named: dict[str, Stage] = {}
    stage: Stage | None = None
    for number, (name, rest) in enumerate(steps()):
        words = rest.split()
        if name == "FROM":
            stage = Stage(tmp_path / f"root-{number}", stand_ins, shelf)
            named[words[-1]] = stage
            continue
        if stage is None:
            assert name == "ARG"
        elif name == "WORKDIR":
            stage.folder = rest
            stage.inside(".").mkdir(parents=True, exist_ok=True)
        elif name == "RUN":
            done = stage.run(rest)
            assert done.returncode == 0, f"{rest}\n{done.stdout}{done.stderr}"
        elif name == "COPY" and words[0].startswith("--from="):
            other = named[words[0].partition("=")[2]]
            stage.copy(other.inside(words[1]), stage.inside(words[2]))
        elif name == "COPY":
            for source in words[:-1]:
                assert allowed(source), f".dockerignore hides {source}"
                stage.inside(words[-1]).parent.mkdir(parents=True, exist_ok=True)
                stage.copy(HOUSE / source, stage.inside(words[-1]))
        elif name == "ENV":
            stage.env |= dict(word.split("=", 1) for word in shlex.split(rest))
        elif name == "USER":
            stage.user = rest
        else:
            stage.last[name] = rest
    assert stage is not None
    return stage


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    """/usr/local/bin: Python of the base image, and what it would fetch."""
    folder = tmp_path / "stand-ins"
    folder.mkdir()
    scripts = {
        "python3": f'exec {sys.base_prefix}/bin/python3 "$@"',
        "apt-get": "echo $* >> /etc/asked-for",
        "tini": 'shift\nexec "$@"',
    }
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.skipif(
    shutil.which("bwrap") is None or os.geteuid() != 0, reason="it takes bubblewrap and root"
)
def test_its_steps_make_a_moot_that_answers(tmp_path: Path, stand_ins: Path) -> None:
    made = build(tmp_path, stand_ins, make_shelf(tmp_path / "shelf"))
    asked_for = (made.root / "etc/asked-for").read_text()
    assert {"bubblewrap", "git", "tini", "ca-certificates"} <= set(asked_for.split())
    assert made.user == "10001"
    assert made.last["VOLUME"] == made.env["MOOT_HOME"] == "/data"
    start = json.loads(made.last["ENTRYPOINT"]) + json.loads(made.last["CMD"])
    health = json.loads(made.last["HEALTHCHECK"].partition(" CMD ")[2])
    done = made.run(TALK.format(start=shlex.join(start), health=shlex.join(health)))
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "✓ Moot runs" in told
    assert "hello from the container" in told
    home = made.root / "data"
    assert (home / "data/moot.db").stat().st_uid == 10001
    assert (home / "personas/demo.md").is_file()
