"""What is secret is found however it is written, and nothing else is touched."""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import quopri
import re
import shlex
import string
import sys
import textwrap
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.redaction import (
    REMOVED,
    CleanStream,
    Redactor,
    can_be_redacted,
    names_a_secret,
    secrets_in,
)

SECRET = 'xoxb-9"Qé/7_+*&<z\\k=='
REPLY = "# An answer\n\n" + "Some words of an answer with `code` and [a link](x). " * 600


@pytest.mark.parametrize(
    "write",
    [
        str,
        quote,
        quote_plus,
        lambda s: (
            quote(s, safe="").lower().replace("xoxb-9%22q", "xoxb-9%22Q").replace("z%5ck", "z%5ck")
        ),
        json.dumps,
        lambda s: json.dumps(s, ensure_ascii=False),
        repr,
        html.escape,
        str.lower,
        lambda s: json.dumps(json.dumps(s)),
        lambda s: s.replace("_", "\\_").replace("*", "\\*"),
        re.escape,
        lambda s: re.sub(r"(\W)", r"\\\1", s),
        lambda s: re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", s),
        shlex.quote,
        lambda s: s.encode().hex(),
        lambda s: s.encode().hex().upper(),
        lambda s: base64.b64encode(s.encode()).decode(),
        lambda s: base64.b64encode(f"user:{s}".encode()).decode(),
        lambda s: base64.b64encode(f"us:{s}:more".encode()).decode(),
        lambda s: base64.urlsafe_b64encode(f"u:{s}".encode()).decode(),
        str.title,
        str.swapcase,
        lambda s: s[::-1],
        lambda s: s.encode().hex(" "),
        lambda s: s.encode().hex(":").upper(),
        lambda s: ", ".join(f"0x{byte:02x}" for byte in s.encode()),
        lambda s: "".join(f"\\x{byte:02X}" for byte in s.encode()),
        lambda s: "".join(f"%{byte:02X}" for byte in s.encode()),
        lambda s: "".join(f"&#{ord(char)};" for char in s),
        lambda s: "".join(f"&#x{ord(char):X};" for char in s),
        lambda s: "".join(f"\\u{ord(char):04x}" for char in s),
        lambda s: "\xad".join(s),
        lambda s: s[:4] + "\u200b" + s[4:],
        lambda s: s[:4] + "<!-- -->" + s[4:],
        lambda s: s[:4] + "<b></b>" + s[4:],
        lambda s: s[:3] + "&#" + str(ord(s[3])) + ";<!---->" + s[4:],
        lambda s: base64.b32encode(s.encode()).decode(),
        lambda s: s[:6] + "\n    " + s[6:],
        lambda s: s[:6] + "\n> " + s[6:],
        lambda s: s[:6] + "**" + s[6:9] + "**" + s[9:],
        lambda s: f'{s[:6]}" + "{s[6:]}',
        lambda s: "\U000e0100".join(s),
        " ".join,
        lambda s: textwrap.fill(base64.b64encode(s.encode()).decode(), 12),
        lambda s: base64.b64encode(s.encode("utf-16-le")).decode(),
        lambda s: base64.b64encode(f"user:{s}".encode("utf-16-le")).decode(),
        lambda s: base64.b64encode(s.encode("utf-16")).decode(),
        lambda s: s.encode("utf-16-le").hex(" "),
        lambda s: quopri.encodestring(s.replace("é", "e").encode()).decode().replace("e", "é"),
        lambda s: "".join(f"={byte:02X}" for byte in s.encode()),
        lambda s: s[:9] + "=\r\n" + s[9:],
        lambda s: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in s),
        lambda s: quote(quote(s, safe=""), safe=""),
        lambda s: quote("".join(f"%{byte:02X}" for byte in s.encode())),
        lambda s: "\u200d".join(s),
        lambda s: "".join(f"\\\\u{ord(char):04x}" for char in s),
        lambda s: "".join(f"\\u{{{ord(char):x}}}" for char in s),
        lambda s: base64.b64encode(gzip.compress(s.encode())).decode(),
        lambda s: base64.b64encode(gzip.compress(f"{REPLY[:400]}{s} and more".encode())).decode(),
        lambda s: textwrap.fill(base64.b64encode(zlib.compress((s * 9).encode())).decode(), 40),
        lambda s: base64.urlsafe_b64encode(gzip.compress(s.encode())).decode().rstrip("="),
    ],
)
def test_a_secret_is_found_however_it_is_written(write: object) -> None:
    assert callable(write)
    written = write(SECRET)
    cleaned = Redactor([SECRET])(f"before {written} after")
    assert REMOVED in cleaned
    assert SECRET[2:-3] not in cleaned
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")


@pytest.mark.parametrize("before", range(5))
def test_base32_is_found_wherever_the_secret_begins(before: int) -> None:
    written = base64.b32encode(b"x" * before + SECRET.encode() + b"more").decode()
    cleaned = Redactor([SECRET])(written)
    assert len(cleaned.replace(REMOVED, "")) <= 22


def xxd(data: bytes) -> Iterator[str]:
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        told = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"{at:08x}: {row.hex(' ', -2):<39}  {told}"


def hexdump(data: bytes) -> Iterator[str]:
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        told = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"{at:08x}  {row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}  |{told}|"


def od(data: bytes) -> Iterator[str]:
    for at in range(0, len(data), 16):
        yield f"{at:07o} {data[at : at + 16].hex(' ')}"


def test_the_rows_of_a_dump_count_wherever_it_was_cut_out() -> None:
    token = "sk-beefcafe-deadbeef-0123456789"
    rows = [f"{row[:7]}8{row[8:]}" for row in xxd(token.encode())]
    cleaned = Redactor([token])("\n".join(rows))
    assert len(rows) == 2
    assert not any(row[10:20] in cleaned for row in rows)


@pytest.mark.parametrize("dump", [xxd, hexdump, od])
@pytest.mark.parametrize("before", range(17))
@pytest.mark.parametrize("code", ["utf-8", "utf-16-le"])
def test_the_rows_of_a_dump_that_show_a_secret_lose_it(
    dump: Callable[[bytes], Iterator[str]], before: int, code: str
) -> None:
    token = "sk-beefcafe-deadbeef-0123456789"
    text = f"{'fee ' * 9}{'x' * before}{token} and the rest of this line"
    rows = list(dump(text.encode(code)))
    lines = Redactor([token])("\n".join(["a", *rows, "b"])).splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("a", rows[0], "b")
    assert len(lines) == len(rows) + 2
    left = "".join(lines[1:-1])
    for size in (4, 6):
        for at in range(len(token) - size):
            part = token[at : at + size]
            assert f"  {part}" not in left
    told = sum(REMOVED in line for line in lines)
    width = len(token.encode(code))
    assert -(-width // 16) <= told <= width // 16 + 2


def test_rows_without_a_secret_stay_as_they_are() -> None:
    rows = "\n".join(xxd(REPLY[:4_000].encode()))
    assert Redactor(["sk-beefcafe-deadbeef-0123456789"])(rows) is rows


def test_what_follows_an_archive_is_left() -> None:
    told = base64.b64encode(gzip.compress(SECRET.encode())).decode().rstrip("=")
    assert Redactor([SECRET])(f"a {told}\nword\nmore words") == f"a {REMOVED}\nword\nmore words"


@pytest.mark.parametrize(
    "piece",
    [
        "H4sIAAAAAAAA", "eJwAAAAAAAAAAAAA\n", "00000000: 7365 ", "7365 " * 3, "=73", "%2525",
        "\\\\u0073",
        "\uff53", "a" * 16, " " * 16, "<!-- ", "&#115", "73:65-", ">|\n", base64.b64encode(
            gzip.compress(b"0" * 9_000, mtime=0)).decode(),
    ],
)  # fmt: skip
def test_the_work_grows_with_the_text_and_not_faster(piece: str) -> None:
    """Counted are the calls of Python and the length of what they give back, not time."""
    redactor = Redactor([SECRET, "sk-beefcafe-deadbeef-0123456789"])

    def work(text: str) -> int:
        done = 0

        def count(frame: object, event: str, given: object) -> None:
            nonlocal done
            done += 1 + (len(given) if isinstance(given, str | tuple | list) else 0)

        sys.setprofile(count)
        try:
            redactor(text)
        finally:
            sys.setprofile(None)
        return done

    once, eight = work(piece * 200), work(piece * 1_600)
    assert eight < 10 * once + 2_000


def test_all_but_its_last_character_is_as_secret() -> None:
    token = "xoxb-9Qe7_canary-0123"
    for part in (token[:-1], token[1:]):
        assert part[1:-1] not in Redactor([token])(f"a {part} b")


def test_words_are_not_put_together_to_a_secret_of_words() -> None:
    redactor = Redactor(["correct-horse-battery-staple"])
    assert redactor("the correct\nhorse battery staple") == "the correct\nhorse battery staple"


@given(st.text(st.sampled_from("canry-&#%<>!\\xu0;19\xad\u200b İß"), max_size=80))
def test_only_what_is_removed_changes(text: str) -> None:
    cleaned = Redactor(["canary-7f3a91c2"])(text)
    assert cleaned == text or REMOVED in cleaned


@given(st.text(max_size=200))
def test_a_text_without_a_secret_comes_back_as_it_is(text: str) -> None:
    assert Redactor(["canary-7f3a91c2"])(text) == text


@given(st.text(string.printable, min_size=16, max_size=60), st.text(max_size=30))
def test_no_secret_stays_in_a_text(secret: str, around: str) -> None:
    parts = [line.strip() for line in secret.splitlines()]
    redactor = Redactor([secret])
    cleaned = redactor(f"{around}{secret}{around}")
    for part in parts:
        if can_be_redacted(part) and "-----" not in part and part not in (around, REMOVED):
            assert part not in cleaned.replace(REMOVED, "")


def test_a_reply_is_the_very_same_object_when_nothing_is_removed() -> None:
    assert Redactor([SECRET])(REPLY) is REPLY


@pytest.mark.parametrize(
    "word", ["", "abc", "secret1", "password", "postgres", "test-key", "12345678", "hello world"]
)
def test_what_is_short_or_a_word_is_left_where_it_stands(word: str) -> None:
    assert Redactor([word])(f"a {word} b") == f"a {word} b"


def test_the_longer_secret_goes_first() -> None:
    redactor = Redactor(["abcdefg1", "abcdefg1-and-more-7"])
    assert redactor("x abcdefg1-and-more-7 y abcdefg1") == f"x {REMOVED} y {REMOVED}"


def test_a_draft_does_not_end_in_the_beginning_of_a_secret() -> None:
    redactor = Redactor(["sk-ant-0123456789"])
    assert redactor.unfinished("the key is sk-ant-0123") == "the key is "
    assert redactor.unfinished("the key is sk-ant-0123456789") == f"the key is {REMOVED}"
    assert redactor.unfinished("I don't ask") == "I don't ask"


def test_a_key_of_many_lines_is_found_by_each_of_them() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nq83vEjRWeJq83v\n-----END-----"
    assert Redactor([key])("a q83vEjRWeJq83v b") == f"a {REMOVED} b"
    assert Redactor([key])("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    inside: tuple[Said, ...] = ()
    count: int = 0


def test_values_are_cleaned_through_and_through() -> None:
    redactor = Redactor([SECRET])
    clean = Said("a", (Said("b"),), 3)
    assert redactor.clean(clean) is clean
    found = redactor.clean(Said("a", (Said(SECRET, (), 4),), 3))
    assert found == Said("a", (Said(REMOVED, (), 4),), 3)
    assert redactor.clean({"a": [SECRET, 1]}) == {"a": [REMOVED, 1]}


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("SLACK_BOT_TOKEN", True),
        ("SLACK_BOT_TOKEN_TEAM_2", True),
        ("ANTHROPIC_API_KEY", True),
        ("api_key", True),
        ("apikey", True),
        ("MATRIX_PASSWORD", True),
        ("SLACK_SIGNING_SECRET", True),
        ("OTEL_EXPORTER_OTLP_HEADERS", True),
        ("ROCKETCHAT_USER_ID", False),
        ("SSH_KEY_PATH", False),
        ("MONKEY", False),
        ("SSH_AUTH_SOCK", False),
        ("PATH", False),
        ("PWD", False),  # a shell's own folder
        ("MYSQL_PWD", True),
        ("GITHUB_PAT", True),
        ("DB_PASS", True),
        ("SMTP_PASS", True),
        ("SENTRY_DSN", True),
        ("JWT", True),
        ("accessToken", True),
        ("clientSecret", True),
        ("_authToken", True),
        ("authtoken", True),
        ("COMPASS", False),
        ("tokenType", False),
        ("CREDENTIALS_DIRECTORY", False),
    ],
)
def test_names_tell_what_is_secret(name: str, is_one: bool) -> None:
    assert names_a_secret(name) is is_one


def test_secrets_of_a_configuration_are_found_in_tables_and_addresses() -> None:
    found = set(
        secrets_in(
            {
                "store": {"url": "postgresql://moot:pa%2Fss-1@db/moot"},
                "bots": [{"url": "https://t0ken-of-url@chat.example.org", "platform": "x"}],
                "agents": {"c": {"env": {"MY_TOKEN": "in-env-1", "EDITOR": "vi"}}},
                "memory": {"embedder_settings": {"api_key": "emb-2", "model": "small"}},
                "HTTPS_PROXY": "http://me:proxy-3@proxy:3128",
                "webhook": "https://x.example.org/hook?guid=guid-4&x=1",
                "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20otel-5,x-team=otel-6",
            }
        )
    )
    expected = {"pa%2Fss-1", "t0ken-of-url", "in-env-1", "emb-2", "proxy-3", "guid-4"}
    assert expected <= found
    assert {"otel-5", "otel-6"} <= found
    assert not found & {"vi", "small", "moot", "x"}


def test_the_address_of_a_webhook_is_a_secret() -> None:
    told = {
        "SLACK_WEBHOOK_URL": "https://hooks.example/services/T00/B00/abcDEF123456789",
        "gateway": {"webhooks": "127.0.0.1:8378"},
    }
    address = told["SLACK_WEBHOOK_URL"]
    assert set(secrets_in(told)) == {address, "abcDEF123456789"}


def test_a_quoted_password_of_an_address_is_found_unquoted() -> None:
    redactor = Redactor(secrets_in({"url": "postgresql://moot:pa%2Fss-12345@db/moot"}))
    assert redactor("no pa/ss-12345 and no pa%2Fss-12345") == f"no {REMOVED} and no {REMOVED}"


def test_a_terminals_picture_is_masked_also_over_two_rows() -> None:
    rows = [[("key=", "b"), ("canary-", "")], [("7f3a91c2 end", "")]]
    masked = Redactor(["canary-7f3a91c2"]).mask(rows)
    assert masked == [[("key=", "b"), ("*******", "")], [("******** end", "")]]
    clean = [[("nothing", "")]]
    assert Redactor(["canary-7f3a91c2"]).mask(clean) is clean


def test_what_is_printed_goes_through() -> None:
    stream = io.StringIO()
    print("say", SECRET, file=CleanStream(stream, Redactor([SECRET])))
    assert stream.getvalue() == f"say {REMOVED}\n"


def test_a_long_word_before_a_digit_is_looked_at_in_no_time() -> None:
    redactor = Redactor()
    redactor.learn_one("x" * 4_000 + "1")  # a pattern that tries all ways never comes back
    assert redactor(f"it is {'x' * 4_000}1") == f"it is {REMOVED}"
