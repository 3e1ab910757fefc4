"""Deletes from a worker's disk what was forgotten. It touches the disk."""

from __future__ import annotations

from collections.abc import Sequence
from glob import escape
from pathlib import Path

from gateway.core.private_folders import SCOPES
from gateway.sessions.scope_folders import delete, delete_scope
from gateway.workers.messages import Forget

APART = "apart"  # in the data directory: folders of sessions that leave nothing


def erase(data_dir: Path, wanted: Forget, workspaces: Sequence[Path]) -> None:
    """Delete what a worker has of a scope; configured workspaces stay. Raises OSError."""
    for apart in (data_dir / APART).glob(f"{escape(wanted.scope)}.*"):
        delete(apart)
    delete_scope(data_dir / SCOPES, wanted.scope, workspaces, whole=wanted.whole)
