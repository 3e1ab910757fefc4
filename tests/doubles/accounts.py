"""A Moot that other accounts can run, in a folder that they may enter, without bubblewrap."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.sandbox.account import reachable
from tests.doubles.cells import SHELL
from tests.doubles.obedience import furnish
from tests.doubles.service import HOUSE

PYTHONS = "/usr/local/bin:/usr/bin:/bin"  # where one may be that every account can run
TOOLS = (
    *("sh", "bash", "cat", "id", "ls", "tr", "grep", "touch", "stat", "kill", "sleep", "setsid"),
    *("head", "env", "rm", "mkdir", "echo"),
)


@contextmanager
def open_to_all() -> Iterator[Path]:
    """A folder that other accounts may enter, as pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="moot-account-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def open_python() -> str:
    """A Python that every account can run; skips where there is none."""
    python = shutil.which("python3", path=PYTHONS)
    if python is None or not reachable([Path(python)]):
        pytest.skip("there is no Python here that other accounts can run")
    return python


def open_moot() -> tuple[str, str]:
    """The same Python, with the PYTHONPATH by which it can run Moot."""
    python, libraries = open_python(), sysconfig.get_path("purelib")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if Path(python).resolve().name != version or not reachable([HOUSE / "gateway/mcp/pipe.py"]):
        pytest.skip("there is no Moot here that other accounts can run")
    return python, f"{HOUSE}:{libraries}"


def furnished(folder: Path) -> str:
    """The text of moot.toml, with an agent that every account can run."""
    python, program = open_python(), folder / "shell.py"
    shutil.copyfile(SHELL, program)
    return furnish(folder, "auto").replace(sys.executable, python).replace(str(SHELL), str(program))


def without_bubblewrap(folder: Path) -> str:
    """A PATH with what an agent's shell needs, and no sandbox."""
    tools = folder / "bin"
    tools.mkdir(mode=0o755)
    for name in TOOLS:
        (tools / name).symlink_to(shutil.which(name) or name)
    return str(tools)
