"""The command `moot`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Do what the command line says, and end with its exit code."""
    gc.disable()  # what is imported stays: to look through it for garbage is a tenth of a start
    from gateway.cli.program import moot

    gc.freeze()
    gc.enable()
    sys.exit(moot(sys.argv[1:]))
