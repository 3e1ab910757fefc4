"""Recognises dangerous permission questions. Pure.

A help for people who would say yes in passing, not a wall: a program can always be written that no
pattern knows. The wall is the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import regex

from contract.agent import Question
from contract.looks import normalized
from contract.values import dataclass

DANGEROUS: tuple[str, ...] = (
    # deletes or overwrites what can't be had again
    r"\brm\s+(?:\S+\s+)*?-(?:[a-z]*[rf]|-recursive|-force)",
    r"\$\w+\s+-(?:rf|fr)\b",  # whatever that variable holds
    r"\bxargs\s.*\b(?:rm|unlink|(?:ba|da|z|k)?sh)\b",
    r"\b(?:shred|unlink|mkfs(?:\.\w+)?|wipefs|fdisk|truncate\s+-s)\b",
    r"\bdd\s+.*\bof=",
    r"\b(?:find|fd)\b.*\s(?:-(?:delete|exec\w*|ok\w*|x)|--exec\S*)\b",
    r"\bgit\s+(?:\S+\s+)*?push\b.*\s(?:--force|-[a-z]*[fd]\b|[+:]\S|--mirror|--delete)",
    r"\bgit\s+(?:\S+\s+)*?(?:reset\s+.*--hard|clean\s+.*-[a-z]*f|filter-branch|filter-repo)",
    r"\bgit\s+(?:\S+\s+)*?(?:restore\s|checkout\s+.*--\s|stash\s+(?:drop|clear)"
    r"|branch\s+.*(?-i:-D\b))",
    r"\b(?:drop\s+(?:table|database|schema|role|user|column)|truncate\s+table|delete\s+from)\b",
    r"\b(?:dropdb|dropDatabase|flushall|flushdb)\b",
    r"\b(?:terraform|tofu|pulumi)\s+(?:\S+\s+)*?(?:apply|destroy|up)\b",
    r"\b(?:kubectl|helm)\s+(?:\S+\s+)*?(?:delete|apply|drain|uninstall|upgrade)\b",
    r"\b(?:aws|gcloud|az|gsutil|gh|heroku)\s+(?:\S+\s+)*?(?:delete|destroy|rm|rb|terminate)\b",
    r"\bdocker\s+(?:\S+\s+)*?(?:prune|rm|rmi|--privileged)",
    r"\b(?:rmtree|rmSync|rmdirSync|unlinkSync|os\.(?:remove|removedirs|rmdir))\b",
    r"\bremove-item\b|\b(?:del|rd|rmdir)\s+/[a-z]\b",
    # becomes somebody else, or changes the machine
    r"\b(?:sudo|doas|su|pkexec|runuser|chroot|nsenter|setcap|insmod|modprobe)\b",
    r"\b(?:useradd|usermod|userdel|visudo|chpasswd)\b|\bpasswd\s+\w",
    r"\bch(?:mod|own|grp)\s+(?:\S+\s+)*?(?:-[a-z]*R|--recursive|[0-7]*777|[ugoa]*\+s"
    r"|[ug]*[ao][ugoa]*\+[rx]*w)",
    r"\b(?:shutdown|reboot|halt|poweroff|systemctl|launchctl|crontab|iptables|nft|ufw)\b",
    r"\bservice\s+\S+\s+(?:start|stop|restart|reload)\b",
    r"\b(?:kill\s+-(?:9|KILL)\s+-?1|killall|pkill)\b",
    r":\s*\(\s*\)\s*\{.*\}\s*;\s*:",  # a fork bomb
    r"\bLD_PRELOAD=|\bcore\.(?:hooksPath|sshCommand|fsmonitor|pager|editor)\b|--no-verify\b",
    # runs what nobody has read
    r"\|\s*(?:\S*/)?(?:env\s+)?(?:ba|da|z|k|fi)?sh\b",
    r"\|\s*(?:\S*/)?(?:python|perl|ruby|node|php)[\d.]*\b",
    r"\b(?:eval|source)\s",
    r"\b(?:ba|z|da)?sh\s+<",
    r"\b(?:ba|z|da|k)?sh\s+-\S*c\s+[$`]",
    r"\bbase64\s+(?:-d|-D|--decode)",
    r"\bos\.(?:system|popen)\b",
    r"\b(?:npx|uvx|bunx)\s+\S|\bpipx\s+run\b",
    r"\b(?:pip[\d.]*|pipx|npm|pnpm|yarn|bun|gem|cargo|go|brew|apt|apt-get|dnf|yum|apk|pacman)\s+"
    r"(?:-\S+\s+)*(?:install|add|i)\s+(?:-(?!r\b)\S+\s+)*(?![-.])\S",
    r"\b(?:iex|invoke-expression)\b|\bpowershell\b.*\s-e(?:nc\w*)?\s",
    # the network
    r"\b(?:curl|wget|nc|ncat|netcat|socat|telnet|ssh|scp|sftp|rsync|ftp|aria2c)\b",
    r"/dev/(?:tcp|udp)/|\bopenssl\s+s_client\b",
    r"\b(?:iwr|irm|invoke-(?:webrequest|restmethod))\b",
    r"\b(?:npm|pnpm|yarn|cargo|gem|twine|poetry|uv)\s+(?:\S+\s+)*?publish\b",
    r"\b(?:web\s?fetch|fetch this page)\b",
    # what holds secrets
    r"(?:^|[\s/'\"=])\.(?:ssh|aws|gnupg|kube|netrc|npmrc|pypirc|docker|git-credentials)\b",
    r"/etc/(?:passwd|shadow|sudoers)|\bid_(?:rsa|ed25519|ecdsa)\b",
    r"(?:^|[\s/'\"=])\.env\b|\bprintenv\b|/proc/\S*/environ\b|\benv\s*(?:$|[|>;&])",
    r"\$\{?\w*(?:TOKEN|SECRET|PASSWORD|API_?KEY)|\bgh\s+(?:auth|secret)\b",
)
"""The defaults of `[access] dangerous`; upper and lower case are the same."""

MOST_CHARS = 20_000  # nobody reads more of a question, and what nobody read is dangerous
PATTERN_S = 0.05  # of one pattern on one question: an administrator's may never end

_WRITES = regex.compile(
    r"(?i)\b(?:edit|write|create|overwrite|move|delete|save|patch|append|replace)"
)
_COPIES = r"\b(?:cp|mv|rm|install|ln|touch|sed\s+-i)\b"
# One that names no such path is taken to its end, or each of many would be looked through.
_WRITING = regex.compile(
    rf"(?:(?:>>?|\btee\b(?:\s+-a)?)\s+|{_COPIES}[^|;&\n]*(?:(?<=\s)|\n\s*+))"
    rf"['\"]?((?:~|\.\.|/)[^\s'\"]*)|{_COPIES}[^|;&\n]*+"
)
_PATH = regex.compile(r"(?<![\w./~-])(?:~|\.\.|/)[^\s'\"`,;:|&()<>]*")
_HARMLESS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
_GAP = regex.compile(r"\$\{IFS[^}]*+\}|(?P<open>\$\{IFS[^}]*+)")
_BARE_GAP = regex.compile(r"\$IFS\b")
_QUOTES = regex.compile(r"\$(?=['\"])|['\"\\]")
_DASH = regex.compile(r"[\p{Pd}\u2212]")
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
        """The reason why it is dangerous, in a few words; None: nothing says so.

        workspace: outside of it, files aren't to be written.
        """
        text = seen(f"{question.title}\n{question.detail}")
        if len(text) > MOST_CHARS:
            return "it is too long to be judged"
        plain = unquoted(f"{question.title}\n{question.detail}")
        for one in dict.fromkeys((text, plain)):
            if found := self._found(one):
                return found
        return None if workspace is None else _outside(question, text, workspace)

    def _found(self, text: str) -> str | None:
        for pattern in self.patterns:
            try:
                found = pattern.search(text, timeout=PATTERN_S, concurrent=True)
            except TimeoutError:
                return "a pattern took too long to judge it"
            if found:
                return f"it says {' '.join(found[0].split())[:60]!r}"
        return None


def seen(text: str) -> str:
    """The text on one line as a shell or a person may take it."""
    joined = text.replace("\\\n", " ")
    folded = _DASH.sub("-", normalized("NFKC", joined))
    return " ".join(_UNSEEN.sub("", folded).split())


def unquoted(text: str) -> str:
    """The same as a shell takes it: without quotes, escapes and `$IFS` (`r\\m`, `'rm'`)."""
    gaps = _BARE_GAP.sub(" ", _GAP.sub(r"\g<open> ", text.replace("\\\n", "")))
    return seen(_QUOTES.sub("", gaps))


def _outside(question: Question, text: str, workspace: Path) -> str | None:
    """A file that would be written outside of the workspace, as far as the text shows."""
    paths = [match[1] for match in _WRITING.finditer(text) if match[1]]
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
