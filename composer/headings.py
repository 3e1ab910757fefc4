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
