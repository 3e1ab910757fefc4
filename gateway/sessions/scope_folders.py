"""The folders of a scope's sessions: which of them go when the scope does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from glob import escape
from pathlib import Path

from adapters.own_files import delete_tree


def erasable(folder: Path, workspaces: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The parts of a scope's folder that go with it, and the configured workspaces in it, resolved,
    which are not Moot's to delete."""
    within = [one for one in workspaces if one.is_relative_to(folder.resolve())]
    if folder.is_symlink() or not within:
        return [folder], within
    return _beside(folder, within), within


def _beside(folder: Path, kept: Sequence[Path]) -> list[Path]:
    """The contents of a folder, without what is kept and the way to it."""
    found: list[Path] = []
    for entry in sorted(folder.iterdir()):
        if entry in kept:
            continue
        if entry.is_dir() and any(path.is_relative_to(entry) for path in kept):
            found += _beside(entry, kept)
        else:
            found.append(entry)
    return found


def delete_homes(folder: Path, but: Collection[Path] = ()) -> None:
    """Delete what programs recorded in their HOMEs of a scope's conversations; what they worked on
    stays. Follows no link. but: folders of sessions that live. Raises OSError."""
    for home in folder.glob("*/home"):
        if home.parent not in but and not home.parent.is_symlink():
            delete(home)


def delete_scope(
    scopes: Path, scope_digest: str, workspaces: Sequence[Path], *, whole: bool
) -> None:
    """Delete a scope's folder below that of all, or without `whole` its HOMEs alone. Raises
    OSError."""
    for folder in scopes.glob(f"*-{escape(scope_digest)}"):
        if not whole:
            delete_homes(folder)
            continue
        for part in erasable(folder, workspaces)[0]:
            delete(part)


def delete(path: Path) -> None:
    """Delete a folder, or a file or a link. Raises OSError."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        delete_tree(path)
