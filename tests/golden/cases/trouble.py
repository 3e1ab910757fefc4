"""Refusals, limits, faults of agents and platforms, secrets, restarts."""

from __future__ import annotations

from typing import get_args

from bots.bot import PlatformCapabilities
from contract.agent import Usage
from contract.errors import AgentFault, PlatformError
from gateway.access.pairings import LET_IN
from tests.golden.cases.commands import ASKS
from tests.golden.script import (
    BUDIS_DM,
    DM,
    Act,
    Break,
    Call,
    Case,
    Delete,
    Reach,
    Release,
    Restart,
    Say,
    Write,
)

CLOSED = {"access": {"rooms": "closed", "owners": ["fake:olivia"]}}
OPEN = {"rooms": "open", "dms": "open"}
SECRET = "xoxb-1234-canary-7f3a91c2"
TWO = ("ada", "bob")
OLIVIAS_DM_ID = "fake:d9"
RETRY = PlatformError("slow down", outcome="retry", retry_after_s=0.01)
UNKNOWN = PlatformError("the line went dead", outcome="unknown")
REFUSED = PlatformError("archived", outcome="refused")

CASES = (
    Case(
        "stranger",
        "An unknown person is refused in one line, once; talk of theirs is stored.",
        (
            Say("hello all"),
            Say("@demo hello"),
            Say("@demo hello?"),
            Say("!pin tea"),
            Say("!help"),
            Say("@demo I am Olivia", by="olivia"),
        ),
        options=CLOSED,
    ),
    Case(
        "nobody_owns_it",
        "A house without an owner says how to get one.",
        (Say("@demo hello"), Say("hello", room=DM)),
        options={"access": {"rooms": "closed"}},
    ),
    Case(
        "pairing",
        "An unknown person's direct message: a code, once; an owner lets them in.",
        (
            Say("who are you?", room=DM),
            Say("hello?", room=DM),
            Say("!help", room=DM),
            Say("!pair", by="olivia", room=BUDIS_DM),
            Say("hello", by="olivia", room=BUDIS_DM),
            Say("!pair WRONGCDE", by="olivia", room=BUDIS_DM),
            Say("!pair <code>", by="olivia", room=BUDIS_DM),
            Say("thanks", room=DM),
        ),
        {"demo": ["Hello.", Act("I am demo.", posted=6), "You're welcome."]},
        late={LET_IN: 2},
        options={"access": {"owners": ["fake:olivia"]}},
    ),
    Case(
        "guests",
        "A guest asks where only members are answered.",
        (Say("@demo hello"), Say("@demo hello", by="mia"), Say("!pin x"), Say("!landmarks")),
        options={
            "access": {
                "invoke": "member",
                "grants": [
                    {"role": "guest", "people": ["fake:ash"]},
                    {"role": "member", "people": ["fake:mia"]},
                ],
                "owners": ["fake:olivia"],
            }
        },
    ),
    Case(
        "allowed_one_of_two",
        "A person may ask one of the two personas that are named.",
        (
            Say("@bob wait", settles=False),
            Reach(prompts=1),
            Say("@ada @bob hello", settles=False),
            Reach(posted=1),
            Release("go"),
            Say("@ada hello"),
        ),
        {"bob": [Act("done", held="go")]},
        personas=TWO,
        options={
            "access": {
                "grants": [{"role": "member", "people": ["fake:ash"], "personas": ["bob"]}],
                "owners": ["fake:olivia"],
            }
        },
    ),
    Case(
        "hand_over_to_a_closed_persona",
        "A question is handed over to a persona whom its asker may not ask.",
        (Say("@ada hello"), Say("@ada hello again")),
        {"ada": ["@bob please", "@bob again"]},
        personas=TWO,
        options={"access": OPEN | {"personas": {"bob": {"invoke": "owner"}}}},
    ),
    Case(
        "limits",
        "A question too many is stored and never asks; its sender is told once.",
        (
            Say("@demo one"),
            Say("@demo two"),
            Say("@demo three"),
            Say("!landmarks"),
            Say("@demo four", by="budi"),
        ),
        options={"limits": {"person": {"questions_a_day": 1}}, "access": OPEN},
    ),
    Case(
        "token_limits",
        "What an agent took counts against a budget.",
        (Say("@demo one"), Say("@demo two"), Say("!usage")),
        {"demo": [Act("done", usage=Usage("m-1", 900, 100, 500))]},
        options={"limits": {"persona": {"tokens_a_month": 1000}}, "access": OPEN},
    ),
    *(
        Case(
            f"fault_{kind}",
            f"An agent that fails with {kind!r}, with and without a beginning; the next works.",
            (Say("@demo one"), Say("@demo two"), Say("@demo three")),
            {
                "demo": [
                    Act(fault=kind, say=f"It says {kind}."),
                    Act("So far", fault=kind, say=f"It says {kind}.", usage=Usage("m-1", 9, 1)),
                ]
            },
        )
        for kind in get_args(AgentFault)
    ),
    Case(
        "program_does_not_start",
        "A program that does not start, then does.",
        (Say("@demo one"), Say("@demo two")),
        starts=(("missing", "Install it."),),
        marks=2,
    ),
    Case(
        "context_fault",
        "The prompt was too long: the next turn of the living session is given the window again.",
        (
            Say("@demo one"),
            Say("a", by="budi"),
            Say("@demo two"),
            Say("b", by="budi"),
            Say("@demo three"),
        ),
        {"demo": ["1", Act(fault="context", say="Too long."), "3"]},
    ),
    Case(
        "compacted",
        "A program that condensed its context.",
        (Say("@demo one"), Say("a", by="budi"), Say("@demo two"), Say("@demo three")),
        {"demo": [Act("1", compacted=True), "2", "3"]},
    ),
    Case(
        "timeout",
        "A turn that takes too long is given up.",
        (Say("@demo one"),),
        {"demo": [Act(held="never")]},
        options={"turns": {"timeout_s": 0.3}, "access": OPEN},
    ),
    Case(
        "crash",
        "A driver that breaks in an unforeseen way: one line, and the next turn works.",
        (Say("@demo one"), Say("@demo two")),
        {"demo": [Act(crash=True), "fine"]},
    ),
    Case(
        "empty_reply",
        "An agent that says nothing, and one that says nothing but blanks.",
        (Say("@demo one"), Say("@demo two")),
        {"demo": ["", " \n "]},
    ),
    Case(
        "read_from_the_screen",
        "An answer that was read from the screen, and one that used tools.",
        (Say("@demo one"), Say("@demo two")),
        {
            "demo": [
                Act("1", source="screen", ended_by="title"),
                Act("2", tools=("Read(src/auth.py)", "Bash(ls)")),
            ]
        },
    ),
    Case(
        "long_reply",
        "An answer in pieces, and one so long that it goes out as a file.",
        (Say("@demo one"), Say("@demo two", thread="t1")),
        {"demo": ["x" * 25, "First line.\n" + "y" * 100]},
        capabilities=PlatformCapabilities(draft_interval_s=None, max_posts=3),
        limit=10,
    ),
    Case(
        "posts_that_fail",
        "Rate limits, a post in doubt, one that arrived unheard, and one refused for good.",
        (
            Break((RETRY, RETRY)),
            Say("@demo one"),
            Break((UNKNOWN,)),
            Say("@demo two"),
            Break(lost=1),
            Say("@demo three"),
            Break((REFUSED,)),
            Say("@demo four"),
            Say("@demo five"),
        ),
    ),
    Case(
        "secrets",
        "A known secret in the room, in a name and in an answer: nobody is given it.",
        (
            Say(f"the token is {SECRET}, keep it", by="budi"),
            Say("hi", by="eve", meta={"sender_display_name": f"Eve {SECRET}"}),
            Say(f"!pin {SECRET}"),
            Say(f"@demo is {SECRET} right?"),
            Say("@demo and now?", by="budi"),
        ),
        {"demo": [f"It is {SECRET}.", Act(f"So far {SECRET}", fault="api", say=f"No {SECRET}.")]},
        secrets=(SECRET,),
    ),
    Case(
        "private_text",
        "Private parts of messages, and messages that are kept out of memory.",
        (
            Say("the code is <private>4711</private>, tell nobody", by="budi"),
            Say("off the record", by="budi", meta={"include_in_memory": False}),
            Say("@demo <private>between us</private> which code?"),
            Say("!pin off", by="budi", meta={"include_in_memory": False}),
            Say("!recall code"),
        ),
        remembers=True,
    ),
    Case(
        "persona_gone",
        "A persona's file is removed while it answers, and then asked again.",
        (
            Say("@ada one", settles=False),
            Reach(prompts=1),
            Say("@ada two", settles=False),
            Write("ada", None),
            Release("go"),
            Say("@ada three"),
            Say("@bob four"),
        ),
        {"ada": [Act("one", held="go")]},
        personas=TWO,
    ),
    Case(
        "only_persona_gone",
        "The only persona's file is removed: nobody answers, and commands still do.",
        (
            Say("@demo one"),
            Write("demo", None),
            Say("@demo two"),
            Say("!landmarks"),
            Say("!pin tea at four"),
            Say("hello", room=DM),
            Say("!landmarks", room=DM),
        ),
    ),
    Case(
        "persona_changed",
        "A persona's file changes between two turns: its program is started again.",
        (
            Say("@demo one"),
            Write("demo", "---\nagent: scripted\nmodel: m2\n---\nYou are new.\n"),
            Say("@demo two"),
            Write("demo", "broken"),
            Say("@demo three"),
        ),
    ),
    Case(
        "restart_while_it_runs",
        "Killed while a turn runs and another waits: both are answered once after the start.",
        (
            Say("@demo one", settles=False),
            Reach(prompts=1),
            Say("@demo two", by="budi", settles=False),
            Restart(),
            Say("@demo three"),
        ),
        {"demo": [Act("never", held="never"), "one", "two", "three"]},
    ),
    Case(
        "restart_after_it_answered",
        "Killed between the answer's record and its post.",
        (
            Break((PlatformError("down", outcome="retry", retry_after_s=30.0),)),
            Say("@demo one", settles=False),
            Reach(failed=1),
            Restart(),
            Say("@demo two"),
        ),
        {"demo": ["one", "two"]},
    ),
    Case(
        "restart_of_a_session",
        "After a restart the session is resumed and given the whole window.",
        (
            Say("@demo one"),
            Say("a", by="budi"),
            Restart(),
            Say("@demo two"),
            Say("@demo three"),
        ),
    ),
    Case(
        "restart_with_a_deleted_question",
        "Deleted while it waits, and the house is killed in the turn before it.",
        (
            Say("@demo one", settles=False),
            Reach(prompts=1),
            Say("@demo two", id="b", settles=False),
            Delete("b", settles=False),
            Restart(),
            Say("@demo three"),
        ),
        {"demo": [Act("never", held="never"), "one", "three"]},
    ),
    Case(
        "dry_run",
        "A persona's preview and dry run over the HTTP API: they change nothing.",
        (
            Say("we use postgres", by="budi"),
            Say("!pin tea at four"),
            Say("@demo hello"),
            Call(
                "POST",
                "/api/personas/preview",
                {
                    "name": "demo",
                    "room_id": "fake:general",
                    "by": {"id": "web:ana", "name": "Ana"},
                    "message": "which database?",
                },
                only=("system", "header"),
            ),
            Call(
                "POST",
                "/api/personas/dry-run",
                {
                    "name": "demo",
                    "text": "---\nagent: scripted\n---\nYou are new.\n",
                    "room_id": "fake:general",
                    "by": {"id": "web:ana", "name": "Ana"},
                    "message": "@demo which database? [SESSION CONTEXT]",
                },
                only=("system", "header", "answer", "asked", "tools", "trouble"),
            ),
            Call(
                "POST",
                "/api/personas/dry-run",
                {"name": "demo", "by": "web:ana", "message": "in private"},
                only=("system", "header", "answer", "asked", "tools", "trouble"),
            ),
        ),
    ),
    Case(
        "dry_run_that_fails",
        "A dry run whose agent fails, and one that asks.",
        (
            Call(
                "POST",
                "/api/personas/dry-run",
                {"name": "demo", "by": "web:ana", "message": "one"},
                only=("header", "answer", "asked", "trouble"),
            ),
            Call(
                "POST",
                "/api/personas/dry-run",
                {"name": "demo", "by": "web:ana", "message": "two"},
                only=("header", "answer", "asked", "trouble"),
            ),
        ),
        {"demo": [Act("So far", fault="api", say="Overloaded."), ASKS]},
    ),
)
