"""Small terminal programs that behave badly in one way each, and profiles that drive them."""

import re
import sys
from dataclasses import replace

from adapters.cli_profile import (
    Interrupt,
    Profile,
    PromptTyping,
    ReadySigns,
    RecordFormat,
    Title,
    TurnSigns,
)
from adapters.profiles.demo import read_row, read_state
from adapters.screen_profile import ScreenProfile

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
    echo=re.compile(r"> (.+)"),
    input=re.compile(r">\s*$"),
    bullet=re.compile(r"\* "),
    margin=2,
)


def program(body: str, **changes: object) -> Profile:
    """A profile for the program that the body is; changes replace its fields."""
    profile = Profile(
        name="double",
        title="The double",
        agent="double",
        begin=(sys.executable, "-I", "-S", "-c", PRELUDE + body),
        ready=ReadySigns(quiet_s=0.0, timeout_s=20.0),
        typing=PromptTyping(confirm_s=0.2, holding=re.compile(r"^> \S", re.MULTILINE)),
        signs=TurnSigns(
            record=RecordFormat("record.jsonl", read_row, poll_s=0.05, grace_s=0.5),
            states=read_state,
            title=Title(busy=re.compile("^busy"), idle=re.compile("^idle")),
            fallback_s=0.5,
        ),
        look=LOOK,
        interrupt=Interrupt(clear=b"\x15"),
        turn_timeout_s=20.0,
    )
    return replace(profile, **changes)  # type: ignore[arg-type]
