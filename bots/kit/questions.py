"""A permission question as a post in Markdown. Pure.

What is asked comes from an agent's program: it is shown as it is, and can't dress itself up.
"""

from __future__ import annotations

import re

from contract.agent import Question
from contract.language import phrase, say

TITLE_CHARS, DETAIL_CHARS = 200, 1_200  # with ten choices it still fits Discord's 2,000

DECIDED_CHARS = 300  # of the details when it is decided: what was allowed is still to be read
LABEL_CHARS = 500  # of a choice that was made: an edit in Slack holds 4,000 bytes

# Not `?`, `,` and others that never mean anything: Matrix's `body` shows the escapes.
_SIGN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~@:&=])")


def literal(text: str) -> str:
    """The text as Markdown that shows exactly its characters, on one line."""
    return _SIGN.sub(r"\\\1", " ".join(text.split()))


def question_markdown(question: Question) -> str:
    """The title, the details in a code block, and what to type for each choice."""
    choices = (
        f"`{question.typed(number)}` {literal(option.label)}"
        for number, option in enumerate(question.options)
    )
    notes = [question.note] if question.note else []
    return "\n\n".join([*_asked(question, DETAIL_CHARS), "\n".join(choices), *notes])


def _asked(question: Question, detail_chars: int) -> list[str]:
    """The title, and so much of the details in a code block; each where there is one."""
    title = _cut(" ".join(question.title.split()), TITLE_CHARS)
    parts = [f"**{literal(title)}**"] if title else []
    if question.detail.strip():
        parts.append(fenced(_cut(question.detail, detail_chars)))
    return parts


def decided_markdown(question: Question, option: int, by: str) -> str:
    """The text in a question's place when it is decided: what was asked, the choice, and whose it
    was."""
    label = literal(_cut(question.options[option].label, LABEL_CHARS))
    return "\n\n".join([*_asked(question, DECIDED_CHARS), f"{label} ({literal(by)})"])


ALONE = phrase(
    "two people must agree (`second_person` under `[access]`), and only one may answer here"
)


def refused_markdown(question: Question, persona: str, why: str) -> str:
    """The text instead of a question that nobody could answer. why: Markdown."""
    title = literal(_cut(question.title, TITLE_CHARS))
    return say(
        "@{persona} asked for permission ({title}) and was refused: {why}.",
        persona=persona,
        title=title,
        why=why,
    )


def unowned_markdown(person_id: str) -> str:
    """The note below a question that only Moot's page can answer yet; the id of who asked."""
    return say(
        "Nobody here may answer that yet: it waits on Moot's page. Where "
        "Moot runs, `moot access grant {person_id} owner` lets whoever asked "
        "answer here.",
        person_id=person_id,
    )


def agreed_markdown(question: Question, option: int, by: str) -> str:
    """The text in place of a question that one of two people allowed."""
    title = literal(_cut(question.title, TITLE_CHARS))
    label = literal(_cut(question.options[option].label, LABEL_CHARS))
    return say(
        "**{title}**\n\n{label} ({literal} agreed; one more person must)",
        title=title,
        label=label,
        literal=literal(by),
    )


def left_markdown(title: str, persona: str) -> str:
    """The text in place of a question that an earlier process asked."""
    asked = literal(_cut(title, TITLE_CHARS))
    return say(
        "**{asked}**\n\nThis question is closed: Moot was restarted. "
        "@{persona} asks again if it still has to.",
        asked=asked,
        persona=persona,
    )


def gone_markdown(title: str, persona: str) -> str:
    """The text in place of a question that the agent's program asks no more."""
    asked = literal(_cut(title, TITLE_CHARS))
    return say(
        "**{asked}**\n\nNobody answered, and the program of @{persona} asks no "
        "more. It may have gone on by itself.",
        asked=asked,
        persona=persona,
    )


def fenced(text: str) -> str:
    """The text as it is, in a code block."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return say("{text}… ({n} more characters)", text=text[:most], n=len(text) - most)
