"""The personas that come with Moot: copied once, updated where nobody edited them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from contract.errors import ConfigError
from gateway.settings.personas.shipped import SUMS, bring_shipped
from gateway.settings.tables import SHIPPED_PERSONAS


def release(folder: Path, **texts: str) -> Path:
    """A folder of personas as a release has it."""
    folder.mkdir(exist_ok=True)
    lines = []
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)
        lines.append(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}.md\n")
    (folder / SUMS).write_text("".join(lines))
    return folder


def texts(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted(folder.glob("*.md"))}


def test_the_sums_are_those_of_the_files() -> None:
    """After a change: cd personas && sha256sum *.md *.json > SHA256SUMS"""
    files = sorted((*SHIPPED_PERSONAS.glob("*.md"), *SHIPPED_PERSONAS.glob("*.json")))
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    assert (SHIPPED_PERSONAS / SUMS).read_text() == "".join(lines)


def test_an_update_reaches_copies_that_nobody_edited(tmp_path: Path) -> None:
    source = release(tmp_path / "shipped", ada="1", bob="1", eve="1")
    own = tmp_path / "personas"
    assert bring_shipped(own, source) == ["ada.md", "bob.md", "eve.md"]
    (own / "bob.md").write_text("mine")
    (own / "eve.md").unlink()
    release(source, ada="2", bob="2", eve="2", dan="2")
    assert bring_shipped(own, source) == ["ada.md", "dan.md"]
    assert texts(own) == {"ada": "2", "bob": "mine", "dan": "2"}
    assert bring_shipped(own, source) == []
    release(source, ada="3", bob="3", eve="3", dan="3")
    bring_shipped(own, source)
    assert texts(own) == {"ada": "3", "bob": "mine", "dan": "3"}


def test_a_file_that_was_edited_where_it_came_from_is_its_owners(tmp_path: Path) -> None:
    source, own = release(tmp_path / "shipped", ada="1"), tmp_path / "personas"
    (source / "ada.md").write_text("edited in the checkout")
    (source / "mine.md").write_text("added in the checkout")
    bring_shipped(own, source)
    release(source, ada="2", mine="2")
    assert bring_shipped(own, source) == []
    assert texts(own) == {"ada": "edited in the checkout", "mine": "added in the checkout"}


def test_a_folder_that_was_there_before_is_left_alone(tmp_path: Path) -> None:
    source, own = release(tmp_path / "shipped", ada="1", bob="1"), tmp_path / "personas"
    own.mkdir()
    (own / "ada.md").write_text("0")
    assert bring_shipped(own, source) == []
    assert texts(own) == {"ada": "0"}


def test_a_folder_that_cannot_be_made_is_said_with_the_remedy(tmp_path: Path) -> None:
    source = release(tmp_path / "shipped", ada="1")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="let Moot's user write there"):
        bring_shipped(tmp_path / "file" / "personas", source)
