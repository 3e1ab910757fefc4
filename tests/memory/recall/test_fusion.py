"""Seats for what is plainly more alike in meaning than all else."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memory.recall.fusion import Alike, Place
from memory.recall.fusion import seated as seated_by
from memory.recall.index import AGENT
from memory.recall.vectors import SqliteVectors

NOW = datetime(2026, 4, 15, 12, 0, tzinfo=UTC)

RANKED = {number: Place(1 - number / 10, 0.4) for number in range(1, 6)}
SIZE = 500
Cosines = Sequence[tuple[float, int]]
CROWD = [(0.2, number) for number in range(20, 40)]


def seated(ranked: Mapping[int, Place], cosines: Cosines, size: int) -> dict[int, Place]:
    """Where no two say the same."""
    return seated_by(ranked, [Alike(cosine, number, number) for cosine, number in cosines], size)


def test_what_stands_clear_comes_right_after_the_best() -> None:
    made = seated(RANKED, [(0.5, 11), (0.4, 12), *CROWD], SIZE)
    assert list(made) == [1, 2, 11, 12, 3, 4, 5]
    scores = [place.score for place in made.values()]
    assert scores == sorted(scores, reverse=True)
    assert made[11].bearing > made[12].bearing > made[1].bearing == RANKED[1].bearing


def test_an_entry_of_the_other_ranking_moves_up_or_stays() -> None:
    assert list(seated(RANKED, [(0.5, 5), (0.4, 1), *CROWD], SIZE)) == [1, 2, 5, 3, 4]


def test_what_is_alike_to_many_has_no_seat() -> None:
    crowd = [(0.5 - number / 500, number) for number in range(10, 40)]
    assert seated(RANKED, crowd, SIZE) == RANKED
    assert seated({}, crowd, SIZE) == {}


def test_the_best_of_what_is_hardly_alike_has_none() -> None:
    assert seated(RANKED, [(0.19, 11), (0.01, 12)], SIZE) == RANKED


def test_without_any_word_in_common_the_likeness_is_the_score() -> None:
    made = seated({}, [(0.6, 11), (0.3, 12), (0.05, 13)], SIZE)
    assert [(number, place.score) for number, place in made.items()] == [(11, 0.6), (12, 0.3)]


def test_there_are_three_seats() -> None:
    alike = [(0.9 - number / 100, number) for number in range(50, 55)]
    assert list(seated({}, [*alike, *CROWD], SIZE)) == [50, 51, 52]


def test_those_that_say_the_same_share_a_seat_and_its_newest_has_it_too() -> None:
    same = [Alike(0.9, 50, 50), *(Alike(0.9 - n / 100, 50 + n, 50) for n in range(1, 15))]
    others = [Alike(0.7, 80, 80), Alike(0.6, 81, 81), Alike(0.5, 82, 82)]
    assert list(seated_by({}, [*same, *others], SIZE)) == [50, 64, 80, 81]


def test_among_more_entries_it_has_to_stand_clearer() -> None:
    alike = [(0.3, 11), *CROWD]
    assert 11 in seated(RANKED, alike, 60)
    assert 11 not in seated(RANKED, alike, 2000)


def test_what_changed_a_seats_entry_is_found_with_it(tmp_path: Path) -> None:
    store = SqliteVectors(tmp_path / "index.db", lambda: NOW, dense=True)
    said = {
        "Marcus is responsible for the payment module": [1.0, 0.0, 0.0, 0.0],
        "the weather is fine": [0.0, 1.0, 0.0, 0.0],
        "Marcus no longer looks after the payment module, Olivia does": [0.0, 0.0, 1.0, 0.0],
    }
    payloads = [
        {
            "entry": text.replace(" ", "_"),
            "user_id": "room:a",
            "data": text,
            "at": NOW.isoformat(),
            "order": order,
            "person": "",
            "source": "",
            "skip": 0,
        }
        for order, text in enumerate(said)
    ]
    store.insert(list(said.values()), payloads)
    filters = {"agent_id": AGENT, "$or": [{"user_id": "room:a"}]}
    found = store.search("whose job is money coming in", [0.3, 0.0, 0.0, 0.95], 80, filters)
    store.close()
    assert [(one.payload["by_change"], one.id[:16]) for one in found] == [
        (False, "Marcus_is_respon"),
        (True, "Marcus_no_longer"),
    ]
