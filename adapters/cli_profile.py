"""An agent as data: everything the driver must know about one command-line program.

A profile holds patterns, templates and pure functions; it opens nothing and waits for nothing.

Templates (argv, env, globs) replace exactly these words and leave every other brace alone, so
that JSON may stand in them: {home} {workspace} {session_id} {model} {persona} {hook_url}.

Patterns are searched in the visible screen's text: its rows, right-stripped, joined by "\n".
Compile them with re.MULTILINE where `^` means a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from adapters.agent import MemoryServer
from adapters.turn_events import Reader, State
from contract.agent import Option
from contract.errors import AgentFault

if TYPE_CHECKING:
    from adapters.screen_profile import ScreenProfile

# ── What a program tells of its turn ────────────────────────────────────────────────────
#
# The readers below turn a row of its record or a hook's payload into these. `turn` is the
# program's own id of the turn, or "" when it has none; the driver drops events of other turns.


# ── Its start ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Setting:
    """What a start is made from. env: the program's whole environment. hook_url: "" without hooks.

    session_id: the one to resume, else a fresh uuid4 for programs that let us choose. memory: see
    `adapters.agent.Launch`.
    """

    home: Path
    workspace: Path
    session_id: str
    resumes: bool = False
    persona: str = ""
    model: str = ""
    hook_url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    memory: MemoryServer | None = None

    def fill(self, template: str) -> str:
        """The template with its words replaced, in one pass: values are never templates."""
        return _WORD.sub(lambda m: str(getattr(self, m[1])), template)


_WORD = re.compile(r"\{(home|workspace|session_id|model|persona|hook_url)\}")


@dataclass(frozen=True, slots=True)
class HomeFile:
    """A file written below HOME (mode 0600) before each start.

    path: relative to HOME, a template. text: makes the new content from the setting and the
    present content ("" when there is none), so that what the program wrote itself is kept.
    """

    path: str
    text: Callable[[Setting, str], str]


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """How the program is told of the session's MCP server, where `Setting.memory` has one.

    file: names the server, and is written then alone: its key must be in no argv. options: argv
    appended, templates.
    """

    file: HomeFile
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadySigns:
    """When the program takes a prompt: every sign that is set, start-up queries answered, quiet.

    quiet_s: this long without output (Claude Code swallows an Enter within 1 s of its prompt;
    after 0.6 s of quiet 35 of 35 were good). A program that is ready by `state` needs none.
    """

    prompt: re.Pattern[str] | None = None
    bracketed_paste: bool = True
    title: re.Pattern[str] | None = None
    state: State | None = None
    quiet_s: float = 0.6
    timeout_s: float = 90.0


# ── Typing ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PromptTyping:
    """How a prompt goes in.

    paste: as a bracketed paste; else line by line, joined by `newline`; None: as a paste if the
    program asks for them to be marked (mode 2004). tab: what a TAB becomes.
    nfc: normalize. after_backslash: appended when the text ends in "\\", which would swallow
    Enter. settle_s: output must have been quiet this long after the paste before Enter.
    confirm_s: after Enter the turn must have begun within this time, else Enter once more,
    while `holding` is on the screen (the input box still holds the text), `tries` times in all.
    holding None: never a second Enter. prompt: must be on the screen before anything is typed, for
    a program whose record has the end of a turn before it reads again. before: keys pressed ahead
    of each prompt.
    harmless: takes from a clean text what the program would read as a command. pieces: cuts it
    into several pastes, for a program that does something else to a long one.
    """

    paste: bool | None = True
    newline: str = "\n"
    submit: bytes = b"\r"
    tab: str = "    "
    nfc: bool = True
    after_backslash: str = " "
    echo_s: float = 0.0
    settle_s: float = 0.0
    confirm_s: float = 3.0
    tries: int = 3
    holding: re.Pattern[str] | None = None
    prompt: re.Pattern[str] | None = None
    before: bytes = b""
    harmless: Callable[[str], str] = str
    pieces: Callable[[str], Sequence[str]] = lambda text: (text,)


# ── The signs of a turn ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Hooks:
    """The program posts hook payloads to {hook_url}.

    read: payload to events; an Asked holds the HTTP response open until the room decided.
    An event without a decision is answered with `{}` at once.
    """

    read: Reader


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """The program's own record of the session: where it lies and what a row means.

    glob: relative to HOME, a template; the newest match counts. format: "jsonl" gives each
    line's object to `read`; "text" each line as {"line": str, "head": str, "since": int}, where
    the head is the last line that matched `heads` in this turn, so many lines above; "sqlite" each
    row of `query` as its columns: `?` in it is the greatest value of the first column seen, by
    which it orders.
    poll_s: how often it is looked at during a turn. grace_s: how long it may lag behind another
    sign of the end. opens: each turn has a Began with its id, and rows without an id belong to
    the turn that began last: so late rows of the turn before are not taken for this one's.
    segments: it goes on in other files of the glob, whose names sort by time.
    """

    glob: str
    read: Reader
    format: Literal["jsonl", "text", "sqlite"] = "jsonl"
    query: str = ""
    heads: re.Pattern[str] | None = None
    poll_s: float = 0.1
    grace_s: float = 1.5
    opens: bool = False
    segments: bool = False


@dataclass(frozen=True, slots=True)
class Title:
    """What the window title says. busy, idle: searched in it; busy is looked at first."""

    busy: re.Pattern[str]
    idle: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Footer:
    """What the screen shows while it works (busy) and while it waits for a prompt (idle).

    Over when busy was seen (or never is: busy None), then is gone and idle is there (when set)
    for `debounce_s` without a break. Watched without debounce, 20 of 20 replies ended early.
    """

    busy: re.Pattern[str] | None
    idle: re.Pattern[str] | None = None
    debounce_s: float = 0.5


@dataclass(frozen=True, slots=True)
class TurnSigns:
    """How the turn's end is noticed. A profile needs two signs that are independent.

    states: reads an OSC that is no title, e.g. "7501;state=done:app=codex"; None when it means
    nothing. paste_mode: bracketed paste is on exactly while it reads a line: done, else working.
    Hooks and record are exact signs and end a turn at once. The others are the
    fall-back: seen idle for `fallback_s` with no exact sign, they end it as well. With neither
    hooks nor record, a state or footer ends it at once.
    """

    hooks: Hooks | None = None
    record: RecordFormat | None = None
    states: Callable[[str], State | None] | None = None
    paste_mode: bool = False
    title: Title | None = None
    footer: Footer | None = None
    fallback_s: float = 5.0


# ── What it may show ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class DialogRule:
    """Something on the screen that nobody asked for, and what is done about it.

    keys: pressed, once for each time it appears. fault: else the ask fails with this and `say`
    (a template: {0} is the match, or its group `seen`). when: it is looked for while starting, in
    a turn, or always. breaks: a fault that breaks a turn off as soon as it shows, for a program
    that tries again for minutes; the others count when the turn is over. deaf_s: how long after it
    appeared while starting it takes no key.
    """

    pattern: re.Pattern[str]
    keys: bytes = b""
    fault: AgentFault | None = None
    say: str = ""
    when: Literal["start", "turn", "always"] = "always"
    breaks: bool = False
    deaf_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission prompt on the screen; its title and options are read by the look.

    keys: what chooses option i (0-based); shorter than the options: the digit i + 1. options: the
    choices, for a program that does not show them; each has its key then.
    refuse: keys that say no when the choices cannot be read. refusal: marks an option's label
    as a refusal. worded: an option that takes a text: its key only selects it, then a word and
    Enter are typed.
    late_s: how long a hook may take to ask the same before the screen's prompt is asked.
    deaf_s: how long after it appeared it may take no key: Qwen Code 0.24.4 lost one that came 20 ms
    after the prompt was drawn.
    half: what a question's detail is before the program has drawn what it asks about.
    """

    pattern: re.Pattern[str]
    keys: tuple[bytes, ...] = ()
    options: tuple[Option, ...] = ()
    refuse: bytes = b"\x1b"
    refusal: re.Pattern[str] = re.compile(r"(?i)^\W*(no|deny|reject|refuse|cancel|don.t allow)\b")
    worded: re.Pattern[str] | None = None
    half: re.Pattern[str] | None = None
    late_s: float = 2.0
    deaf_s: float = 0.25


@dataclass(frozen=True, slots=True)
class Interrupt:
    """What breaks a turn off. keys: pressed one after the other, `gap_s` apart.

    again_s: after so long they are pressed again, while the screen shows that it works or asks;
    0: never, for a program to which they mean something else when it is idle.
    clear: pressed afterwards, when the program gives the prompt back into its input box.
    clear_gap_s: the least time between two of these, for a program that ends at the second.
    ends: nothing breaks a turn off but the program's end; then it is resumed.
    """

    keys: tuple[bytes, ...] = (b"\x1b",)
    gap_s: float = 0.1
    again_s: float = 0.0
    clear: bytes = b""
    clear_gap_s: float = 0.0
    ends: bool = False


# ── The whole ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Profile:
    """One command-line agent.

    name: in moot.toml, e.g. "claude-code". title: for people, e.g. "Claude Code". agent: in the
    header, e.g. "Claude Code CLI agent". begin, resume: argv templates, argv[0] is the program;
    resume empty: it can't. options: argv groups appended to both, each left out when one of its
    words is empty. chooses_id: {session_id} in `begin` names the new session; else a Named
    event tells it. env: templates on top of PATH, TERM, LANG, HOME. derived: what follows from the
    whole of the environment, and is added to it. passes: names of variables
    that the operator's environment may give it. missing, login: one sentence with the remedy.
    context_tokens: the model's context, for the budget. memory: None: it knows no MCP servers.
    acp: argv template with which it speaks the Agent Client Protocol on stdio; empty: it can't.
    acp_options: groups appended to it, as `options` are to the others.
    acp_fault: searched in an answer over ACP: it is no answer, but the error that it tells of.
    acp_last_message: its answer over ACP is its last message alone, for a program that tells how it
    summed up the conversation as one before.
    acp_again: matches a whole piece of an answer over ACP that only tells that the model is asked
    once more; what it had said since it used a tool is void.
    model_in_files: its `files` say which model, no option does. own_model: its word for the model
    that it takes of itself, where it would resume a conversation with that one's last.
    logins, configs: its own files with a login and with settings, relative to HOME, that an
    administrator may share (see `adapters.session.login`). compact, clear: its commands for these,
    typed as a line; empty: it has none. tells_compacted: nothing was compacted without a Compacted
    event. compacting: on the screen exactly while `compact` works, for a program with no other sign
    of it. version: argv after the program that prints it. at_least: the
    oldest version that works; tested: the one that the tests drive. shell_terminal: its terminal
    begins as a shell would give it, echoing and with Ctrl-C as a signal, for a program that leaves
    both to the terminal. nests: it makes a sandbox of its own, for which it needs user namespaces.
    reads: absolute paths of what it needs in a sandbox beside its installation. ends_at: faults
    that it would repeat until its end: so it is ended, and resumed by the next ask. size: columns
    and rows of its terminal; None: those of the launch.
    """

    name: str
    title: str
    agent: str
    begin: tuple[str, ...]
    resume: tuple[str, ...] = ()
    options: tuple[tuple[str, ...], ...] = ()
    chooses_id: bool = False
    files: tuple[HomeFile, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    derived: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda env: {}
    passes: tuple[str, ...] = ()
    ready: ReadySigns = field(default_factory=ReadySigns)
    typing: PromptTyping = field(default_factory=PromptTyping)
    signs: TurnSigns = field(default_factory=TurnSigns)
    look: ScreenProfile | None = None
    dialogs: tuple[DialogRule, ...] = ()
    permission: Permission | None = None
    interrupt: Interrupt = field(default_factory=Interrupt)
    missing: str = "Install it, or say where it is with `command`."
    login: str = "Log in once in its own terminal."
    context_tokens: int | None = None
    turn_timeout_s: float = 3600.0
    memory: MemoryAccess | None = None
    acp: tuple[str, ...] = ()
    acp_options: tuple[tuple[str, ...], ...] = ()
    acp_fault: re.Pattern[str] | None = None
    acp_last_message: bool = False
    acp_again: re.Pattern[str] | None = None
    logins: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    model_in_files: bool = False
    own_model: str = ""
    compact: str = ""
    tells_compacted: bool = False
    compacting: re.Pattern[str] | None = None
    clear: str = ""
    version: tuple[str, ...] = ("--version",)
    at_least: str = ""
    tested: str = ""
    shell_terminal: bool = False
    nests: bool = False
    reads: tuple[str, ...] = ()
    ends_at: frozenset[AgentFault] = frozenset()
    size: tuple[int, int] | None = None

    @property
    def takes_model(self) -> bool:
        """Whether it can be told a model's name."""
        groups = (*self.options, *self.acp_options)
        return self.model_in_files or any("{model}" in word for group in groups for word in group)

    def argv(self, setting: Setting, command: Sequence[str] = ()) -> tuple[str, ...]:
        """The command line. command: replaces argv[0] when not empty."""
        words = self.resume if setting.resumes else self.begin
        groups = [g for g in self.options if all(setting.fill(w) for w in g)]
        if self.memory and setting.memory:
            groups.append(self.memory.options)
        tail = [setting.fill(w) for w in (*words[1:], *(w for g in groups for w in g))]
        return (*(command or words[:1]), *tail)
