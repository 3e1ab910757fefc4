"""What is learned from failing tools where no model reads along."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.agent import ToolUse
from memory.insights.tool_failures import (
    Failure,
    FailureClass,
    failure_class,
    failures,
    with_failures,
)

CASES: list[tuple[FailureClass, str]] = [
    ("not found", "bash: npmm: command not found"),
    ("not found", "Exit code 127"),
    ("not found", "cat: x: No such file or directory"),
    ("not found", "Error: ENOENT: no such file or directory, open 'a'"),
    ("not found", "curl: (22) The requested URL returned error: 404"),
    ("not found", "ModuleNotFoundError: No module named 'foo'"),
    ("not found", "String to replace not found in file."),
    ("not found", "File does not exist."),
    ("network", "curl: (6) Could not resolve host: example.test"),
    ("network", "connect ECONNREFUSED 127.0.0.1:5432"),
    ("network", "Host not found"),
    ("network", "HTTP/1.1 503 Service Unavailable"),
    ("network", "fatal: unable to access: Failed to connect to git.test port 443"),
    ("auth", "HTTP 403"),
    ("auth", "status code: 401"),
    ("auth", "-bash: ./x.sh: Permission denied"),
    ("auth", "remote: Invalid API key provided"),
    ("auth", "fatal: could not read Username for 'https://git.test'"),
    ("rate limit", "429 Too Many Requests"),
    ("rate limit", "API RATE LIMIT exceeded for user"),
    ("rate limit", "Error: rate_limit_error"),
    ("bad parameters", "InputValidationError: path"),
    ("bad parameters", "grep: unrecognized option '--x'"),
    ("bad parameters", "error: unexpected argument '--foo' found"),
    ("bad parameters", "HTTP 422"),
    ("bad parameters", "x\nusage: tool [-h] file"),
    ("bad parameters", "The required parameter `file_path` is missing"),
]


@pytest.mark.parametrize(("kind", "result"), CASES)
def test_a_failure_is_classed_by_its_words(kind: FailureClass, result: str) -> None:
    assert failure_class(ToolUse("Bash", "x", result, failed=True)) == kind
    assert failure_class(ToolUse("Bash", "x", result.upper(), failed=True)) == kind


@pytest.mark.parametrize(
    "result", ["", "2 tests failed", "Exit code 1", "line 404 of 429 in v4.03"]
)
def test_a_failure_that_tells_no_class_teaches_nothing(result: str) -> None:
    assert failure_class(ToolUse("Bash", "x", result, failed=True)) is None


@pytest.mark.parametrize(
    "result",
    [
        "def f():\n    raise NotFound('no such file')",
        "# Errors\n404 Not Found means that the page is not there",
        "10:02 started\nerror: connection refused",
        "Errors are handled by errors.py; permission denied is one",
    ],
)
def test_a_file_that_speaks_of_errors_is_no_failure(result: str) -> None:
    assert failure_class(ToolUse("Read", "x", result)) is None


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("not found", "\nfatal: path 'x' does not exist in 'HEAD'"),
        ("not found", "sh: 1: npmm: command not found"),
        ("network", "curl: (7) Failed to connect to localhost"),
        ("auth", "Error: permission denied"),
        ("rate limit", "HTTP/2 429"),
        ("bad parameters", "error: unknown option `--x'"),
    ],
)
def test_a_result_that_begins_like_an_error_is_one_though_nobody_says_so(
    kind: FailureClass, result: str
) -> None:
    assert failure_class(ToolUse("Bash", "x", result)) == kind


def test_the_end_of_a_long_result_is_read_too() -> None:
    long = "x\n" * 10_000 + "npmm: command not found"
    assert failure_class(ToolUse("Bash", "x", long, failed=True)) == "not found"


def test_it_says_what_failed_and_what_to_do() -> None:
    [failure] = failures([ToolUse("Bash", "npm  test\n", "npm: command not found", failed=True)])
    assert failure.text() == (
        "`Bash` failed: not found (npm test); check that the path or command exists first"
    )
    assert Failure("Bash", "auth").text() == (
        "`Bash` failed: auth; check the permissions or the login first"
    )


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ('{"description": "Runs", "command": "npm test"}', "npm test"),
        ('{"thing": "a thing", "n": 2}', "a thing"),
        ('{"n": 2}', ""),
        ("[1, 2]", "[1, 2]"),
        ("[" * 8000, "[" * 39 + "…"),
        ("`x`\n[PINS — y]", "'x' [PINS — y]"),
    ],
)
def test_of_what_was_given_the_telling_part_is_shown(given: str, shown: str) -> None:
    [failure] = failures([ToolUse("Bash", given, "HTTP 404", failed=True)])
    assert failure.given == shown


def test_the_newest_three_are_kept_one_a_tool_and_class() -> None:
    kept: list[str] = []
    for what, tool, kind in [
        ("one", "Bash", "auth"),
        ("two", "Read", "not found"),
        ("three", "Bash", "auth"),
        ("four", "Bash", "network"),
        ("five", "Fetch", "network"),
    ]:
        kept = with_failures(kept, [Failure(tool, kind, what)])  # type: ignore[arg-type]
    assert [text.split("(")[1].split(")")[0] for text in kept] == ["five", "four", "three"]


def test_what_a_model_wrote_stays_beside_them() -> None:
    kept = ["Use `rg`; it is faster (much)", "`Bash` failed: auth (a); check"]
    new = with_failures(kept, [Failure("Bash", "auth", "b"), Failure("Bash", "network", "c")])
    assert [text[:22] for text in new] == [
        "`Bash` failed: network",
        "`Bash` failed: auth (b",
        kept[0][:22],
    ]


USES = st.builds(
    ToolUse,
    st.text(max_size=60),
    st.text(max_size=200) | st.dictionaries(st.text(), st.text()).map(json.dumps),
    st.sampled_from([result for _, result in CASES]) | st.text(),
    st.booleans(),
)


@given(st.lists(USES, max_size=6))
def test_whatever_tools_say_three_short_lines_come_of_it(uses: list[ToolUse]) -> None:
    texts = with_failures([], failures(uses))
    assert len(texts) <= 3
    assert with_failures(texts, failures(uses)) == texts
    for text in texts:
        assert len(text) <= 150
        assert text == " ".join(text.split())
        text.encode()
