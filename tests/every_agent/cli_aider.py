"""aider."""

from adapters.profiles.aider import AIDER
from tests.doubles.chat_api import ToollessChatAPI
from tests.every_agent.stage import INSTALLED, Cli

CLI = Cli(
    profile=AIDER,
    program=INSTALLED / "venvs" / "aider" / "bin" / "aider",
    api=ToollessChatAPI,
    env=lambda url: {"OPENAI_API_KEY": "sk-dummy-0000", "OPENAI_API_BASE": f"{url}/v1"},
    model="openai/double",
)
