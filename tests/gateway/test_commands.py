"""What is a command, whose it is, and what it is answered when it is none."""

from pathlib import Path

import pytest

from gateway.core.command_spec import GROUPS, one_line
from gateway.core.command_table import NAMES, TABLE, entry_of
from gateway.core.reading import ParsedCommand, parse_command
from gateway.core.typing_errors import nearest
from gateway.settings.access import AccessTable, GrantTable
from tests.doubles.platform import said
from tests.doubles.running import gateway


@pytest.mark.parametrize(
    "text",
    [
        "!new",
        "!NEW",
        "  !new  ",
        "!new.",
        "!new!!",
        "!new …",
        "！new",
        "！ｎｅｗ",
        "\u200b!new",
        "!\u200bnew\ufeff",
        "`!new`",
        "```\n!new\n```",
        "**!new**",
        "@demo !new",
        "@demo: `!new`",
        "<@U061F7AUR> !new",
        "@demo\u3000!new",
        "/moot new",
        "/moot !new",
        "／moot new",
        "`／new`",
        "@demo /new",
    ],
)
def test_a_command_is_known_however_it_was_typed(text: str) -> None:
    assert parse_command(text, addressed="/new" in text or "／new" in text) == ParsedCommand("new")


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("！new　ｃｏｄｅｘ。", "codex"),
        ("!new   codex", "codex"),
        ("!new codex, ", "codex"),
        ("!new\tcodex?", "codex"),
        ("!new\ncodex", "codex"),
        ("/moot  new  codex", "codex"),
    ],
)
def test_words_behind_a_command_lose_their_punctuation(text: str, argument: str) -> None:
    assert parse_command(text, addressed=False) == ParsedCommand("new", argument)


def test_a_text_behind_a_command_is_kept_as_it_is() -> None:
    assert parse_command("!share  I like tea.  Really!", addressed=False) == ParsedCommand(
        "share", "I like tea.  Really!"
    )


@pytest.mark.parametrize(
    "text",
    [
        "say !new to begin again",
        "I typed !help",
        "! new",
        "!important thing",
        "!shame on you",
        "!held",
        "!wy",
        "!news today",
        "!shares went up",
        "!",
        "!!!",
        "!42",
        "!=",
        "/new",
        "/etc/passwd",
        "",
    ],
)
def test_what_only_looks_like_a_command_is_none(text: str) -> None:
    assert parse_command(text, addressed=False) is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("hlep", "help"), ("memroy", "memory"), ("forgte", "forget"), ("landmraks", "landmarks")],
)
def test_a_mistyped_command_is_heard_without_a_mention(typed: str, meant: str) -> None:
    assert parse_command(f"!{typed}", addressed=False) == ParsedCommand(typed)
    assert nearest(typed) == meant


def test_a_word_that_is_addressed_to_us_is_a_command_and_a_path_is_not() -> None:
    assert parse_command("@demo !important thing", addressed=True) == ParsedCommand(
        "important", "thing"
    )
    assert parse_command("/etc/passwd", addressed=True) is None
    assert parse_command("/unheard of", addressed=True) is None


def test_every_entry_can_be_read_back_from_its_own_example() -> None:
    for entry in TABLE:
        command = parse_command(entry.example, addressed=False)
        assert command is not None, entry.name
        assert command.entry is entry
        assert bool(command.argument) <= bool(entry.shape), entry.name
        assert entry.group in GROUPS
    names = [name for entry in TABLE for name in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))
    assert {name for name in names if not name.isdecimal()} == set(NAMES)


async def test_every_entry_has_somebody_who_carries_it_out(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        for entry in TABLE:
            await moot.hear(said(f"@demo !{entry.name}"))
            await moot.settle()
        assert not any("Something broke" in text for text in moot.texts())


async def test_help_tells_all_of_one_command(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        for text in ("!help unpin", "!help `!Unpin`", "!help unpni"):
            await moot.hear(said(text))
            await moot.settle()
        first, second, third = moot.texts()
        assert first == second
        assert first.startswith("`!unpin <number>`: take a pin away again")
        assert "For example: `!unpin 12`" in first
        assert third == "I don't know `!unpni`. Did you mean `!unpin`?"


async def test_help_lists_what_this_person_may_use_only(tmp_path: Path) -> None:
    member = GrantTable(role="member", people=frozenset({"fake:budi"}))
    guest = GrantTable(role="guest", people=frozenset({"fake:ash"}))
    access = AccessTable(grants=(member, guest))
    async with gateway(tmp_path, access=access) as moot:
        for by in ("ash", "budi"):
            await moot.hear(said("@demo !help all", by=by))
            await moot.settle()
        for entry in TABLE:
            seen = [one_line(entry) in text for text in moot.texts()]
            allowed = {"guest": [True, True], "member": [False, True], "owner": [False, False]}
            assert seen == allowed[entry.role], entry.name


async def test_help_alone_is_short_and_names_what_people_need_most(tmp_path: Path) -> None:
    member = GrantTable(role="member", people=frozenset({"fake:budi"}))
    guest = GrantTable(role="guest", people=frozenset({"fake:ash"}))
    access = AccessTable(grants=(member, guest))
    crowd = tuple(f"ada{n}" for n in range(1, 12))
    async with gateway(tmp_path, access=access, personas=crowd) as moot:
        for by in ("ash", "budi"):
            await moot.hear(said("!help", by=by))
            await moot.settle()
        guests, members = (text.splitlines() for text in moot.texts())
        named = ", ".join(f"@{name}" for name in crowd[:8])
        for lines in (guests, members):
            assert len(lines) <= 8
            assert lines[0] == f"Mention somebody to ask: {named}, 3 more"
            assert lines[-1] == "`!help all` lists all commands, `!help pin` explains one."
            assert sum(line.startswith("- `!") for line in lines) == 5
        for name, for_guests in (("stop", True), ("memory", True), ("new", False), ("pin", False)):
            entry = entry_of(name)
            assert entry is not None
            assert one_line(entry) in members
            assert (one_line(entry) in guests) is for_guests


async def test_a_typo_is_answered_and_an_exclamation_is_not(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        for text in ("!important thing", "!hlep", "please say !new"):
            await moot.hear(said(text))
            await moot.settle()
        assert moot.texts() == ["I don't know `!hlep`. Did you mean `!help`?"]
        assert moot.programs.prompts == []


def test_a_digit_is_a_choice() -> None:
    assert parse_command("!2.", addressed=False) == ParsedCommand("2")
    assert entry_of("2") is entry_of("1")


@pytest.mark.parametrize(
    "text",
    [
        "！pin a",
        "！pin：a",
        "！pin\u3000a",
        "\u200b!pin a",
        "/moot pin a",
        "@demo /moot !pin a",
        "@demo ！decision a",
    ],
)
async def test_a_pin_is_known_however_it_was_typed(text: str, tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said(text))
        await moot.settle()
        assert moot.texts() == ["📌 Pinned as 1: a"]


def test_a_slip_is_answered_to_whoever_made_it() -> None:
    given = {name: parse_command(f"/moot {name}", addressed=True) for name in ("fnord", "status")}
    assert {name: one and one.is_private for name, one in given.items()} == {
        "fnord": True,
        "status": False,
    }
