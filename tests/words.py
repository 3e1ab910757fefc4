"""The texts that people read, as the sources hold them, beside the catalogs of their translations.

`python -m tests.words` lists what each catalog misses and what none needs any more.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
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


@cache
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


FIRST, SECOND = slice(0, 1), slice(1, 2)
LOOKED_UP = {"say": FIRST, "later": FIRST, "phrase": FIRST, "say_count": slice(1, 3)}
"""Functions of contract/language.py, and which of their arguments are texts."""
REFUSALS = {
    "error": SECOND,
    "Rejected": SECOND,
    "RequestRefused": SECOND,
    "Unknown": FIRST,
    "Busy": FIRST,
}
"""The same of what makes a refusal of the HTTP API."""


def _texts(source: str) -> Iterator[ast.expr]:
    """What a module has looked up in the catalogs, or gives a failure to say."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    speaks = any(isinstance(n, ast.ImportFrom) and n.module == "contract.language" for n in nodes)
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name)) if speaks and name in LOOKED_UP:
                yield from node.args[LOOKED_UP[name]]
            case ast.Call(func=ast.Name(id=name)) if name in REFUSALS:
                yield from node.args[REFUSALS[name]]
            case ast.keyword(arg="say"):
                yield node.value
            case ast.Assign(targets=[ast.Name(id="say")]) if speaks:
                yield node.value


def chat_keys(source: str) -> Iterator[str]:
    """The texts in a module that are looked up in the catalogs."""
    for text in _texts(source):
        yield from _literals(text) or ()


def loose_texts(source: str) -> list[int]:
    """The lines on which a module puts a text together that no catalog could hold."""
    return [text.lineno for text in _texts(source) if isinstance(text, ast.JoinedStr | ast.BinOp)]


def modules() -> Iterator[Path]:
    """Those that may have something to say to people."""
    return (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))


@cache
def of_chats() -> dict[str, str]:
    """Every text that Moot says in chats, and where it is."""
    found: dict[str, str] = {}
    for module in modules():
        for key in chat_keys(module.read_text(encoding="utf-8")):
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
