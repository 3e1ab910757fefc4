"""What makes a permission question a dangerous one. Pure.

A help for people who would say yes in passing, not a wall: a program can always be written that no
pattern knows. The wall is the sandbox.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import regex

from contract import Question

DANGEROUS: tuple[str, ...] = (
    # deletes or overwrites what can't be had again
    r"\brm\s+(?:\S+\s+)*?-(?:[a-z]*[rf]|-recursive|-force)",
    r"\b(?:shred|mkfs(?:\.\w+)?|wipefs|fdisk|truncate\s+-s)\b",
    r"\bdd\s+.*\bof=",
    r"\bfind\b.*\s-(?:delete|exec)\b",
    r"\bgit\s+(?:\S+\s+)*?push\b.*(?:\s--force|\s-f\b|\s\+\S|--mirror|--delete)",
    r"\bgit\s+(?:\S+\s+)*?(?:reset\s+.*--hard|clean\s+.*-[a-z]*f|filter-branch|filter-repo)",
    r"\b(?:drop\s+(?:table|database|schema|role|user)|truncate\s+table|delete\s+from)\b",
    r"\b(?:terraform|tofu|pulumi)\s+(?:\S+\s+)*?(?:apply|destroy|up)\b",
    r"\b(?:kubectl|helm)\s+(?:\S+\s+)*?(?:delete|apply|drain|uninstall|upgrade)\b",
    r"\bdocker\s+(?:\S+\s+)*?(?:prune|rm|rmi|--privileged)",
    # becomes somebody else, or changes the machine
    r"\b(?:sudo|doas|su|pkexec|runuser|chroot|setcap|insmod|modprobe)\b",
    r"\bch(?:mod|own|grp)\s+(?:\S+\s+)*?(?:-[a-z]*R|--recursive|[0-7]*777|[ugoa]*\+s)",
    r"\b(?:shutdown|reboot|halt|poweroff|systemctl|service|launchctl|crontab|iptables|nft|ufw)\b",
    r"\b(?:kill\s+-(?:9|KILL)\s+-?1|killall|pkill)\b",
    r":\s*\(\s*\)\s*\{.*\}\s*;\s*:",  # a fork bomb
    # runs what nobody has read
    r"\|\s*(?:\S*/)?(?:env\s+)?(?:ba|da|z|k|fi)?sh\b",
    r"\|\s*(?:\S*/)?(?:python|perl|ruby|node|php)[\d.]*\b",
    r"\b(?:eval|source)\s",
    r"\b(?:ba|z|da)?sh\s+<\(",
    r"\bbase64\s+(?:-d|-D|--decode)",
    # the network
    r"\b(?:curl|wget|nc|ncat|netcat|socat|telnet|ssh|scp|sftp|rsync|ftp|aria2c)\b",
    r"\b(?:npm|pnpm|yarn|cargo|gem|twine|poetry|uv)\s+(?:\S+\s+)*?publish\b",
    r"\b(?:web\s?fetch|fetch this page)\b",
    # what holds secrets
    r"(?:^|[\s/'\"=])\.(?:ssh|aws|gnupg|kube|netrc|npmrc|pypirc|docker)\b",
    r"/etc/(?:passwd|shadow|sudoers)|\bid_(?:rsa|ed25519|ecdsa)\b",
    r"(?:^|[\s/'\"=])\.env\b|\bprintenv\b",
)
"""The defaults of `[access] dangerous`; upper and lower case are the same."""

MOST_CHARS = 20_000  # nobody reads more of a question, and what nobody read is dangerous
PATTERN_S = 0.05  # of one pattern on one question: an administrator's may never end

_WRITES = regex.compile(
    r"(?i)\b(?:edit|write|create|overwrite|move|delete|save|patch|append|replace)"
)
_WRITING = regex.compile(
    r"(?:>>?|\btee\b(?:\s+-a)?|\b(?:cp|mv|install|ln)\b[^|;&\n]*)\s+['\"]?((?:~|\.\.|/)[^\s'\"]*)"
)
_PATH = regex.compile(r"(?<![\w./~-])(?:~|\.\.|/)[^\s'\"`,;:|&()<>]*")
_HARMLESS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
_UNSEEN = regex.compile(r"[\p{Cf}\p{Cc}--[\n\t ]]", regex.VERSION1)


@dataclass(frozen=True, slots=True)
class Danger:
    """Looks at questions with an administrator's patterns."""

    patterns: Sequence[Any]

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Danger:
        """Raises regex.error when one is none."""
        return cls([regex.compile(pattern, regex.IGNORECASE) for pattern in patterns])

    def reason(self, question: Question, workspace: Path | None = None) -> str | None:
        """Why it is dangerous, in a few words; None: nothing says so.

        workspace: outside of it, files aren't to be written.
        """
        text = seen(f"{question.title}\n{question.detail}")
        if len(text) > MOST_CHARS:
            return "it is too long to be judged"
        for pattern in self.patterns:
            try:
                found = pattern.search(text, timeout=PATTERN_S)
            except TimeoutError:
                return "a pattern took too long to judge it"
            if found:
                return f"it says {' '.join(found[0].split())[:60]!r}"
        return None if workspace is None else _outside(question, text, workspace)


def seen(text: str) -> str:
    """The text on one line as a shell or a person may take it."""
    joined = text.replace("\\\n", " ")
    return " ".join(_UNSEEN.sub("", unicodedata.normalize("NFKC", joined)).split())


def _outside(question: Question, text: str, workspace: Path) -> str | None:
    """A file that would be written outside of the workspace, as far as the text tells."""
    paths = [match[1] for match in _WRITING.finditer(text)]
    if _WRITES.search(seen(question.title)):
        paths += _PATH.findall(text)
    for path in paths:
        if path not in _HARMLESS and not _is_within(path, workspace):
            return f"it writes outside the workspace ({path[:60]})"
    return None


def _is_within(path: str, workspace: Path) -> bool:
    if path.startswith("~"):
        return False
    parts: list[str] = []
    for part in PurePosixPath(workspace, path).parts:
        if part == "..":
            parts = parts[:-1] if len(parts) > 1 else parts
        else:
            parts.append(part)
    return PurePosixPath(*parts).is_relative_to(PurePosixPath(workspace))
