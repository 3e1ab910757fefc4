"""docs/personas.md: its table has every key, its example is sound, its commands are there."""

from __future__ import annotations

import re
from pathlib import Path

from composer.headings import HEADINGS
from gateway.core.command_table import entry_of
from gateway.personas.dry_run import ANSWER_S
from gateway.settings.personas.check import CheckContext
from gateway.settings.personas.files import MOST_BYTES
from gateway.settings.personas.personas import FrontMatter, check_persona
from gateway.settings.tables import TurnsTable

PAGE = (Path(__file__).parent.parent / "docs" / "personas.md").read_text("utf-8")


def test_the_table_has_every_key_of_the_front_matter_in_its_order() -> None:
    table = PAGE.split("## Front matter")[1].split("\n\n")[1]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(FrontMatter.model_fields)


def test_the_example_has_no_fault() -> None:
    [example] = re.findall(r"^```markdown\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    around = CheckContext(agents=("claude-code",), sections=tuple(HEADINGS))
    assert check_persona("claude", example, around).findings == ()


def test_the_commands_and_the_figures_are_those_of_the_code() -> None:
    entry = entry_of("persona")
    assert entry is not None
    told = re.findall(r"`(!persona [^`]+)`", f"`{entry.example}` {entry.more}")
    assert len(told) > 2
    assert all(command in PAGE for command in told)
    assert f"at most {MOST_BYTES >> 10} KB" in PAGE
    assert ANSWER_S == 120
    assert f"(`[turns]`, {TurnsTable().max_hops})" in PAGE
