"""The agent's last reply, read from the screen alone.

The second witness: bold, fences, link targets and line breaks are gone from a screen. Every
word is there, in order, and nothing else is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import groupby

from adapters.reading.prose import markdown
from adapters.reading.question import ScreenDialog, find_dialog
from adapters.reading.transcript import GAP, TranscriptView, first_new, rows_above_input
from adapters.reading.visible import VisibleRow, guess_reply, is_muted
from adapters.screen.screen import Screen
from adapters.screen.style import PLAIN
from adapters.screen_profile import ScreenProfile
from contract.values import dataclass

__all__ = [
    "ScreenDialog",
    "ScreenProfile",
    "TranscriptView",
    "find_dialog",
    "read_error",
    "read_reply",
]

_ANY = "."  # a text without letters
HEAD_LETTERS = 60  # of a prompt's first line, to find its echo by
MARK_LETTERS = 12  # an echo's own mark, e.g. "ask>", or a time beside it, is not longer


@dataclass(frozen=True, slots=True)
class PromptEcho:
    """A prompt as the program shows it: its rows from start to before end, its first text."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class MessageRows:
    """Rows that belong together. error: they stand in the reply's place, further indented."""

    rows: list[VisibleRow] = field(default_factory=list)
    tool: bool = False
    error: bool = False


def read_reply(
    screen: Screen,
    look: ScreenProfile,
    prompt: str | None = None,
    roll: TranscriptView | None = None,
    since: int = 0,
    before: Sequence[str] = (),
    echoed: bool = False,
) -> str:
    """The last reply as Markdown, "" when there is none.

    prompt: what was typed, to find its echo; None: behind the last echo. An error that the
    program shows in the reply's place is the reply. roll: what a full-screen program showed so
    far; without it a reply longer than the screen is cut off at its top. since: what
    `Screen.scrolled` was before the prompt was typed; it keeps the cost to that of the turn.
    before: the rows that stood above the input box then, which are none of this reply's. echoed:
    rows between them and the prompt's echo may be the late end of the turn before.
    """
    rolled = roll is not None and screen.alternate
    look = _fitting(screen, look, prompt, since)
    every = roll.rows if roll and rolled else rows_above_input(screen, look, since)
    new = first_new(before, [row.text for row in every])
    rows, found = _turn(every[new:], look, prompt)
    if echoed and new and not found:
        return ""
    if rolled and not found:
        rows = _behind_gap(rows)
    rows = _before_report(rows, look)
    if look.unknown:
        return markdown(*guess_reply(rows, screen.cols)) if found else ""
    blocks = _messages(rows, look, torn=screen.alternate and not (found or rolled))
    return _markdown(blocks[-1:] if look.reply.last_block else blocks, look, screen.cols)


def _messages(
    rows: Sequence[VisibleRow], look: ScreenProfile, *, torn: bool
) -> Sequence[MessageRows]:
    """The messages behind the last tool. torn: the mark of the first may have left the screen."""
    blocks = _marked(rows, look) if look.reply.bullet else _unmarked(rows, look)
    return _unmarked(rows, look) if torn and not blocks else blocks


def _before_report(rows: list[VisibleRow], look: ScreenProfile) -> list[VisibleRow]:
    """The rows before the program's own report of a failure, which may begin behind a word."""
    text = "\n".join(row.text for row in rows)
    report = look.asides.report.search(text)
    if report is None:
        return rows
    number = text.count("\n", 0, report.start())
    words = text[: report.start()].rpartition("\n")[2]
    return [*rows[:number], *([rows[number]._replace(text=words)] if words else [])]


def _behind_gap(rows: Sequence[VisibleRow]) -> list[VisibleRow]:
    """The rows behind the last gap, where no echo was found; none while there is no gap."""
    gaps = [i for i, row in enumerate(rows) if row is GAP]
    return list(rows[gaps[-1] :]) if gaps else []


def _markdown(blocks: Sequence[MessageRows], look: ScreenProfile, cols: int) -> str:
    text: list[str] = []
    for block in blocks:
        kept = _without_tail(block.rows, look)
        texts = [row.text.lstrip(" ") for row in kept] if block.error else _dedented(kept, look)
        text += ["", *texts]
    width = look.text_cols(cols) - look.reply.margin - look.reply.spare
    return markdown(text, width, numbered=look.reply.numbered, fence_names=look.reply.fence_names)


def read_error(
    screen: Screen,
    look: ScreenProfile,
    prompt: str | None = None,
    since: int = 0,
    before: Sequence[str] = (),
) -> str:
    """The last error that the program shows behind the prompt, "" when there is none."""
    look = _fitting(screen, look, prompt, since)
    every = rows_above_input(screen, look, since)
    rows, _ = _turn(every[first_new(before, [row.text for row in every]) :], look, prompt)
    said: list[str] = []
    margin = 0
    for row in rows:
        if match := look.asides.fault.match(row.text):
            said, margin = [match[1].strip()], match.start(1)
        elif row.blank or row.indent < margin:
            margin = 0
        elif margin:  # it goes on below
            said.append(row.text.strip())
    return " ".join(said)


def _fitting(screen: Screen, look: ScreenProfile, prompt: str | None, since: int) -> ScreenProfile:
    """The look, or that of an older version of the program whose echoes are on the screen."""
    if not any(style != PLAIN for line in screen.lines(since) for _, style in line.runs):
        look = look.unstyled()
    if not look.older:
        return look
    seen = [
        (one, _echoes(rows_above_input(screen, one, since), one)) for one in (look, *look.older)
    ]
    wanted = _head(prompt or "")
    repeating = (one for one, echoes in seen if any(_is_of(echo, wanted) for echo in echoes))
    echoing = (one for one, echoes in seen if echoes)
    return next(repeating, None) or next(echoing, look)


# ── Between the prompt and the input box ────────────────────────────────────────────────


def _turn(
    rows: list[VisibleRow], look: ScreenProfile, prompt: str | None
) -> tuple[list[VisibleRow], bool]:
    """The rows behind the prompt's echo, up to the next echo; whether there is an echo."""
    echoes = _echoes(rows, look)
    mine = _echo_of(prompt or "", echoes, rows)
    if mine is None:
        return rows, False
    later = [] if look.prompt.echo_once else echoes
    end = next((echo.start for echo in later if echo.start >= mine.end), len(rows))
    behind = rows[mine.end : end]
    closed = next((i for i, row in enumerate(behind) if look.prompt.echo_end.match(row.text)), -1)
    return behind[closed + 1 :], True


def _echoes(rows: Sequence[VisibleRow], look: ScreenProfile) -> list[PromptEcho]:
    """The prompts on the screen; rows in succession that are all marked are one."""
    echoes: list[PromptEcho] = []
    plain = not look.prompt.echo_coloured
    found = [
        look.prompt.echo.match(row.text) if plain or _is_coloured(row) else None for row in rows
    ]
    if look.prompt.echo_blank:
        found = _with_blanks(found, rows, look)
    for is_echo, group in groupby(enumerate(found), lambda pair: pair[1] is not None):
        if is_echo:
            matches = [(i, match) for i, match in group if match]
            texts = (match[1] or "" for _, match in matches)
            text = next((text for text in texts if text.strip()), "")
            echoes.append(PromptEcho(matches[0][0], matches[-1][0] + 1, text))
    return echoes


def _with_blanks(
    found: Sequence[re.Match[str] | None], rows: Sequence[VisibleRow], look: ScreenProfile
) -> list[re.Match[str] | None]:
    """The matches, and those of the rows below one that only lack a text."""
    every: list[re.Match[str] | None] = []
    for match, row in zip(found, rows, strict=True):
        if match is None and every and every[-1]:
            lacking = look.prompt.echo.match(f"{row.text} {_ANY}")
            match = lacking if lacking and lacking[1].strip() == _ANY else None
        every.append(match)
    return every


def _echo_of(
    prompt: str, echoes: Sequence[PromptEcho], rows: Sequence[VisibleRow]
) -> PromptEcho | None:
    """The last echo of this prompt; else the last that is no command of the program's own."""
    if wanted := _head(prompt):
        for echo in reversed(echoes):
            if _is_of(echo, wanted):
                return echo
        if not echoes:
            return _typed(prompt, rows)
    prompts = [echo for echo in echoes if not echo.text.startswith("/")]
    return next(reversed(prompts or [*echoes]), None)


def _head(prompt: str) -> str:
    """The letters that a prompt's echo begins with."""
    line = next((line for line in prompt.splitlines() if line.strip()), "")
    return letters_of(line)[:HEAD_LETTERS]


def _is_of(echo: PromptEcho, head: str) -> bool:
    seen = letters_of(echo.text)[:HEAD_LETTERS]
    return bool(seen and head) and (head.startswith(seen) or seen.startswith(head))


def _typed(prompt: str, rows: Sequence[VisibleRow]) -> PromptEcho | None:
    """Where the prompt's own lines stand, in a program whose echo has no mark."""
    first, *more = [letters for line in prompt.splitlines() if (letters := letters_of(line))]
    seen = [letters_of(row.text) for row in rows]
    found = [i for i, letters in enumerate(seen) if first[:HEAD_LETTERS] in letters]
    alone = [i for i in found if len(seen[i]) <= len(first) + MARK_LETTERS]
    if not found:
        return None
    start = (alone or found)[-1]
    end = start + 1
    for line in more:
        ahead = range(end - 1, min(end + 4, len(rows)))  # it may have been typed on one line
        end = next((i + 1 for i in ahead if line[:20] in seen[i]), end)
    return PromptEcho(start, end, prompt)


def letters_of(text: str) -> str:
    """The letters and digits: they survive any rendering."""
    return "".join(char for char in text if char.isalnum())


# ── The reply's rows among them ─────────────────────────────────────────────────────────


def _marked(rows: Sequence[VisibleRow], look: ScreenProfile) -> list[MessageRows]:
    """The messages behind the last tool, where each begins with a mark."""
    assert look.reply.bullet
    blocks: list[MessageRows] = []
    current: MessageRows | None = None  # None: the rows here are nobody's
    for row in rows:
        if row is GAP:
            current = MessageRows([row])
            blocks.append(current)
        elif _is_aside(row, look):
            current = None
        elif look.reply.bullet.match(row.text):
            current = MessageRows([row], _is_tool(row, look))
            blocks.append(current)
        elif match := look.tools.result.match(row.text):
            if blocks:
                blocks[-1].tool |= not look.asides.fault.match(row.text)
                current = None
            elif match.re.groups and match[1]:  # an error in the reply's place
                current = MessageRows([VisibleRow(" " * match.start(1) + match[1])], error=True)
                blocks.append(current)
        elif _is_tool(row, look):
            current = None
            blocks.append(MessageRows([row], tool=True))
        elif not row.blank and row.indent < look.reply.margin:
            current = None
        elif current:
            current.rows.append(row)
    return _behind_tools(blocks, any(look.asides.broken_off.match(row.text) for row in rows))


def _unmarked(rows: Sequence[VisibleRow], look: ScreenProfile) -> list[MessageRows]:
    """The rows behind the last tool that are indented as replies are."""
    blocks = [MessageRows()]
    for row in rows:
        if row is GAP:
            blocks.append(MessageRows([row]))
        elif _is_tool(row, look):
            blocks += [MessageRows(tool=True), MessageRows()]
        elif row.blank or (row.indent >= look.reply.margin and not _is_aside(row, look)):
            blocks[-1].rows.append(row)
    return _behind_tools(blocks, any(look.asides.broken_off.match(row.text) for row in rows))


def _behind_tools(blocks: list[MessageRows], broken_off: bool) -> list[MessageRows]:
    """The words since the last tool; of a turn that ends with tools, those before."""
    said: list[MessageRows] = []
    for block in reversed(blocks):
        if not block.tool:
            said.insert(0, block)
        elif broken_off or any(not row.blank for one in said for row in one.rows):
            break
    return said


def _is_tool(row: VisibleRow, look: ScreenProfile) -> bool:
    if look.tools.muted_tool.match(row.text) and _is_muted(row):
        return True
    word = next((i for i, char in enumerate(row.text) if char.isalnum()), 0)
    plain = not look.tools.tool_bold or row.style_at(word).bold
    return plain and look.tools.tool.match(row.text) is not None


def _is_aside(row: VisibleRow, look: ScreenProfile) -> bool:
    if look.asides.aside.match(row.text):
        return True
    if look.asides.muted_aside.match(row.text):
        return _is_muted(row)
    return look.asides.coloured_aside.match(row.text) is not None and _is_coloured(row)


def _is_muted(row: VisibleRow) -> bool:
    return is_muted(row.style_at(row.indent))


def _is_coloured(row: VisibleRow) -> bool:
    """True when its mark is neither black, white, grey nor the default."""
    colour = row.style_at(row.indent).fg
    if colour.startswith("x"):
        return not colour[1:3] == colour[3:5] == colour[5:7]
    return colour not in ("", "0", "7", "8", "15")


def _without_tail(rows: list[VisibleRow], look: ScreenProfile) -> list[VisibleRow]:
    kept = len(rows)
    while kept and (rows[kept - 1].blank or look.reply.tail.match(rows[kept - 1].text)):
        kept -= 1
    return rows[:kept]


def _dedented(rows: Iterable[VisibleRow], look: ScreenProfile) -> list[str]:
    """The texts without bullet and margin."""
    texts = []
    for row in rows:
        bullet = look.reply.bullet.match(row.text) if look.reply.bullet else None
        if bullet:
            texts.append(row.text[bullet.end() :])
        else:
            texts.append(row.text[min(look.reply.margin, row.indent) :])
    return texts
