"""An agent as data: everything the driver must know about one command-line program.

A profile holds patterns, templates and pure functions; it opens nothing and waits for nothing.

Templates (argv, env, globs) replace exactly these words and leave every other brace alone, so
that JSON may stand in them: {home} {workspace} {session_id} {model} {persona} {hook_url}.

How a prompt is typed and how its turn shows: `adapters.turn_signs`. How the screen reads:
`adapters.screen_profile`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from adapters.agent import MemoryServer
from adapters.turn_events import State
from adapters.turn_signs import Controls, PromptTyping, Shown, TurnSigns
from contract.language import Phrase, later, phrase
from contract.values import dataclass

# ── Its start ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Setting:
    """The values that a start is made from."""

    home: Path
    workspace: Path
    session_id: str
    """The one to resume, else a fresh uuid4 for programs that let us choose."""
    resumes: bool = False
    persona: str = ""
    model: str = ""
    hook_url: str = ""
    """Empty without hooks."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The program's whole environment."""
    memory: MemoryServer | None = None
    mode: str = ""
    """See `adapters.agent.Launch`, for both."""

    def fill(self, template: str) -> str:
        """The template with its words replaced, in one pass: values are never templates."""
        return _WORD.sub(lambda m: str(getattr(self, m[1])), template)


_WORD = re.compile(r"\{(home|workspace|session_id|model|persona|hook_url)\}")


@dataclass(frozen=True, slots=True)
class HomeFile:
    """A file written below HOME (mode 0600) before each start."""

    path: str
    """Relative to HOME, a template."""
    text: Callable[[Setting, str], str]
    """Makes the new content from the setting and the present content ("" when there is none), so
    that what the program wrote itself is kept."""


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """The session's MCP server as the program learns of it, where `Setting.memory` has one."""

    file: HomeFile
    """Names the server, and is written then alone: its key must be in no argv."""
    options: tuple[str, ...]
    """Appended to the argv, templates."""


@dataclass(frozen=True, slots=True)
class ReadySigns:
    """Signs that the program takes a prompt: every one that is set, start-up queries answered."""

    prompt: re.Pattern[str] | None = None
    bracketed_paste: bool = True
    title: re.Pattern[str] | None = None
    state: State | None = None
    stateless_s: float | None = None
    """An older release that tells no state at all is ready after so much quiet; None: it isn't."""
    quiet_s: float = 0.6
    """Seconds without output. Claude Code swallows an Enter within 1 s of its prompt; after 0.6 s
    of quiet 35 of 35 were good. A program that is ready by `state` needs none."""
    restless_s: float | None = None
    """One that is never quiet, and draws all the time, is ready when `prompt` shows so long; None:
    it isn't."""
    still_s: float | None = None
    """The start fails when the screen shows something and does not change for so long, without the
    signs; None: only `timeout_s` ends it."""
    timeout_s: float = 90.0
    described: str = ""
    """The words of an administrator for `prompt`, to name it by when it doesn't show."""


@dataclass(frozen=True, slots=True)
class Program:
    """The program: its start, how it resumes, and the signs that it is ready."""

    begin: tuple[str, ...]
    """Argv template; the first word is the program."""
    resume: tuple[str, ...] = ()
    """Argv template; empty for a program that resumes no session."""
    options: tuple[tuple[str, ...], ...] = ()
    """Groups appended to both, each left out when one of its words is empty."""
    newer: tuple[str, ...] = ()
    """Options, of the argv or of `Acp`, that older releases don't know and do without. One with a
    value is one word, `--option=value`."""
    chooses_id: bool = False
    """{session_id} in `begin` names the new session; else a SessionNamed event reports it."""
    ready: ReadySigns = field(default_factory=ReadySigns)
    size: tuple[int, int] | None = None
    """Columns and rows of its terminal; None: those of the launch."""
    shell_terminal: bool = False
    """Its terminal begins as a shell would give it, echoing and with Ctrl-C as a signal, for a
    program that leaves both to the terminal."""
    nests: bool = False
    """It makes a sandbox of its own, for which it needs user namespaces."""
    reads: tuple[str, ...] = ()
    """Absolute paths of what it needs in a sandbox beside its installation."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The program's HOME and its variables."""

    files: tuple[HomeFile, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """Templates, on top of PATH, TERM, LANG and HOME."""
    derived: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda env: {}
    """Makes what follows from the whole of the environment, and is added to it."""
    passes: tuple[str, ...] = ()
    """Names of variables that the operator's environment may give it."""
    memory: MemoryAccess | None = None
    """None for a program that takes no MCP servers."""
    hosts: tuple[str, ...] = ()
    """Those of its model's API and login, which it reaches from a sandbox without a network; port
    443 where none is named. Addresses in its variables are reached as well."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """A login file in JSON that a program renews: the only one that a scope may give back.

    Each place is the keys that lead to a value, also into the claims of a JSON Web Token.
    """

    file: str
    """One of `Setup.logins`."""
    renews: tuple[tuple[str, ...], ...]
    """The places of what a renewal changes."""
    account: tuple[tuple[str, ...], ...]
    """The places that name the account."""


@dataclass(frozen=True, slots=True)
class Setup:
    """An administrator's share: the installation, its version, a login."""

    install: str = ""
    """The line that installs it, to paste; "": none is known."""
    needs: str = ""
    """Programs that must be there for that, e.g. "Node 22 or newer"."""
    missing: str = phrase("Install it, or say where it is with `command`.")
    """One sentence with the remedy, where no line installs it."""
    login: str = phrase("Log in once in its own terminal.")
    """One sentence with the remedy."""
    logins: tuple[str, ...] = ()
    """Its own files with a login, relative to HOME, that an administrator may share (see
    `adapters.session.login.share`)."""
    renewals: tuple[Renewal, ...] = ()
    """Those of them that tell their account. A renewal of any other stays in its scope."""
    configs: tuple[str, ...] = ()
    """The same for files with settings."""
    version: tuple[str, ...] = ("--version",)
    """Argv after the program that prints its version; empty: it has none."""
    at_least: str = ""
    """The oldest version that works."""
    tested: str = ""
    """The version that the tests drive."""

    @property
    def remedy(self) -> Phrase:
        """One sentence that says how to get the program."""
        if not self.install:
            return Phrase(self.missing)
        needs = f" ({self.needs})" if self.needs else ""
        return later(
            "Install it: `{line}`{needs}; or say where it is with `command`.",
            line=self.install,
            needs=needs,
        )


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The program's model."""

    context_tokens: int | None = None
    """The size of its context, for the budget."""
    in_files: bool = False
    """The HOME files say which model, no option does."""
    own: str = ""
    """The program's word for the model that it takes of itself, where it would resume a
    conversation with that one's last."""


@dataclass(frozen=True, slots=True)
class Acp:
    """The program's Agent Client Protocol on stdio."""

    command: tuple[str, ...] = ()
    """Argv template; empty for a program that doesn't speak it."""
    options: tuple[tuple[str, ...], ...] = ()
    """Groups appended to it, as `Program.options` are to the others."""
    fault: re.Pattern[str] | None = None
    """Searched in an answer: it is no answer, but the error that it reports."""
    last_message: bool = False
    """The answer is the last message alone, for a program that reports how it summed up the
    conversation as one before."""
    again: re.Pattern[str] | None = None
    """Matches a whole piece of an answer that only reports that the model is asked once more; what
    it had said since it used a tool is void."""


# ── The whole ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Profile:
    """One command-line agent."""

    name: str
    """In moot.toml, e.g. "claude-code"."""
    title: str
    """For people, e.g. "Claude Code"."""
    agent: str
    """In the header, e.g. "Claude Code CLI agent"."""
    program: Program
    environment: Environment = field(default_factory=Environment)
    setup: Setup = field(default_factory=Setup)
    model: ModelChoice = field(default_factory=ModelChoice)
    typing: PromptTyping = field(default_factory=PromptTyping)
    signs: TurnSigns = field(default_factory=TurnSigns)
    shown: Shown = field(default_factory=Shown)
    controls: Controls = field(default_factory=Controls)
    acp: Acp = field(default_factory=Acp)
    modes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is appended to the argv for each mode that it has: see `adapters.agent.Mode`. The HOME
    files may say more of one."""

    @property
    def takes_model(self) -> bool:
        """True when it can be given a model's name."""
        groups = (*self.program.options, *self.acp.options)
        return self.model.in_files or any("{model}" in word for group in groups for word in group)

    def argv(self, setting: Setting, command: Sequence[str] = ()) -> tuple[str, ...]:
        """The command line. command: replaces argv[0] when not empty."""
        program, memory = self.program, self.environment.memory
        words = program.resume if setting.resumes else program.begin
        groups = [g for g in program.options if all(setting.fill(w) for w in g)]
        if memory and setting.memory:
            groups.append(memory.options)
        groups.append(self.modes.get(setting.mode, ()))
        tail = [setting.fill(w) for w in (*words[1:], *(w for g in groups for w in g))]
        return (*(command or words[:1]), *tail)
