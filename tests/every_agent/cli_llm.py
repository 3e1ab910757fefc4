"""llm."""

from adapters.profiles.llm import LLM
from tests.doubles.chat_api import ToollessChatAPI
from tests.every_agent.stage import INSTALLED, Cli

CLI = Cli(
    profile=LLM,
    program=INSTALLED / "venvs" / "llm" / "bin" / "llm",
    api=ToollessChatAPI,
    env=lambda url: {"OPENAI_API_KEY": "sk-dummy-0000", "OPENAI_BASE_URL": f"{url}/v1"},
    model="double",
)
