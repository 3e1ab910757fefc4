"""Qwen Code."""

import re
import unicodedata
from collections.abc import Mapping
from typing import ClassVar

from adapters.profiles.qwen import QWEN
from tests.doubles.chat_api import PartedChatAPI
from tests.doubles.model_steps import ToolUse
from tests.every_agent.stage import NODE_22, NODE_BIN, Cli


class SoonAPI(PartedChatAPI):
    """Without this it tries again for more than a minute after a limit; that only takes time."""

    refusal_headers: ClassVar[Mapping[str, str]] = {"retry-after": "1"}


AT = re.compile(r"@(?=\S)")

CLI = Cli(
    profile=QWEN,
    program=NODE_BIN / "qwen",
    api=SoonAPI,
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
