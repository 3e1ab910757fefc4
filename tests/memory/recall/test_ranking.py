"""How entries are found in memory, and in which order."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from memory.recall.inverted_index import (
    CHOSEN,
    EXACT,
    CosineIndex,
    IndexedText,
    InvertedIndex,
    one_slip,
)
from memory.recall.question import question
from memory.recall.ranking import rank
from memory.recall.words import entry_terms

NOW = datetime(2026, 4, 15, 12, 0, tzinfo=UTC)


def row(
    number: int, text: str, person: str = "", source: str = "s", days: int = 0, order: int = 0
) -> IndexedText:
    at = NOW - timedelta(days=days)
    found = Counter(entry_terms(text, person))
    length = sum(times for term, times in found.items() if term[0] != "@")
    times = bytes(found.values())
    return IndexedText(
        number, order or number, source, at.toordinal(), length, " ".join(found), times
    )


def lexicon(rows: Sequence[IndexedText]) -> InvertedIndex:
    made = InvertedIndex()
    made.extend(rows)
    return made


def found(rows: InvertedIndex, text: str, limit: int = 10) -> list[int]:
    """Numbers of what is found, best first."""
    return [rows.numbers[one.place] for one in rank(rows, question(text, NOW), limit)]


def test_the_person_whom_the_question_names_comes_first() -> None:
    rows = lexicon(
        [
            row(1, "I like cheese very much", "Budi", "a"),
            row(2, "I like cheese", "Carol", "b"),
            row(3, "cheese is not for me, Carol", "Andi", "c"),
        ]
    )
    assert found(rows, "which cheese does Carol like?")[0] == 2


def test_a_question_for_a_name_prefers_who_tells_one() -> None:
    rows = lexicon(
        [
            row(1, "the bakery is nice", source="a"),
            row(2, "the bakery is in Lisbon", source="b"),
        ]
    )
    assert found(rows, "where is the bakery?")[0] == 2
    assert found(rows, "how is the bakery?")[0] == 1


def test_a_question_for_a_time_prefers_who_speaks_of_one() -> None:
    rows = lexicon(
        [row(1, "the concert was loud", source="a"), row(2, "the concert is on Friday", source="b")]
    )
    assert found(rows, "when is the concert?")[0] == 2
    assert found(rows, "how was the concert?")[0] == 1


def test_the_date_that_a_question_names_decides_between_equals() -> None:
    rows = lexicon([row(n, "we deployed the gateway", source=str(n), days=n) for n in range(1, 6)])
    assert found(rows, "what was deployed on April 12?")[0] == 3
    assert found(rows, "did we deploy yesterday?")[0] == 1


def test_neighbours_are_those_of_the_same_source_by_their_order() -> None:
    rows = lexicon(
        [
            row(1, "the violin concert", source="a", order=1),
            row(2, "nothing to see", source="b", order=2),
            row(3, "it was wonderful", source="a", order=9),
            row(4, "came late", source="a", order=5),
        ]
    )
    assert found(rows, "violin") == [1, 4, 3]


def test_neighbours_close_ranks_when_one_between_them_is_removed() -> None:
    rows = lexicon([row(1, "violin"), row(2, "hm"), row(3, "aha"), row(4, "bye")])
    assert found(rows, "violin") == [1, 2, 3]
    rows.remove(2)
    rows.remove(2)
    assert found(rows, "violin") == [1, 3, 4]
    rows.remove(1)
    assert found(rows, "violin") == []


def test_what_is_removed_is_as_if_it_had_never_been() -> None:
    texts = ["alpha beta", "beta gamma gamma", "gamma delta", "delta alpha", "omega"]
    whole = lexicon([row(n, text) for n, text in enumerate(texts, 1)])
    whole.extend([row(9, "beta beta omega")])
    whole.remove(9)
    plain = lexicon([row(n, text) for n, text in enumerate(texts, 1)])
    for text in ("alpha", "beta gamma", "omega delta", "beta omega"):
        first = [(one.place, one.score) for one in rank(whole, question(text, NOW), 9)]
        assert first == [(one.place, one.score) for one in rank(plain, question(text, NOW), 9)]


def test_a_lexicon_with_many_empty_places_is_worn() -> None:
    rows = lexicon([row(n, "word") for n in range(1, 201)])
    for number in range(1, 101):
        rows.remove(number)
    assert rows.worn
    assert not lexicon([row(1, "word")]).worn


def test_one_common_word_of_many_is_not_enough() -> None:
    rows = lexicon([row(n, f"the server answers request{n}", source="") for n in range(20)])
    assert found(rows, "server request3")[0] == 3
    assert found(rows, "does my grandmother's oven from Belgium have a server hatch") == []


def test_an_empty_lexicon_finds_nothing() -> None:
    assert found(InvertedIndex(), "anything") == []


@pytest.mark.parametrize("meant", ["violin", "vioiln", "vilin", "violiin", "vialin", "violinist"])
def test_a_slip_or_a_kindred_word_finds_too(meant: str) -> None:
    rows = lexicon([row(1, "she plays the violin", source="a"), row(2, "a violet", source="b")])
    assert found(rows, meant)[0] == 1


def test_a_word_that_is_known_is_not_taken_for_another() -> None:
    rows = lexicon([row(1, "violet flowers", source="a"), row(2, "violent weather", source="b")])
    assert found(rows, "violet") == [1]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("token", "token", True),
        ("token", "tokn", True),
        ("token", "tokken", True),
        ("token", "tocen", True),
        ("token", "tokne", True),
        ("token", "tokens!", False),
        ("token", "nekot", False),
        ("ab", "ba", True),
    ],
)
def test_one_slip_is_one_letter(one: str, other: str, expected: bool) -> None:
    assert one_slip(one, other) is one_slip(other, one) is expected


def test_meaning_alone_makes_a_hit_only_when_it_is_near() -> None:
    rows = lexicon([row(1, "the automobile", source="a"), row(2, "the bread", source="b")])
    near = np.array([0.7, 0.1], np.float32)
    hits = rank(rows, question("cars", NOW), 5, lambda _: (np.arange(2, dtype=np.int32), near))
    assert [rows.numbers[hit.place] for hit in hits] == [1]


def test_the_bits_find_what_comparing_all_finds() -> None:
    chance = np.random.default_rng(7)
    vectors = chance.normal(size=(EXACT + 2000, 128)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = vectors[5] + 0.05 * chance.normal(size=128).astype(np.float32)
    asked /= np.linalg.norm(asked)
    likeness = CosineIndex(128)
    likeness.grow(len(vectors))
    likeness.put(range(len(vectors)), vectors)
    exact = vectors @ asked
    places, cosines = likeness.of(asked, np.array([9], np.int32))
    assert places[cosines.argmax()] == exact.argmax() == 5
    assert cosines == pytest.approx(exact[places], abs=1e-2)
    assert 9 in places
    assert CHOSEN <= len(places) < 2 * CHOSEN
    assert len({*np.argsort(-exact)[:10].tolist()} & {*places.tolist()}) >= 9
