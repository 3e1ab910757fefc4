"""`moot init`: what it asks, what it tries, what it writes, and what it leaves alone."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contract.errors import ConfigError
from gateway.settings.config import load_config
from gateway.settings.env_file import parse_env, set_values, with_secrets
from gateway.settings.personas.personas import parse_persona
from tests.doubles.rocketchat import CLAUDE, RocketChatDouble
from tests.doubles.slack import SlackDouble
from tests.doubles.terminal import CODE, Terminal, environment


async def init(
    folder: Path, *words: str, given: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", CODE, "init", *words],
        cwd=folder,
        env=environment(folder, **more),
        capture_output=True,
        encoding="utf-8",
        input=given,
        timeout=100,
        check=False,
    )


def secrets(slack: SlackDouble) -> dict[str, str]:
    return {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}


async def test_by_options_alone_it_writes_what_runs(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        result = await init(
            tmp_path,
            *("--platform", "slack", "--url", slack.api_url.rstrip("/"), "--persona", "claude"),
            *("--agent", "demo", "--rooms", "open", "--owner", "slack:U1", "--yes"),
            **secrets(slack),
        )
    assert (result.returncode, result.stderr) == (0, "")
    assert "If you like: moot memory embedder install lets it recall" in result.stdout
    config = load_config(None, base=tmp_path)
    [bot] = config.bots
    assert (bot.platform, bot.personas) == ("slack", ("claude",))
    assert config.access.rooms == "open"
    assert config.access.owners == {"slack:U1"}
    text = (tmp_path / "personas" / "claude.md").read_text()
    assert parse_persona("claude", text).front.agent == "demo"
    assert "What you do" in text  # the shipped one, with another agent
    kept = tmp_path / "moot.env"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert with_secrets({}, None, base=tmp_path) == secrets(slack)
    for token in secrets(slack).values():
        assert token not in result.stdout + (tmp_path / "moot.toml").read_text()
    assert result.stdout.splitlines()[-2] == "Next: moot run"
    assert "/invite @claude" in result.stdout.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["moot.env", "moot.toml", "personas"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "say which: --platform"),
        (("--platform", "slack"), "SLACK_BOT_TOKEN in the environment"),
        (("--platform", "matrix"), "say it by --url"),
        (("--platform", "matrix", "--url", "example.org"), "is not an address"),
        (("--platform", "page", "--agent", "nobody"), "nobody"),
        (("--platform", "page", "--persona", "Über"), "is no name"),
        (("--platform", "page", "--owner", "Olivia"), "is not somebody's id"),
        (("--platform", "page", "--owner", "slack:*"), "is not somebody's id"),
        (("--platform", "page", "--owner", "slack:ada"), "e.g. slack:U06STGBF4Q0 — your profile"),
        (("--platform", "page", "--agent", "codex", "--workspace", "/nowhere"), "has no nowhere"),
        (("--platform", "page", "--agent", "codex", "--workspace", "~"), "everything of this"),
        (("--platform", "page", "--timezone", "Berlin"), "did you mean"),
        (("--platform", "page", "--listen", "8377"), "is not host:port"),
        (("--url", "http://127.0.0.1:1/"), "say whose it is"),
    ],
)
async def test_a_mistake_is_one_sentence_and_nothing_is_written(
    words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    result = await init(tmp_path, *words, "--yes")
    assert result.returncode == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


async def test_a_refused_token_is_told_and_asked_for_again(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        words = ("--platform", "slack", "--url", slack.api_url, "--persona", "demo")
        wrong = {**secrets(slack), "SLACK_BOT_TOKEN": "xoxb-wrong"}
        result = await init(tmp_path, *words, "--yes", **wrong)
        assert (result.returncode, "the bot token is refused" in result.stderr) == (2, True)
        assert "xoxb-wrong" not in result.stdout + result.stderr
        assert list(tmp_path.iterdir()) == []
        answers = [
            "1",
            "1",
            "nonsense",
            slack.bot_token,
            slack.app_token,
            "2",
            "2",
            "slack:U1",
            "y",
        ]
        result = await init(tmp_path, *words, given="\n".join(answers) + "\n", **wrong)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "the bot token is refused" in result.stdout
    assert "SLACK_BOT_TOKEN looks wrong" in result.stdout
    assert with_secrets({}, None, base=tmp_path)["SLACK_BOT_TOKEN"] == slack.bot_token
    assert load_config(None, base=tmp_path).access.rooms == "closed"


async def test_what_it_does_not_know_is_kept_and_a_change_is_shown(tmp_path: Path) -> None:
    before = (
        "# mine\n[memory]\ninsights = false  # why not\n\n[access]\npeople = 'slack:U9'\n\n"
        "[[bots]]\nplatform = 'rocketchat'\nname = 'codex'\nurl = 'http://127.0.0.1:9'\n"
        "personas = ['codex']\n"
    )
    (tmp_path / "moot.toml").write_text(before)
    (tmp_path / "moot.env").write_text("# own\nOTHER='a b'\nROCKETCHAT_TOKEN=old\n")
    (tmp_path / "moot.env").chmod(0o600)
    (tmp_path / "personas").mkdir()
    own = "---\nagent: codex\naliases: [cx]\n---\nMy own words.\n"
    (tmp_path / "personas" / "claude.md").write_text(own)
    async with RocketChatDouble.open() as rocketchat:
        words = ["--platform", "rocketchat", "--url", rocketchat.base, "--persona", "claude"]
        words += ["--agent", "demo", "--rooms", "open", "--owner", "rocketchat:O1"]
        token = {"ROCKETCHAT_TOKEN": "token-claude", "ROCKETCHAT_USER_ID": CLAUDE}
        refused = await init(tmp_path, *words, given="n\n", **token)
        assert (refused.returncode, "Nothing was written" in refused.stdout) == (1, True)
        assert (tmp_path / "moot.toml").read_text() == before
        result = await init(tmp_path, *words, given="y\n", **token)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "-agent: codex\n+agent: demo\n" in result.stdout
    assert "token-claude" not in result.stdout
    text = (tmp_path / "moot.toml").read_text()
    for line in ("# mine", "insights = false  # why not", "people = 'slack:U9'", "name = 'codex'"):
        assert line in text
    assert [(bot.platform, bot.name) for bot in load_config(None, base=tmp_path).bots] == [
        ("rocketchat", "codex"),
        ("rocketchat", None),
    ]
    assert (tmp_path / "moot.env").read_text().startswith("# own\nOTHER='a b'\n")
    assert with_secrets({}, None, base=tmp_path)["ROCKETCHAT_TOKEN"] == "token-claude"
    assert (tmp_path / "personas" / "claude.md").read_text() == own.replace(": codex", ": demo")
    assert not (tmp_path / "personas" / "codex.md").exists()  # the folder was its owner's


async def test_the_folder_that_it_makes_has_what_comes_with_moot(
    tmp_path: Path,
) -> None:
    table = "[[bots]]\nplatform = 'matrix'\nurl = 'http://127.0.0.1:9'\npersonas = ['codex']\n"
    (tmp_path / "moot.toml").write_text(table)
    result = await init(tmp_path, "--platform", "page", "--persona", "demo", "--yes")
    assert result.returncode == 0, result.stderr
    assert {"claude.md", "codex.md", "demo.md"} <= {
        path.name for path in (tmp_path / "personas").iterdir()
    }


async def test_a_second_run_with_the_same_answers_changes_nothing(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        words = (
            "--platform",
            "slack",
            "--url",
            slack.api_url,
            "--rooms",
            "open",
            "--owner",
            "first",
            "--yes",
        )
        assert (await init(tmp_path, *words, **secrets(slack))).returncode == 0
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        again = await init(tmp_path, *words)  # the secrets are those of moot.env
    assert again.returncode == 0, again.stderr
    assert "Nothing changes" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


async def test_a_new_persona_of_a_second_account_has_secrets_of_its_own(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        words = ["--platform", "slack", "--url", slack.api_url, "--name", "ops", "--persona", "ops"]
        words += ["--agent", "demo", "--describe", 'looks: after "it"', "--owner", "first", "--yes"]
        result = await init(tmp_path, *words, **secrets(slack))
    assert result.returncode == 0, result.stderr
    kept = with_secrets({}, None, base=tmp_path)
    assert kept.keys() == {"SLACK_BOT_TOKEN_OPS", "SLACK_APP_TOKEN_OPS"}
    persona = parse_persona("ops", (tmp_path / "personas" / "ops.md").read_text())
    assert persona.front.description == 'looks: after "it"'


async def test_a_broken_moot_toml_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text("[gateway\n")
    result = await init(tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert "moot.toml: can't be read as TOML" in result.stderr


async def test_answers_that_end_too_early_write_nothing(tmp_path: Path) -> None:
    result = await init(tmp_path, given="6\n")
    assert result.returncode == 2
    assert "nothing was written" in result.stderr
    assert list(tmp_path.iterdir()) == []


async def test_a_token_typed_on_a_terminal_is_never_shown(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        words = ("--platform", "slack", "--url", slack.api_url, "--agent", "demo")
        terminal = Terminal(tmp_path, "init", *words, "--persona", "demo", "--rooms", "open")
        await terminal.sees("How does it get in?")
        await terminal.sees("Which")
        terminal.types("1\n")
        await terminal.sees("(SLACK_BOT_TOKEN)")
        terminal.types(f"{slack.bot_token}\n")
        await terminal.sees("(SLACK_APP_TOKEN)")
        terminal.types(f"{slack.app_token}\n")
        await terminal.sees("Which way?")
        await terminal.sees("Which")
        terminal.types("\n")
        await terminal.sees("Write this?")
        terminal.types("\n")
        assert await terminal.ends() == 0, terminal.seen
    assert slack.bot_token not in terminal.seen
    assert slack.app_token not in terminal.seen
    assert with_secrets({}, None, base=tmp_path) == secrets(slack)


async def test_ctrl_c_in_the_middle_writes_nothing(tmp_path: Path) -> None:
    terminal = Terminal(
        tmp_path, "init", "--platform", "slack", "--persona", "demo", "--agent", "demo"
    )
    await terminal.sees("How does it get in?")
    await terminal.sees("Which")
    terminal.types("\x03")
    assert await terminal.ends() == 128 + signal.SIGINT
    assert "nothing was written" in terminal.seen
    assert "Traceback" not in terminal.seen
    assert list(tmp_path.iterdir()) == []


async def test_ctrl_d_at_a_hidden_question_ends_it_and_writes_nothing(tmp_path: Path) -> None:
    terminal = Terminal(
        tmp_path, "init", "--platform", "slack", "--persona", "demo", "--agent", "demo"
    )
    await terminal.sees("Which")
    terminal.types("1\n")
    await terminal.sees("(SLACK_BOT_TOKEN)")
    terminal.types("\x04")
    assert await terminal.ends() == 2
    assert "nothing was written" in terminal.seen
    assert list(tmp_path.iterdir()) == []


def test_the_environment_goes_before_moot_env_and_an_empty_one_does_not(tmp_path: Path) -> None:
    file = tmp_path / "moot.env"
    file.write_text("# a comment\n\nexport A='one two'\nB=file # said\nC=\"x=y\"\nD=\n")
    file.chmod(0o600)
    found = with_secrets({"B": "environment", "A": "", "E": "e"}, None, base=tmp_path)
    assert found == {"A": "one two", "B": "environment", "C": "x=y", "D": "", "E": "e"}
    assert with_secrets({}, tmp_path / "moot.toml", base=Path("/nowhere")) == parse_env(
        file.read_text(), "moot.env"
    )


def test_a_moot_env_that_others_can_read_is_refused_with_the_remedy(tmp_path: Path) -> None:
    file = tmp_path / "moot.env"
    file.write_text("A=1\n")
    file.chmod(0o640)
    with pytest.raises(ConfigError, match=f"chmod 600 {file}"):
        with_secrets({}, None, base=tmp_path)


@pytest.mark.parametrize("line", ["no equals", "A='open", "A=two words", "1A=x"])
def test_a_broken_line_is_named_and_not_told(line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_env(f"GOOD=1\n{line}\n", "moot.env")
    assert caught.value.say.startswith("moot.env:2: ")
    assert line not in caught.value.say


@pytest.mark.parametrize("value", ["plain", "a b", "it's", '"', "$HOME `x` \\", "#", "ü=€"])
def test_any_secret_comes_back_as_it_was(value: str) -> None:
    text = set_values("# head\nOTHER=1\nKEY=old\nKEY=older\n", {"KEY": value, "NEW": value})
    assert parse_env(text, "") == {"OTHER": "1", "KEY": value, "NEW": value}
    assert text.count("KEY=") == 1
