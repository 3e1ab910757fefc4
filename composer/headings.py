"""The header's sections: their names, their order, and their headings to the byte."""

from __future__ import annotations

SESSION = "SESSION CONTEXT"
RECALL = "RECALL"
PINS = "PINS"
RECOMMENDATIONS = "RECOMMENDATIONS"
LANDMARKS = "LANDMARKS"
SUMMARY = "EPISODIC SUMMARY"
OBSERVATIONS = "OBSERVATIONS"
THREAD = "THREAD CONTEXT"
TRANSCRIPT = "RAW TRANSCRIPT"
INVOCATION = "CURRENT INVOCATION"

HEADINGS = {
    SESSION: "[SESSION CONTEXT]",
    RECALL: "[RECALL — from long-term memory]",
    PINS: "[PINS — relevant context from our previous conversations]",
    RECOMMENDATIONS: "[RECOMMENDATIONS — based on previous interactions, please note]",
    LANDMARKS: "[LANDMARKS — pinned decisions]",
    SUMMARY: "[EPISODIC SUMMARY — last session]",
    OBSERVATIONS: "[OBSERVATIONS — earlier work by this agent]",
    THREAD: "[THREAD CONTEXT — prior messages in this thread, newest last]",
    TRANSCRIPT: "[RAW TRANSCRIPT — most recent 40 messages]",
    INVOCATION: "[CURRENT INVOCATION]",
}
"""In the order of the header. The transcript's number is replaced: see `transcript_heading`."""

# up to the dash: the transcript's number differs
_OPENINGS = tuple(heading[: heading.find("—") + 1] or heading for heading in HEADINGS.values())


def quoted(text: str) -> bool:
    """True when a text holds a heading: its author repeats what an agent was given."""
    plain = text.replace("\\", "")  # Markdown escapes brackets
    return any(opening in plain for opening in _OPENINGS)
