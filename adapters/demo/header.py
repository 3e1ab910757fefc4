"""The header that the demo agent was given, taken apart."""

from __future__ import annotations

import re
from collections import namedtuple

Message = namedtuple("Message", "time by text")

_HEADING = re.compile(r"\[([A-Z][A-Z ]+[A-Z])(?: — ([^\]]*))?\]\Z")
_MESSAGE = re.compile(r"\[(\d\d:\d\d) \| (.*?)\] ?(.*)\Z", re.DOTALL)
_TOKEN = re.compile(r" \((?:<@[^>]*>|@[^)]*)\)\Z")
_ADDRESS = re.compile(
    r"\s*(?:(?:<@[^>\s]+>|@[\w.=/+-]+(?::[\w-]+(?:\.[\w-]+)+(?::\d+)?)?)[:,]?\s*)+"
)
_TO = re.compile(r", to the message of (\d\d:\d\d)(?: \((\d+) of theirs follow| \(their last|\.)")
_RESPOND = re.compile(r"Respond to (.+?) in (this direct message|room .+?|.+?)\.")


class Header:
    """Sections by name, each a list of lines. `known`: False for a text that is no header."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.sections: dict[str, list[str]] = {}
        self.notes: dict[str, str] = {}
        lines: list[str] = []
        for line in prompt.split("\n"):
            if heading := _HEADING.match(line):
                lines = self.sections.setdefault(heading[1], [])
                self.notes[heading[1]] = heading[2] or ""
            else:
                lines.append(line)
        self.known = "CURRENT INVOCATION" in self.sections

    def lines(self, section: str) -> list[str]:
        """The section's lines that are not blank."""
        return [line for line in self.sections.get(section, []) if line.strip()]

    def field(self, name: str) -> str:
        """A field of the session context, e.g. "Room"; "" when it isn't there."""
        for line in self.lines("SESSION CONTEXT"):
            key, colon, value = line.partition(": ")
            if colon and key == name:
                return value
        return ""

    def messages(self) -> list[Message]:
        """The raw transcript, oldest first."""
        found: list[Message] = []
        for line in self.sections.get("RAW TRANSCRIPT", []):
            if match := _MESSAGE.match(line):
                found.append(Message(match[1], _TOKEN.sub("", match[2]), match[3]))
            elif found and line.startswith("  "):
                time, by, text = found[-1]
                found[-1] = Message(time, by, f"{text}\n{line[2:]}")
            elif found and not line:
                time, by, text = found[-1]
                found[-1] = Message(time, by, f"{text}\n")
        # U+2060 stands behind an `@` that an agent could take for a file's
        return [Message(m.time, m.by, m.text.rstrip("\n").replace("\u2060", "")) for m in found]

    def asked_by(self) -> str:
        """The person to answer, as the invocation says."""
        match = _RESPOND.search("\n".join(self.lines("CURRENT INVOCATION")))
        return match[1] if match else ""

    def question(self) -> str:
        """The question, without the mention of this agent: the last message, unless the invocation
        says which one it is."""
        if not self.known:
            return self.prompt.strip()
        who = self.asked_by()
        said = self.messages()
        theirs = [m for m in said if who == m.by or who.startswith((f"{m.by},", f"{m.by} and "))]
        of = _TO.search("\n".join(self.lines("CURRENT INVOCATION")))
        if of is not None:
            then = [m for m in theirs if m.time == of[1]]
            theirs = then[: len(then) - int(of[2] or 0)] or theirs
        you = self.field("You are").split(" ")[0]
        named = [
            m
            for m in theirs
            if (you and you.casefold() in m.text.casefold()) or m.text.startswith("<@")
        ]
        if of is not None:  # it may be without a mention, as in a thread
            last = theirs or said
        else:
            last = said if theirs[-1:] == said[-1:] else named or theirs or said
        chosen = last[-1:]
        return _without_address(chosen[0].text, you).strip() if chosen else ""


def _without_address(text: str, you: str) -> str:
    """The text without the mention it begins with, or else without this agent's name."""
    if match := _ADDRESS.match(text):
        return text[match.end() :]
    return re.sub(rf"(?i)\s*{re.escape(you)}\b", "", text, count=1) if you else text
