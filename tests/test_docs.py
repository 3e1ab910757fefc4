"""Every example of the documentation: it parses, it exists, or it is run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
import yaml

from gateway.cli.commands import make_parser
from gateway.settings.config import parse_config
from gateway.settings.personas.personas import FrontMatter, parse_persona

HOUSE = Path(__file__).parents[1]
PAGES = [HOUSE / "README.md", HOUSE / "CHANGELOG.md", *sorted((HOUSE / "docs").glob("*.md"))]
SAFE = ("moot check --offline", "moot doctor --offline", "moot init --platform page --yes")
_PERSONA = r"^```(?:markdown|md)\n(---\n.*?)^```"
_VARIABLE = r"\b(?:MOOT|SLACK|ROCKETCHAT|DISCORD|MATRIX|BLUEBUBBLES|MATTERMOST)_[A-Z_]+"


@dataclass(frozen=True)
class Example:
    """A fenced block. page: its file's name."""

    page: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.text.split())[:50]}"


def examples(*kinds: str) -> Iterator[Example]:
    for page in PAGES:
        found = re.findall(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", page.read_text("utf-8"), re.M | re.S)
        yield from (Example(page.name, kind, text) for kind, text in found if kind in kinds)


def shown(text: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)


def commands() -> Iterator[tuple[str, str]]:
    """Each command line of `moot`: those in blocks whole, those in sentences."""
    for example in examples("sh"):
        for line in example.text.replace("\\\n", " ").splitlines():
            for part in line.partition("#")[0].split("&&"):
                if part.strip().startswith("moot "):
                    yield example.page, part.strip()
    for page in PAGES:
        for words in re.findall(r"`(moot [^`]+)`", shown(page.read_text("utf-8"))):
            yield page.name, " ".join(words.split())


TOML = list(examples("toml"))
COMMANDS = sorted(set(commands()))


@pytest.mark.parametrize("example", TOML, ids=str)
def test_every_toml_is_a_configuration_that_moot_takes(example: Example) -> None:
    raw = tomllib.loads(example.text)
    for agent in raw.get("agents", {}).values():
        agent.setdefault("profile", "generic")
    assert parse_config(raw, HOUSE / example.page)


def test_the_example_file_shows_every_key_and_parses_with_all_of_it() -> None:
    text = (HOUSE / "moot.toml.example").read_text("utf-8")
    config = parse_config(tomllib.loads(text), HOUSE / "moot.toml.example")
    for name in type(config).model_fields:
        assert f"[{name}" in text, name
    commented = re.findall(r"^# ((?:\[\[?[\w.-]+\]\]?)|(?:\w+ = .*))$", text, re.M)
    assert len(commented) > 10


def test_a_copy_of_the_example_file_is_the_default() -> None:
    file = HOUSE / "moot.toml.example"
    assert parse_config(tomllib.loads(file.read_text("utf-8")), file) == parse_config({}, file)


def as_typed(command: str) -> list[list[str]]:
    """What the command stands for: [optional] parts in and out, A|B by A, values for NAMES."""
    plain = re.sub(r"\[[^\]]*\]", "", command)
    whole = command.replace("[", " ").replace("]", " ")
    found = []
    for text in dict.fromkeys((plain, whole)):
        words = [word for word in shlex.split(text)[1:] if word not in ("...", "…")]
        found.append([re.sub(r"^N$", "3", word) for word in words])
    return found


def refused(words: list[str]) -> str:
    """Why the command line isn't one; "": it is."""
    told = StringIO()
    with redirect_stderr(told), redirect_stdout(StringIO()):
        try:
            make_parser().parse_args(words)
        except SystemExit as ended:
            return told.getvalue() if ended.code else ""
    return ""


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=lambda word: str(word)[:60])
def test_every_command_is_one_that_moot_takes(page: str, command: str) -> None:
    for words in as_typed(command):
        is_name = len(words) < 3 and all(word.isalpha() and word.islower() for word in words)
        why = refused(words)
        if why and is_name:  # a command named in a sentence: what it needs is told elsewhere
            why = refused([*words, "--help"])
        assert not why, f"{page}: {command}\n{why}"


@pytest.mark.parametrize("command", SAFE)
def test_what_harms_nothing_is_run(command: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", "from gateway.main import main; main()", *shlex.split(command)[1:]],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "MOOT_HOME": str(tmp_path),
            "PYTHONPATH": str(HOUSE),
        },
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert result.returncode in (0, 1), result.stdout + result.stderr
    assert result.stderr == ""


def test_every_persona_is_one_that_moot_takes() -> None:
    found = [
        Example(page.name, "md", text)
        for page in PAGES
        for text in re.findall(
            r"^```(?:markdown|md)\n(---\n.*?)^```", page.read_text(), re.M | re.S
        )
    ]
    for example in found:
        assert parse_persona("example", example.text), str(example)
    for file in (HOUSE / "personas").glob("*.md"):
        assert parse_persona(file.stem, file.read_text("utf-8"))


def test_every_json_and_yaml_parses() -> None:
    for example in examples("json"):
        assert json.loads(example.text) is not None, str(example)
    for example in examples("yaml"):
        yaml.safe_load(example.text)  # a comment alone is an example, too


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = shown(page.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        file = (page.parent / place) if place else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.M)
            slugs = [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings]
            assert anchor in slugs, f"{page.name}: {target}"


def test_the_index_names_every_page() -> None:
    index = (HOUSE / "docs" / "README.md").read_text("utf-8")
    for page in (HOUSE / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in index, page.name


def code() -> str:
    rooms = ("gateway", "bots", "adapters", "memory", "composer")
    files = [file for room in rooms for file in (HOUSE / room).rglob("*.py")]
    files.append(HOUSE / "tests" / "every_agent" / "stage.py")  # which `make test-agents` reads
    return "\n".join(file.read_text("utf-8") for file in files)


def test_every_variable_of_the_environment_is_one_that_moot_reads() -> None:
    known = code()
    for page in PAGES:
        for name in set(re.findall(_VARIABLE, page.read_text("utf-8"))):
            base = re.sub(r"_(CODEX|OPS|NAME|)$", "", name)
            assert re.search(rf"\b{base}\b", known), f"{page.name}: {name}"


def test_every_front_matter_key_that_is_named_exists() -> None:
    text = (HOUSE / "README.md").read_text("utf-8")
    [told] = re.findall(r"YAML front matter \(([^)]*)\)", text, re.S)
    assert set(re.findall(r"`(\w+)`", told)) <= FrontMatter.model_fields.keys()
