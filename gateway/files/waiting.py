"""Names of files that their store did not take yet, noted on disk: the next start puts them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from gateway.settings.whole_file import put


class WaitingFiles:
    """folder: a small file for each name. The methods touch the disk: off the loop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> set[str]:
        """All that are noted. Raises OSError."""
        if not self._folder.is_dir():
            return set()
        return {file.read_text("utf-8") for file in self._folder.glob("*.name")}

    def add(self, name: str) -> None:
        """Note one; it is on disk then. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        put(self._file(name), name.encode(), 0o600)

    def done(self, name: str) -> None:
        """It waits no more. Raises OSError."""
        self._file(name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self._folder / f"{sha256(name.encode()).hexdigest()[:32]}.name"


def waiting_beside(root: Path) -> WaitingFiles:
    """Those of the files below a folder."""
    return WaitingFiles(root.with_name(f"{root.name}.waiting"))
