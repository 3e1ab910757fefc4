"""Every part of the bench, one after the other: `python -m bench`, `make bench`."""

import subprocess
import sys

PARTS = (
    "mention",
    "compose",
    "markup",
    "turns",
    "terminals",
    "latency",
    "described",
    "rate",
    "start",
    "page_load",
    "memory",
    "growth",
    "soak",
    "recall_speed",
    "stores",
    "isolation",
)


def main() -> int:
    """Run the parts that were named, or all; 1 when one of them failed."""
    failed = 0
    for part in sys.argv[1:] or PARTS:
        print(f"\n── bench.{part}", flush=True)
        failed |= subprocess.run([sys.executable, "-m", f"bench.{part}"], check=False).returncode
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
