"""Every part of the bench, one after the other: `python -m bench`, `make bench`.

    python -m bench [--write] [PART ...]

With --write what the parts print is put into bench/README.md, each where a line `<!-- PART -->`
stands, in the place of what was there.
"""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

PARTS = (
    "mention",
    "compose",
    "markup",
    "turns",
    "terminals",
    "latency",
    "described",
    "rate",
    "slack_api",
    "start",
    "page_load",
    "memory",
    "growth",
    "soak",
    "recall_speed",
    "isolation",
)
README = Path(__file__).with_name("README.md")


def figures_in(text: str, part: str, printed: str) -> str:
    """The text with what a part printed behind its mark; as it was when it has no mark."""
    mark = f"<!-- {part} -->\n"
    before = re.compile(f"{re.escape(mark)}(?:```text\n.*?```\n)?", re.DOTALL)
    ran = f"{datetime.now(UTC):%Y-%m-%d}, python -m bench.{part}"
    block = f"{mark}```text\n{ran}\n{printed.strip()}\n```\n"
    return before.sub(lambda _: block, text, count=1)


def main() -> int:
    """Run the parts that were named, or all; 1 when one of them failed."""
    named = [word for word in sys.argv[1:] if word != "--write"]
    failed = False
    for part in named or PARTS:
        print(f"\n── bench.{part}", flush=True)
        command = [sys.executable, "-m", f"bench.{part}"]
        if "--write" not in sys.argv:
            failed |= subprocess.run(command, check=False).returncode != 0
            continue
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        print(done.stdout)
        failed |= done.returncode != 0
        if done.returncode == 0:
            known = README.read_text(encoding="utf-8")
            README.write_text(figures_in(known, part, done.stdout), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
