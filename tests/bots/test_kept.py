"""A value on disk over a restart."""

import asyncio
import logging
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from bots.kit.cursor import JsonState


class Mark(BaseModel):
    page: int


def kept(folder: Path) -> JsonState[Mark]:
    return JsonState(folder / "own" / "mark.json", Mark)


async def test_what_was_saved_is_there_for_the_next_process(tmp_path: Path) -> None:
    assert kept(tmp_path).read() is None
    await kept(tmp_path).save(Mark(page=7))
    assert kept(tmp_path).read() == Mark(page=7)
    assert [entry.name for entry in (tmp_path / "own").iterdir()] == ["mark.json"]


async def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    await kept(tmp_path).save(Mark(page=7))
    assert (tmp_path / "own" / "mark.json").stat().st_mode & 0o777 == 0o600


async def test_the_last_of_many_calls_wins(tmp_path: Path) -> None:
    mark = kept(tmp_path)
    await asyncio.gather(*(mark.save(Mark(page=page)) for page in range(50)))
    assert mark.read() == Mark(page=49)


async def test_what_stands_there_is_not_written_again(tmp_path: Path) -> None:
    mark = kept(tmp_path)
    await mark.save(Mark(page=7))
    mark.path.unlink()
    await mark.save(Mark(page=7))
    assert not mark.path.exists()
    await mark.save(Mark(page=8))
    assert mark.read() == Mark(page=8)


def test_a_damaged_file_is_told_without_its_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mark = kept(tmp_path)
    mark.path.parent.mkdir()
    mark.path.write_text('{"page": "secret"}')
    with pytest.raises(ValidationError):
        mark.read()
    with caplog.at_level(logging.WARNING):
        assert mark.load(otherwise="it begins again") is None
    assert "mark.json can't be read (ValidationError): it begins again" in caplog.text
    assert "secret" not in caplog.text


async def test_a_disk_that_fails_is_told_once_until_it_works_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mark, place = kept(tmp_path), tmp_path / "own"
    for again in (1, 2):
        place.write_text("a file, where the folder should be")
        assert [await mark.keep(Mark(page=page + again)) for page in range(0, 30, 10)] == [
            False
        ] * 3
        assert caplog.text.count("cursor.not_kept") == again
        place.unlink()
        assert await mark.keep(Mark(page=100 + again))
        (place / "mark.json").unlink()
        place.rmdir()
