"""Whatever ends a command is one sentence with its remedy, and exit code 2: no traceback."""

import asyncio
import errno
import io
import os
import sqlite3
import sys
from pathlib import Path

import pytest

from contract.errors import ConfigError
from contract.refusals import SAYS
from gateway.cli.door import ended, sentence
from store.database import Store
from tests.gateway.conftest import Typed


def database(folder: Path) -> Path:
    """Moot's database of today."""
    (folder / "data").mkdir()
    file = folder / "data" / "moot.db"

    async def make() -> None:
        async with Store.open(f"sqlite:///{file}"):
            pass

    asyncio.run(make())
    return file


@pytest.mark.parametrize(
    "words",
    [
        ("memory", "list"),
        ("access", "list"),
        ("sessions",),
        ("token",),
        ("pair",),
        ("agents", "demo"),
        ("check", "--offline"),
        ("invite", "Ada"),
    ],
)
def test_a_data_folder_that_is_a_file(typed: Typed, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "data").write_text("")
    code, told = typed(*words)
    assert code == 2
    assert f"[gateway] data_dir: {tmp_path}/data can't be used, as it is a file" in told
    assert "move it away, or name another folder in moot.toml" in told


@pytest.mark.parametrize("words", [("memory", "list"), ("check", "--offline")])
def test_a_data_folder_that_cannot_be_made(
    typed: Typed, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "moot.toml").write_text('[gateway]\ndata_dir = "/proc/moot"\n')
    code, told = typed(*words)
    assert code == 2
    assert "[gateway] data_dir: /proc/moot can't be used" in told


def test_a_database_that_another_program_has_locked(typed: Typed, tmp_path: Path) -> None:
    file = database(tmp_path)
    with sqlite3.connect(file, isolation_level=None) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        for words in (("access", "list"), ("audit", "verify")):
            code, told = typed(*words)
            assert code == 2
            assert f"{file}: another program has locked it; end that one" in told
    other.close()


@pytest.mark.parametrize("words", [("access", "list"), ("audit", "show"), ("check", "--offline")])
@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE alembic_version SET version_num = '0999'", "start the newer Moot that made it"),
        ("UPDATE alembic_version SET version_num = 'a9b8c7'", "is another program's"),
        ("DROP TABLE alembic_version", "holds another program's tables"),
    ],
)
def test_a_database_that_is_not_of_this_moot(
    typed: Typed, tmp_path: Path, words: tuple[str, ...], statement: str, says: str
) -> None:
    with sqlite3.connect(database(tmp_path)) as other:
        other.execute(statement)
    other.close()
    code, told = typed(*words)
    assert (code, says in told) == (2, True), told


@pytest.mark.parametrize("words", [("access", "list"), ("audit", "show"), ("check", "--offline")])
def test_a_database_that_is_none(typed: Typed, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "moot.db").write_text("no database, but long enough to look like one" * 99)
    code, told = typed(*words)
    assert (code, "is not a SQLite database; move it away" in told) == (2, True), told
    (tmp_path / "data" / "moot.db").unlink()
    (tmp_path / "data" / "moot.db").mkdir()
    code, told = typed(*words)
    assert (code, "this is a folder; name a file in it" in told) == (2, True), told


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgres://a:b@h/m", "moot.toml:2: store.url: Moot doesn't know postgres://; write"),
        ("postgresql+psycopg2://a@h/m", "write postgresql+asyncpg://"),
        ("mysql://a@h/m", "Moot doesn't know mysql://; write sqlite:"),
        ("sqllite:///m.db", "did you mean sqlite://?"),
        ("/var/lib/moot.db", "this is not a database's address; write sqlite:"),
        ("postgresql://a:b@h:many/m", "this is not a database's address"),
        ("sqlite://moot.db", "write sqlite:///moot.db"),
    ],
)  # fmt: skip
def test_a_database_address_that_is_none(typed: Typed, tmp_path: Path, url: str, says: str) -> None:
    (tmp_path / "moot.toml").write_text(f'[store]\nurl = "{url}"\n')
    for words in (("check", "--offline"), ("memory", "list")):
        code, told = typed(*words)
        assert (code, says in told) == (2, True), told


def test_a_database_server_that_is_away(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text('[store]\nurl = "postgresql://a:pas5word@127.0.0.1:9/m"\n')
    for words in (("check", "--offline"), ("access", "list")):
        code, told = typed(*words)
        assert code == 2
        assert "127.0.0.1:9: no PostgreSQL listens there; start it" in told
        assert "pas5word" not in told


def test_a_folder_that_was_removed_under_ones_feet(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    code, told = typed("check", "--offline")
    assert code == 2
    assert told.startswith("moot: the folder that you are in was removed, or can't be read; go to")
    assert len(told.splitlines()) == 1


def test_what_was_asked_for_by_its_own_name_is_shown_in_full(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    code = ended(ZeroDivisionError("by 0"), str, debug=False)
    err = capsys.readouterr().err
    assert code == 2
    assert err.startswith("moot: this is a fault of Moot's own (ZeroDivisionError: by 0); please")
    assert len(err.splitlines()) == 1
    assert ended(ZeroDivisionError("by 0"), str, debug=True) == 2
    assert "ZeroDivisionError: by 0" in capsys.readouterr().err


def test_the_errors_of_several_tasks_are_told_once_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    group = ExceptionGroup("tasks", [ConfigError("a: b"), ExceptionGroup("t", [ConfigError("c")])])
    assert ended(ExceptionGroup("x", [group, ConfigError("c")]), str, debug=False) == 2
    assert capsys.readouterr().err == "moot: a: b\nmoot: c\n"


def test_ctrl_c_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(KeyboardInterrupt(), str, debug=False) == 130
    assert ended(BaseExceptionGroup("t", [KeyboardInterrupt(), OSError()]), str, debug=True) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("number", sorted(SAYS))
def test_what_the_system_refuses_is_told_with_a_remedy(number: int) -> None:
    said = sentence(OSError(number, os.strerror(number), "/srv/x"))
    assert said.startswith("/srv/x: ")
    assert ";" in said
    assert os.strerror(number) not in said


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ModuleNotFoundError("No module named 'x'", name="x"), "the library x is missing"),
        (RuntimeError("Could not determine home directory."), "set HOME"),
        (UnicodeEncodeError("ascii", "é", 0, 1, "no"), "LANG=C.UTF-8"),
        (TimeoutError(), "it doesn't answer"),
        (OSError(errno.EBADF, "Bad file descriptor"), "Bad file descriptor"),
    ],
)
def test_what_comes_from_outside_has_words_here(error: Exception, says: str) -> None:
    assert says in sentence(error)


def test_letters_that_a_terminal_has_not_are_told_by_their_numbers(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    typed("doctor", "--offline")
    sys.stdout.flush()
    assert b"\\u2713 machine" in raw.getvalue()
