"""Every command as data: parsing, `!help`, completion and slash commands read it here.

A new one is an entry here and a handler, see docs/add-a-command.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gateway.settings.access import Role

Group = Literal["agents", "memory", "house"]
GROUPS: Mapping[Group, str] = {
    "agents": "The agents here",
    "memory": "What is remembered",
    "house": "Moot itself",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """Something written after a command. choices: the words that it may be; empty: any text."""

    name: str
    says: str
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command.

    says: what it does, a line of `!help`. shape: its arguments as `!help model` shows them.
    more: further lines of that. role: the least that may use it. text: what is written behind it
    is somebody's text, and is kept as it is; else it is words, and their last punctuation goes.
    aliases: other names of it. in_order: it waits for the turns before it, others act at once.
    once: it is done once; others once for each persona that is named. private: its reply lists
    what is one person's own: only they see it where the platform can do that. stricter: first words
    that require a higher role. handler: which handler of app/handlers.py carries it out.
    """

    name: str
    says: str
    handler: str
    group: Group = "agents"
    shape: str = ""
    example: str = ""
    more: str = ""
    arguments: tuple[Argument, ...] = ()
    aliases: tuple[str, ...] = ()
    role: Role = "guest"
    text: bool = False
    in_order: bool = False
    once: bool = False
    private: bool = False
    stricter: Mapping[str, Role] = field(default_factory=dict)


_PERSONA = Argument("persona", "whose; else everybody's here")
_NUMBER = Argument("number", "its number in the list", required=True)
_WHEN = Argument("when", "tomorrow 8:30, in 20 minutes, ...", required=True)
_MODE = Argument("mode", "or default", choices=("plan", "ask", "auto", "default"))
_VERSIONS = Argument("what", "or a persona's name", choices=("history", "diff", "rollback"))

TABLE: tuple[CommandSpec, ...] = (
    CommandSpec(
        "stop",
        "interrupt what the agent is doing here",
        handler="agents",
        example="!stop",
    ),
    CommandSpec(
        "new",
        "let the agent's next turn begin a new session",
        handler="agents",
        role="member",
        shape="[persona]",
        example="!new claude",
        more="What was remembered stays; the agent itself begins without the old conversation.",
        arguments=(_PERSONA,),
        in_order=True,
    ),
    CommandSpec(
        "retry",
        "ask the last question here again",
        handler="retry",
        shape="[persona]",
        example="!retry claude",
        more="In a thread the last one of the thread. The answer is a new one; the old one stays.",
        arguments=(_PERSONA,),
        once=True,
    ),
    CommandSpec(
        "undo",
        "take back the last answer here, and what the agent changed for it",
        handler="undo",
        shape="[persona]",
        example="!undo claude",
        more="Not every program can, or brings files back; the reply says what was taken back.",
        arguments=(_PERSONA,),
        in_order=True,
        once=True,
    ),
    CommandSpec(
        "sessions",
        "the agent's sessions here, the newest first",
        handler="sessions",
        shape="[persona|room|thread]",
        example="!sessions claude",
        more="`!resume 12` goes on with one of them. `!sessions thread` lets each thread here have "
        "sessions of its own, `!sessions room` none.",
        arguments=(_PERSONA,),
        once=True,
        stricter={"room": "owner", "thread": "owner"},
    ),
    CommandSpec(
        "resume",
        "let the agent's next turn go on with an earlier session",
        handler="sessions",
        role="member",
        shape="<number>",
        example="!resume 12",
        more="`!sessions` lists the numbers. The session of now stays in that list.",
        arguments=(_NUMBER,),
        in_order=True,
        once=True,
    ),
    CommandSpec(
        "compact",
        "let the agent condense what it holds of our conversation, and go on",
        handler="agents",
        role="member",
        shape="[persona]",
        example="!compact claude",
        arguments=(_PERSONA,),
        in_order=True,
    ),
    CommandSpec(
        "model",
        "which model an agent works with here, or choose another",
        handler="model",
        shape="[persona] [name|default]",
        example="!model opus",
        more="It works with it from its next turn on, in this room; the conversation goes on.",
        arguments=(_PERSONA, Argument("model", "its name as the agent knows it, or default")),
        role="member",
        once=True,
    ),
    CommandSpec(
        "workspace",
        "which folder an agent works in here, or choose another",
        handler="choices",
        role="member",
        shape="[persona] [name|default]",
        example="!workspace saga",
        more="Those that an administrator listed. A new session begins there.",
        arguments=(_PERSONA, Argument("folder", "its name, or default")),
        in_order=True,
        once=True,
    ),
    CommandSpec(
        "mode",
        "how much an agent may do here: plan, ask first, or act",
        handler="choices",
        role="member",
        shape="[persona] [plan|ask|auto|default]",
        example="!mode plan",
        more="`plan`: it looks and says what it would do; `ask`: it asks before it does more; "
        "`auto`: it asks nobody, which an owner chooses where an administrator listed it.",
        arguments=(_PERSONA, _MODE),
        in_order=True,
        once=True,
    ),
    CommandSpec(
        "persona",
        "who is here, what they are told, and how that came to be",
        handler="personas",
        shape="[history|diff|rollback] [persona] [version]",
        example="!persona history claude",
        more="`!persona claude` shows what it is told; `!persona rollback claude 2` is for owners.",
        arguments=(_VERSIONS, _PERSONA, Argument("version", "its number in the history")),
        stricter={"edit": "owner", "rollback": "owner"},
        once=True,
    ),
    CommandSpec(
        "agents",
        "who can be asked here, and whether they can answer",
        handler="status",
        example="!agents",
        once=True,
    ),
    CommandSpec(
        "status",
        "who works on what here, and what waits",
        handler="status",
        example="!status",
        once=True,
    ),
    CommandSpec(
        "why",
        "what the last answer here was made from",
        handler="agents",
        example="!why",
    ),
    CommandSpec(
        "1",
        "choose the first answer of a permission question (`!2` the second, ...)",
        handler="questions",
        example="!1",
    ),
    CommandSpec(
        "every",
        "ask an agent again and again; alone: what is scheduled here",
        handler="schedules",
        shape="[<when> <text>|stop|pause|resume <number>]",
        example="!every weekday 9:00 summarise yesterday",
        more="When: `day 9:00`, `monday,thursday 9am`, `weekend noon`, `15 minutes`, `hour`, "
        '`month 8:00`, or a cron line in quotes: `"0 9 * * 1-5"`. `!every stop 3` ends one, '
        "`!every pause 3` and `!every resume 3` do what they say.",
        arguments=(
            Argument("when", "weekday 9:00, 15 minutes, ...; or stop, pause, resume"),
            Argument("text", "what the agent is asked, or the number to stop, pause or resume"),
        ),
        role="member",
        text=True,
        once=True,
    ),
    CommandSpec(
        "once",
        "ask an agent later",
        handler="schedules",
        shape="<when> <text>",
        example="!once tomorrow 8:30 remind us of the release",
        more="When: `tomorrow 8:30`, `friday 17:00`, `2027-01-31 9:00`, `in 20 minutes`.",
        arguments=(_WHEN, Argument("text", "what the agent is asked", required=True)),
        role="member",
        text=True,
        once=True,
    ),
    CommandSpec(
        "pin",
        "keep a text, or the message you reply to, in front of every agent here",
        handler="pins",
        group="memory",
        role="member",
        shape="<text>",
        example="!decision we rotate refresh tokens",
        more="`!decision`, `!spec`, `!action` and `!landmark` do the same, and say what it is.",
        arguments=(Argument("text", "what to keep", required=True),),
        aliases=("landmark", "decision", "spec", "action"),
        text=True,
        once=True,
    ),
    CommandSpec(
        "landmarks",
        "what is pinned here",
        handler="pins",
        group="memory",
        shape="[count]",
        example="!landmarks 20",
        more="With a number so many of the newest.",
        arguments=(Argument("count", "so many of the newest; else all"),),
        once=True,
    ),
    CommandSpec(
        "unpin",
        "take a pin away again",
        handler="pins",
        group="memory",
        role="member",
        shape="<number>",
        example="!unpin 12",
        more="`!landmarks` tells the numbers.",
        arguments=(_NUMBER,),
        once=True,
    ),
    CommandSpec(
        "recall",
        "what is remembered here about something",
        handler="recall",
        group="memory",
        shape="<words>|#<number>",
        example="!recall token expiry",
        arguments=(Argument("text", "words to look for, or #12", required=True),),
        text=True,
        once=True,
    ),
    CommandSpec(
        "memory",
        "what I know of you here",
        handler="memory",
        group="memory",
        shape="[on|off]",
        example="!memory",
        more="`!memory off` keeps this room out of my memory, `!memory on` undoes it.",
        arguments=(Argument("switch", "keep this room in my memory?", choices=("on", "off")),),
        once=True,
        private=True,
    ),
    CommandSpec(
        "share",
        "let your rooms know a fact about you",
        handler="memory",
        group="memory",
        shape="[project] <number>|<text>",
        example="!share 12",
        more="As a reply it shares your message; `!share project ...` tells the project.",
        arguments=(Argument("text", "a fact's number, or what to share"),),
        text=True,
        once=True,
    ),
    CommandSpec(
        "unshare",
        "take a shared fact back",
        handler="memory",
        group="memory",
        shape="<number>",
        example="!unshare 12",
        arguments=(_NUMBER,),
        once=True,
    ),
    CommandSpec(
        "forget",
        "delete a fact about you, or all that I know of you here",
        handler="memory",
        group="memory",
        shape="<number>|all",
        example="!forget 12",
        arguments=(Argument("which", "a fact's number, or all", required=True),),
        once=True,
    ),
    CommandSpec(
        "role",
        "who may do what, and give somebody a role",
        handler="roles",
        group="house",
        shape="[<person> guest|member|owner|none [everywhere] [with @persona]]",
        example="!role @Olivia member",
        more="A person is a mention, an id or a name. What moot.toml gives stays.",
        arguments=(Argument("who", "a person and a role; else the roles here are listed"),),
        role="owner",
        once=True,
        private=True,
    ),
    CommandSpec(
        "pair",
        "who waits to be let in, and let somebody in by their code",
        handler="roles",
        group="house",
        shape="[<code>|refuse <code>]",
        example="!pair K7RM2QXP",
        arguments=(Argument("code", "the code that somebody was told"),),
        role="owner",
        once=True,
        private=True,
    ),
    CommandSpec(
        "usage",
        "what agents took: your questions, this room's, and each persona's",
        handler="usage",
        group="house",
        example="!usage",
        more="Owners are told everybody's, in a direct message or on the page.",
        once=True,
        private=True,
    ),
    CommandSpec(
        "help",
        "what you can say to me",
        handler="help",
        group="house",
        shape="[command]",
        example="!help pin",
        arguments=(Argument("command", "one of them, to be told more"),),
        private=True,
    ),
)

_BY_NAME: Mapping[str, CommandSpec] = {
    name: entry for entry in TABLE for name in (entry.name, *entry.aliases)
}
NAMES: tuple[str, ...] = tuple(name for name in _BY_NAME if not name.isdecimal())


def entry_of(name: str) -> CommandSpec | None:
    """The entry of a command's name, in lower case; every digit is that of `!1`."""
    return _BY_NAME.get("1" if name.isdecimal() else name)


def one_line(entry: CommandSpec) -> str:
    """The command as a line of `!help`, in Markdown."""
    return f"- `!{entry.name}` {entry.says}"


def usage(entry: CommandSpec) -> str:
    """Its written form, e.g. `!unpin <number>`."""
    return f"!{entry.name} {entry.shape}".rstrip()
