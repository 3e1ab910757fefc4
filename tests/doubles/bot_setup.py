"""What a bot of the tests is given: its states lie in files, where tests look at them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bots.kit.platform_bot import BotSetup
from contract.errors import MootError


class FileStates:
    """The states of one bot; a folder that can't be made stands for a database that is away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: list[str] = []  # their names

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    async def read(self, name: str) -> str | None:
        path = self.path(name)
        return path.read_text(encoding="utf-8") if path.exists() else None

    async def write(self, name: str, value: str) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise MootError("the database is away") from error
        self.path(name).write_text(value, encoding="utf-8")
        self.written.append(name)

    async def left_in_file(self, name: str) -> str | None:
        return None


def bot_setup(platform: str, folder: Path, **changes: Any) -> BotSetup:
    """What a bot of these tests is given, but for what a test changes."""
    personas = tuple(changes.pop("personas", ("claude",)))
    own = changes.pop("own_dir", folder / "own")
    values: dict[str, Any] = {"name": platform, "files_dir": folder / "files", "own_dir": own}
    return BotSetup(personas=personas, **({"states": FileStates(own)} | values | changes))
