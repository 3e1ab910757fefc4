"""The texts that people read, as the sources hold them, beside the catalogs of their translations.

`python -m tests.words` lists what each catalog misses and what none needs any more.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from gateway.core.command_table import TABLE

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "gateway" / "web" / "static"
PAGE = STATIC / "languages"
CHAT = ROOT / "contract" / "languages"
ROOMS = ("contract", "store", "llm", "bots", "adapters", "composer", "memory", "gateway")
LANGUAGES = ("de", "es", "ja", "zh")
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_TEXT = rf"{_STRING}(?:\s*\+\s*{_STRING})*"
_CALL = re.compile(rf"(?<![\w.$])(?:\.\.\.)?(?:t|phrase)\(\s*(?P<text>{_TEXT})")
_NUMBER = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*?"
_COUNT = re.compile(
    rf"(?<![\w.$])(?:\.\.\.)?count\({_NUMBER},\s*(?P<one>{_TEXT}),\s*(?P<many>{_TEXT})"
)
_ANY_CALL = re.compile(r"(?<![\w.$])(?:\.\.\.)?(?:t|phrase|count)\(")
PLACEHOLDER = re.compile(r"\{(\w+)\}")
TYPED = re.compile(r"`([^`]+)`")


# ── The page ────────────────────────────────────────────────────────────────────────────


def _joined(text: str) -> str:
    """A JavaScript text of one or more quoted pieces."""
    return "".join(json.loads(piece) for piece in re.findall(_STRING, text))


def page_keys(script: str) -> Iterator[str]:
    """The texts in a script that are looked up in the catalogs."""
    for call in _CALL.finditer(script):
        yield _joined(call["text"])
    for call in _COUNT.finditer(script):
        yield _joined(call["one"])
        yield _joined(call["many"])


def named_calls(script: str) -> int:
    """How many look-ups of a script name their text."""
    return len(_CALL.findall(script)) + len(_COUNT.findall(script))


def page_calls(script: str) -> int:
    """How many look-ups a script has."""
    return len(_ANY_CALL.findall(script))


class _Marked(HTMLParser):
    """The texts of a document that the page puts into the person's language."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []
        self._within: list[str] = []  # tags inside a marked element
        self._nodes: list[str] = []
        self._marked = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if label := named.get("aria-label"):
            self.keys.append(label)
        if self._marked:
            self._nodes.append(f"{{{len(self._nodes)}}}")
            self._within.append(tag)
        elif "data-t" in named or tag == "title":
            self._marked, self._nodes = tag, []

    def handle_endtag(self, tag: str) -> None:
        if self._within and tag == self._within[-1]:
            self._within.pop()
        elif tag == self._marked and self._marked:
            self.keys.append(re.sub(r"\s+", " ", "".join(self._nodes)).strip())
            self._marked = ""

    def handle_data(self, data: str) -> None:
        if self._marked and not self._within:
            self._nodes.append(data)


def document_keys(document: str) -> list[str]:
    """The texts of an HTML file."""
    parser = _Marked()
    parser.feed(document)
    return parser.keys


def of_page() -> dict[str, str]:
    """Every text of the page, and where it is."""
    found: dict[str, str] = {}
    for script in sorted(STATIC.rglob("*.js")):
        for key in page_keys(script.read_text(encoding="utf-8")):
            found.setdefault(key, script.relative_to(STATIC).as_posix())
    for document in sorted(STATIC.glob("*.html")):
        for key in document_keys(document.read_text(encoding="utf-8")):
            found.setdefault(key, document.name)
    found.pop("Moot", None)
    return found


# ── Chats ───────────────────────────────────────────────────────────────────────────────


def _literals(node: ast.expr) -> list[str] | None:
    """The texts that an argument may be; None: it isn't written out here."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.IfExp(body=body, orelse=orelse):
            one, other = _literals(body), _literals(orelse)
            return None if one is None or other is None else one + other
    return None


def chat_keys(source: str) -> Iterator[str]:
    """The texts in a module that are looked up in the catalogs."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        first = {"say": 0, "phrase": 0, "say_count": 1}.get(node.func.id)
        if first is not None:
            for argument in node.args[first : 2 * first + 1]:
                yield from _literals(argument) or ()


def of_chats() -> dict[str, str]:
    """Every text that Moot says in chats, and where it is."""
    found: dict[str, str] = {}
    for room in ROOMS:
        for module in sorted((ROOT / room).rglob("*.py")):
            source = module.read_text(encoding="utf-8")
            if "from contract.language import" in source or module.name == "language.py":
                for key in chat_keys(source):
                    found.setdefault(key, module.relative_to(ROOT).as_posix())
    for entry in TABLE:
        for text in filter(None, (entry.says, entry.more)):
            found.setdefault(text, f"!{entry.name}")
    return found


# ── Catalogs ────────────────────────────────────────────────────────────────────────────


def catalog(folder: Path, language: str) -> dict[str, str]:
    """A catalog: translations by the English text."""
    words: Any = json.loads((folder / f"{language}.json").read_text(encoding="utf-8"))
    return dict(words)


def main() -> None:
    """Print what each catalog misses (`-`), and what it holds in vain (`+`)."""
    for folder, keys in ((PAGE, of_page()), (CHAT, of_chats())):
        for language in sys.argv[1:] or LANGUAGES:
            words = catalog(folder, language)
            for key in [key for key in keys if key not in words]:
                print(f"{folder.parent.name} {language} - {keys[key]}: {key}")
            for key in words.keys() - keys.keys():
                print(f"{folder.parent.name} {language} + {key}")


if __name__ == "__main__":
    main()
