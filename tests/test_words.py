"""Every text that people read is translated into each language, and no catalog holds another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests import words

CATALOGS = [
    pytest.param(folder, keys, language, id=f"{name}-{language}")
    for name, folder, keys in (
        ("page", words.PAGE, words.of_page),
        ("chats", words.CHAT, words.of_chats),
    )
    for language in words.LANGUAGES
]
Keys = Callable[[], Mapping[str, str]]


@pytest.mark.parametrize(("folder", "keys", "language"), CATALOGS)
def test_no_text_is_missing_in_a_language(folder: Path, keys: Keys, language: str) -> None:
    wanted, catalog = keys(), words.catalog(folder, language)
    assert len(wanted) > 400
    missing = {key: where for key, where in wanted.items() if not catalog.get(key, "").strip()}
    assert missing == {}, f"translate them in {folder.relative_to(words.ROOT)}"


@pytest.mark.parametrize(("folder", "keys", "language"), CATALOGS)
def test_no_catalog_holds_what_is_not_there(folder: Path, keys: Keys, language: str) -> None:
    assert words.catalog(folder, language).keys() - keys().keys() == set()


@pytest.mark.parametrize(("folder", "keys", "language"), CATALOGS)
def test_a_translation_names_what_its_text_names(folder: Path, keys: Keys, language: str) -> None:
    """Else a name or a number would be lost, or a reader would see `{name}`."""
    different = {
        english: translation
        for english, translation in words.catalog(folder, language).items()
        if sorted(words.PLACEHOLDER.findall(english))
        != sorted(words.PLACEHOLDER.findall(translation))
    }
    assert different == {}


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_what_people_type_is_the_same_in_each_language(language: str) -> None:
    """A command or a key of moot.toml in back-ticks is not translated."""
    different = {
        english: translation
        for english, translation in words.catalog(words.CHAT, language).items()
        if sorted(words.TYPED.findall(english)) != sorted(words.TYPED.findall(translation))
    }
    assert different == {}


def test_no_failure_is_put_together_where_no_catalog_could_hold_it() -> None:
    """A template and what fills it in go to `later`; both become words where they are read."""
    found = {
        module.relative_to(words.ROOT).as_posix(): lines
        for module in words.modules()
        if (lines := words.loose_texts(module.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_every_look_up_of_the_page_names_its_text() -> None:
    """A text that is put together at run time could be in no catalog."""
    scripts = [path for path in words.STATIC.rglob("*.js") if path.name != "i18n.js"]
    found = {path.name: path.read_text(encoding="utf-8") for path in scripts}
    calls = {name: words.page_calls(script) for name, script in found.items()}
    assert sum(calls.values()) > 500
    assert calls == {name: words.named_calls(script) for name, script in found.items()}
