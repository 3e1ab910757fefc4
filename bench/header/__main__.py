"""The lines that a header recalls, judged: `python -m bench.header`.

Rooms of ten languages are made up from a seed: interleaved topics, small talk, several people,
changes of what was said, things said on one day and over weeks. Their messages go to the real
`moot run` by its API, and a question is asked about every fact there: in the room's living session,
which is compacted then and asked all of it once more, or each in a new one. Judged are the lines of
the RECALL section of the header that the agent (the demo one; no model anywhere) was given:

hit@5       the answer is among them, or was given to the living session before
precision   lines that answer, of all lines shown
twice       lines that a session was shown again
newest      of facts that changed: the new statement is shown, the old one marked below it or absent
silent      prompts that ask for nothing, and get nothing
in header   the answer stands anywhere in the header
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from bench.header.rooms import by_memory, by_moot
from bench.header.scores import is_wrong, miss, table
from bench.header.talk import languages, talk


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--rooms", type=int, default=2, help="of each language; every other is living"
    )
    parser.add_argument("--language", nargs="+", choices=languages(), default=languages())
    parser.add_argument("--quick", action="store_true", help="the memory alone, in this process")
    parser.add_argument("--misses", action="store_true", help="print what went wrong")
    parser.add_argument("--model", type=Path, help="MiniLM's folder; else by words")
    given = parser.parse_args()
    settings = {"embedder": "minilm", "model": given.model} if given.model else {}
    talks = [talk(one, n, given.seed) for one in given.language for n in range(given.rooms)]
    begin = time.perf_counter()
    outcomes = asyncio.run((by_memory if given.quick else by_moot)(talks, **settings))
    print(f"{len(talks)} rooms, seed {given.seed}, {time.perf_counter() - begin:.0f} s")
    print(table(outcomes))
    if given.misses:
        print("\n".join(map(miss, filter(is_wrong, outcomes))))


if __name__ == "__main__":
    main()
