"""Qwen Code."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from aiohttp import web

from adapters.profiles.qwen import QWEN
from tests.doubles.chat_api import PartedChatAPI
from tests.doubles.model_steps import Fault, ToolUse
from tests.every_agent.stage import NODE_22, NODE_BIN, Cli


class SoonAPI(PartedChatAPI):
    """Without this it tries again for more than a minute; that only takes time.

    It hears `retry-after` from a 429 or a 503. After a 500 it waits for 76 s altogether, whatever
    its settings say.
    """

    refusal_headers: ClassVar[Mapping[str, str]] = {"retry-after": "0.1"}

    def _refuse(self, fault: Fault) -> web.Response:
        return super()._refuse(replace(fault, status=503) if fault.status == 500 else fault)


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
    lacks={"test_an_api_that_is_not_there_is_one_line": "it tries again for more than two minutes"},
    silence=("(empty content)", "[no response text]"),
)
