"""hermes-agent."""

from adapters.profiles.hermes import HERMES
from tests.doubles.chat_api import ChatAPI
from tests.doubles.model_steps import ToolUse
from tests.every_agent.stage import FOLDER, Cli


def dangerous(command: str) -> ToolUse:
    """It asks only before what it holds for dangerous."""
    path = command.split()[-1]
    return ToolUse("terminal", {"command": f"{command} && chmod 777 {path}"})


CLI = Cli(
    profile=HERMES,
    program=FOLDER / "venvs" / "hermes" / "bin" / "hermes",
    api=ChatAPI,
    env=lambda url: {"OPENAI_API_KEY": "sk-dummy-0000", "OPENAI_BASE_URL": f"{url}/v1"},
    shell=dangerous,
    model="double",
)
