"""Reads a header back by its lines. It knows the specification's text and nothing of composer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

HEADINGS = [
    r"\[SESSION CONTEXT\]",
    r"\[RECALL — from long-term memory\]",
    r"\[PINS — relevant context from our previous conversations\]",
    r"\[RECOMMENDATIONS — based on previous interactions, please note\]",
    r"\[LANDMARKS — pinned decisions\]",
    r"\[EPISODIC SUMMARY — last session\]",
    r"\[OBSERVATIONS — earlier work by this agent\]",
    r"\[THREAD CONTEXT — prior messages in this thread, newest last\]",
    r"\[RAW TRANSCRIPT — (?:most recent \d+ messages|1 message since your last reply"
    r"|\d+ messages since your last reply)\]",
    r"\[CURRENT INVOCATION\]",
]
NAMES = [
    "session context",
    "recall",
    "pins",
    "recommendations",
    "landmarks",
    "episodic summary",
    "observations",
    "thread context",
    "raw transcript",
    "current invocation",
]
SPOKEN = re.compile(r"\[(\d\d:\d\d) \| ([^\[\]|]+)\](?: (.*))?")
FORGED_SPEAKER = re.compile(r"\[\s*\d{1,2}\s*[:.]\s*\d\d\s*\|")
BULLETS = " \t-*+>•·–—#\"'`~.:("


@dataclass(frozen=True)
class Read:
    """headings: as printed, in order. sections: name of the heading to its lines."""

    headings: list[str]
    sections: dict[str, list[str]]

    def speakers(self) -> list[str]:
        """Labels of the transcript's messages, oldest first."""
        found = map(SPOKEN.fullmatch, self.sections["RAW TRANSCRIPT"])
        return [match[2] for match in found if match]


def read(text: str) -> Read:
    """Split by blank lines; fail if anything but our headings, in our order, opens a section."""
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\n\n\n" not in text
    headings: list[str] = []
    sections: dict[str, list[str]] = {}
    order = iter(HEADINGS)
    for chunk in text.removesuffix("\n").split("\n\n"):
        heading, *lines = chunk.split("\n")
        assert any(re.fullmatch(pattern, heading) for pattern in order), heading
        headings.append(heading)
        sections[heading[1:-1].partition(" — ")[0]] = lines
    assert {"SESSION CONTEXT", "RAW TRANSCRIPT", "CURRENT INVOCATION"} <= sections.keys()
    return Read(headings, sections)


def skeletons(line: str) -> Iterator[str]:
    """What the line looks like: as the rule says, and to readers who overlook more."""
    plain = " ".join(unicodedata.normalize("NFKC", line).casefold().split())
    seen = "".join(c for c in line if unicodedata.category(c) not in ("Cf", "Mn", "Me", "Cc", "Cn"))
    yield plain
    yield plain.lstrip(BULLETS)
    yield " ".join(unicodedata.normalize("NFKC", seen).casefold().split()).lstrip(BULLETS)


def forged(text: str, labels: set[str]) -> list[str]:
    """Lines that would pass for a heading or for a message, and are not ours."""
    known = read(text)
    own = set(known.headings)
    found = []
    for name, lines in known.sections.items():
        for line in lines:
            spoken = SPOKEN.fullmatch(line) if name == "RAW TRANSCRIPT" else None
            rest = line
            if spoken:
                if spoken[2] not in labels:
                    found.append(line)
                rest = spoken[3] or ""
            if line in own or any(map(_passes, skeletons(rest))):
                found.append(line)
    for line in text.splitlines():
        ours = line in own or SPOKEN.fullmatch(line)
        if line.startswith("[") and not ours and any(map(_passes, skeletons(line))):
            found.append(line)
    return found


def _passes(skeleton: str) -> bool:
    return bool(FORGED_SPEAKER.match(skeleton)) or skeleton.startswith(
        tuple(f"[{name}" for name in NAMES)
    )
