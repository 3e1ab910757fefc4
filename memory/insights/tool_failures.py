"""Reasons why tools failed, read from their words: what is learned without a model. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from contract.agent import ToolUse
from contract.values import dataclass
from memory.text import ends, one_line

FailureClass = Literal["rate limit", "auth", "network", "not found", "bad parameters"]

KEPT = 3
GIVEN_CHARS = 40
TOOL_CHARS = 30
READ_CHARS = 2_000  # an error stands at a result's beginning or end; read within 5 ms at worst

_ADVICE: dict[FailureClass, str] = {
    "rate limit": "wait before trying again, and ask for less at once",
    "auth": "check the permissions or the login first",
    "network": "check the address and that the host can be reached",
    "not found": "check that the path or command exists first",
    "bad parameters": "check the tool's parameters before calling it",
}

# A number counts as a status only behind a word that says so.
_STATUS = r"(?:http(?:/[\d.]+)?|status(?:[ _-]?code)?|error(?:[ _-]?code)?|code)[\s:=(\[]{1,3}"


def _one_of(codes: str, *phrases: str) -> re.Pattern[str]:
    return re.compile(rf"{_STATUS}(?:{codes})\b|{'|'.join(phrases)}", re.IGNORECASE | re.MULTILINE)


# The first class that fits counts: what is told about more exactly stands first, so that "host
# not found" is the network and "403: no such key" a matter of rights.
_CLASSES: dict[FailureClass, re.Pattern[str]] = {
    "rate limit": _one_of(
        "429",
        r"\b429 too many",
        r"too many requests",
        r"rate.?limit",
        r"quota (?:was |is |has been )?exceeded",
        r"exceeded (?:your|the|its) (?:\w+ )?quota",
        r"overloaded_error|(?:server|service|model|api) (?:is )?overloaded",
        r"\bthrottl(?:ed|ing)",
    ),
    "auth": _one_of(
        "40[137]",
        r"\b40[13] (?:unauthori[sz]ed|forbidden)",
        r"\bunauthori[sz]ed",
        r"\bforbidden\b",
        r"permission denied",
        r"access (?:is |was )?denied",
        r"\bEACCES\b",
        r"\bEPERM\b",
        r"operation not permitted",
        r"(?:authentication|login|authori[sz]ation) (?:failed|required|error)",
        r"not (?:logged in|authenticated|authori[sz]ed)",
        r"(?:invalid|missing|expired|bad) (?:api.?key|credentials?|(?:\w+ )?token|password)",
        r"could not read (?:username|password)",
    ),
    "network": _one_of(
        "50[234]",
        r"connection (?:was )?(?:refused|reset|timed out|aborted|closed|error)",
        r"\bE(?:CONNREFUSED|CONNRESET|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN)\b",
        r"(?:could not|couldn't|can't|cannot|unable to|failed to) (?:resolve|connect)",
        r"(?:host|name) (?:is )?(?:unreachable|not (?:found|known))",
        r"(?:name or service|nodename nor servname) not",
        r"name resolution",
        r"no route to host",
        r"network (?:is )?(?:unreachable|down|error)",
        r"(?:gateway|connect|read|request|socket) time(?:d )?.?out",
        r"bad gateway",
        r"service unavailable",
        r"(?:SSL|TLS|certificate)\w* (?:error|verif\w+ failed|handshake failed)",
    ),
    "not found": _one_of(
        "404|410|127",
        r"\b404 not found",
        r"not found\b",
        r"no such (?:file|directory|command|table|column|host|container|module|user|key)",
        r"\bENOENT\b",
        r"(?:does not|doesn't|did not|didn't) exist",
        r"(?:is )?not recognized as",
        r"no module named",
        r"(?:cannot|can't|could not|couldn't|unable to) (?:find|locate|open|stat)",
        r"unknown command",
        r"no matches found",
    ),
    "bad parameters": _one_of(
        "400|405|415|422",
        r"bad request",
        r"(?:invalid|unknown|unrecogni[sz]ed|unexpected|illegal|unsupported|missing|required|bad)"
        r" (?:\w+ ){0,2}(?:arguments?|options?|parameters?|flags?|inputs?|property|properties"
        r"|operands?)\b",
        r"(?:argument|option|parameter|property)\b.{0,60}"
        r" (?:is |are )?(?:required|missing|invalid|not valid|not allowed)",
        r"validation ?error",
        r"\bEINVAL\b",
        r"^usage:",
    ),
}

# A result is the file that was read or the page that was fetched as well: where the tool itself
# reports no failure, only a first line that begins like an error counts.
_ERROR_LINE = re.compile(
    r"^\W{0,3}(?:\S{1,40}: )?(?:(?:fatal|error|failed|failure|denied|panic|usage)\b[:! ]"
    r"|[\w.]*(?:Error|Exception)\b: "
    r"|HTTP/[\d.]+ [45]\d\d|curl: \(\d+\)|exit (?:code|status):? [1-9]"
    r"|command not found|.{1,80}: (?:command not found|No such file or directory"
    r"|Permission denied)$)",
    re.IGNORECASE,
)
_KEY = re.compile(r"(`[^`]+` failed: [a-z ]+?)(?: \(|; )")
_NOT_IN_NAMES = re.compile(r"[^\w.:/-]+")
_TELLING = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query")


@dataclass(frozen=True, slots=True)
class Failure:
    """A use of a tool that failed. given: one line, cut; may be empty."""

    tool: str
    kind: FailureClass
    given: str = ""

    @property
    def key(self) -> str:
        """The part of the text that later failures of the same kind have in common with it."""
        return f"`{self.tool}` failed: {self.kind}"

    def text(self) -> str:
        """The recommendation."""
        given = f" ({self.given})" if self.given else ""
        return f"{self.key}{given}; {_ADVICE[self.kind]}"


def failures(uses: Iterable[ToolUse]) -> list[Failure]:
    """The failed uses whose class is known, in their order."""
    known = ((use, failure_class(use)) for use in uses)
    return [Failure(_name(use.tool), kind, _given(use.given)) for use, kind in known if kind]


def failure_class(use: ToolUse) -> FailureClass | None:
    """The reason why a use failed; None: it didn't, or its words don't say."""
    said = ends(use.result.strip(), READ_CHARS)
    if not use.failed:
        said = said.partition("\n")[0]
        if not _ERROR_LINE.match(said):
            return None
    return next((kind for kind, signs in _CLASSES.items() if signs.search(said)), None)


def with_failures(kept: Sequence[str], new: Iterable[Failure]) -> list[str]:
    """Recommendations, newest first: one a tool and class, and no more than `KEPT`."""
    texts = {_key(text): text for text in reversed(kept)}
    for failure in new:
        texts.pop(failure.key, None)
        texts[failure.key] = failure.text()
    return list(reversed(texts.values()))[:KEPT]


def _key(text: str) -> str:
    """The key of the failure that a text was made from; another text is its own."""
    made = _KEY.match(text)
    return made[1] if made else text


def _name(tool: str) -> str:
    return _NOT_IN_NAMES.sub("_", tool)[:TOOL_CHARS] or "tool"


def _given(given: str) -> str:
    """The argument that tells most, on one line and without signs that would end it."""
    return one_line(_argument(given).replace("`", "'"), GIVEN_CHARS)


def _argument(given: str) -> str:
    try:
        arguments = json.loads(given)
    except (ValueError, RecursionError):  # no JSON, or cut, or nested without end
        return given
    if not isinstance(arguments, dict):
        return given
    texts = {name: value for name, value in arguments.items() if isinstance(value, str)}
    return next((texts[name] for name in _TELLING if name in texts), next(iter(texts.values()), ""))
