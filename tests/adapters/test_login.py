"""A login that an administrator shares: copied into each scope, renewed by what is its renewal."""

import base64
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import Launch
from adapters.cli_profile import Profile
from adapters.profiles.codex import CODEX
from adapters.profiles.hermes import HERMES
from adapters.profiles.opencode import OPENCODE
from adapters.profiles.vibe import VIBE
from adapters.session.login import share
from tests.doubles.cells import obedient, ran

Learn = Callable[[Sequence[str]], None]
OURS, OTHERS = "account-of-the-house", "account-of-somebody"
AUTH, CONFIG = ".codex/auth.json", ".codex/config.toml"


def write(path: Path, text: str, at: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if at:
        os.utime(path, (at, at))
    return path


def token(account: str, number: int) -> str:
    claims = {"https://api.openai.com/auth": {"chatgpt_account_id": account}, "iat": number}
    middle = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{middle}.signature{number}"


def login(account: str = OURS, number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": None,
        "tokens": {
            "id_token": token(account, number),
            "access_token": token(account, number),
            "refresh_token": f"rt-{account}-{number}",
            "account_id": account,
        },
        "last_refresh": f"2026-04-{number:02}T09:00:00Z",
        **more,
    }


def in_tokens(**tokens: Any) -> dict[str, Any]:
    told = login(number=2)
    return {**told, "tokens": {**told["tokens"], **tokens}}


def given(profile: Profile, root: Path, home: Path, learn: Learn = lambda secrets: None) -> None:
    """The program is about to start in that HOME."""
    share(profile, Launch(home, home, login=root / "admin", learn=learn))


def shared_by(root: Path) -> Path:
    """An administrator's login; it is in the scopes a and b."""
    shared = write(root / "admin" / AUTH, json.dumps(login()), at=1000)
    for scope in ("a", "b"):
        (root / scope).mkdir()
        given(CODEX, root, root / scope)
    return shared


def text_in(root: Path, scope: str) -> str:
    """The scope's login at its next start."""
    given(CODEX, root, root / scope)
    return (root / scope / AUTH).read_text()


def test_each_scope_has_a_copy_of_the_login(tmp_path: Path) -> None:
    shared = shared_by(tmp_path)
    own = tmp_path / "a" / AUTH
    assert not own.is_symlink()
    assert own.stat().st_mode & 0o777 == 0o600
    own.write_text("no login at all")
    assert text_in(tmp_path, "b") == shared.read_text() == json.dumps(login())


@pytest.mark.parametrize("by_a_new_file", [False, True])
def test_a_renewal_is_there_for_all(tmp_path: Path, by_a_new_file: bool) -> None:
    shared = shared_by(tmp_path)
    shared.chmod(0o600)
    renewed = json.dumps(login(number=2))
    own = tmp_path / "a" / AUTH
    if by_a_new_file:
        write(tmp_path / "new", renewed).replace(own)
    else:
        own.write_text(renewed)
    assert text_in(tmp_path, "a") == shared.read_text() == text_in(tmp_path, "b") == renewed
    assert shared.stat().st_mode & 0o777 == 0o600
    before = shared.stat().st_mtime_ns
    text_in(tmp_path, "a")
    assert shared.stat().st_mtime_ns == before


NO_RENEWAL = {
    "another account": json.dumps(login(OTHERS, 2)),
    "another account's access": json.dumps(in_tokens(access_token=token(OTHERS, 2))),
    "another account's identity": json.dumps(in_tokens(id_token=token(OTHERS, 2))),
    "a token that names nobody": json.dumps(in_tokens(access_token="opaque")),
    "the account alone": json.dumps(in_tokens(account_id=OTHERS)),
    "no account": json.dumps({"OPENAI_API_KEY": "sk-somebody"}),
    "a key beside": json.dumps(login(number=2, base_url="http://evil.example")),
    "a key among the tokens": json.dumps(in_tokens(more="x")),
    "another API key": json.dumps(login(number=2, OPENAI_API_KEY="sk-somebody")),
    "a token of another kind": json.dumps(in_tokens(refresh_token=["x"])),
    "half of it": json.dumps(login(number=2))[:-9],
    "ATTACKERS": "ATTACKERS",
    "nothing": "",
    "a list": "[]",
    "too deep": "[" * 100_000,
    "too long": json.dumps(login(number=2)) + " " * 1_000_000,
    "no text": "\udcff",
}


@pytest.mark.parametrize("what", NO_RENEWAL)
def test_what_is_no_renewal_stays_in_its_scope(tmp_path: Path, what: str) -> None:
    shared = shared_by(tmp_path)
    (tmp_path / "a" / AUTH).write_bytes(NO_RENEWAL[what].encode(errors="surrogateescape"))
    text_in(tmp_path, "a") if what != "no text" else given(CODEX, tmp_path, tmp_path / "a")
    assert shared.read_text() == text_in(tmp_path, "b") == json.dumps(login())


def test_a_login_of_another_kind_is_never_taken_back(tmp_path: Path) -> None:
    """They name no account: a proxy for everybody's questions would be one line."""
    for profile, path in ((VIBE, ".vibe/.env"), (HERMES, ".hermes/.env")):
        shared = write(tmp_path / "admin" / path, "KEY=one\n", at=1000)
        home = tmp_path / profile.name
        home.mkdir()
        given(profile, tmp_path, home)
        (home / path).write_text("KEY=one\nHTTPS_PROXY=http://evil:1\n")
        given(profile, tmp_path, home)
        assert shared.read_text() == "KEY=one\n"
        assert "evil" in (home / path).read_text()


def test_every_renewal_names_its_account_and_a_shared_file() -> None:
    for profile in (CODEX, OPENCODE):
        for renewal in profile.setup.renewals:
            assert renewal.account
            assert renewal.file in profile.setup.logins


def test_an_agents_link_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    shared = shared_by(tmp_path)
    other = write(tmp_path / "other", json.dumps(login(number=2)))
    own = tmp_path / "a" / AUTH
    own.unlink()
    own.symlink_to(other)
    assert text_in(tmp_path, "a") == shared.read_text() == json.dumps(login())
    assert not own.is_symlink()
    assert json.loads(other.read_text()) == login(number=2)
    own.unlink()
    own.parent.rename(tmp_path / "a" / "elsewhere")
    own.parent.symlink_to("elsewhere")
    write(tmp_path / "a" / "elsewhere" / "auth.json", json.dumps(login(number=3)))
    with pytest.raises(NotADirectoryError):
        given(CODEX, tmp_path, tmp_path / "a")
    assert shared.read_text() == json.dumps(login())


def test_the_link_of_an_earlier_version_becomes_a_copy(tmp_path: Path) -> None:
    shared = write(tmp_path / "admin" / AUTH, json.dumps(login()))
    own = tmp_path / "a" / AUTH
    own.parent.mkdir(parents=True)
    own.symlink_to(shared)
    assert text_in(tmp_path, "a") == shared.read_text()
    own.write_text("its own")
    assert shared.read_text() == json.dumps(login())


def test_a_newer_login_of_the_administrator_counts(tmp_path: Path) -> None:
    shared = shared_by(tmp_path)
    write(tmp_path / "a" / AUTH, json.dumps(login(number=2)), at=2000)
    write(shared, json.dumps(login(number=3)), at=3000)
    assert text_in(tmp_path, "a") == shared.read_text() == json.dumps(login(number=3))


@pytest.mark.skipif(os.geteuid() != 0, reason="who gives accounts away is root")
def test_after_a_renewal_the_program_can_still_read_its_copy(tmp_path: Path) -> None:
    shared = shared_by(tmp_path)
    own = write(tmp_path / "a" / AUTH, json.dumps(login(number=2)))
    for path in (own.parent, own):
        os.chown(path, 57_000, 57_000)
    text_in(tmp_path, "a")
    assert shared.read_text() == json.dumps(login(number=2))
    assert (own.stat().st_uid, own.stat().st_gid) == (57_000, 57_000)


def test_a_time_that_has_not_come_makes_no_login_the_newest(tmp_path: Path) -> None:
    shared = shared_by(tmp_path)
    write(tmp_path / "a" / AUTH, json.dumps(login(number=2)), at=int(time.time()) + 100_000)
    text_in(tmp_path, "a")
    assert shared.read_text() == json.dumps(login())


def test_a_fifo_in_the_logins_place_holds_nothing_up(tmp_path: Path) -> None:
    shared = shared_by(tmp_path)
    own = tmp_path / "a" / AUTH
    own.unlink()
    os.mkfifo(own)
    assert text_in(tmp_path, "a") == shared.read_text()


def test_an_administrators_own_link_stays(tmp_path: Path) -> None:
    real = write(tmp_path / "dotfiles" / "auth.json", json.dumps(login()), at=1000)
    (tmp_path / "admin" / ".codex").mkdir(parents=True)
    (tmp_path / "admin" / AUTH).symlink_to(real)
    (tmp_path / "a").mkdir()
    text_in(tmp_path, "a")
    (tmp_path / "a" / AUTH).write_text(json.dumps(login(number=2)))
    text_in(tmp_path, "a")
    assert (tmp_path / "admin" / AUTH).is_symlink()
    assert json.loads(real.read_text()) == login(number=2)


def test_settings_are_copied_and_the_program_writes_into_its_own(tmp_path: Path) -> None:
    shared = write(tmp_path / "admin" / CONFIG, "theme = 1", at=1000)
    (tmp_path / "a").mkdir()
    given(CODEX, tmp_path, tmp_path / "a")
    own = tmp_path / "a" / CONFIG
    own.write_text("its own")
    given(CODEX, tmp_path, tmp_path / "a")
    assert (own.read_text(), shared.read_text()) == ("its own", "theme = 1")
    write(shared, "newer", at=int(own.stat().st_mtime) + 10)
    given(CODEX, tmp_path, tmp_path / "a")
    assert own.read_text() == "newer"


def test_what_is_not_there_is_left_out(tmp_path: Path) -> None:
    given(CODEX, tmp_path, tmp_path / "a")
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "admin").exists()


def test_the_tokens_of_a_login_and_of_its_renewal_are_told(tmp_path: Path) -> None:
    shared_by(tmp_path)
    told: list[str] = []
    given(CODEX, tmp_path, tmp_path / "a", told.extend)
    (tmp_path / "a" / AUTH).write_text(json.dumps(login(number=2)))
    given(CODEX, tmp_path, tmp_path / "a", told.extend)
    given(VIBE, tmp_path, tmp_path / "a", told.extend)
    for number in (1, 2):
        assert {token(OURS, number), f"rt-{OURS}-{number}"} <= set(told)
    write(tmp_path / "admin" / ".vibe/.env", "MISTRAL_API_KEY='abcdefgh12345678'\nPORT=80\n")
    told.clear()
    given(VIBE, tmp_path, tmp_path / "a", told.extend)
    assert told == ["abcdefgh12345678"]


async def test_an_agent_that_replaces_its_login_changes_nobody_elses(tmp_path: Path) -> None:
    """Two agents with a shell, as sessions run them; the second begins when the first has ended."""
    shared = write(tmp_path / "admin" / AUTH, json.dumps(login()), at=1000)
    admin = tmp_path / "admin"
    setup = replace(CODEX.setup, at_least="")  # the program is another
    for given, expected in ((login(OTHERS, 2), login()), (login(number=2), login(number=2))):
        write(tmp_path / "given", json.dumps(given))
        first = obedient(tmp_path / "first", None, login=admin, setup=setup)
        await ran(first, f"rm ~/{AUTH}; cat {tmp_path}/given > ~/{AUTH}; echo done")
        await first.close()
        second = obedient(tmp_path / "second", None, login=admin, setup=setup)
        said = await ran(second, f"cat ~/{AUTH}")
        await second.close()
        assert json.loads(shared.read_text()) == expected
        assert expected["tokens"]["refresh_token"] in said.replace(" | ", "")
