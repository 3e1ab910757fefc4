"""`moot run` with programs that are described in TOML: nothing but an answer answers a question."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.credentials import program_at
from tests.doubles.obedience import messages, say
from tests.doubles.service import Service, service

TUIS = Path(__file__).parent / "doubles" / "tuis"
KEYED = {
    "ready": r"^  > *$",
    "ready_quiet_s": 0.2,
    "busy": "working",
    "echo": "  ┊ (.+)",
    "reply": "  ◆ ",
    "margin": 4,
    "permission": "Run `.*`\\?",
    "paste": False,
    "quiet_s": 0.3,
}
PICO = {"ready": "^pico> ?$", "echo": "pico> (.+)", "paste": False, "quiet_s": 0.5}


def furnish(folder: Path, program: str, settings: Mapping[str, object], *words: str) -> str:
    """Write the persona; the text of moot.toml."""
    (folder / "personas").mkdir(parents=True, exist_ok=True)
    (folder / "personas" / "ash.md").write_text("---\nagent: mine\nsandbox: off\n---\nYou work.\n")
    command = json.dumps([sys.executable, "-u", str(TUIS / f"{program}.py"), *words])
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
    return (
        '[gateway]\nlisten = "127.0.0.1:0"\n'
        f'[agents.mine]\nprofile = "generic"\ncommand = {command}\n'
        f"[agents.mine.settings]\n{lines}\n"
        '[access]\ndms = "open"\nrooms = "open"\napprovers = ["web:ana"]\n'
    )


async def questions(moot: Service) -> list[dict[str, Any]]:
    """Those that wait in Ana's direct messages."""
    async with (
        program_at(moot.url) as client,
        client.get("/api/rooms/web:dm-ana/messages") as response,
    ):
        found: list[dict[str, Any]] = (await response.json())["questions"]
    return found


async def asked(moot: Service) -> dict[str, Any]:
    """The one question that waits."""
    async with asyncio.timeout(60):
        while not (found := await questions(moot)):
            await asyncio.sleep(0.1)
    (question,) = found
    return question


async def last_words(moot: Service, wanted: str) -> None:
    async with asyncio.timeout(60):
        while wanted not in ((await messages(moot.url, "ana"))[-1:] or [""])[0]:
            await asyncio.sleep(0.1)


def lines(folder: Path, name: str) -> list[str]:
    """The lines of a file that the program wrote into its workspace."""
    return [line for file in folder.rglob(name) for line in file.read_text().split()]


@pytest.mark.parametrize(
    ("program", "settings", "answer"),
    [("keyed", KEYED, "!3"), ("pico", {**PICO, "permission": "Run `.*`\\?"}, "!2")],
)
async def test_the_next_message_is_no_answer_to_a_question(
    tmp_path: Path, program: str, settings: Mapping[str, object], answer: str
) -> None:
    async with service(tmp_path, furnish(tmp_path, program, settings)) as moot:
        await say(moot.url, "ana", "please perm", wait=None)
        question = await asked(moot)
        assert "Run `rm -rf build`?" in str(question)
        await say(moot.url, "ana", "Thanks, what else? say any", wait=None)
        await asyncio.sleep(1.5)
        assert lines(tmp_path, "ANSWERED") == []
        await say(moot.url, "ana", answer, wait=None)
        await last_words(moot, "You said any.")
        assert lines(tmp_path, "ANSWERED") == ["no" if program == "keyed" else "n"]


async def test_a_question_without_choices_is_shown_as_it_stands_and_can_be_refused(
    tmp_path: Path,
) -> None:
    async with service(tmp_path, furnish(tmp_path, "keyed", KEYED, "mute")) as moot:
        for answer, said in (("!2", "no"), ("!1", "yes")):
            await say(moot.url, "ana", "please perm", wait=None)
            question = str(await asked(moot))
            assert "Run `rm -rf build`?" in question
            assert "Allow (Enter)" in question
            assert "Refuse (Esc)" in question
            await say(moot.url, "ana", answer, wait=None)
            await last_words(moot, f"answered {said}")
        assert lines(tmp_path, "ANSWERED") == ["no", "yes"]


async def test_a_program_that_answers_itself_was_not_refused(tmp_path: Path) -> None:
    """And nobody is said to have done so: not in the room, and not in the audit log."""
    async with service(tmp_path, furnish(tmp_path, "keyed", KEYED, "hasty")) as moot:
        await say(moot.url, "ana", "please perm", wait=None)
        question = await asked(moot)
        (workspace,) = tmp_path.glob("data/scopes/dm-web-ana*/ash/work")
        (workspace / "GO").touch()
        await last_words(moot, "answered nothing")
        async with program_at(moot.url) as client, client.get("/api/audit") as response:
            rows = (await response.json())["items"]
        (lapse,) = [row for row in rows if row["act"] == "lapse"]
        assert (lapse["detail"]["question"], lapse["detail"]["reason"]) == (question["id"], "gone")


async def test_a_program_that_goes_on_is_not_said_to_be_stopped(tmp_path: Path) -> None:
    """It hears no Esc: where it isn't idle, it is ended, and the next message begins afresh."""
    async with service(tmp_path, furnish(tmp_path, "pico", PICO)) as moot:
        await say(moot.url, "ana", "count please", wait=None)
        async with asyncio.timeout(30):
            while len(lines(tmp_path, "STEPS")) < 2:
                await asyncio.sleep(0.1)
        await say(moot.url, "ana", "!stop", wait=None)
        await last_words(moot, "was stopped")
        steps = lines(tmp_path, "STEPS")
        told = await say(moot.url, "ana", "say again", wait=60)
        assert "You said again." in str(told)
        assert lines(tmp_path, "STEPS") == steps


QUIET = """
while True:
    text = input("mute> ")
    if "time" in text:
        print("It is late.", flush=True)
"""


async def test_a_program_that_prints_nothing_has_nothing_posted_for_it(tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text(QUIET)
    settings = {"ready": "^mute>", "paste": False, "quiet_s": 0.5}  # it tells of no echo
    moot_toml = furnish(tmp_path, "pico", settings).replace(
        str(TUIS / "pico.py"), str(tmp_path / "quiet.py")
    )
    none = "(The agent ended its turn without a word.)"
    async with service(tmp_path, moot_toml) as moot:
        for text, said in (("the time?", "It is late."), ("hello", none), ("time", "It is late.")):
            await say(moot.url, "ana", text)
            assert (await messages(moot.url, "ana"))[-1] == said


async def test_a_program_below_the_floor_of_its_profile_is_not_driven(tmp_path: Path) -> None:
    folder = tmp_path / "moot"
    config = furnish(folder, "pico", {})
    old = tmp_path / "qwen"
    starts = "printf '\\033[?2004h> Type your message'; exec sleep 600"
    old.write_text(f"#!/bin/sh\n[ $1 != --version ] || exec echo 0.15.0\n{starts}\n")
    old.chmod(0o755)
    head, tail = config.split("[agents.mine]")[0], config.split("[access]")[1]
    config = f'{head}[agents.mine]\nprofile = "qwen"\ncommand = "{old}"\n[access]{tail}'
    async with service(folder, config) as moot:
        told = await say(moot.url, "ana", "hello")
    (reply,) = told["replies"]
    assert "Qwen Code was not started. It is version 0.15.0; Moot needs 0." in reply["text"]
    assert reply["text"].endswith(" or newer: update it.")
    assert "\n" not in reply["text"]
