"""docs/configuration.md: it is what the code and moot.toml.example say, and lacks no key."""

from __future__ import annotations

from tests.gateway.configuration_page import (
    EXAMPLE,
    PAGE,
    Meanings,
    cut,
    general,
    plain_keys,
    rendered,
    sections,
)

MEANINGS = Meanings(EXAMPLE.read_text("utf-8"))


def test_the_page_is_not_stale() -> None:
    page = PAGE.read_text("utf-8")
    assert page == rendered(page), "run: python -m tests.gateway.configuration_page"


def test_the_example_explains_every_key() -> None:
    unexplained = [
        f"{section.path}: {key}"
        for section in sections(MEANINGS)
        for key in plain_keys(section.model, section.path, MEANINGS)
        if not MEANINGS.of(section.path, key)
    ]
    assert unexplained == []


def test_every_key_that_the_example_shows_is_on_the_page() -> None:
    known = {
        (path, key)
        for section in sections(MEANINGS)
        for path in (section.path, *section.also)
        for key in plain_keys(section.model, section.path, MEANINGS)
    }
    assert MEANINGS.keys() - known == set()


def test_a_comment_begins_behind_the_value() -> None:
    assert cut('"a # b"   # said') == ('"a # b"', "said")
    assert cut("['\\bdeploy\\b']    # patterns") == ("['\\bdeploy\\b']", "patterns")
    assert cut("15") == ("15", "")


def test_names_that_people_choose_are_left_open() -> None:
    assert general("agents.claude-code") == "agents.NAME"
    assert general('prices."claude-sonnet"') == "prices.MODEL"
    assert general("access.personas.claude") == "access.personas.NAME"
    assert general("limits.person") == "limits.person"
