"""Folders in one another, deeper than any path reaches."""

import os
from pathlib import Path


def deep(folder: Path, levels: int, size: int = 0) -> None:
    """Make folders in one another, and a file in the last of them."""
    folder.mkdir(exist_ok=True)
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("dddd", dir_fd=here)
        below = os.open("dddd", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    file = os.open("last", os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.write(file, b"x" * size)
    os.close(file)
    os.close(here)
