"""Qwen Code."""

import re
import unicodedata

from adapters.profiles.qwen import QWEN
from tests.doubles.chat_api import PartedChatAPI
from tests.doubles.model_steps import ToolUse
from tests.every_agent.stage import NODE_22, NODE_BIN, Cli

AT = re.compile(r"@(?=\S)")

CLI = Cli(
    profile=QWEN,
    program=NODE_BIN / "qwen",
    api=PartedChatAPI,
    env=lambda url: {
        "PATH": f"{NODE_22}:/usr/local/bin:/usr/bin:/bin",
        "OPENAI_API_KEY": "dummy-0000000000000000000000000000",
        "OPENAI_BASE_URL": f"{url}/v1",
    },
    shell=lambda command: ToolUse(
        "run_shell_command", {"command": command, "is_background": False}
    ),
    typed=lambda prompt: AT.sub("@\u2060", unicodedata.normalize("NFC", prompt)).replace(
        "\t", "    "
    ),
    model="double",
)
