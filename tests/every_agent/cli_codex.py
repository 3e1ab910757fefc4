"""Codex."""

from adapters.profiles.codex import CODEX
from tests.doubles.model_steps import ToolUse
from tests.doubles.responses_api import ResponsesAPI
from tests.every_agent.stage import INSTALLED, NODE_BIN, Cli

# the program itself, without the Node around it
NATIVE = INSTALLED.glob("node_modules/@openai/codex-*/vendor/*/bin/codex")

CLI = Cli(
    profile=CODEX,
    program=next(iter(NATIVE), NODE_BIN / "codex"),
    api=ResponsesAPI,
    env=lambda url: {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-dummy-000000000000"},
    shell=lambda command: ToolUse(
        "exec_command",
        {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?"},
    ),
    typed=lambda prompt: prompt,
    model="gpt-5.5",
    calls={"raw.githubusercontent.com": "its announcements; no setting turns them off"},
)
