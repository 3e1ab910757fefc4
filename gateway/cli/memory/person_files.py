"""A person's files on disk beside the database: attachments, and the folders of agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from contract.values import dataclass
from gateway.core.private_folders import FILES
from gateway.files.erasing import delete_files
from gateway.sessions.scope_folders import delete, erasable
from gateway.sessions.sessions import scope_folder
from store.migrations.upgrading import FOLDER


@dataclass(frozen=True, slots=True)
class OnDisk:
    """files, folders: they go. left: attachments that lie elsewhere, and configured workspaces:
    they are not Moot's to delete."""

    files: tuple[Path, ...]
    folders: tuple[Path, ...]
    left: tuple[Path, ...]


def backups_of(data_dir: Path) -> list[Path]:
    """The backups, and copies of the database, that were made before now: they are left. So is what
    a backup or a restore that was killed left halfway."""
    folder = data_dir / FOLDER
    data = data_dir.absolute()
    kept = [*folder.glob("*.tar.gz"), *folder.glob("*.db"), *folder.glob(".*.partial")]
    beside = [*data.parent.glob(f"{data.name}.before-*"), *data.parent.glob(".restoring-*")]
    return sorted([*kept, *data_dir.glob(".backup-*"), *beside])


def find(
    data_dir: Path,
    *,
    attachments: Iterable[str],
    scopes: Iterable[str],
    workspaces: Sequence[Path],
) -> OnDisk:
    """The files of these attachments, and the folders of these scopes' agents. workspaces: those
    that are configured, resolved."""
    files_root = (data_dir / FILES).resolve()
    scopes_root = (data_dir / "scopes").resolve()
    files: list[Path] = []
    folders: list[Path] = []
    left: list[Path] = []
    for given in sorted(set(attachments)):
        path = Path(given)
        if not path.is_file():
            continue
        inside = path.resolve().is_relative_to(files_root)
        (files if inside else left).append(path)
    for scope in sorted(set(scopes)):
        folder = scopes_root / scope_folder(scope)
        if not folder.is_dir():
            continue
        going, within = erasable(folder, workspaces)
        folders += going
        left += within
    return OnDisk(tuple(files), tuple(folders), tuple(left))


def remove(found: OnDisk, data_dir: Path) -> None:
    """Delete them, and the folders of attachments that are empty then. Follows no link."""
    delete_files(data_dir / FILES, found.files)
    for path in found.folders:
        delete(path)
