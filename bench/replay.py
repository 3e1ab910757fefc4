"""Recorded terminals played again: whether what the screen shows is what the record has.

    python -m bench.replay [FOLDER ...]

A folder has a `recording.jsonl` and an `expected.md`, the exact text that the model sent; its name
begins with the program's. Without any: the recordings of the tests, of which the two that were
interrupted differ. Exit code 1 when one does.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from adapters.replay import replay
from bench.cross_check import Mismatch, find_mismatch

RECORDINGS = Path(__file__).parent.parent / "tests" / "adapters" / "recordings"


def check(folder: Path) -> Mismatch | None:
    """Compare the reply that the recorded screen shows with the one that was sent."""
    shown = replay(folder / "recording.jsonl", folder.name.partition("-")[0])
    return find_mismatch((folder / "expected.md").read_text(encoding="utf-8"), shown)


def main() -> int:
    """Print each recording whose screen differs, and how many were compared."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    folders = parser.parse_args().folders
    folders = folders or sorted(path.parent for path in RECORDINGS.glob("*/recording.jsonl"))
    found = {folder: mismatch for folder in folders if (mismatch := check(folder))}
    for folder, mismatch in found.items():
        print(
            f"{folder.name}: of {mismatch.words} words the screen lacks {mismatch.lost} and has "
            f"{mismatch.added} others (record {mismatch.digest})"
        )
    print(f"{len(folders)} recordings, {len(found)} differ")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
