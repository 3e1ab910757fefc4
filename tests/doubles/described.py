"""Terminal programs of very different kinds, and how their owners describe them in TOML.

The programs are in `tuis`. ANSWERED below a program's workspace holds the answers that it got.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contract.agent import Question
from tests.doubles.replies import Replies

HOUSE = Path(__file__).parents[2]
TUIS = Path(__file__).parent / "tuis"
DESCRIBED: Mapping[str, Mapping[str, Any]] = {
    "pico": {
        "ready": "^pico> $",
        "ready_last_row": True,
        "echo": "pico> (.+)",
        "permission": "Run `.*`",
        "interrupt": ["ctrl-c"],
        "quiet_s": 0.5,
    },
    "ledger": {
        "ready": "^  idle",
        "echo": "  ┊ (.+)",
        "box": "  idle|  thinking",
        "margin": 2,
        "spare": 4,
        "aside": "  ledger:$",
        "permission": r"Delete .*\?",
        "quiet_s": 0.5,
    },
    "turbo": {
        "ready": "^ READY$",
        "echo": " ┆ (.+)",
        "box": " READY",
        "reply": " ▸ ",
        "margin": 3,
        "spare": 5,
        "permission": r"Write to .*\?",
        "interrupt": ["ctrl-c"],
        "quiet_s": 0.5,
    },
    "keyed": {
        "ready": "^  > $",
        "busy": "working",
        "echo": "  ┊ (.+)",
        "reply": "  ◆ ",
        "margin": 4,
        "permission": "Run `.*`",
        "quiet_s": 0.3,
    },
    "titled": {
        "ready": "^» ",
        "ready_last_row": True,
        "busy_title": "^[⠀-⣿?]",
        "margin": 2,
        "spare": 2,
        "permission": r"Allow .*\?",
        "quiet_s": 0.5,
    },
}
"""A REPL on readline, a curses application, one that draws 20 times a second, one with keys for
its questions, one with a spinner in its title."""


def command(program: str, *words: str) -> list[str]:
    """The argv that starts it."""
    return [sys.executable, "-u", str(TUIS / f"{program}.py"), *words]


def answers(folder: Path) -> list[str]:
    """The answers that the program got below this folder."""
    return [line for file in folder.rglob("ANSWERED") for line in file.read_text().split()]


def reply_to(text: str) -> str:
    """The answer of each of them."""
    sys.path.insert(0, str(TUIS))
    import replies  # type: ignore[import-not-found]

    said: str = replies.reply_to(text)
    return said


class Decided(Replies):
    """Chooses an answer by its label; told_before: what the program had been told before that."""

    def __init__(self, wanted: str, folder: Path) -> None:
        super().__init__()
        self.wanted, self.folder, self.told_before = wanted, folder, ["?"]

    async def choose(self, question: Question) -> int:
        self.told_before = answers(self.folder)
        return [option.label.lower() for option in question.options].index(self.wanted)
