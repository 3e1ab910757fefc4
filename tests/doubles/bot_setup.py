"""What a bot of the tests is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bots.kit.platform_bot import BotSetup


def bot_setup(platform: str, folder: Path, **changes: Any) -> BotSetup:
    """What a bot of these tests is given, but for what a test changes."""
    personas = tuple(changes.pop("personas", ("claude",)))
    folders = {"files_dir": folder / "files", "own_dir": folder / "own"}
    values: dict[str, Any] = {"name": platform, **folders}
    return BotSetup(personas=personas, **(values | changes))
