"""Secrets of the configuration, removed from whatever leaves Moot. docs/logs.md."""

from __future__ import annotations

import html
import io
import json
import re
import shlex
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from typing import Any, TextIO, TypeVar, cast
from urllib.parse import quote, quote_plus, unquote

REMOVED = "[secret removed]"

SHORTEST = 8
_WORD_CHARS, _DIGITS = 16, 12  # letters, or digits, alone must be that many to be no word or date
_SHORTEST_END = 6  # of a draft that may go on with the rest of a secret

# OPENAI_API_KEY, SLACK_BOT_TOKEN_TEAM, api_key, password; but no SSH_KEY_PATH and no CLIENT_ID.
_NAME = re.compile(
    r"(?:^|[^a-z]|api)(?:tokens?|keys?|password|passwd|passphrase|pwd|secrets?|credentials?"
    r"|authorization|headers)(?:$|[^a-z])",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"^pwd$|(?:file|path|dir|directory|sock|url|uri|name|type|id)$",  # PWD: a shell's own folder
    re.IGNORECASE,
)
_USERINFO = re.compile(r"[a-z][a-z0-9+.-]{0,20}://([^/?#\s@]{1,500})@", re.IGNORECASE)
_QUERY = re.compile(
    r"[?&;](?:[a-z_-]{0,30}(?:token|key|password|secret|signature)|guid|sig|auth)=([^&;#\s]{1,500})",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Za-z]+(?:[ _.-]?[A-Za-z]+)*")

Value = TypeVar("Value")
Rows = Sequence[Sequence[tuple[str, str]]]
"""Of a terminal, from above: their parts, each with its style."""


class Redactor:
    """Knows what is secret, and writes REMOVED in its place.

    Found are a secret as it is, in capitals or small letters, and as JSON, a URL, HTML, `repr`,
    Markdown, a shell, hex and base64 (at any offset) write it. Takes time linear in the text.
    A text without a secret is returned as it came.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: tuple[str, ...] = ()
        self.learn(secrets)

    def learn_one(self, secret: str) -> None:
        """Know one secret more."""
        self.learn((secret,))

    def learn(self, secrets: Iterable[str]) -> None:
        """Know these too; one that is too short, or an ordinary word, is passed over."""
        told = {part for secret in secrets for part in _parts(secret)}
        forms = {form for secret in told if can_be_redacted(secret) for form in _forms(secret)}
        self._forms = tuple(sorted({*self._forms, *forms}, key=lambda form: (-len(form), form)))

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, REMOVED)
        return text

    def unfinished(self, text: str) -> str:
        """A text that goes on later: without an end that may be a secret's beginning, either."""
        text = self(text)
        end = text[-len(max(self._forms, key=len, default="")) :]
        for form in self._forms:
            if form[:_SHORTEST_END] not in end:
                continue
            for size in range(min(len(form) - 1, len(text)), _SHORTEST_END - 1, -1):
                if text.endswith(form[:size]):
                    return text[:-size]
        return text

    def mask(self, rows: Rows) -> Rows:
        """A terminal's picture with `*` for each character of a secret, also where it goes on in
        the next row."""
        text = "".join(part for row in rows for part, _ in row)
        masked = text
        for form in self._forms:
            if form in masked:
                masked = masked.replace(form, "*" * len(form))
        if masked is text:
            return rows
        letters = iter(masked)
        return [
            [("".join(islice(letters, len(part))), style) for part, style in row] for row in rows
        ]

    def clean(self, value: Value) -> Value:
        """A value made of dataclasses, tuples, lists, dicts and texts; the same where nothing is
        to be removed."""
        if not self._forms:
            return value
        texts: list[str] = []
        waiting: list[object] = [value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                texts.append(item)
            elif isinstance(item, tuple | list):
                waiting += item
            elif isinstance(item, dict):
                waiting += item
                waiting += item.values()
            elif is_dataclass(item) and not isinstance(item, type):
                waiting += [getattr(item, field.name) for field in fields(item)]
        text = "\0".join(texts)  # looked through as one, as nearly none holds a secret
        if not any(form in text for form in self._forms):
            return value
        return cast(Value, self._clean(value))

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self(value)
        if isinstance(value, tuple | list):
            items = [self._clean(item) for item in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, dict):
            return {self._clean(key): self._clean(item) for key, item in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            named = ((field.name, getattr(value, field.name)) for field in fields(value))
            changed = {name: new for name, old in named if (new := self._clean(old)) is not old}
            return replace(value, **changed) if changed else value
        return value


class CleanStream(io.TextIOBase):
    """A stream to print on, which a secret does not pass. `buffer` is the stream's own."""

    def __init__(self, stream: TextIO, redactor: Redactor) -> None:
        self._stream = stream
        self._redactor = redactor

    def write(self, text: str) -> int:
        self._stream.write(self._redactor(text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def buffer(self) -> Any:
        """The stream below, for bytes, which are not looked at."""
        return self._stream.buffer

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The stream's."""
        return self._stream.encoding


def names_a_secret(name: str) -> bool:
    """True if the name of a variable, or of a key of a table, says that its value is secret."""
    return bool(_NAME.search(name)) and not _NO_SECRET.search(name)


def secrets_in(table: Mapping[str, object]) -> Iterator[str]:
    """The secrets of an environment or of a configuration as TOML has it: values under such
    names, and passwords inside addresses."""
    for name, value in table.items():
        yield from _secrets_of(name, value)


def without_secrets(toml: str, clean: Callable[[str], str] = str) -> str:
    """A moot.toml with REMOVED in the place of its secrets, and cleaned of others'."""
    try:
        own = Redactor(secrets_in(tomllib.loads(toml)))
    except tomllib.TOMLDecodeError:
        own = Redactor()
    return clean(own(toml))


def _secrets_of(name: str, value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from _in_addresses(value)
        if names_a_secret(name):
            yield value
            if "headers" in name.lower():
                yield from _in_headers(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _secrets_of(str(key), item)
            if names_a_secret(name):
                yield from _secrets_of(name, item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets_of(name, item)


def _in_addresses(text: str) -> Iterator[str]:
    for found in _USERINFO.finditer(text):
        user, colon, password = found[1].partition(":")
        yield password if colon else user
    for found in _QUERY.finditer(text):
        yield found[1]


def _in_headers(text: str) -> Iterator[str]:
    """The values of `name=value,name=value`, as OpenTelemetry has them, or of `Name: value`."""
    for pair in re.split(r"[,\n]", text):
        value = re.split(r"[=:]", pair, maxsplit=1)[-1].strip()
        yield from (value, unquote(value).rpartition(" ")[2])


def can_be_redacted(secret: str) -> bool:
    """True if it is so unlike a word that it may be removed wherever it stands."""
    if len(secret) < SHORTEST:
        return False
    if secret.isdigit():
        return len(secret) >= _DIGITS
    return len(secret) >= _WORD_CHARS or not _WORDS.fullmatch(secret)


def _parts(secret: str) -> list[str]:
    """The parts that count as a secret each: a key of many lines is found by each of them."""
    lines = [line.strip() for line in secret.splitlines()]
    return [line for text in lines for line in {text, unquote(text)} if "-----" not in line]


def _forms(secret: str) -> set[str]:
    """The forms in which it may be written."""
    raw = secret.encode("utf-8", "replace")
    quoted = {quote(secret, safe="", errors="replace"), quote(secret, errors="replace")}
    quoted |= {quote_plus(secret, errors="replace")}
    lower = {re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text) for text in quoted}
    told = json.dumps(secret)[1:-1]
    return {
        secret,
        secret.upper(),
        secret.lower(),
        *_escaped(secret),
        shlex.quote(secret)[1:-1] if shlex.quote(secret) != secret else secret,
        *quoted,
        *lower,
        told,
        json.dumps(told)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        html.escape(secret),
        html.escape(secret, quote=False),
        raw.hex(),
        raw.hex().upper(),
        *_base64(raw),
    }


def _escaped(secret: str) -> Iterator[str]:
    """With backslashes, as Markdown takes them, a pattern or a shell."""
    yield re.sub(r"([_*`~])", r"\\\1", secret)
    yield re.sub(r"([^\w])", r"\\\1", secret)
    yield re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", secret)
    yield re.escape(secret)


def _base64(raw: bytes) -> Iterator[str]:
    """The characters that it fills alone, wherever it begins among the three bytes of a group."""
    for before in range(3):
        text = b64encode(b"\0" * before + raw).decode()
        text = text[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        yield from (text, text.replace("+", "-").replace("/", "_"))
