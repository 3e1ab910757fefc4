"""docs/commands.md and docs/schedules.md say what the table says, and their examples work."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from gateway.core.command_spec import GROUPS, usage
from gateway.core.command_table import TABLE
from gateway.core.reading import parse_command
from gateway.settings.config import Config
from gateway.settings.when import read_once, read_when

DOCS = Path(__file__).parent.parent / "docs"
README = DOCS.parent / "README.md"
NOW = datetime(2026, 11, 22, 13, 0, tzinfo=UTC)


def blocks(page: str, kind: str) -> list[str]:
    text = (DOCS / page).read_text("utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_page_has_every_command_as_the_table_has_it() -> None:
    page = (DOCS / "commands.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `!")]
    assert rows == [
        f"| `{_cell(usage(entry))}` | {entry.says} | `{entry.example}` | {entry.role} |"
        for group in GROUPS
        for entry in TABLE
        if entry.group == group
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def test_what_the_pages_show_to_type_is_a_command() -> None:
    typed = [
        line
        for page in ("commands.md", "schedules.md")
        for block in blocks(page, "text")
        for line in block.splitlines()
    ]
    assert len(typed) >= 10
    for line in typed:
        command = parse_command(line, addressed=True)
        assert command is not None, line
        assert command.entry is not None, line
        zone, least = ZoneInfo("UTC"), timedelta(minutes=5)
        verb = command.argument.partition(" ")[0]
        if command.name == "every" and verb not in ("", "stop", "pause", "resume"):
            assert read_when(command.argument, zone=zone, now=NOW, least=least)[1], line
        if command.name == "once":
            assert read_once(command.argument, zone=zone, now=NOW)[2], line


def test_the_schedules_that_the_page_shows_can_be_read() -> None:
    shown = blocks("schedules.md", "toml")
    assert shown
    for block in shown:
        assert Config.model_validate(tomllib.loads(block)).schedules or "[scheduling]" in block


def test_the_readmes_commands_are_there() -> None:
    (table,) = re.findall(r"^## In a room\n\n(.*?)\n\n", README.read_text("utf-8"), re.M | re.S)
    for typed in re.findall(r"`(!\w+)", table):
        command = parse_command(typed, addressed=False)
        assert command is not None, typed
        assert command.entry is not None, typed
