"""Starts the program of a profile, until it takes prompts."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from adapters.agent import Launch
from adapters.catalog import find_program
from adapters.cli_profile import HomeFile, Profile, Setting
from adapters.own_files import open_own
from adapters.pty.terminal import StartCommand
from adapters.sandbox.account import end_account
from adapters.session.login import share
from adapters.session.version import without_unknown
from contract.errors import AgentError
from contract.language import later

LARGEST = 16 * 1024 * 1024  # of a program's settings, in which some keep what they did
PATH = "/usr/local/bin:/usr/bin:/bin"


def setting_of(
    profile: Profile, launch: Launch, session_id: str, *, resumes: bool, hook_url: str
) -> Setting:
    """The values that the profile's templates are filled with."""
    given = Setting(
        home=launch.home,
        workspace=launch.workspace,
        session_id=session_id,
        resumes=resumes,
        persona=launch.persona,
        model=launch.model or "",
        hook_url=hook_url,
        memory=launch.memory,
        mode=launch.mode,
    )
    env = {"PATH": PATH, "TERM": "xterm-256color", "LANG": "C.UTF-8", "HOME": str(launch.home)}
    env |= {name: given.fill(value) for name, value in profile.environment.env}
    env |= dict(launch.env)
    env |= dict(launch.memory.env) if launch.memory else {}
    env |= profile.environment.derived(env)
    return replace(given, env=env)


def prepare(profile: Profile, launch: Launch, setting: Setting) -> StartCommand:
    """Write the HOME files, find the program. Raises AgentError("missing")."""
    argv = profile.argv(setting, launch.command)
    program = find_program(profile, launch.command, setting.env["PATH"])
    if program is None:
        raise AgentError(
            "missing",
            f"{profile.name}: no program {argv[0]} on PATH",
            say=later(
                "{title} is not installed here. {remedy}",
                title=profile.title,
                remedy=profile.setup.remedy,
            ),
        )
    for folder in (launch.home, launch.workspace):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if launch.account is not None:
        end_account(launch.account)
    _refuse_links(profile, launch, setting)
    share(profile, launch)
    for file in profile.environment.files:
        write_home_file(setting, file)
    if profile.environment.memory and setting.memory:
        write_home_file(setting, profile.environment.memory.file)
    words = without_unknown(str(program), argv[1:])
    return StartCommand((str(program), *words), setting.env, launch.workspace)


def _refuse_links(profile: Profile, launch: Launch, setting: Setting) -> None:
    """Raise AgentError where a folder in HOME leads out of it: a program could have made a link
    there, to let Moot read or write another one's files for it."""
    files = [file.path for file in profile.environment.files]
    if profile.environment.memory and setting.memory:
        files.append(profile.environment.memory.file.path)
    names = [setting.fill(path) for path in files]
    if launch.login:
        names += (*profile.setup.logins, *profile.setup.configs)
    for folder in {(launch.home / name).parent for name in names}:
        if _leads_out(folder, launch.home):
            say = later(
                "{title} was not started: {folder} leads out of its HOME.",
                title=profile.title,
                folder=folder,
            )
            raise AgentError("missing", f"{profile.name}: {folder} leads out of HOME", say=say)


def _leads_out(path: Path, home: Path) -> bool:
    return not path.resolve().is_relative_to(home.resolve())


def _present(path: Path, home: Path) -> str | None:
    """What stands in the program's file; None where there is none of its own."""
    try:
        with open_own(path, home) as found:
            data = found.read(LARGEST + 1)
    except OSError:
        return None
    return None if len(data) > LARGEST else data.decode("utf-8", "replace")


def write_home_file(setting: Setting, file: HomeFile) -> None:
    """Write one file below HOME, all of it or nothing."""
    path = setting.home / setting.fill(file.path)
    present = _present(path, setting.home)
    text = file.text(setting, present or "")
    if text == present:
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
