"""docs/add-a-command.md: a command that is added as it says works in a copy of Moot."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "add-a-command.md"
ROOMS = ("adapters", "bots", "composer", "contract", "gateway", "llm", "memory", "store")
SAY = """
import asyncio
from pathlib import Path
import gateway.core.command_table as table
from tests.doubles.platform import said
from tests.doubles.running import gateway

async def main():
    assert Path(table.__file__).is_relative_to(Path.cwd()), table.__file__
    async with gateway(Path("moot")) as moot:
        for text in ("!dice 1", "!dice one", "!help dice", "!dcie"):
            await moot.hear(said(text))
            await moot.settle()
        Path("said").write_text("\\n--\\n".join(moot.texts()))

asyncio.run(main())
"""


def blocks() -> list[str]:
    """The page's code, in its order: the entry, the handler, the line of the mapping, imports."""
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)


def insert(file: Path, before: str, text: str) -> None:
    """Put a text before the one place where `before` stands."""
    head, found, tail = file.read_text("utf-8").partition(before)
    assert found, f"{file.name} has no {before!r}"
    file.write_text(head + text + found + tail, encoding="utf-8")


def test_a_command_added_as_the_page_says_is_carried_out(tmp_path: Path) -> None:
    for room in ROOMS:
        if (ROOT / room).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / room, tmp_path / room, ignore=ignored)
    for doubles in sorted((ROOT / "tests" / "doubles").glob("*.py")):
        copy = tmp_path / "tests" / "doubles" / doubles.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(doubles, copy)
    entry, handler, line, imports = blocks()
    insert(
        tmp_path / "gateway/core/command_table.py",
        '    CommandSpec(\n        "help",',
        f"{indent(entry.rstrip(), ' ' * 4)},\n",
    )
    (tmp_path / "gateway/commands/dice.py").write_text(handler, encoding="utf-8")
    handlers = tmp_path / "gateway/app/handlers.py"
    insert(handlers, '        "agents": ', line)
    insert(handlers, "from collections.abc", imports)
    told = subprocess.run(
        [sys.executable, "-c", SAY],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    rolled, again, explained, mistyped = (tmp_path / "said").read_text("utf-8").split("\n--\n")
    assert rolled == "Ash rolled 1 of 1."
    assert re.fullmatch(r"Ash rolled [1-6] of 6\.", again)
    assert explained.startswith("`!dice [sides]`: roll a die")
    assert mistyped == "I don't know `!dcie`. Did you mean `!dice`?"
