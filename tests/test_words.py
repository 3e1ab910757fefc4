"""Every text that people read is translated into each language, and no catalog holds another."""

from __future__ import annotations

import pytest

from tests import words


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_no_text_of_the_page_is_missing_in_a_language(language: str) -> None:
    keys, catalog = words.of_page(), words.catalog(words.PAGE, language)
    assert len(keys) > 500
    missing = {key: where for key, where in keys.items() if not catalog.get(key, "").strip()}
    assert missing == {}, "translate them in gateway/web/static/languages"


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_no_catalog_of_the_page_holds_what_is_not_there(language: str) -> None:
    unused = words.catalog(words.PAGE, language).keys() - words.of_page().keys()
    assert unused == set()


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_a_translation_names_what_its_text_names(language: str) -> None:
    """Else a name or a number would be lost, or a reader would see `{name}`."""
    different = {
        english: translation
        for english, translation in words.catalog(words.PAGE, language).items()
        if sorted(words.PLACEHOLDER.findall(english))
        != sorted(words.PLACEHOLDER.findall(translation))
    }
    assert different == {}


def test_every_look_up_of_the_page_names_its_text() -> None:
    """A text that is put together at run time could be in no catalog."""
    scripts = [path for path in words.STATIC.rglob("*.js") if path.name != "i18n.js"]
    found = {path.name: path.read_text(encoding="utf-8") for path in scripts}
    calls = {name: words.page_calls(script) for name, script in found.items()}
    assert sum(calls.values()) > 500
    assert calls == {name: words.named_calls(script) for name, script in found.items()}
