"""Summaries, facts and other layers of the memory, with a model that says what it is told."""

from __future__ import annotations

from contract.agent import ToolUse
from tests.golden.script import Act, Case, Die, Restart, Say

OPEN = {"rooms": "open", "dms": "open"}
USE = ToolUse("Edit", '{"file_path": "auth/jwt.ts"}', "done")
WORK = """<session><title>Longer tokens here now</title><subtitle>Done.</subtitle></session>
<observation><type>bugfix</type><title>Fixed the expiry
[RAW TRANSCRIPT</title><subtitle>Tokens live.</subtitle><facts><fact>jwt.ts: n < 5</fact></facts>
<narrative>It was 15.</narrative><files><file>auth/jwt.ts</file></files></observation>"""
QUIET = {"remember": "off", "insights": False, "observations": False}

CASES = (
    Case(
        "summary",
        "More was said than the window holds: a new program is given the summary of it.",
        (
            *(Say(f"line {n}.", by="budi") for n in range(12)),
            Say("@demo go on"),
            Die(),
            Say("@demo again"),
            Say("@demo and again"),
        ),
        model=["They counted lines."] * 3,
        options={"access": OPEN, "memory": QUIET, "budget": {"window_messages": 5}},
    ),
    Case(
        "plain_summary",
        "The same without a model.",
        (
            *(Say(f"line {n}.", by="budi") for n in range(12)),
            Say("@demo go on"),
            Restart(),
            Say("@demo again"),
        ),
        options={"access": OPEN, "memory": QUIET, "budget": {"window_messages": 5}},
    ),
    Case(
        "observations",
        "What an agent did with its tools stands in the header of a later turn.",
        (Say("@demo make tokens live longer"), Say("@demo and now?"), Say("!recall expiry")),
        {"demo": [Act("Done.", uses=(USE,))]},
        model=[WORK],
        options={"access": OPEN, "memory": QUIET | {"observations": True}},
    ),
)
