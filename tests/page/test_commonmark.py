"""The page's Markdown and the Python reader on CommonMark's own examples."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from playwright.async_api import Page

from tests.gateway.conftest import address, browser, house, page  # noqa: F401 - fixtures
from tests.page.commonmark import Example, by_page, by_reader, examples, heading_of_page
from tests.page.normal import normal, same_lists

DIFFERENCES = tomllib.loads(Path(__file__).with_name("differences.toml").read_text("utf-8"))


def different(renderer: str) -> dict[int, str]:
    """The examples that a renderer shows otherwise on purpose, by number, with their sections."""
    return {
        number: section
        for entry in DIFFERENCES[renderer]
        for section, numbers in entry["examples"].items()
        for number in numbers
    }


def judged(renderer: str, rendered: list[tuple[Example, str, str]]) -> None:
    """Each example is as it should be, or stands in the list with its section; never both."""
    listed = different(renderer)
    found = {example.number: example.section for example, got, wanted in rendered if got != wanted}
    wrong = [
        f"{example.number} {example.section}: {example.markdown!r}\n  {wanted}\n  {got}"
        for example, got, wanted in rendered
        if got != wanted and example.number not in listed
    ]
    assert not wrong, "\n".join(wrong)
    exact = listed.items() - found.items()
    assert not exact, f"as CommonMark says: take them out of differences.toml: {sorted(exact)}"


def test_every_difference_has_one_reason() -> None:
    for renderer, entries in DIFFERENCES.items():
        numbers = [n for entry in entries for part in entry["examples"].values() for n in part]
        assert len(numbers) == len(set(numbers)), renderer
        assert all(entry["reason"].endswith(".") for entry in entries)


def test_the_reader_reads_what_commonmark_says() -> None:
    judged(
        "reader",
        [
            (example, same_lists(normal(by_reader(example.markdown))), wanted)
            for example in examples()
            for wanted in [same_lists(normal(example.html))]
        ],
    )


@pytest.mark.asyncio(loop_scope="session")
async def test_the_page_shows_what_commonmark_says(page: Page) -> None:  # noqa: F811
    known = examples()
    assert len(known) == 652
    shown = await by_page(page, [example.markdown for example in known])
    judged(
        "page",
        [
            (example, normal(got), normal(heading_of_page(example.html)))
            for example, got in zip(known, shown, strict=True)
        ],
    )
