"""opencode."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from adapters.profiles.opencode import OPENCODE
from tests.doubles.chat_api import ChatAPI
from tests.doubles.model_steps import ToolUse
from tests.every_agent.stage import INSTALLED, Cli


class SoonAPI(ChatAPI):
    """Without this it tries again for a minute over ACP; that only takes time."""

    refusal_headers: ClassVar[Mapping[str, str]] = {"retry-after": "1"}


PROGRAMS = sorted(INSTALLED.glob("node_modules/opencode-*-*/bin/opencode"))

CLI = Cli(
    profile=OPENCODE,
    program=next(iter(PROGRAMS), Path("no-opencode")),
    api=SoonAPI,
    env=lambda url: {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-dummy"},
    edit=lambda path: ToolUse("write", {"filePath": path, "content": "x"}),
    shell=lambda command: ToolUse("bash", {"command": command, "description": "Run it"}),
    model="double",
)
