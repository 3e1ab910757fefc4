"""GitHub Copilot CLI."""

import re
from pathlib import Path

from adapters.profiles.copilot import COPILOT
from tests.doubles import chat_api
from tests.doubles.model_steps import ToolUse
from tests.every_agent.stage import INSTALLED, Cli


class Request(chat_api.Request):
    """A request without what Copilot puts around each prompt: the time, and reminders."""

    @property
    def history(self) -> list[str]:
        return [_ADDED.sub("", text) for text in super().history]


_ADDED = re.compile(
    r"\A<current_datetime>[^<]*</current_datetime>\s*"
    r"|\s*<system_reminder>[\s\S]*</system_reminder>\s*\Z"
)


class CopilotAPI(chat_api.ChatAPI):
    """The double, as Copilot speaks to it."""

    reads = Request


PROGRAMS = INSTALLED.glob("node_modules/@github/copilot-*-*/copilot")

CLI = Cli(
    profile=COPILOT,
    program=next(PROGRAMS, Path("no-copilot")),
    api=CopilotAPI,
    env=lambda url: {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "sk-dummy",
    },
    edit=lambda path: ToolUse("create", {"path": path, "file_text": "x"}),
    shell=lambda command: ToolUse("bash", {"command": command, "description": "Run it"}),
    model="double",
)
