"""A login that an administrator shares."""

import json
import os
from pathlib import Path

from adapters.session.startup import share

LOGINS, CONFIGS = (".cli/auth.json",), (".cli/config.json",)


def write(path: Path, text: str, at: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if at:
        os.utime(path, (at, at))
    return path


def test_a_login_is_the_same_file_in_every_home(tmp_path: Path) -> None:
    shared = write(tmp_path / "admin/.cli/auth.json", "one")
    for home in ("a", "b", "a"):
        share(tmp_path / "admin", tmp_path / home, LOGINS, CONFIGS)
    (tmp_path / "a/.cli/auth.json").write_text("renewed")
    assert shared.read_text() == (tmp_path / "b/.cli/auth.json").read_text() == "renewed"


def test_a_login_that_was_renewed_by_a_new_file_goes_back(tmp_path: Path) -> None:
    shared = write(tmp_path / "admin/.cli/auth.json", "old", at=1000)
    share(tmp_path / "admin", tmp_path / "a", LOGINS, CONFIGS)
    write(tmp_path / "new", "renewed", at=2000).replace(tmp_path / "a/.cli/auth.json")
    share(tmp_path / "admin", tmp_path / "a", LOGINS, CONFIGS)
    assert shared.read_text() == "renewed"
    assert (tmp_path / "a/.cli/auth.json").readlink() == shared
    assert shared.stat().st_mode & 0o777 == 0o600


def test_an_old_login_of_its_own_does_not_replace_the_shared_one(tmp_path: Path) -> None:
    shared = write(tmp_path / "admin/.cli/auth.json", "shared", at=2000)
    write(tmp_path / "a/.cli/auth.json", "own", at=1000)
    share(tmp_path / "admin", tmp_path / "a", LOGINS, CONFIGS)
    assert (tmp_path / "a/.cli/auth.json").read_text() == shared.read_text() == "shared"


def test_settings_are_copied_and_the_program_writes_into_its_own(tmp_path: Path) -> None:
    shared = write(tmp_path / "admin/.cli/config.json", json.dumps({"theme": 1}), at=1000)
    share(tmp_path / "admin", tmp_path / "a", LOGINS, CONFIGS)
    own = tmp_path / "a/.cli/config.json"
    own.write_text("its own")
    share(tmp_path / "admin", tmp_path / "a", LOGINS, CONFIGS)
    assert (own.read_text(), json.loads(shared.read_text())) == ("its own", {"theme": 1})
    write(shared, "newer", at=int(own.stat().st_mtime) + 10)
    share(tmp_path / "admin", tmp_path / "a", LOGINS, CONFIGS)
    assert own.read_text() == "newer"


def test_what_is_not_there_is_left_out(tmp_path: Path) -> None:
    share(tmp_path / "admin", tmp_path / "a", LOGINS, CONFIGS)
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "admin").exists()
