"""Claude Code."""

from pathlib import Path

from adapters.profiles.claude_code import CLAUDE_CODE
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.every_agent.stage import FOLDER, INSTALLED, Cli

PACKAGES = FOLDER.parent / "agents" if INSTALLED == FOLDER else INSTALLED
PROGRAMS = PACKAGES.glob("node_modules/@anthropic-ai/claude-code-*/claude")

CLI = Cli(
    profile=CLAUDE_CODE,
    program=next(PROGRAMS, Path("no-claude")),
    api=MessagesAPI,
    env=lambda url: {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-dummy-0000000000000000000000000000",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    },
    edit=lambda path: ToolUse("Write", {"file_path": path, "content": "x"}),
    shell=lambda command: ToolUse("Bash", {"command": command, "description": "Run it"}),
    typed=lambda prompt: prompt.replace("\t", "    ").replace("e\u0301", "é"),
    model="sonnet",
)
