"""Mistral Vibe."""

from adapters.profiles.vibe import VIBE
from tests.doubles.chat_api import ChatAPI
from tests.doubles.model_steps import ToolUse
from tests.every_agent.stage import INSTALLED, Cli

CLI = Cli(
    profile=VIBE,
    program=INSTALLED / "venvs" / "vibe" / "bin" / "vibe",
    api=ChatAPI,
    env=lambda url: {"OPENAI_API_KEY": "sk-dummy-0000", "OPENAI_BASE_URL": f"{url}/v1"},
    shell=lambda command: ToolUse("bash", {"command": command}),
    typed=str,
    model="double",
)
