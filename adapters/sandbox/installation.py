"""A program's needs of a machine: itself, its package, its interpreter, links to them."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from contract.values import dataclass

LINKS = 40  # in one path; what Linux follows
SHEBANG_BYTES = 512
USR = Path("/usr")


@dataclass(slots=True)
class Installation:
    """Real paths to be shown, and the links (path, what it says) that lead to them."""

    reads: set[Path] = field(default_factory=set)
    links: dict[Path, str] = field(default_factory=dict)

    def follow(self, path: Path) -> Path:
        """Add the links on the way; the real path."""
        links, real = trail(path)
        self.links |= links
        return real

    def join(self, other: Installation) -> None:
        """Add all of another's."""
        self.reads |= other.reads
        self.links |= other.links

    def add(self, path: Path) -> Path:
        """Show a file or folder, wherever links lead; its real path."""
        real = self.follow(path)
        if real.exists():
            self.reads.add(real)
        return real


def trail(path: Path) -> tuple[dict[Path, str], Path]:
    """The links on the way to a file, and where it really is. Raises OSError (ELOOP)."""
    links: dict[Path, str] = {}
    here, left = Path("/"), list(path.absolute().parts[1:])
    met = 0
    while left:
        name = left.pop(0)
        if name == "..":
            here = here.parent
            continue
        step = here / name
        if not step.is_symlink():
            here = step
            continue
        met += 1
        if met > LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        links[step] = target = str(step.readlink())
        if target.startswith("/"):
            here = Path("/")
        left = [*(part for part in Path(target).parts if part != "/"), *left]
    return links, here


def find_installation(program: Path, path: str) -> Installation:
    """All that a program needs. path: the PATH in which its interpreter is looked for."""
    found = Installation()
    _add(program, path, found, set())
    return found


def _add(program: Path, path: str, found: Installation, seen: set[Path]) -> None:
    if program in seen:
        return
    seen.add(program)
    links, real = trail(program)
    found.links |= links
    for place in (*(link.parent for link in links), real):
        root = _root(place)
        if root is not None:
            found.reads.add(root)
            for interpreter in _base(root):
                _add(interpreter, path, found, seen)
    if not any(real.is_relative_to(shown) for shown in (USR, *found.reads)):
        found.reads.add(real)
    for interpreter in _interpreters(real, path):
        _add(interpreter, path, found, seen)


def _root(place: Path) -> Path | None:
    """The package folder, virtual environment or Python that a real path belongs to."""
    if place.is_relative_to(USR):
        return None
    folders = [folder for folder in (place, *place.parents) if folder.is_dir()]
    for folder in reversed(folders):
        if folder.name == "node_modules" or (folder / "pyvenv.cfg").is_file():
            return folder
    for folder in folders:
        if place.is_relative_to(folder / "bin") and any(folder.glob("lib/python3*/os.py")):
            return folder
    return None


def _base(root: Path) -> Iterator[Path]:
    """The Python that a virtual environment is made from."""
    try:
        lines = (root / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip() == "home" and (python := Path(value.strip()) / "python3").exists():
            yield python


def _interpreters(real: Path, path: str) -> Iterator[Path]:
    """The interpreters that a script's first line names."""
    try:
        with real.open("rb") as file:
            head = file.read(SHEBANG_BYTES)
    except OSError:
        return
    if not head.startswith(b"#!"):
        return
    words = shlex.split(head[2:].split(b"\n")[0].decode(errors="replace"))
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if words and (place := shutil.which(words[0], path=path)):
        yield Path(place)
