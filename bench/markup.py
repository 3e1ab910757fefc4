"""The time of an answer from Markdown to a platform's posts: `python -m bench.markup`.

Each time is that of splitting and writing the whole text, once and cold. As ratio: beside Slack's.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from bots.bluebubbles import text as bluebubbles_text
from bots.discord import text as discord_text
from bots.markdown.split import split
from bots.matrix import text as matrix_text
from bots.rocketchat import text as rocketchat_text
from bots.slack import text as slack_text

ROUNDS = 5

PROSE = (
    "The **token** expires after `15` minutes, see [the decision](https://example.org/adr/7) and\n"
    "`auth/middleware.py`: a _refresh_ costs ~~nothing~~ one round trip; 时间太短了 👩‍💻.\n\n"
)
LIST = "- first, *with* a [link](https://example.org/a_b)\n  - nested `code`\n- [x] done\n\n"
CODE = "```python\ndef expires(token: Token) -> bool:\n    return token.age > 15 * MINUTE\n```\n\n"
TABLE = (
    "| name | minutes | why |\n|---|---:|---|\n| access | 15 | *short* |\n| refresh | 900 | |\n\n"
)
MIXED = PROSE + LIST + CODE + TABLE


@dataclass(frozen=True)
class Platform:
    name: str
    written: Callable[[str], str]
    size: Callable[[str], int]
    limit: int

    def posts(self, text: str) -> int:
        """Split and write; how many posts there are."""
        return len([self.written(piece) for piece in split(text, self.limit, self.size)])


PLATFORMS = (
    Platform("Slack", slack_text.markdown, slack_text.markdown_chars, slack_text.MARKDOWN_CHARS),
    Platform("Rocket.Chat", rocketchat_text.written, rocketchat_text.size, rocketchat_text.LIMIT),
    Platform("Discord", discord_text.written, discord_text.size, discord_text.LIMIT),
    Platform("Matrix", matrix_text.written, matrix_text.size, matrix_text.LIMIT),
    Platform("iMessage", bluebubbles_text.written, bluebubbles_text.size, bluebubbles_text.LIMIT),
)
TEXTS = {
    "a short answer, 1,500 characters": (MIXED * 10)[:1_500],
    "30 KB, prose, lists, code, tables": (MIXED * 100)[:30_000],
    "30 KB of nothing but signs": ("*a_ **b** [c](d) `e` ~~f~~ <g> | " * 1_000)[:30_000],
    "60 KB of brackets": "![" * 30_000,
}


def main() -> None:
    """Print a line a text: milliseconds, posts, and the ratio to Slack's time, a platform each."""
    for name, text in TEXTS.items():
        slack = 0.0
        cells = []
        for platform in PLATFORMS:
            ms, posts = measured(platform, text)
            slack = slack or ms
            cells.append(f"{platform.name} {ms:.1f} ms ({posts} posts, {ms / slack:.1f})")
        print(f"{name}: {', '.join(cells)}", flush=True)


def measured(platform: Platform, text: str) -> tuple[float, int]:
    """The median of some rounds, none of which may remember another one's pieces."""
    spent, posts = [], 0
    for number in range(ROUNDS):
        cold = f"{number} {text}"
        begin = time.perf_counter()
        posts = platform.posts(cold)
        spent.append((time.perf_counter() - begin) * 1000)
        if spent[-1] > 5_000:
            break
    return statistics.median(spent), posts


if __name__ == "__main__":
    main()
