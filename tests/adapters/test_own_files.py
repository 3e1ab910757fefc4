"""Folders that an agent made, and that no path reaches the end of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from adapters.own_files import delete_tree, states_below
from adapters.sandbox.account import reachable
from tests.doubles.deep_folders import deep
from tests.doubles.service import HOUSE


def test_what_lies_deeper_than_any_path_is_seen_and_deleted(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kept").write_text("kept")
    folder = tmp_path / "folder"
    deep(folder, 2000, 50_000)
    (folder / "link").symlink_to(tmp_path / "other")
    (folder / "wide").mkdir()
    (folder / "wide" / "more").write_text("more")
    sizes = [state.st_size for state in states_below(folder)]
    assert len(sizes) == 2000 + 4
    assert 50_000 in sizes
    folder.chmod(0)
    delete_tree(folder)
    assert not folder.exists()
    assert (tmp_path / "other" / "kept").read_text() == "kept"


def test_what_is_gone_or_no_folder_has_nothing_below_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link", "nowhere"):
        assert list(states_below(tmp_path / name)) == []


CLOSED = """
import os, pathlib, sys
from adapters.own_files import delete_tree, states_below
folder = pathlib.Path(sys.argv[1], "folder")
(folder / "closed").mkdir(parents=True)
(folder / "closed" / "file").write_bytes(b"x" * 50_000)
(folder / "closed").chmod(0)
print([state.st_size for state in states_below(folder)].count(50_000))
(folder / "closed").chmod(0)
delete_tree(folder)
print(folder.exists())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no sandbox elsewhere")
def test_a_folder_that_closed_itself_hides_nothing_from_its_own_account() -> None:
    account = 65_534 if os.geteuid() == 0 else os.geteuid()
    python = Path(shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable)
    if account != os.geteuid() and not reachable([python, HOUSE / "adapters" / "own_files.py"]):
        pytest.skip("another account can't run this Python, or not see this folder")
    with tempfile.TemporaryDirectory(prefix="moot-closed-") as name:
        os.chown(name, account, -1)
        ran = subprocess.run(
            [str(python), "-c", CLOSED, name],
            cwd=HOUSE, user=account, capture_output=True, check=True, text=True,
        )  # fmt: skip
    assert ran.stdout.split() == ["1", "False"]
