"""Gemini CLI."""

import re
import unicodedata

from adapters.profiles.gemini import GEMINI
from tests.doubles.gemini_api import GeminiAPI
from tests.doubles.model_steps import ToolUse
from tests.every_agent.stage import NODE_BIN, Cli

AT = re.compile(r"@(?=\S)")

CLI = Cli(
    profile=GEMINI,
    program=NODE_BIN / "gemini",
    api=GeminiAPI,
    env=lambda url: {
        "GEMINI_API_KEY": "dummy-0000000000000000000000000000",
        "GOOGLE_GEMINI_BASE_URL": url,
    },
    edit=lambda path: ToolUse("write_file", {"file_path": path, "content": "x"}),
    shell=lambda command: ToolUse("run_shell_command", {"command": command}),
    typed=lambda prompt: AT.sub("@\u2060", unicodedata.normalize("NFC", prompt)).replace(
        "\t", "    "
    ),
    model="gemini-2.5-flash",
    again="[System: You ",
    lacks={
        "test_its_session_goes_on_after_a_kill": "session/load empties a session's file, if that "
        "was begun in the same minute of the clock"
    },
)
