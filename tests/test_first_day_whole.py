"""The whole way of a first day: `moot init`, `moot run`, a mention in Slack, and the real Claude
Code answers about a file of the newcomer's own repository. Two commands, and one wrong token."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

from gateway.settings.config import load_config
from gateway.settings.env_file import with_secrets
from tests.doubles.claude_stage import KEY, claude_command
from tests.doubles.messages_api import MessagesAPI, Request
from tests.doubles.model_steps import Step, ToolUse, step
from tests.doubles.slack import BOT_USER, OLIVIA, SlackDouble
from tests.doubles.terminal import Terminal

LONGEST_S = 300.0  # what a newcomer may need in all; also what the test may take
LINE = "EXPIRY_MINUTES = 15  # three kiosks share one account"


class ReadingModel(MessagesAPI):
    """Calls a tool as its script says, then answers with what that brought."""

    def _choose(self, request: Request) -> Step:
        brought = [
            block["content"]
            for message in request.body.get("messages", [])[-1:]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]
        chosen = super()._choose(request)
        return step(f"It says: {brought[0]}") if request.asks and brought else chosen


def repository(home: Path) -> Path:
    """The newcomer's own."""
    folder = home / "src" / "saga"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "auth.py").write_text(f"{LINE}\n")
    return folder


async def answers(terminal: Terminal, question: str, answer: str) -> None:
    await terminal.sees(question)
    terminal.types(f"{answer}\n")


async def sets_up(saga: Path, slack: SlackDouble, **environment: str) -> Terminal:
    """`moot init`, as a person answers it who stands in their repository."""
    terminal = Terminal(saga, "init", "--platform", "slack", "--url", slack.api_url, **environment)
    await answers(terminal, "Which [1]", "claude")
    await terminal.sees("claude-code: Claude Code")
    await answers(terminal, "Which [1]", "")
    await terminal.sees("a key: ANTHROPIC_API_KEY")
    await answers(terminal, "Which [1]", "1")
    await answers(terminal, "ANTHROPIC_API_KEY:", KEY)
    await answers(terminal, "Folder [~/src/saga]:", "")
    await terminal.sees("a Git repository")
    await terminal.sees("@claude: It says: auth.py")
    for bot_token in ("xoxb-1-wrong", slack.bot_token):
        await answers(terminal, "Which [1]", "1")
        await answers(terminal, "(SLACK_BOT_TOKEN):", bot_token)
        await answers(terminal, "(SLACK_APP_TOKEN):", slack.app_token)
        if bot_token != slack.bot_token:
            await terminal.sees("the bot token is refused")
    await terminal.sees("Who may ask it?")
    await answers(terminal, "Which [1]", "")
    await terminal.sees("who mentions it first")
    await answers(terminal, "Which [1]", "")
    await answers(terminal, "Write this?", "")
    await terminal.sees("Next: moot run")
    assert await terminal.ends() == 0, terminal.seen
    return terminal


async def test_from_nothing_to_an_answer_about_a_file_of_ones_own_repository(
    tmp_path: Path,
) -> None:
    claude = claude_command()
    saga = repository(tmp_path)
    async with asyncio.timeout(LONGEST_S), SlackDouble.open() as slack, ReadingModel.open() as api:
        api.when("Name one file", ToolUse("Bash", {"command": "ls"}))
        api.when("expiry", ToolUse("Read", {"file_path": str(saga / "auth.py")}))
        environment = {
            "PATH": f"{Path(claude).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "MOOT_HOME": "",
            "ANTHROPIC_BASE_URL": api.url,
        }
        first = await sets_up(saga, slack, **environment)
        house = tmp_path / ".moot"
        assert (house / "moot.env").stat().st_mode & 0o777 == 0o600
        assert with_secrets({}, None, base=house)["ANTHROPIC_API_KEY"] == KEY
        assert "workspace: ~/src/saga\n" in (house / "personas" / "claude.md").read_text()
        assert not load_config(None, base=house).access.owners
        moot = Terminal(saga, "run", "--port", "0", **environment)
        try:
            await moot.sees("to sign in, once")
            await slack.delivery.connected()
            await slack.say(f"<@{BOT_USER}> why is the token expiry what it is?")
            await moot.sees(f"(slack:{OLIVIA}) mentioned @claude: is that you?")
            moot.types("y\n")
            await moot.sees("is the owner now")
            while not any(LINE in text for text in slack.texts()):
                await asyncio.sleep(0.1)
        finally:
            moot.process.terminate()
            await moot.ends()
        assert api.unknown == []
        for secret in (KEY, slack.bot_token, slack.app_token):
            assert secret not in first.seen + moot.seen
    assert sorted(path.name for path in saga.iterdir()) == [".git", "auth.py"]
