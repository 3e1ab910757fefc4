"""The result of an extraction: the tool, the check of its input, and the facts it becomes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from contract.agent import Completion, Tool
from contract.values import dataclass

TOOL_NAME = "write_extracted"
TEXT_CHARS = 1_000  # of a fact; the header shows 300


def _one_line(text: str) -> str:
    if len(text.splitlines()) > 1:
        raise ValueError("must be one line")
    return text


def _storable(text: str) -> str:
    return text.replace("\x00", "")  # PostgreSQL holds no NUL


Text = Annotated[str, AfterValidator(_storable)]
Needed = Annotated[Text, Field(min_length=1, pattern=r"\S")]


class _ExtractedEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Decision(_ExtractedEntry):
    """A judgement made, and the reason of design, policy or approach."""

    options: list[Text]
    chosen: Needed
    rationale: Text


class Discussion(_ExtractedEntry):
    """A debate; unresolved is valid."""

    topic: Needed
    points: list[Text]


class Attempt(_ExtractedEntry):
    """Something that was tried; partial success is no success."""

    action: Needed
    result: Text
    succeeded: bool


class Request(_ExtractedEntry):
    """Something that somebody wants."""

    intent: Needed
    target: Text | None = None
    summary: Annotated[Needed, AfterValidator(_one_line)]


class Extracted(_ExtractedEntry):
    """The input of `write_extracted`. The gateway alone adds where it came from."""

    decisions: list[Decision]
    discussions: list[Discussion]
    attempts: list[Attempt]
    requests: list[Request]

    def empty(self) -> bool:
        """True when nothing was found."""
        return not (self.decisions or self.discussions or self.attempts or self.requests)


# ── The tool ────────────────────────────────────────────────────────────────────────────


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Mapping[str, Any], description: str = "") -> dict[str, Any]:
    listed = {"type": "array", "items": items}
    return {**listed, "description": description} if description else listed


def _text(description: str = "") -> dict[str, Any]:
    return {"type": "string", **({"description": description} if description else {})}


TOOL = Tool(
    TOOL_NAME,
    "Write down what the conversation settled, debated, tried and asked for.",
    _object(
        decisions=_list(
            _object(
                options=_list(_text(), "What was weighed, the chosen one included."),
                chosen=_text(),
                rationale=_text("The reason of design, policy or approach."),
            )
        ),
        discussions=_list(_object(topic=_text(), points=_list(_text()))),
        attempts=_list(
            _object(
                action=_text(),
                result=_text("What came of it; of a partial success, what worked and what not."),
                succeeded={"type": "boolean", "description": "False for a partial success."},
            )
        ),
        requests=_list(
            _object(
                intent=_text("What kind of thing is wanted, in a few words."),
                target={"anyOf": [{"type": "string"}, {"type": "null"}]},
                summary=_text("One line that names who wants what."),
            )
        ),
    ),
)

# ── The check ───────────────────────────────────────────────────────────────────────────


class Malformed(Exception):
    """The answer can't be taken. Its text says why, for the model that is asked again."""


@dataclass(frozen=True, slots=True)
class ParsedExtraction:
    """The first call's input, and how many further calls were ignored."""

    found: Extracted
    ignored: int


def read_extracted(completion: Completion) -> ParsedExtraction:
    """The first call of the tool; text and calls beside it are ignored. Raises Malformed.

    A malformed first call is not made good by a second one in the same answer: which of the two
    was meant is the model's to say, when it is asked again.
    """
    calls = [call for call in completion.calls if call.name == TOOL_NAME]
    if not calls:
        raise Malformed(f"you did not call {TOOL_NAME}")
    try:
        found = Extracted.model_validate(dict(calls[0].input))
    except ValidationError as error:
        raise Malformed(_reasons(error)) from None
    return ParsedExtraction(found, len(completion.calls) - 1)


def _reasons(error: ValidationError) -> str:
    """The first mistakes, by key; without the values."""
    reasons = [
        f"{'.'.join(map(str, item['loc']))[:80]}: {_mistake(item['type'], item['msg'])}"
        for item in error.errors(include_input=False, include_url=False)[:5]
    ]
    return "; ".join(reasons)


def _mistake(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "there is no such key; say nothing of where or when it was said"
    return message.removeprefix("Value error, ").lower()


# ── The facts ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Sentence:
    """An entry as one sentence. kind: of the fact. entry: as it was extracted."""

    kind: str
    text: str
    entry: dict[str, Any]


def sentences(found: Extracted) -> Iterator[Sentence]:
    """The entries that become facts, one sentence each.

    Decisions and requests always; discussions that have a point; attempts that failed, or whose
    result says more than that the action worked.
    """
    for decision in found.decisions:
        yield _sentence("decision", _decided(decision), decision)
    for request in found.requests:
        yield _sentence("request", _wanted(request), request)
    for discussion in found.discussions:
        if points := _some(discussion.points):
            text = f"Discussed {discussion.topic}: {'; '.join(points)}"
            yield _sentence("discussion", text, discussion)
    for attempt in found.attempts:
        if teaches(attempt):
            how = "which worked" if attempt.succeeded else "which did not work"
            tail = f": {attempt.result}" if attempt.result.strip() else ""
            yield _sentence("attempt", f"Tried {attempt.action}, {how}{tail}", attempt)


def _sentence(kind: str, text: str, entry: BaseModel) -> Sentence:
    return Sentence(kind, " ".join(text.split())[:TEXT_CHARS], entry.model_dump())


def _some(texts: Iterable[str]) -> list[str]:
    return [text for text in texts if text.strip()]


def _decided(decision: Decision) -> str:
    taken = _taken(decision)
    others = [one for one in _some(decision.options) if normal(one) != taken]
    over = f" over {', '.join(others)}" if others else ""
    why = f": {decision.rationale}" if decision.rationale.strip() else ""
    return f"Chose {decision.chosen}{over}{why}"


def _taken(decision: Decision) -> str:
    """The normal text of the option that was chosen: of those that say it in more or fewer words
    the one that shares most, unless one says it in the same."""
    chosen = _words(decision.chosen)
    options = list(map(normal, decision.options))
    alike = [
        one
        for one in options
        if _words(one) and not (chosen - _words(one) and _words(one) - chosen)
    ]
    if normal(decision.chosen) in options or not alike:
        return normal(decision.chosen)
    return max(alike, key=lambda one: len(chosen & _words(one)))


def _wanted(request: Request) -> str:
    target = request.target or ""
    named = not target.strip() or normal(target) in normal(request.summary)
    return request.summary if named else f"{request.summary} ({target})"


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


_EMPTY_WORDS = _words(
    "a all and as done expected fine fixed good happened is it no now ok okay passed passes "
    "problem problems result success succeeded successful successfully that the this was went "
    "well with without work worked works"
)


def teaches(attempt: Attempt) -> bool:
    """True for an attempt that is worth keeping."""
    new = _words(attempt.result) - _words(attempt.action) - _EMPTY_WORDS
    return not attempt.succeeded or bool(new)


def normal(text: str) -> str:
    """The text without regard to case, white space and a full stop at its end."""
    return " ".join(text.casefold().split()).rstrip(". ")


def about(text: str, people: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """The person that a sentence is about, of these (id, name): the only one there or named."""
    if len(people) == 1:
        return people[0]
    named = [
        person
        for person in people
        if re.search(rf"(?<!\w){re.escape(person[1])}(?!\w)", text, re.IGNORECASE)
    ]
    return named[0] if len(named) == 1 else None
