"""Parts of a profile: how a prompt is typed, the signs of a turn, and the keys that interrupt it.

Patterns are searched in the visible screen's text: its rows, right-stripped, joined by "\\n".
Compile them with re.MULTILINE where `^` means a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from adapters.turn_events import Reader, State
from contract.agent import Option
from contract.errors import AgentFault
from contract.values import dataclass

if TYPE_CHECKING:
    from adapters.screen_profile import ScreenProfile


@dataclass(frozen=True, slots=True)
class PromptText:
    """The changes made to a prompt before it is typed."""

    tab: str = "    "
    """Stands for a TAB."""
    nfc: bool = True
    """Normalize to NFC."""
    after_backslash: str = " "
    """Appended when the text ends in "\\", which would swallow Enter."""
    harmless: Callable[[str], str] = str
    """Takes from a clean text what the program would read as a command."""
    pieces: Callable[[str], Sequence[str]] | None = None
    """Cuts it into several pastes, for a program that does something else to a long one; None: it
    is one paste."""


@dataclass(frozen=True, slots=True)
class PastedPicture:
    """A program that takes the pasted path of a picture for the picture itself."""

    path: re.Pattern[str]
    """Matches the whole of a path that it takes so."""
    taken: re.Pattern[str]
    """Found on the screen once for each that it has taken."""
    wait_s: float = 5.0
    """How long that may take, before the prompt goes without it."""


@dataclass(frozen=True, slots=True)
class PromptTyping:
    """The keys and waits with which a prompt goes in."""

    text: PromptText = field(default_factory=PromptText)
    paste: bool | None = True
    """As a bracketed paste; else line by line. None: as a paste if the program asks for them to be
    marked (mode 2004)."""
    newline: str = "\n"
    """Joins the lines where there is no paste."""
    submit: bytes = b"\r"
    echo_s: float = 0.0
    """How long to wait for `holding` before it is typed again; 0: not at all."""
    settle_s: float = 0.0
    """Output must have been quiet this long after the paste before Enter."""
    confirm_s: float = 3.0
    """After Enter the turn must have begun within this time, else Enter is pressed once more while
    `holding` is on the screen."""
    tries: int = 3
    """Enters in all."""
    holding: re.Pattern[str] | None = None
    """Shows that the input box still holds the text. None: never a second Enter."""
    prompt: re.Pattern[str] | None = None
    """Must be on the screen before anything is typed, for a program whose record has the end of a
    turn before it reads again."""
    before: bytes = b""
    """Keys pressed ahead of each prompt."""
    picture: PastedPicture | None = None
    """None: it is only told where a picture is."""


# ── The signs of a turn ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Hooks:
    """The program posts hook payloads to {hook_url}."""

    read: Reader
    """Makes events of a payload. A HookQuestion holds the HTTP response open until the room
    decided; an event without a decision is answered with `{}` at once."""


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """The program's own record of the session: where it lies and what a row means."""

    glob: str
    """Relative to HOME, a template; the newest match counts."""
    read: Reader
    format: Literal["jsonl", "text", "sqlite"] = "jsonl"
    """The shape of the rows that `read` gets. jsonl: each line's object. text: each line as
    {"line": str, "head": str, "since": int}, where the head is the last line that matched
    `heads` in this turn, so many lines above. sqlite: each row of `query` as its columns."""
    query: str = ""
    """`?` in it is the greatest value of the first column seen, by which it orders."""
    heads: re.Pattern[str] | None = None
    poll_s: float = 0.1
    """How often it is looked at during a turn."""
    grace_s: float = 1.5
    """How long it may lag behind another sign of the end."""
    late_s: float = 15.0
    """The same, where words are known to have been said that it lacks: on a busy machine or disk a
    program writes its record seconds later."""
    opens: bool = False
    """Each turn has a PromptTaken with its id, and rows without an id belong to the turn that began
    last: so late rows of the turn before are not taken for this one's."""
    ahead: bool = False
    """It has all of a turn before the state tells that this is done, and then the footer's `idle`
    shows that it waits for the next prompt."""
    segments: bool = False
    """It goes on in other files of the glob, whose names sort by time."""


@dataclass(frozen=True, slots=True)
class Title:
    """Patterns of the window title. Both are searched in it; `busy` is looked at first."""

    busy: re.Pattern[str]
    idle: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Footer:
    """Patterns of the screen while it works (busy) and while it waits for a prompt (idle).

    Over when busy was seen (or never is: busy None), then is gone and idle is there (when set)
    for `debounce_s` without a break. Watched without debounce, 20 of 20 replies ended early.
    """

    busy: re.Pattern[str] | None
    idle: re.Pattern[str] | None = None
    debounce_s: float = 0.5


@dataclass(frozen=True, slots=True)
class TurnSigns:
    """The signs of a turn's end. A profile needs two that are independent.

    Hooks and record are exact signs and end a turn at once. The others are the fall-back. With
    neither hooks nor record, a state or footer ends it at once.
    """

    hooks: Hooks | None = None
    record: RecordFormat | None = None
    states: Callable[[str], State | None] | None = None
    """Reads an OSC that is no title, e.g. "7501;state=done:app=codex"; None: it means nothing."""
    paste_mode: bool = False
    """Bracketed paste is on exactly while it reads a line: done, else working."""
    title: Title | None = None
    footer: Footer | None = None
    fallback_s: float = 5.0
    """Seen idle for so long with no exact sign, the fall-back signs end the turn as well."""
    timeout_s: float = 3600.0
    """A turn that takes longer is stopped."""
    ends_at: frozenset[AgentFault] = frozenset()
    """Faults that it would repeat until its end: so it is ended, and resumed by the next ask."""

    @property
    def exact(self) -> bool:
        """True when it tells what it said, and when it is done."""
        return bool(self.hooks or self.record)


# ── What it may show ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class DialogRule:
    """Something on the screen that nobody asked for, and what is done about it."""

    pattern: re.Pattern[str]
    keys: bytes = b""
    """Pressed, once for each time it appears."""
    fault: AgentFault | None = None
    """Else the ask fails with this and `say`."""
    say: str = ""
    """A template: {title} is the program's; {seen} the match, or its group `seen`."""
    when: Literal["start", "turn", "always"] = "always"
    """It is looked for while starting, in a turn, or always."""
    breaks: bool = False
    """The fault breaks a turn off as soon as it shows, for a program that tries again for minutes;
    the others count when the turn is over."""
    deaf_s: float = 0.0
    """How long after it appeared while starting it takes no key."""


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission prompt on the screen; its title and options are read by the look."""

    pattern: re.Pattern[str]
    keys: tuple[bytes, ...] = ()
    """Choose option i (0-based); shorter than the options: the digit i + 1."""
    options: tuple[Option, ...] = ()
    """The choices, for a program that does not show them; each has its key then."""
    certain: bool = False
    """Nothing but a question matches the pattern: one stands even where its choices can't be
    read."""
    allow: bytes = b""
    """Keys that say yes when the choices cannot be read; empty: the first of `keys`, else 1."""
    refuse: bytes = b"\x1b"
    """The same for no."""
    refusal: re.Pattern[str] = re.compile(r"(?i)^\W*(no|deny|reject|refuse|cancel|don.t allow)\b")
    """Marks an option's label as a refusal."""
    worded: re.Pattern[str] | None = None
    """An option that takes a text: its key only selects it, then a word and Enter are typed."""
    half: re.Pattern[str] | None = None
    """A question's detail before the program has drawn what it asks about."""
    late_s: float = 2.0
    """How long a hook may take to ask the same before the screen's prompt is asked."""
    deaf_s: float = 0.25
    """How long after it appeared it may take no key: Qwen Code 0.24.4 lost one that came 20 ms
    after the prompt was drawn."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The contents of the program's screen: replies, dialogs, permission prompts."""

    look: ScreenProfile | None = None
    dialogs: tuple[DialogRule, ...] = ()
    permission: Permission | None = None


# ── Other keys and commands ─────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The keys that break a turn off."""

    keys: tuple[bytes, ...] = (b"\x1b",)
    """Pressed one after the other."""
    gap_s: float = 0.1
    """Between two of them."""
    again_s: float = 0.0
    """After so long they are pressed again, while the screen shows that it works or asks; 0: never,
    for a program to which they mean something else when it is idle."""
    clear: bytes = b""
    """Pressed afterwards, when the program gives the prompt back into its input box."""
    clear_gap_s: float = 0.0
    """The least time between two of these, for a program that ends at the second."""
    keeps: bool = False
    """What it had said stays on the screen, and is whole only then: while it writes, lines that are
    done wait to be drawn above the one that grows."""
    goes_on_s: float = 0.0
    """Broken off behind a tool, before a word, it asks its model again by itself within this time,
    and is broken off again; 0: it never does."""
    ends: bool = False
    """Nothing breaks a turn off but the program's end; then it is resumed."""


@dataclass(frozen=True, slots=True)
class UndoStep:
    """Keys, and what shows that they were taken: the next step's are pressed only then."""

    keys: bytes
    shows: re.Pattern[str]
    again: bool = False
    """They are pressed until it shows, e.g. to get to a row of a list."""
    where: re.Pattern[str] | None = None
    """Left out unless this is on the screen then."""


@dataclass(frozen=True, slots=True)
class Undo:
    """The program's own way to take back its last exchange, and what that changed."""

    steps: tuple[UndoStep, ...]
    """What the last one shows is the proof that it is done."""
    refuses: re.Pattern[str] | None = None
    """Shows that there is nothing that it could take back."""
    takes_files: str = ""
    """Files that come back as well, e.g. "the files that its tools had changed"; empty: none do."""
    clear: bytes = b""
    """Pressed afterwards, where it gives the prompt back into its input box."""


def typed_undo(command: str, shows: re.Pattern[str], enter: bytes = b"\r") -> tuple[UndoStep, ...]:
    """The steps that type a command and enter it. shows: what it opens, or prints."""
    row = rf"^.{{0,20}}{re.escape(command[0])} ?{re.escape(command[1:])}$"
    return (
        UndoStep(command.encode(), re.compile(row, re.MULTILINE)),
        UndoStep(enter, shows),
    )


@dataclass(frozen=True, slots=True)
class Controls:
    """Keys and commands beside prompts: to break a turn off, to make the context smaller."""

    interrupt: Interrupt = field(default_factory=Interrupt)
    compact: str = ""
    """Its command for this, typed as a line; empty: it has none."""
    clear: str = ""
    """The same for beginning a new conversation."""
    tells_compacted: bool = False
    """Nothing was compacted without a ContextCompacted event."""
    undo: Undo | None = None
    """None: it can't."""
    compacting: re.Pattern[str] | None = None
    """On the screen exactly while `compact` works, for a program with no other sign of it."""
