"""Moot as somebody installs it: a wheel, in an environment without the tools of developers."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

HOUSE = Path(__file__).parents[2]


def build_wheel(folder: Path) -> Path:
    """The wheel, built as `pip install .` builds it."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=HOUSE,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        check=True,
        timeout=120,
    )
    (wheel,) = folder.glob("moot-*.whl")
    return wheel


def make_shelf(folder: Path) -> Path:
    """A folder with links to the locked libraries that Moot runs with, and to no other: they stand
    in for what pip would download."""
    locked = (HOUSE / "requirements" / "run.txt").read_text("utf-8")
    names = {_plain(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", locked, re.M)}
    folder.mkdir()
    for library in importlib.metadata.distributions():
        if _plain(library.metadata["Name"]) not in names:
            continue
        for top in {file.parts[0] for file in library.files or ()} - {"..", "__pycache__"}:
            source = Path(str(library.locate_file(top)))
            if source.exists() and not (folder / top).is_symlink():
                (folder / top).symlink_to(source)
    return folder


def install(wheel: Path, folder: Path, shelf: Path) -> Path:
    """An environment in `folder` with the wheel in it; returns its `moot`."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60
    )
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install"),
            *("-q", "--disable-pip-version-check", "--no-deps", "--no-index", str(wheel)),
        ],
        env={"PATH": os.defpath, "HOME": str(folder)},
        capture_output=True,
        check=True,
        timeout=120,
    )
    (packages,) = (folder / "lib").glob("python3.*/site-packages")
    (packages / "shelf.pth").write_text(f"{shelf}\n")
    return folder / "bin" / "moot"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
