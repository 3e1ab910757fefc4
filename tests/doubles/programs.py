"""Small terminal programs that behave badly in one way each, and profiles that drive them."""

import re
import sys
from dataclasses import fields, replace

from adapters.cli_profile import Profile, Program, ReadySigns
from adapters.profiles.demo import read_row, read_state
from adapters.screen_profile import PromptRows, ReplyRows, ScreenProfile
from adapters.turn_signs import (
    Controls,
    Interrupt,
    PromptTyping,
    RecordFormat,
    Shown,
    Title,
    TurnSigns,
)

PRELUDE = r"""
import json, os, select, sys, time

def out(text):
    data = text.encode()
    while data:
        data = data[os.write(1, data):]

def state(word):
    out(f"\x1b]7501;state={word}\x1b\\")

def title(text):
    out(f"\x1b]0;{text}\x07")

def ready(prompt="> "):
    out("\x1b[?2004h" + prompt)
    state("idle")

pending = b""

def key():
    global pending
    if not pending:
        pending = os.read(0, 65536)
    first, pending = pending[:1], pending[1:]
    return first

def paste():
    # The text of the next paste.
    global pending
    while b"\x1b[201~" not in pending:
        pending += os.read(0, 65536)
    before, _, pending = pending.partition(b"\x1b[201~")
    return before.partition(b"\x1b[200~")[2].decode()

def enter():
    while key() != b"\r":
        pass

def record(**row):
    with open(os.path.join(os.environ["HOME"], "record.jsonl"), "a") as file:
        file.write(json.dumps(row) + "\n")

def reply(text, how="done"):
    record(type="reply", text=text)
    record(type="end", how=how)
"""

LOOK = ScreenProfile(
    name="double",
    prompt=PromptRows(echo=re.compile(r"> (.+)"), input=re.compile(r">\s*$")),
    reply=ReplyRows(bullet=re.compile(r"\* "), margin=2),
)


def program(body: str, **changes: object) -> Profile:
    """A profile for the program that the body is; changes replace its fields."""
    profile = Profile(
        name="double",
        title="The double",
        agent="double",
        program=Program(
            begin=(sys.executable, "-I", "-S", "-c", PRELUDE + body),
            ready=ReadySigns(quiet_s=0.0, timeout_s=20.0),
        ),
        typing=PromptTyping(
            confirm_s=0.2,
            holding=re.compile(r"^> \S", re.MULTILINE),
        ),
        signs=TurnSigns(
            record=RecordFormat("record.jsonl", read_row, poll_s=0.05, grace_s=0.5),
            states=read_state,
            title=Title(busy=re.compile("^busy"), idle=re.compile("^idle")),
            fallback_s=0.5,
            timeout_s=20.0,
        ),
        shown=Shown(look=LOOK),
        controls=Controls(interrupt=Interrupt(clear=b"\x15")),
    )
    return changed(profile, **changes)


def changed(profile: Profile, **changes: object) -> Profile:
    """The profile with other values of its fields, or of its parts' fields."""
    for name, value in changes.items():
        if not hasattr(profile, name):
            parts = [field.name for field in fields(profile)]
            part = next(part for part in parts if hasattr(getattr(profile, part), name))
            name, value = part, replace(getattr(profile, part), **{name: value})
        profile = replace(profile, **{name: value})  # type: ignore[arg-type]
    return profile
