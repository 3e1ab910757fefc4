"""One profile's program of one session: started, resumed, ended."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from dataclasses import replace

import structlog

from adapters.agent import Launch
from adapters.cli.hooks import HookListener, Receive
from adapters.cli.ready import wait_ready
from adapters.cli.record import Follower, follow
from adapters.cli_profile import Profile, Setting
from adapters.pty.console import Console
from adapters.pty.terminal import StartCommand
from adapters.reading.queries import text_on
from adapters.reading.standing import SettledQuestions
from adapters.sandbox.enclosure import enclose
from adapters.screen.signals import Signal
from adapters.session.causes import explain, not_started, told_when_full
from adapters.session.startup import prepare, setting_of
from adapters.session.version import age_of, complains_of_option
from contract.errors import AgentError
from contract.language import Phrase, later

log = structlog.stdlib.get_logger("moot.adapters.cli")

SESSION_ID = re.compile(r"\w[\w.:-]{0,127}", re.ASCII)


class CliProcess:
    """A program in a terminal, its record, and the session that it goes on with.

    session_id: of the program's own session, None before one is known. resumed: it goes on with
    an earlier one. last: the terminal of the program before. settled: the questions on its screen
    that were answered. Who makes it ends it, and releases it at last.
    """

    def __init__(
        self,
        profile: Profile,
        launch: Launch,
        hooks: HookListener | None,
        on_signal: Callable[[Signal], None],
        on_hook: Receive,
    ) -> None:
        self.session_id = launch.session_id
        self.resumed = False
        self.console: Console | None = None
        self.last: Console | None = None
        self.follower: Follower | None = None
        self.settled = SettledQuestions()
        self._profile = profile
        self._launch = launch
        self._hooks = hooks
        self._on_signal = on_signal
        self._on_hook = on_hook
        self._hook_url = ""
        self._command: StartCommand | None = None  # how it was started last

    async def start(self) -> Console:
        """Start it unless it runs; return when it takes a prompt. Raises AgentError."""
        if self.console and self.console.alive:
            if not self.console.ready:
                await self._wait_ready(self.console)
            return self.console
        await self.end()
        if self.session_id and self._profile.program.resume:
            try:
                console = await self._run(self.session_id, resumes=True)
            except AgentError as error:
                if error.kind != "startup" or (self.console and self.console.alive):
                    raise
                log.warning("session.anew", agent=self._profile.name, reason=error)
                await self.end()
            else:
                self.resumed = True
                return console
        self.resumed = False
        chosen = str(uuid.uuid4()) if self._profile.program.chooses_id else ""
        console = await self._run(chosen, resumes=False)
        self.session_id = chosen or None
        return console

    async def _run(self, session_id: str, *, resumes: bool) -> Console:
        profile, launch = self._profile, self._launch
        if self._hooks and profile.signs.hooks and not self._hook_url:
            self._hook_url = self._hooks.register(self._on_hook)
        setting = setting_of(profile, launch, session_id, resumes=resumes, hook_url=self._hook_url)
        began = time.monotonic()
        cols, rows = profile.program.size or (launch.cols, launch.rows)
        console = Console(cols, rows, self._on_signal, shell=profile.program.shell_terminal)
        try:
            with told_when_full(launch.home):
                command = enclose(profile, launch, prepare(profile, launch, setting))
                self._command = command
            console.start(command.line, command.env, command.cwd, command.enclosure)
        except OSError as error:
            say = not_started(profile, error)
            raise AgentError("startup", f"{profile.name}: {error}", say=say) from error
        self.console = console
        self.settled = SettledQuestions()
        self.follower = self._follow(setting)
        try:
            await self._wait_ready(console)
        except AgentError:
            said = text_on(console.glance())
            if console.exit_code and complains_of_option(profile, command.argv, said):
                return await self._run(session_id, resumes=resumes)
            raise
        log.info("program.ready", agent=profile.name, in_s=round(time.monotonic() - began, 2))
        return console

    async def _wait_ready(self, console: Console) -> None:
        try:
            await wait_ready(self._profile, console, self.settled)
        except AgentError as error:
            await self.end()
            raise await self.explained(error) from error.__cause__
        if age := await self._aged():  # it would start, and work by half
            await self.end()
            title = self._profile.title
            say = later("{title} was not started. {age}", title=title, age=age)
            raise AgentError("startup", f"{title}: {age.in_english}", say=say)
        console.ready = True

    async def explained(self, error: AgentError) -> AgentError:
        """The error, with what the machine shows to be behind it."""
        return await explain(error, self._profile, self._launch.home, self._aged)

    async def _aged(self) -> Phrase | None:
        """What it is too old for. What a program loads from HOME may be an agent's: it is confined,
        as it was when it was started."""
        command, launch = self._command, self._launch
        if command is None:
            return None
        within = (*command.enclosure, *command.as_account)
        words = command.argv[: len(launch.command) or 1]
        return await age_of(self._profile, words, command.env, launch.home, within)

    def _follow(self, setting: Setting) -> Follower | None:
        record = self._profile.signs.record
        if record is None:
            return None
        known = replace(setting, session_id=setting.session_id or "*")
        return follow(record, self._launch.home, known.fill(record.glob))

    def named(self, session_id: str) -> Follower | None:
        """The program has named its session; the record to follow from now on, if it is another."""
        if session_id == self.session_id:
            return None
        if not SESSION_ID.fullmatch(session_id):  # it becomes part of a glob and of an argv
            log.warning("session.bad_id", agent=self._profile.name, id=session_id[:80])
            return None
        self.session_id = session_id
        record = self._profile.signs.record
        if not record or "{session_id}" not in record.glob:
            return None
        setting = setting_of(self._profile, self._launch, session_id, resumes=False, hook_url="")
        self.follower = self._follow(setting)
        return self.follower

    async def end(self) -> None:
        """End the program if one runs."""
        console, self.console = self.console, None
        if console:
            self.last = console
            await console.close()

    def release(self) -> None:
        """Stop listening to the program's hooks."""
        if self._hooks and self._hook_url:
            self._hooks.release(self._hook_url)
            self._hook_url = ""
