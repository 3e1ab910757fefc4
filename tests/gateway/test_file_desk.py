"""Which files an agent may hand over to a room."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.core.redaction import Redactor
from gateway.mcp.file_desk import MOST_FILES, PIECE_CHARS, FileDesk, NotTaken, SessionFiles
from gateway.mcp.tools import NO_TURN, send_file

KEY = "sk-ant-api03-9f8e7d6c5b4a39281706"
MOST = 200_000


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name in ("work", "home/.claude", "kept", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work" / "plot.csv").write_text("a,b\n1,2\n")
    (tmp_path / "elsewhere" / "secret.txt").write_text("not yours")
    return tmp_path / "work"


def desk(work: Path) -> FileDesk:
    folder = work.parent
    return FileDesk(SessionFiles(work, folder / "home"), folder / "kept", MOST, Redactor([KEY]))


async def refused(work: Path, path: str) -> str:
    taking, before = desk(work), list((work.parent / "kept").iterdir())
    with pytest.raises(NotTaken) as caught:
        await taking.take(path)
    assert taking.taken == []
    assert list((work.parent / "kept").iterdir()) == before
    return str(caught.value)


async def test_a_file_is_kept_as_it_was_when_it_was_handed_over(work: Path) -> None:
    taking = desk(work)
    said = await taking.take("plot.csv", f"See\n{KEY} [RECALL] this")
    (work / "plot.csv").write_text("changed")
    assert said == "plot.csv (8 bytes) is posted with your answer."
    (handed,) = taking.taken
    assert (handed.file.name, handed.file.mime, handed.file.size_bytes) == (
        "plot.csv", "text/csv", 8,
    )  # fmt: skip
    assert "sk-ant" not in handed.comment
    assert "\n" not in handed.comment
    kept = Path(handed.file.path or "")
    assert kept.read_text() == "a,b\n1,2\n"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("code", ["utf-16", "utf-16-be", "utf-32"])
async def test_a_file_of_wide_characters_holds_a_secret_as_well(work: Path, code: str) -> None:
    (work / "wide.txt").write_bytes(f"the key is {KEY}\n".encode(code))
    assert "holds a secret" in await refused(work, "wide.txt")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder to another account")
async def test_a_hard_link_to_what_the_account_may_not_read_is_not_sent(work: Path) -> None:
    os.chown(work, 12_345, 12_345)
    os.link(work.parent / "elsewhere" / "secret.txt", work / "mine.txt")
    assert "another account's file" in await refused(work, "mine.txt")
    (work / "own.txt").write_text("own")
    os.chown(work / "own.txt", 12_345, 12_345)
    os.link(work / "own.txt", work / "again.txt")
    assert "is posted" in await desk(work).take("again.txt")


async def test_the_same_file_twice_is_one_and_a_changed_one_another(work: Path) -> None:
    taking = desk(work)
    await taking.take("plot.csv")
    assert "already" in await taking.take(str(work / "plot.csv"))
    (work / "plot.csv").write_text("new")
    await taking.take("plot.csv")
    assert len(taking.taken) == 2


async def test_links_that_stay_inside_are_followed_and_those_that_lead_out_are_not(
    work: Path,
) -> None:
    (work / "inside").symlink_to("plot.csv")
    taking = desk(work)
    await taking.take("inside")
    assert taking.taken[0].file.name == "inside"
    (work / "out").symlink_to(work.parent / "elsewhere" / "secret.txt")
    (work / "folder").symlink_to(work.parent / "elsewhere")
    for path in ("out", "folder/secret.txt", "../elsewhere/secret.txt", "/etc/passwd"):
        assert "only files in your working directory" in await refused(work, path)


async def test_a_link_that_is_put_there_between_two_looks_does_not_lead_out(work: Path) -> None:
    """`resolve` is asked first, the file is opened later: what counts is what was opened."""
    swapped = work / "swapped"
    swapped.write_text("fine")

    class Swapping(SessionFiles):
        def _read(self, path: Path, root: Path, most_bytes: int) -> bytes:
            swapped.unlink()
            swapped.symlink_to(work.parent / "elsewhere" / "secret.txt")
            return super()._read(path, root, most_bytes)

    folder = work.parent
    files = Swapping(work, folder / "home")
    taking = FileDesk(files, folder / "kept", MOST, str)
    with pytest.raises(NotTaken):
        await taking.take("swapped")


async def test_what_is_no_plain_file_of_the_right_size_is_refused(work: Path) -> None:
    (work / "big").write_bytes(b"x" * (MOST + 1))
    (work / "empty").touch()
    os.mkfifo(work / "pipe")
    assert "is too large: 200,000 bytes are the most here" in await refused(work, "big")
    assert "is empty" in await refused(work, "empty")
    assert "can't be read" in await refused(work, "pipe")
    assert "can't be read" in await refused(work, ".")
    assert "there is no file gone.txt" in await refused(work, "gone.txt")
    assert "name a file" in await refused(work, " ")
    assert "name a file" in await refused(work, "a\0b")


async def test_what_holds_a_secret_is_refused_wherever_it_stands_in_it(work: Path) -> None:
    (work / "env").write_text(f"KEY={KEY}\n")
    (work / "long").write_text("x" * (PIECE_CHARS - 5) + KEY)
    for name in ("env", "long"):
        assert "holds a secret" in await refused(work, name)


async def test_of_its_home_only_what_is_not_hidden_can_be_sent(work: Path) -> None:
    home = work.parent / "home"
    (home / "notes.md").write_text("x")
    (home / ".claude" / "credentials.json").write_text("{}")
    taking = desk(work)
    await taking.take("~/notes.md")
    await taking.take(str(home / "notes.md"))
    assert len(taking.taken) == 1
    assert "hidden" in await refused(work, "~/.claude/credentials.json")


async def test_there_is_a_most_of_files(work: Path) -> None:
    taking = desk(work)
    for number in range(MOST_FILES):
        (work / f"{number}.txt").write_text(str(number))
        await taking.take(f"{number}.txt")
    with pytest.raises(NotTaken, match="the most for one answer"):
        await taking.take("plot.csv")


async def test_the_tool_answers_in_sentences(work: Path) -> None:
    sent = await send_file({"path": "plot.csv"}, desk(work))
    assert (sent.failed, sent.text) == (False, "plot.csv (8 bytes) is posted with your answer.")
    assert (await send_file({"path": "plot.csv"}, None)).text == NO_TURN
    wrong = await send_file({"file": "plot.csv"}, desk(work))
    assert wrong.failed
    assert "path" in wrong.text
