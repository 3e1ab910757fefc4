"""Landmarks: pinned by people, numbered once, shown where they were pinned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from contract.chat import Deleted, Room
from memory.landmarks import Landmarks, NewLandmark
from memory.layers import BriefRequest
from memory.scopes import Invocation, ScopeError
from store.database import Store
from store.transcript import Transcript
from tests.doubles.platform import ROOM, said

AT = datetime(2026, 4, 10, 20, 30, tzinfo=UTC)
JAKARTA = ZoneInfo("Asia/Jakarta")  # UTC+7: the next day already


def new(text: str, scope: str = "room:fake:general", **more: object) -> NewLandmark:
    values = {
        "scope": scope,
        "kind": "decision",
        "text": text,
        "by_id": "fake:budi",
        "by_name": "Budi",
        "message_seq": 1,
        "at": AT,
        **more,
    }
    return NewLandmark(**values)  # type: ignore[arg-type]


def ask(room: Room = ROOM) -> BriefRequest:
    return BriefRequest(Invocation(room, "fake:ash", "demo"), "what did we decide?", AT)


async def test_the_newest_ten_are_shown_oldest_first_in_the_zone_of_the_header(
    tmp_path: Path,
) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        landmarks = Landmarks(store, JAKARTA)
        for number in range(12):
            await landmarks.pin(new(f"decision {number}", at=AT + timedelta(minutes=number)))
        shown = (await landmarks.brief(ask())).landmarks
    assert [item.text for item in shown] == [f"decision {number}" for number in range(2, 12)]
    assert {item.date for item in shown} == {"2026-04-11"}
    assert {item.by for item in shown} == {"Budi"}


async def test_another_rooms_landmarks_are_neither_shown_nor_unpinned(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        landmarks = Landmarks(store, UTC)
        pinned = await landmarks.pin(new("theirs", "room:fake:genera"))
        assert (await landmarks.brief(ask())).landmarks == ()
        assert await landmarks.listed("room:fake:general") == []
        assert await landmarks.unpin("room:fake:general", pinned.seq) is None
        assert await landmarks.listed("room:fake:genera") == [pinned]


async def test_a_number_is_never_given_twice(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        landmarks = Landmarks(store, UTC)
        first = await landmarks.pin(new("one"))
        assert await landmarks.unpin(first.scope, first.seq) == first
        assert await landmarks.unpin(first.scope, first.seq) is None
        assert (await landmarks.pin(new("two"))).seq > first.seq


async def test_the_same_pin_of_the_same_message_is_one(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        landmarks = Landmarks(store, UTC)
        first = await landmarks.pin(new("one"))
        assert await landmarks.pin(new("one")) == first
        assert await landmarks.pin(new("one", message_seq=2)) != first


async def test_what_is_pinned_by_a_reply_goes_with_its_message(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        transcript, landmarks = Transcript(store), Landmarks(store, UTC)
        message = said("we rotate tokens", message_id="m1")
        seq, _ = await store.write(lambda c: transcript.add(c, message, "room:x", 0, AT))
        await landmarks.pin(new("we rotate tokens", message_seq=seq, author_id="fake:ash"))
        await landmarks.pin(new("typed", message_seq=seq))
        await transcript.delete(Deleted(ROOM, "m1"), AT)
        assert [item.text for item in (await landmarks.brief(ask())).landmarks] == ["typed"]


async def test_a_scope_that_is_none_is_refused(tmp_path: Path) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        with pytest.raises(ScopeError):
            await Landmarks(store, UTC).pin(new("x", "room:*"))
