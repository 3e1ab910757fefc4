"""The file beside the database that knows the audit log's newest hash."""

from __future__ import annotations

import os
import re
from pathlib import Path

from contract.errors import ConfigError

ANCHOR = "audit.head"  # in the data directory
_HASH = re.compile(r"[0-9a-f]{64}")


def write_anchor(file: Path, head: str) -> None:
    """Put the hash in the place of the one before it. Raises OSError.

    It is not forced to the disk: after a power cut it may name an earlier row, which still holds.
    """
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = file.with_name(f"{file.name}.new")
    beside.write_text(f"{head}\n", encoding="ascii")
    os.replace(beside, file)


def read_anchor(file: Path) -> str:
    """The hash; "" when there is no such file. Raises ConfigError when it holds something else."""
    try:
        head = file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: can't be read: {error}") from None
    if head and not _HASH.fullmatch(head):  # cut short by a power cut: empty
        raise ConfigError(f"{file}: holds no hash of the audit log; see docs/audit.md")
    return head
