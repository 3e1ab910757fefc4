"""Any terminal program, described by its owner in a few lines of TOML.

Where it keeps a record that they tell of, its replies are exact. Else they are read from the
screen, and the end of a turn is told by patterns that hold for a while: as good as these are.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from adapters import turn_signs as signs
from adapters.cli_profile import Acp, Environment, ModelChoice, Profile, Program, ReadySigns, Setup
from adapters.profiles import looks
from adapters.profiles.other_looks import OTHER_LOOKS
from adapters.profiles.row_patterns import in_last_row, row_pattern, unflagged
from adapters.records.described import RecordSettings
from adapters.screen_profile import (
    NEVER,
    RULE,
    AsideRows,
    PromptRows,
    ReplyRows,
    ScreenFrame,
    ScreenProfile,
    ToolRows,
)
from contract.agent import Option
from contract.language import phrase

# In mid-turn, dialogs aside, `busy` was gone for 0.25 s at most (78 recordings of ten programs),
# at the ends of whole frames as well as within them.
QUIET_S = 1.0
STILL_S = 10.0
RESTLESS_S = 1.0
QUIET_ALONE_S = 2.0  # silence alone; gaps of 2.7 s were seen: better give `busy`

KEYS = {
    "enter": b"\r",
    "esc": b"\x1b",
    "tab": b"\t",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
} | {f"ctrl-{letter}": bytes([ord(letter) - 96]) for letter in "abcdefghijklmnopqrstuvwxyz"}


def _compiled(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return row_pattern(value)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None


def _key(value: object) -> object:
    if isinstance(value, str) and value.lower() in KEYS:
        return KEYS[value.lower()]
    raise ValueError(f"a key: {', '.join(list(KEYS)[:5])} or ctrl-a to ctrl-z")


Regex = Annotated[re.Pattern[str], BeforeValidator(_compiled)]
Press = Annotated[bytes, BeforeValidator(_key)]


class ChoiceSettings(BaseModel):
    """One answer to a permission question. press: keys, or characters to type."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str = Field(min_length=1)
    press: list[str] = Field(min_length=1)
    refuses: bool = False

    @property
    def keys(self) -> bytes:
        """The bytes to press."""
        return b"".join(KEYS.get(word.lower(), word.encode()) for word in self.press)


class GenericSettings(BaseModel):
    """A program as moot.toml describes it. Patterns are searched in the screen's rows.

    command: its argv; words like {workspace}, {model}, {session_id} are filled in. resume: argv
    that resumes {session_id}. ready: shows that it takes a prompt. ready_last_row: it and `prompt`
    are searched in the last row that shows something. ready_still_s: a start fails when its screen
    stands still so long without showing that. busy: shows that it works; busy_title: the same in
    its window's title; prompt: that it waits for one (default: ready). quiet_s: how long that must
    hold (1 s), with no output while there is no `busy` (2 s); of a program that draws all the time,
    with no change of its reply. paste: prompts go in as a bracketed paste; false: on one line, its
    lines joined by `newline`; unset: as a paste
    if the program asks for that.

    reply: how the first row of a reply begins. margin: columns before its other rows; spare:
    columns that it leaves empty at the right. echo: the prompt as the program repeats it. box: the
    row of its input box. look: instead of these, the name of a program that looks the same. aside:
    rows that belong to no reply, with what is indented under them. tool: the first row of a tool's
    use: the reply is what follows the last one. permission: shows that it asks; its choices are
    read from the screen (numbers, letters such as [y/N], lines of which one is marked), unless
    `choices` name them. record: where it writes down what it said, from which replies are exact;
    else they are read from the screen. undo: its command that takes back the last exchange; undone:
    what it shows then. cols, rows: of its terminal. Without a record a large one,
    so that a full-screen program shows a long reply whole: 200 and 300.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: list[str] = Field(min_length=1)
    resume: list[str] = []
    title: str = ""
    agent: str = ""
    env: dict[str, str] = {}
    passes: list[str] = []
    ready: Regex | None = None
    ready_last_row: bool = False
    ready_quiet_s: float = Field(default=0.6, ge=0)
    ready_still_s: float = Field(default=STILL_S, gt=0)
    ready_timeout_s: float = Field(default=90.0, gt=0)
    busy: Regex | None = None
    busy_title: Regex | None = None
    prompt: Regex | None = None
    quiet_s: float | None = Field(default=None, gt=0)
    paste: bool | None = None
    newline: str = " "
    submit: Press = b"\r"
    settle_s: float = Field(default=0.15, ge=0)
    interrupt: list[Press] = [b"\x1b"]
    clear: list[Press] = []
    undo: str = Field(default="", pattern=r"^\S*$")
    undone: Regex | None = None
    reply: Regex | None = None
    margin: int = Field(default=0, ge=0)
    spare: int = Field(default=0, ge=0)
    echo: Regex | None = None
    box: Regex | None = None
    look: str = ""
    aside: Regex = NEVER
    tool: Regex = NEVER
    permission: Regex | None = None
    choices: list[ChoiceSettings] = []
    record: RecordSettings | None = None
    cols: int | None = Field(default=None, ge=20, le=1000)
    rows: int | None = Field(default=None, ge=5, le=1000)
    missing: str = "Install it, or correct its `command` in moot.toml."
    login: str = "Log in once in its own terminal."
    context_tokens: int | None = Field(default=None, gt=0)
    turn_timeout_s: float = Field(default=3600.0, gt=0)

    @field_validator("look")
    @classmethod
    def _known(cls, value: str) -> str:
        if value and value not in (known := sorted({*looks(), *OTHER_LOOKS})):
            raise ValueError(f"nobody knows how {value!r} looks; known: {', '.join(known)}")
        return value

    @model_validator(mode="after")
    def _proven(self) -> Self:
        if bool(self.undo) != (self.undone is not None):
            raise ValueError("`undo` needs `undone`, which shows that it is done, and vice versa")
        return self


def generic_profile(name: str, settings: GenericSettings, ready: str = "") -> Profile:
    """The profile that the settings describe. ready: that pattern as it was written."""
    given = settings
    title = given.title or given.command[0].rpartition("/")[2]
    return Profile(
        name=name,
        title=title,
        agent=given.agent or f"{title} CLI agent",
        program=_program(given, _described(name, given, ready)),
        environment=Environment(env=tuple(given.env.items()), passes=tuple(given.passes)),
        setup=Setup(missing=given.missing, login=given.login),
        model=ModelChoice(context_tokens=given.context_tokens),
        typing=signs.PromptTyping(
            paste=given.paste,
            newline=given.newline,
            submit=given.submit,
            settle_s=given.settle_s,
        ),
        signs=signs.TurnSigns(
            record=given.record.record() if given.record else None,
            title=signs.Title(given.busy_title, re.compile("")) if given.busy_title else None,
            footer=signs.Footer(
                given.busy,
                _in_its_row(given, given.prompt or given.ready),
                debounce_s=_quiet_s(given),
            ),
            timeout_s=given.turn_timeout_s,
        ),
        shown=signs.Shown(look=_look(name, given), permission=_permission(given)),
        controls=signs.Controls(
            interrupt=signs.Interrupt(tuple(given.interrupt), clear=b"".join(given.clear)),
            undo=_undo(given),
        ),
        # as far as anybody knows
        acp=Acp(command=tuple(given.command)),
    )


def _program(given: GenericSettings, described: str) -> Program:
    return Program(
        begin=tuple(given.command),
        resume=tuple(given.resume),
        chooses_id=any("{session_id}" in word for word in given.command),
        ready=ReadySigns(
            prompt=_in_its_row(given, given.ready),
            bracketed_paste=bool(given.paste),
            quiet_s=given.ready_quiet_s,
            restless_s=RESTLESS_S,
            still_s=given.ready_still_s,
            timeout_s=given.ready_timeout_s,
            described=described,
        ),
        shell_terminal=True,
        size=_size(given),
    )


def _described(name: str, given: GenericSettings, ready: str) -> str:
    written = ready or (given.ready.pattern if given.ready else "")
    return f"`ready` in [agents.{name}.settings]: {written}" if written else ""


def _in_its_row(given: GenericSettings, pattern: re.Pattern[str] | None) -> re.Pattern[str] | None:
    return in_last_row(pattern) if pattern and given.ready_last_row else pattern


def _size(given: GenericSettings) -> tuple[int, int]:
    cols, rows = (120, 40) if given.record else (200, 300)
    return given.cols or cols, given.rows or rows


def _permission(given: GenericSettings) -> signs.Permission | None:
    if given.permission is None:
        return None
    return signs.Permission(
        given.permission,
        keys=tuple(choice.keys for choice in given.choices),
        options=tuple(Option(choice.label, choice.refuses) for choice in given.choices),
        certain=True,
        allow=given.submit,
        refuse=b"".join(given.interrupt),
    )


def _undo(given: GenericSettings) -> signs.Undo | None:
    if not given.undo or given.undone is None:
        return None
    return signs.Undo(signs.typed_undo(given.undo, given.undone, given.submit))


def _quiet_s(given: GenericSettings) -> float:
    return given.quiet_s or (QUIET_S if given.busy or given.busy_title else QUIET_ALONE_S)


def _look(name: str, given: GenericSettings) -> ScreenProfile:
    if given.look:
        return look_of(given.look)
    return ScreenProfile(
        name=name,
        prompt=PromptRows(
            echo=given.echo or NEVER,
            input=given.box or given.prompt or given.ready or NEVER,
            echo_blank=True,
            echo_once=True,
        ),
        reply=ReplyRows(
            bullet=given.reply,
            margin=given.margin,
            spare=given.spare,
        ),
        asides=AsideRows(aside=_either(given.aside, given.permission or NEVER)),
        tools=ToolRows(tool=given.tool),
    )


def _either(one: re.Pattern[str], other: re.Pattern[str]) -> re.Pattern[str]:
    """Looks match at a row's beginning; a permission pattern is searched in it."""
    source = f"(?:{unflagged(one)})|.*(?:{unflagged(other)})"
    return re.compile(source, one.flags | other.flags)


_ALIASES = {
    "claude": "claude-code",
    "hermes-agent": "hermes",
    "mistral-vibe": "vibe",
    "amazon-q": "amazonq",
    "cursor-agent": "cursor",
}


def look_of(agent: str) -> ScreenProfile:
    """The look of a program by its name; the generic one for a program that is not known."""
    name = _ALIASES.get(agent, agent)
    return looks().get(name) or OTHER_LOOKS.get(name) or LOOK


# A program that nobody looked at: what stands behind the prompt is guessed.
LOOK = ScreenProfile(
    name="generic",
    unknown=True,
    prompt=PromptRows(
        echo=NEVER,
        input=re.compile(r"\s{0,3}[│┃]?\s?\w{0,12}[❯›>»](?:\s|\xa0|$)"),
        input_muted=True,
        above=re.compile(rf"{RULE}|[╭┌╰└]{RULE}|\s{{30}}"),
    ),
    frame=ScreenFrame(scrollbar="┃│█▌▐▁▂▃▄▅▆▇▔▀║"),
)

_DESCRIBED = generic_profile(
    "generic",
    GenericSettings(
        command=["agent"],
        title="The program",
        missing=phrase("Say which one with `command` in moot.toml."),
    ),
)

GENERIC = replace(_DESCRIBED, shown=signs.Shown(look=LOOK))
