"""A value that a bot keeps over a restart."""

import asyncio
import logging
from pathlib import Path

import pytest
from pydantic import BaseModel

from bots.kit.cursor import State
from contract.errors import ConfigError
from tests.doubles.bot_setup import FileStates


class Mark(BaseModel):
    page: int


def kept(folder: Path) -> State[Mark]:
    return State(FileStates(folder / "own"), "mark", Mark)


async def test_what_was_saved_is_there_for_the_next_process(tmp_path: Path) -> None:
    assert await kept(tmp_path).demand() is None
    await kept(tmp_path).save(Mark(page=7))
    assert await kept(tmp_path).demand() == Mark(page=7)


async def test_the_last_of_many_calls_wins(tmp_path: Path) -> None:
    mark = kept(tmp_path)
    await asyncio.gather(*(mark.save(Mark(page=page)) for page in range(50)))
    assert await mark.demand() == Mark(page=49)


async def test_what_stands_there_is_not_written_again(tmp_path: Path) -> None:
    states = FileStates(tmp_path)
    mark = State(states, "mark", Mark)
    for page in (7, 7, 8):
        await mark.save(Mark(page=page))
    assert len(states.written) == 2
    assert await mark.demand() == Mark(page=8)


async def test_a_damaged_value_is_told_without_its_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mark = kept(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mark.json").write_text('{"page": "secret"}')
    with pytest.raises(ConfigError, match="delete it"):
        await mark.demand()
    with caplog.at_level(logging.WARNING):
        assert await mark.load(otherwise="the bot begins again") is None
    assert "mark of the bot can't be read" in caplog.text
    assert "the bot begins again" in caplog.text
    assert "secret" not in caplog.text


async def test_a_store_that_fails_is_told_once_until_it_works_again(
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
