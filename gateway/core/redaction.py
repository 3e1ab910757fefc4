"""Secrets of the configuration, removed from whatever leaves Moot. docs/logs.md."""

from __future__ import annotations

import io
import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import Any, TextIO, TypeVar, cast
from urllib.parse import unquote

from contract.stretches import replaced
from gateway.core.encodings import (
    INVISIBLE,
    MAY_ESCAPE,
    WORD_CHARS,
    base64_of,
    dumped,
    escapes,
    forms_of,
    may_hold,
    packed,
    small_of,
    wide_base64,
)

REMOVED = "[secret removed]"

SHORTEST = 8
_DIGITS = 12  # digits alone must be that many to be no date
_SHORTEST_END = 6  # of a draft that may go on with the rest of a secret

# OPENAI_API_KEY, SLACK_BOT_TOKEN_TEAM, api_key, password; but no SSH_KEY_PATH and no CLIENT_ID.
_NAME = re.compile(
    r"(?:^|[^a-z]|api|auth|access)(?:tokens?|keys?|password|passwd|passphrase|pwd|pass|pat|jwt|dsn"
    r"|secrets?|credentials?|authorization|headers)(?:$|[^a-z])",
    re.IGNORECASE,
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # accessToken is access_Token
_WEBHOOK = re.compile(r"web_?hook", re.IGNORECASE)  # whoever has such an address may post
_ADDRESS = re.compile(r"https?://[^/\s]+/\S{16,}", re.IGNORECASE)
_NO_SECRET = re.compile(
    r"^pwd$|(?:file|path|dir|directory|sock|url|uri|name|type|id)$",  # PWD: a shell's own folder
    re.IGNORECASE,
)
_USERINFO = re.compile(r"[a-z][a-z0-9+.-]{0,20}://([^/?#\s@]{1,500})@", re.IGNORECASE)
_QUERY = re.compile(
    r"[?&;](?:[a-z_-]{0,30}(?:token|key|password|secret|signature)|guid|sig|auth)=([^&;#\s]{1,500})",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Za-z]+(?:[ _.-][A-Za-z]+)*")

Value = TypeVar("Value")
Rows = Sequence[Sequence[tuple[str, str]]]
"""Of a terminal, from above: their parts, each with its style."""


class Redactor:
    """Knows what is secret, and writes REMOVED in its place.

    Found are a secret as it is, in letters of any case, without its first or last character,
    backwards, and as JSON, a URL, HTML, `repr`, Markdown, a shell, hex (also with something
    between, and in the rows of a dump), base32, base64 (at any offset, of UTF-16 and of gzip, too)
    and quoted-printable write it; and one that is written with escapes, in full-width letters, has
    comments or invisible characters inside, is broken over lines or has parts in bold. Takes time
    linear in the text. A text without a secret is returned as it came.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: tuple[str, ...] = ()  # in small letters, long ones first
        self._hex: tuple[bytes, ...] = ()  # the secrets so written, with nothing between
        self._loose: tuple[bytes, ...] = ()  # the same as they are, and in base64
        self._dumped: tuple[str, ...] = ()  # in hex, as the rows of a dump show it
        self._plain: tuple[str, ...] = ()  # the secrets themselves, in small letters
        self.learn(secrets)

    def learn_one(self, secret: str) -> None:
        """Know one secret more."""
        self.learn((secret,))

    def learn(self, secrets: Iterable[str]) -> None:
        """Know these too; one that is too short, or an ordinary word, is passed over."""
        told = {part for secret in secrets for part in _parts(secret)}
        known = {secret for secret in told if can_be_redacted(secret)}
        forms = {small_of(form) for secret in known for form in forms_of(secret)}
        self._forms = tuple(sorted({*self._forms, *forms}, key=lambda form: (-len(form), form)))
        codes = ("utf-8", "utf-16-le")
        written = {one.encode(code, "replace").hex() for one in known for code in codes}
        self._dumped = tuple(sorted({*self._dumped, *written}))
        between = {form for text in written for form in (text, re.sub("..(?=.)", r"\g<0>0", text))}
        self._hex = tuple(sorted({*self._hex, *(form.encode() for form in between)}))
        raw = {one: one.encode("utf-8", "replace") for one in known if not _WORDS.fullmatch(one)}
        loose = {
            small_of(form).encode()
            for one in raw
            for form in (one, one.replace("=", "=3d"), *base64_of(raw[one]))
        } | {small_of(form).encode() for one in known for form in wide_base64(one)}
        bare = (form.translate(None, _BREAKS) for form in loose)
        self._loose = tuple(sorted({*self._loose, *(one for one in bare if len(one) >= _DIGITS)}))
        bytewise = {one.encode("utf-8", "replace").decode("latin-1") for one in known}
        self._plain = tuple(sorted({*self._plain, *map(small_of, known | bytewise)}))

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        return replaced(text, ((start, end, REMOVED) for start, end in self._spans(text)))

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Where secrets stand, in their order, none within another."""
        small = small_of(text)
        found = _found(self._forms, small)
        raw = small.encode("utf-8", "replace")
        looked_for = ((self._hex, _BETWEEN, _SPACED), (self._loose, _BREAKS, _BROKEN))
        for forms, between, spaced in looked_for:
            bare = raw.translate(None, between)
            for form in forms:
                if form in bare:
                    broken = spaced.join(map(re.escape, form.decode()))
                    found += [at.span() for at in re.finditer(broken, small)]
        escaped = MAY_ESCAPE.search(small) is not None
        if escaped or not (text.isascii() or INVISIBLE.search(text) is None):
            read = small_of(replaced(text, escapes(text)))
            if any(form in read for form in self._plain):
                found += _placed(_found(self._plain, read), _stretches(text))
        if may_hold(raw):
            found += self._in_dumps_and_archives(text, small)
        return _apart(found) if found else found

    def _in_dumps_and_archives(self, text: str, small: str) -> Iterator[tuple[int, int]]:
        yield from dumped(self._dumped, small)
        for span, inside in packed(text):
            read = small_of(inside)
            if any(form in read for form in self._plain):
                yield span

    def unfinished(self, text: str) -> str:
        """A text that goes on later: without an end that may be a secret's beginning, either."""
        text = self(text)
        end = small_of(text[-len(max(self._forms, key=len, default="")) :])
        for form in self._forms:
            if form[:_SHORTEST_END] not in end:
                continue
            for size in range(min(len(form) - 1, len(end)), _SHORTEST_END - 1, -1):
                if end.endswith(form[:size]):
                    return text[:-size]
        return text

    def mask(self, rows: Rows) -> Rows:
        """A terminal's picture with `*` for each character of a secret, also where it goes on in
        the next row."""
        text = "".join(part for row in rows for part, _ in row)
        if not (spans := self._spans(text)):
            return rows
        stars = ((start, end, "*" * (end - start)) for start, end in spans)
        letters = iter(replaced(text, stars))
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
            kind = type(item)
            if kind is str:
                texts.append(cast(str, item))
            elif (parts := _PARTS[kind]) is not None:
                waiting += parts(item)
            elif isinstance(item, str):
                texts.append(item)
        text = "\0".join(texts)  # looked through as one, as nearly none holds a secret
        if not self._spans(text):
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


class _Parts(dict[type, Callable[[Any], Iterable[object]] | None]):
    """By a class what its values are made of, looked up once; None: of nothing that is looked
    through, or it is a text."""

    def __missing__(self, kind: type) -> Callable[[Any], Iterable[object]] | None:
        parts: Callable[[Any], Iterable[object]] | None = None
        if issubclass(kind, tuple | list):
            parts = iter
        elif issubclass(kind, dict):
            parts = _keys_and_values
        elif is_dataclass(kind):
            names = [field.name for field in fields(kind)]
            parts = attrgetter(*names) if len(names) > 1 else partial(_attributes, names)
        self[kind] = parts
        return parts


def _keys_and_values(item: dict[object, object]) -> Iterable[object]:
    return chain(item, item.values())


def _attributes(names: Sequence[str], item: object) -> Iterable[object]:
    return [getattr(item, name) for name in names]


_PARTS = _Parts()


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
    return bool(_NAME.search(_HUMP.sub("_", name))) and not _NO_SECRET.search(name)


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
        if _WEBHOOK.search(name) and _ADDRESS.fullmatch(value):
            yield from (value, value.rstrip("/").rpartition("/")[2])
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
    return len(secret) >= WORD_CHARS or not _WORDS.fullmatch(secret)


def _parts(secret: str) -> list[str]:
    """The parts that count as a secret each: a key of many lines is found by each of them."""
    lines = [line.strip() for line in secret.splitlines()]
    return [line for text in lines for line in {text, unquote(text)} if "-----" not in line]


def _apart(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that overlap as one, in order."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


_BETWEEN = b" :,-%=\\x\n\t"  # what people and programs put between two bytes in hex
_BREAKS = b' \n\r\t>|*_`"+=\\'  # what wraps a long word, quotes it, or makes a part of it bold
_SPACED, _BROKEN = (f"[{re.escape(between.decode())}]*" for between in (_BETWEEN, _BREAKS))


def _stretches(text: str) -> list[tuple[int, int, int]]:
    """Where each stretch of the text begins in what is read of it, and where in the text it begins
    and ends; every second one is an escape."""
    found: list[tuple[int, int, int]] = []
    at = length = 0
    for start, end, shown in escapes(text):
        found += ((length, at, start), (length + start - at, start, end))
        length, at = length + start - at + len(shown), end
    return [*found, (length, at, len(text))]


def _found(forms: Iterable[str], text: str) -> list[tuple[int, int]]:
    """Where they stand in it."""
    return [
        found.span() for form in forms if form in text
        for found in re.finditer(re.escape(form), text)
    ]  # fmt: skip


def _placed(
    spans: list[tuple[int, int]], stretches: list[tuple[int, int, int]]
) -> list[tuple[int, int]]:
    """Where these spans of what is read are in the text."""
    return [(_place(stretches, start)[0], _place(stretches, end - 1)[1]) for start, end in spans]


def _place(stretches: list[tuple[int, int, int]], index: int) -> tuple[int, int]:
    """Where the character that is read there begins and ends in the text that was given."""
    number = bisect_right(stretches, index, key=lambda stretch: stretch[0]) - 1
    begin, start, end = stretches[number]
    if number % 2:  # an escape
        return start, end
    return start + index - begin, start + index - begin + 1
