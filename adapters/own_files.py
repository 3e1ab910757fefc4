"""Files in a folder that an agent's program may write to, read by Moot.

In the place of any of them it may have put a link, a FIFO, or something very large, and may do so
between two looks.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_own(path: Path, folder: Path) -> BinaryIO:
    """A plain file that lies in the folder, wherever links inside it lead. Never waits for a
    writer. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(handle, "rb")
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        if not _lies_in(handle, folder):
            raise OSError(errno.EXDEV, "it leads out", str(path))
    except BaseException:
        file.close()
        raise
    return file


def _lies_in(handle: int, folder: Path) -> bool:
    known = Path(f"/proc/self/fd/{handle}")
    if not known.is_symlink():
        return True  # macOS: no /proc, and no sandbox
    return known.resolve().is_relative_to(folder.resolve())
