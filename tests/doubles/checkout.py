"""A checkout of its own: what `git clone` gives, without the tests."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

HOUSE = Path(__file__).parents[2]


def make_checkout(folder: Path) -> Path:
    """Copy the program there, and commit it."""
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text("utf-8"))
    rooms = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    folder.mkdir()
    for name in (*rooms, "pyproject.toml", ".gitignore", "Makefile", "README.md", "LICENSE"):
        source, target = HOUSE / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-qm", "all")
    return folder


def git(folder: Path, *words: str) -> str:
    """The output of git with these words."""
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder.parent), "GIT_CONFIG_GLOBAL": "/dev/null"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout
