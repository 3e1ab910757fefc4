"""From a profile to a program that takes prompts."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.agent import Launch
from adapters.catalog import find_program
from adapters.cli.dialogs import Dialogs
from adapters.cli_profile import HomeFile, Profile, Setting
from adapters.pty.console import Console
from adapters.pty.terminal import PtyClosed
from adapters.reading.queries import text_on
from adapters.session.login import share
from contract.errors import AgentError

PATH = "/usr/local/bin:/usr/bin:/bin"
CHECK_S = 0.25  # between two looks at the screen
RESTLESS_S = 1.0  # and of one that never rests: some draw all the time
SHOWN = 200  # characters of the screen in an error


@dataclass(frozen=True, slots=True)
class StartCommand:
    """A program about to be started. env: the whole of it. enclosure: words that
    go before `argv` and put it into a sandbox."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    enclosure: tuple[str, ...] = ()


def setting_of(
    profile: Profile, launch: Launch, session_id: str, *, resumes: bool, hook_url: str
) -> Setting:
    """What the profile's templates are filled with."""
    given = Setting(
        home=launch.home,
        workspace=launch.workspace,
        session_id=session_id,
        resumes=resumes,
        persona=launch.persona,
        model=launch.model or "",
        hook_url=hook_url,
        memory=launch.memory,
    )
    env = {"PATH": PATH, "TERM": "xterm-256color", "LANG": "C.UTF-8", "HOME": str(launch.home)}
    env |= {name: given.fill(value) for name, value in profile.env}
    env |= dict(launch.env)
    env |= dict(launch.memory.env) if launch.memory else {}
    env |= profile.derived(env)
    return replace(given, env=env)


def prepare(profile: Profile, launch: Launch, setting: Setting) -> StartCommand:
    """Write the HOME files, find the program. Raises AgentError("missing")."""
    argv = profile.argv(setting, launch.command)
    program = find_program(profile, launch.command, setting.env["PATH"])
    if program is None:
        raise AgentError(
            "missing",
            f"{profile.name}: no program {argv[0]} on PATH",
            say=f"{profile.title} is not installed here. {profile.missing}",
        )
    for folder in (launch.home, launch.workspace):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_links(profile, launch, setting)
    if launch.login:
        share(launch.login, launch.home, profile.logins, profile.configs)
    for file in profile.files:
        write_home_file(setting, file)
    if profile.memory and setting.memory:
        write_home_file(setting, profile.memory.file)
    return StartCommand((str(program), *argv[1:]), setting.env, launch.workspace)


def _refuse_links(profile: Profile, launch: Launch, setting: Setting) -> None:
    """Raise AgentError where a folder in HOME leads out of it: a program could have made a link
    there, to let Moot read or write another one's files for it."""
    files = [file.path for file in profile.files]
    if profile.memory and setting.memory:
        files.append(profile.memory.file.path)
    names = [setting.fill(path) for path in files]
    if launch.login:
        names += (*profile.logins, *profile.configs)
    for folder in {(launch.home / name).parent for name in names}:
        if _leads_out(folder, launch.home):
            say = f"{profile.title} was not started: {folder} leads out of its HOME."
            raise AgentError("missing", f"{profile.name}: {folder} leads out of HOME", say=say)


def _leads_out(path: Path, home: Path) -> bool:
    return not path.resolve().is_relative_to(home.resolve())


def write_home_file(setting: Setting, file: HomeFile) -> None:
    """Write one file below HOME, all of it or nothing."""
    path = setting.home / setting.fill(file.path)
    there = path.exists() and not _leads_out(path, setting.home)
    present = path.read_text(encoding="utf-8", errors="replace") if there else ""
    text = file.text(setting, present)
    if text == present and there:
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        Path(name).replace(path)
    except OSError:  # a full disk: not even the half of it stays
        Path(name).unlink(missing_ok=True)
        raise


async def wait_ready(profile: Profile, console: Console) -> None:
    """Return when the program takes a prompt. Raises AgentError."""
    ready = profile.ready
    dialogs = Dialogs(profile)
    deadline = time.monotonic() + ready.timeout_s
    seen, looked = -1, time.monotonic()
    while True:
        if not console.alive():
            raise _ended(profile, console, await _text(console), dialogs)
        left = ready.quiet_s - console.quiet_s()
        told = _told(profile, console)
        if told and left <= 0 and (not ready.prompt or ready.prompt.search(await _text(console))):
            return
        if time.monotonic() > deadline:
            raise _late(profile, await _text(console), dialogs)
        restless = time.monotonic() > looked + RESTLESS_S
        if console.output_bytes != seen and (restless or console.quiet_s() > CHECK_S / 2):
            seen, looked = console.output_bytes, time.monotonic()
            await _answer_dialogs(console, dialogs)
        await console.wait_change(min(left, CHECK_S) if told and left > 0 else CHECK_S)


def _told(profile: Profile, console: Console) -> bool:
    """Whether the signs that need no look at the screen are there."""
    ready = profile.ready
    return (
        (console.bracketed_paste or not ready.bracketed_paste)
        and (not ready.title or bool(ready.title.search(console.title)))
        and (not ready.state or console.state in (ready.state, "done"))
    )


async def _text(console: Console) -> str:
    return text_on(await console.screen())


async def _answer_dialogs(console: Console, dialogs: Dialogs) -> None:
    text = await _text(console)
    if error := dialogs.fault(text, "start"):
        raise error
    if keys := dialogs.keys(text, "start"):
        await asyncio.sleep(dialogs.deaf_s(text))
        try:
            await console.write(keys)
        except PtyClosed:
            await console.wait_change(CHECK_S)


def _ended(profile: Profile, console: Console, text: str, dialogs: Dialogs) -> AgentError:
    shown = last_words(text)
    return dialogs.fault(text, "start") or AgentError(
        "startup",
        f"{profile.name}: ended with code {console.exit_code} while starting: {shown}",
        say=f"{profile.title} ended while it was starting (code {console.exit_code})"
        + (f": {shown}" if shown else "."),
    )


def _late(profile: Profile, text: str, dialogs: Dialogs) -> AgentError:
    shown = last_words(text)
    return dialogs.fault(text, "start") or AgentError(
        "startup",
        f"{profile.name}: not ready within {profile.ready.timeout_s:.0f} s: {shown}",
        say=f"{profile.title} did not become ready within {profile.ready.timeout_s:.0f} s"
        + (f"; its screen says: {shown}" if shown else "; its screen is empty."),
    )


def last_words(text: str) -> str:
    """The last lines of a screen on one line, without rules and boxes."""
    lines = [" ".join(line.strip("─━═│┃╭╮╰╯┌┐└┘ ").split()) for line in text.split("\n")]
    shown = " / ".join(line for line in lines if line)
    return shown if len(shown) <= SHOWN else f"…{shown[1 - SHOWN :]}"
