"""What a merged sentence may not lose, and may not add."""

from __future__ import annotations

import pytest

from memory.consolidation.key_terms import invented, lost, normalised


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["Andi prefers tea", "Andi prefers green tea"], "Andi prefers green tea"),
        (["Tokens expire after 15 minutes."], "The tokens expire after 15 minutes"),
        (["Budi's laptop is slow"], "The laptop of Budi is slow"),
        (["They don't use Redis"], "They do not use Redis"),
        (["uses `npm run build`", "builds with npm"], "uses `npm run build`; builds with npm"),
        (["Deploys run on 2026-04-15", "deploys need approval"],
         "Deploys run on 2026-04-15 and need approval"),
        (["Andi はお茶が好き"], "Andi はお茶が好きです"),
        (["a race-condition bug"], "a bug: a race condition"),
        (["users complained"], "the user complains"),
    ],
)  # fmt: skip
def test_nothing_is_lost(old: list[str], new: str) -> None:
    assert lost(old, new) == frozenset()


@pytest.mark.parametrize(
    ("old", "new", "missing"),
    [
        (["expires after 15 minutes"], "expires after 150 minutes", "15"),
        (["expires after 15 minutes"], "expires after some minutes", "15"),
        (["decided on 2026-04-15"], "decided in April", "2026-04-15"),
        (["Andi and Budi agreed"], "Andi agreed", "budi"),
        (["does not use Redis"], "uses Redis", "not"),
        (["They don't use Redis"], "They use Redis", "not"),
        (["reads /etc/moot.toml"], "reads moot.toml", "/etc/moot.toml"),
        (["calls `compose()`"], "calls compose", "compose()"),
        (["calls getUser"], "calls getuser", "getUser"),
        (['said "no deal today"'], "said that today is no deal", "no deal today"),
        (["they said “no deal” and “go"], "they said no and go, a deal", "no deal"),
        (["before the release"], "after the release", "befor"),
        (["Andi はお茶が好き"], "Andi は水が好き", "はお茶が好き"),
        (["costs 5%"], "costs 5", "5%"),
        (["only admins may deploy"], "admins may deploy", "only"),
    ],
)
def test_what_is_lost_is_named(old: list[str], new: str, missing: str) -> None:
    assert missing in lost(old, new)


@pytest.mark.parametrize(
    ("old", "new", "strange"),
    [
        (["Andi likes tea"], "Andi likes tea at 15:00", {"15:00"}),
        (["Andi likes tea"], "Andi never likes tea", {"never"}),
        (["Andi likes tea"], "Andi likes tea, see /etc/passwd", {"/etc/passwd"}),
        (["Andi likes tea"], "Andi likes tea very much", set()),
        (["no tea", "for Andi"], "no tea for Andi", set()),
    ],
)
def test_what_nobody_said_is_named(old: list[str], new: str, strange: set[str]) -> None:
    assert invented(old, new) == strange


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Andi likes  tea.", "andi likes tea", True),
        ("“Use NestJS”", "Use NestJS", True),
        ("Should we use Redis?", "Should we use Redis", False),
        ("use foo.py", "use foo py", False),
        ("reads API", "reads api", False),
        ("15 min", "30 min", False),
    ],
)
def test_near_duplicates_differ_in_nothing_that_matters(one: str, other: str, same: bool) -> None:
    assert (normalised(one) == normalised(other)) is same
