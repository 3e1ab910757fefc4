"""Bounds of what agents put into a backup: they may write what they like into their folders."""

from __future__ import annotations

from collections import Counter

import structlog

from gateway.settings.backup import BackupTable

log = structlog.stdlib.get_logger("moot.backup")

SCOPES = frozenset({"scopes", "model"})  # agents' HOMEs and working directories
_GB = 1_000_000_000
_NAMED = 20  # of the files that are too large by themselves; the rest are counted


class ScopeBounds:
    """Counts what each scope's agents put in, and remembers what was left out."""

    def __init__(self, table: BackupTable) -> None:
        self._table = table
        self._bytes: Counter[str] = Counter()
        self._files: Counter[str] = Counter()
        self._huge: list[tuple[str, int]] = []
        self._beyond_bytes: Counter[str] = Counter()
        self._beyond_files: Counter[str] = Counter()

    def admits(self, name: str, size: int) -> bool:
        """False: a file is left out. name: in the archive; size: in bytes, with its holes."""
        parts = name.split("/")
        if len(parts) < 3 or parts[1] not in SCOPES:
            return True
        scope = "/".join(parts[:3])
        if size > self._table.most_file_gb * _GB:
            self._huge.append((name, size))
            log.warning("backup.left_out", file=name, reason="too large")
            return False
        full = self._bytes[scope] + size > self._table.most_scope_gb * _GB
        if full or self._files[scope] >= self._table.most_scope_files:
            if not self._beyond_files[scope]:
                log.warning("backup.left_out", file=scope, reason="its scope has too much")
            self._beyond_bytes[scope] += size
            self._beyond_files[scope] += 1
            return False
        self._bytes[scope] += size
        self._files[scope] += 1
        return True

    def left_out(self) -> list[str]:
        """Sentences for people."""
        table = self._table
        told = [
            f"left out {name}: {size / _GB:.1f} GB, more than [backup] most_file_gb allows"
            f" ({table.most_file_gb:g})"
            for name, size in self._huge[:_NAMED]
        ]
        if len(self._huge) > _NAMED:
            told.append(f"left out {len(self._huge) - _NAMED} more files of that size")
        return told + [
            f"left out {count} file{'s' if count > 1 else ''} of {scope},"
            f" {self._beyond_bytes[scope] / _GB:.1f} GB: it has more"
            f" than [backup] most_scope_gb ({table.most_scope_gb:g}) or most_scope_files"
            f" ({table.most_scope_files}) allow"
            for scope, count in self._beyond_files.items()
        ]
