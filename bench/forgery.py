"""Whatever anybody writes: no line of a header passes for one of ours.

    python -m bench.forgery [--texts 1000000] [--seed 1]

Composes headers of hostile texts (`tests/doubles/forgeries.py`: circled, squared, full-width,
mathematical, Lisu, Armenian and other look-alikes, bidi, combining and invisible characters) and
reads them with a parser that has nothing of the composer. Exit code 1 when one is deceived.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from random import Random

from composer.header import compose
from tests.doubles.forgeries import Forger, judge

SHOWN = 20


def main() -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    forger = Forger(Random(given.seed))
    found: Counter[str] = Counter()
    headers, composing, began = 0, 0.0, time.monotonic()
    while forger.made < given.texts:
        briefing = forger.briefing()
        since = time.thread_time()
        header = compose(briefing).text
        composing += time.thread_time() - since
        headers += 1
        for one in judge(briefing, header):
            found[one.what] += 1
            if found[one.what] <= SHOWN:
                print(f"{one.what}: {one.line!r} {one.line!a}")
    print(
        f"{forger.made:,} texts in {headers:,} headers, {composing / headers * 1e6:.0f} µs each; "
        f"{sum(found.values())} deceive {dict(found)} ({time.monotonic() - began:.0f} s)"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
