"""Folders that no other account of this machine can look into."""

from __future__ import annotations

from pathlib import Path

OTHERS = 0o007
SCOPES = "scopes"
OWNER_SECRET = "owner.secret"  # noqa: S105  (a file in the data directory)


def keep_private(data_dir: Path) -> None:
    """Make the data directory, or take others' rights from it; the scopes' folder is ours alone."""
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = data_dir.stat().st_mode
    if mode & OTHERS:
        data_dir.chmod(mode & 0o7777 & ~OTHERS)
    scopes = data_dir / SCOPES
    scopes.mkdir(exist_ok=True, mode=0o700)
    scopes.chmod(0o700)


def make_private(folder: Path, *, below: Path) -> None:
    """Make a folder and those between it and `below`, each for its owner alone."""
    for step in reversed([folder, *folder.parents]):
        if step.is_relative_to(below):
            step.mkdir(parents=True, exist_ok=True, mode=0o700)
