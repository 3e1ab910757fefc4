"""The demo agent's answers: steps that the program carries out. No I/O."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable, Generator

from adapters.demo.header import Header

Say = namedtuple("Say", "text seconds")  # seconds: over how long it is streamed
Ask = namedtuple("Ask", "title detail options")  # the step's value is the index chosen
Use = namedtuple("Use", "tool detail")
Fail = namedtuple("Fail", "message")
Crash = namedtuple("Crash", "code")

Steps = Generator["Say | Ask | Use | Fail | Crash", "int | None", None]

COMPACT = "/compact"  # a command; no question
BRISK_S = 0.2
SLOW_S = 5.0

SMALL_TALK = re.compile(
    "hey|hi|hello|please|be|show|me|us|the|a|an|some|give|write|can|could|would|you|do|now|"
    "something|with|your|say|run|make|let|need|i|want|"
)

CALLED = re.compile(r"[\w][\w .-]{0,63}?[:,]\s+")

ONE_WORD = re.compile(r"[Rr]eply with the one word: (\w+)")

HELP = """\
I'm the **demo agent**: a small program in a real terminal, with no model behind it and no key \
to pay for. I show what a real agent would be told, and how it behaves here. Begin with one of \
these words:

- `help`: this list
- `header`: every word of the header I was given
- `slow`: an answer that takes five seconds, so that you can watch the draft or say `!stop`
- `long`: 200 lines, to see how an answer is split
- `code`, `table`, `unicode`: what survives on its way to you
- `permission`: I ask before I run something harmless; you decide
- `history`: what I was asked before in this session
- `error`, `crash`: what you see when an agent fails
- `echo` and a text: exactly that text

Anything else, and I tell you what I was told about it."""

CODE = """\
A function, as agents like to write them:

```python
def greet(name: str = "you") -> str:
    \"\"\"A tab\tand some "quotes" & <angles> stay as they are.\"\"\"
    return f"Hello, {name}!"
```

Call it with `greet("Ada")`."""

TABLE = """\
| Language | Born | Typing |
|:---------|-----:|--------|
| Python   | 1991 | dynamic, *gradual* |
| Rust     | 2012 | static, `a | b` in code |
| 日本語   |    – | wide cells |

Three rows, one of them wide."""

UNICODE = """\
- Accents: café, naïve, Ångström, e\u0301 (two code points)
- Wide: 日本語, 한국어, 中文
- Emoji: 👩‍👩‍👧‍👦 family, 👍🏽 thumb, 🇮🇩 flag, ❤️ heart
- Right to left: שלום, مرحبا
- Signs: – — … “quotes” ≤ ∑ → ✓"""


def answer(header: Header, session: Session) -> Steps:
    """The steps of the answer to what the header asks."""
    question = header.question()
    if match := ONE_WORD.search(question):
        return _say(match[1])(header, session, "")
    word, rest = _command(question)
    if word not in REPLIES and (called := CALLED.match(question)):
        word, rest = _command(question[called.end() :])  # a chat's own name for this agent
    if word in REPLIES:
        return REPLIES[word](header, session, rest)
    return _default(header, session, question)


def compacted() -> Steps:
    """The steps of its command that makes its context smaller."""
    yield Say("Compacted: the questions before this one are forgotten.", 0.0)


class Session:
    """The program's memory: the questions before this one, and what was allowed for good.

    persona: characters of the persona that it was given.
    """

    __slots__ = ("allowed", "id", "persona", "questions", "resumed")

    def __init__(
        self, session_id: str, questions: list[str], resumed: bool, persona: int = 0
    ) -> None:
        self.id = session_id
        self.questions = questions
        self.resumed = resumed
        self.persona = persona
        self.allowed = False


def _command(question: str) -> tuple[str, str]:
    """The first word that isn't small talk, in lower case, and what follows it."""
    rest = question
    while rest:
        word, blank, after = _split(rest)
        bare = word.strip("`*_.,:;!?\"'()").lower()
        if not SMALL_TALK.fullmatch(bare):
            return bare, after if blank else ""
        rest = after.lstrip()
    return "", ""


def _split(text: str) -> tuple[str, str, str]:
    at = next((i for i, char in enumerate(text) if char.isspace()), len(text))
    return text[:at], text[at : at + 1], text[at + 1 :]


def _say(text: str, seconds: float = BRISK_S) -> Callable[[Header, Session, str], Steps]:
    def steps(_header: Header, _session: Session, _rest: str) -> Steps:
        yield Say(text, seconds)

    return steps


def _default(header: Header, session: Session, question: str) -> Steps:
    who = header.asked_by()
    quoted = "\n".join(f"> {line}".rstrip() for line in question.split("\n"))
    hello = f"Hello **{who}**! " if who else "Hello! "
    asked = f"You asked:\n\n{quoted}" if question else "You only mentioned me."
    yield Say(
        f"{hello}I'm the demo agent: a real terminal program, without a model. {asked}\n\n"
        f"{_told(header, session)}\n\n{_memory(session)} Say `help` for what I can do, "
        "or `header` for every word of it.",
        BRISK_S,
    )


def _unaddressed(value: str) -> str:
    """Bots as code: to name one would hand over to it."""
    return re.sub(r"@[\w-]+(?= \(bot\))", r"`\g<0>`", value)


def _told(header: Header, session: Session) -> str:
    if not header.known:
        return f"I was given {len(header.prompt):,} characters without a header."
    names = ("Room", "Participants", "You are", "Time")
    rows = [(name, _unaddressed(header.field(name))) for name in names]
    counted = (
        ("RECALL", "Recall", "fact"),
        ("PINS", "Pins", "note"),
        ("RECOMMENDATIONS", "Recommendations", "note"),
        ("LANDMARKS", "Landmarks", "decision"),
        ("EPISODIC SUMMARY", "Summary", "line"),
        ("OBSERVATIONS", "Observations", "title"),
        ("THREAD CONTEXT", "Thread", "message"),
    )
    rows += [
        (title, _count(len(header.lines(section)), noun))
        for section, title, noun in counted
        if section in header.sections
    ]
    rows.append(("Transcript", _count(len(header.messages()), "message")))
    if session.persona:
        rows.append(("Persona", _count(session.persona, "character")))
    cells = [f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in rows if value]
    size = f"{len(header.prompt):,} characters"
    return "\n".join([f"With it I was told ({size}):", "", "| What | |", "|---|---|", *cells])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _memory(session: Session) -> str:
    turn = len(session.questions) + 1
    resumed = ", which I resumed" if session.resumed else ""
    return f"This is turn {turn} of our session{resumed}."


def _header(header: Header, _session: Session, _rest: str) -> Steps:
    fence = "```"
    while fence in header.prompt:
        fence += "`"
    yield Say(f"This is what I was given:\n\n{fence}text\n{header.prompt}\n{fence}", BRISK_S)


def _slow(_header: Header, _session: Session, _rest: str) -> Steps:
    lines = [f"{n}. This is line {n} of ten; half a second each." for n in range(1, 11)]
    yield Use("Wait", "five seconds")
    yield Say("I take my time, so that you can watch.\n\n" + "\n".join(lines), SLOW_S)


def _long(_header: Header, _session: Session, _rest: str) -> Steps:
    items = [f"{n}. Item {n}: the quick brown fox jumps over the lazy dog." for n in range(1, 143)]
    code = [f"def step_{n}() -> int:\n    return {n}\n" for n in range(1, 16)]
    table = ["| n | square |", "|--:|-------:|", *(f"| {n} | {n * n} |" for n in range(1, 5))]
    fenced = ["```python", "\n".join(code).rstrip(), "```"]
    text = ["Two hundred lines.", "", *items, "", *fenced, "", *table, "", "That was line 200."]
    yield Say("\n".join(text), BRISK_S)


def _permission(_header: Header, session: Session, _rest: str) -> Steps:
    options = ("Yes", "Yes, and don't ask again in this session", "No, and say what to do instead")
    yield Say("I'd like to look at the clock.", 0.05)
    chosen = 0
    if not session.allowed:
        got = yield Ask("Run this command?", "date -u", options)
        chosen = 2 if got is None else got
    session.allowed = session.allowed or chosen == 1
    if chosen == 2:
        yield Say("\n\nYou said no, so I left it. What shall I do instead?", BRISK_S)
        return
    yield Use("Bash", "date -u")
    always = " and need not ask again" if session.allowed else ""
    yield Say(f"\n\nYou allowed it{always}. Time passes, and the clock is fine.", BRISK_S)


def _crash(_header: Header, _session: Session, _rest: str) -> Steps:
    yield Say("I was about to say something when", 0.1)
    yield Crash(3)


def _error(_header: Header, _session: Session, _rest: str) -> Steps:
    yield Fail("API Error: 529 Overloaded (a pretended one)")


def _echo(_header: Header, _session: Session, rest: str) -> Steps:
    yield Say(rest, BRISK_S)


def _history(_header: Header, session: Session, _rest: str) -> Steps:
    if not session.questions:
        yield Say("This is the first thing that I was asked in this session.", BRISK_S)
        return
    lines = [f"{n}. {_one_line(text)}" for n, text in enumerate(session.questions, 1)]
    yield Say("Before this I was asked:\n\n" + "\n".join(lines[-40:]), BRISK_S)


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 120 else f"{flat[:119]}…"


REPLIES: dict[str, Callable[[Header, Session, str], Steps]] = {
    "help": _say(HELP),
    "code": _say(CODE),
    "table": _say(TABLE),
    "unicode": _say(UNICODE),
    "header": _header,
    "slow": _slow,
    "long": _long,
    "permission": _permission,
    "crash": _crash,
    "error": _error,
    "echo": _echo,
    "history": _history,
}
