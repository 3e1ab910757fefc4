"""The examples of docs/access.md; and on every platform a newcomer's first mention is answered."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from contract.chat import Room, Speaker
from gateway.access.access import Access
from gateway.cli.access.command import add_access
from gateway.core.reading import parse_command
from gateway.settings.config import Config, load_config

DOCS = Path(__file__).parents[1] / "docs"
FIRST = {"slack": "T1", "rocketchat": "r1", "discord": "1", "matrix": "!r:example.org"}


def blocks(page: str, kind: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return [
        body
        for found, body in re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S)
        if found == kind
    ]


def loaded(folder: Path, text: str) -> Config:
    (folder / "moot.toml").write_text(text)
    return load_config(None, base=folder)


def test_every_example_of_the_access_page_is_a_configuration(tmp_path: Path) -> None:
    smallest, whole = (Access(loaded(tmp_path, text).access) for text in blocks("access", "toml"))
    general, other = Room("slack:C06RY3YBSLE", "general"), Room("slack:C1", "other")
    assert smallest.may_invoke(other, "slack:U0NOBODY1", "claude")
    assert smallest.may_approve(other, Speaker("slack:U06STGBF4Q0", "Olivia"), "claude")
    assert whole.may_invoke(general, "slack:U0NOBODY1", "claude")
    assert not whole.may_invoke(other, "slack:U0NOBODY1", "claude")
    assert not whole.may_invoke(other, "slack:U0BUDI001", "deploy")
    assert whole.may_approve(other, Speaker("slack:U0CAROL01", "Carol"), "claude")


@pytest.mark.parametrize("platform", FIRST)
def test_with_a_platforms_page_alone_a_first_mention_is_answered(
    tmp_path: Path, platform: str
) -> None:
    access = Access(loaded(tmp_path, blocks(platform, "toml")[0]).access)
    room = Room(f"{platform}:{FIRST[platform]}", "general")
    assert access.may_invoke(room, f"{platform}:stranger", "claude")
    [owner] = access.table.owners
    assert access.may_approve(room, Speaker(owner, "Olivia"), "claude")


def test_with_bluebubbles_page_alone_its_owner_is_answered(tmp_path: Path) -> None:
    access = Access(loaded(tmp_path, blocks("bluebubbles", "toml")[0]).access)
    chat = Room("bluebubbles:iMessage;-;+15550001111", "Olivia", "dm")
    assert access.is_owner(chat, "bb:+15550001111")


def test_the_command_lines_of_the_access_page_are_understood() -> None:
    parser = argparse.ArgumentParser()
    add_access(parser.add_subparsers())
    [lines] = blocks("access", "sh")
    text = (DOCS / "access.md").read_text(encoding="utf-8")
    shown = [*lines.splitlines(), *re.findall(r"`(moot pair[^`]*)`", text)]
    assert len(shown) == 6
    for line in shown:
        assert parser.parse_args(shlex.split(line)[1:]).work
    for command in re.findall(r"`(![a-z]+[^`]*)`", text):
        parsed = parse_command(command, addressed=False)
        assert parsed is not None, command
        assert parsed.entry is not None, command
