"""The tokens of a turn, as programs' records report them. Pure.

Each reader takes one JSON object of the record, like a `Reader`; a program that is not here, or a
row that tells nothing, gives none. Of rows with one key the last one counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adapters.records.values import mapping_of, text_of
from adapters.turn_events import Reader, TokensSpent, TurnEvent
from contract.agent import Usage

Json = Mapping[str, Any]
Meter = Callable[[Json], TokensSpent | None]


def telling(read: Reader, spent: Meter) -> Reader:
    """The reader of a record that also tells what was spent."""

    def both(row: Json) -> Sequence[TurnEvent]:
        told = spent(row)
        return read(row) if told is None else (*read(row), told)

    return both


def by_claude(row: Json) -> TokensSpent | None:
    """Claude Code repeats a message's usage with each of its blocks; subagents' count, too."""
    message = mapping_of(row.get("message"))
    usage = mapping_of(message.get("usage"))
    model = text_of(message.get("model"))
    if row.get("type") != "assistant" or not usage or model == "<synthetic>":
        return None
    cached = _count(usage, "cache_read_input_tokens")
    read = _count(usage, "input_tokens") + _count(usage, "cache_creation_input_tokens") + cached
    told = Usage(model or "claude", read, _count(usage, "output_tokens"), cached)
    return TokensSpent(text_of(message.get("id")) or text_of(row.get("uuid")), told)


def by_codex(row: Json) -> TokensSpent | None:
    """Codex tells the last call's beside the session's sum, and repeats them with its rate limits:
    the sum is the key. Its output holds its reasoning."""
    payload = mapping_of(row.get("payload"))
    if row.get("type") != "event_msg" or payload.get("type") != "token_count":
        return None
    info = mapping_of(payload.get("info"))
    last, total = (mapping_of(info.get(name)) for name in ("last_token_usage", "total_token_usage"))
    if not last:
        return None
    told = Usage(
        "codex",
        _count(last, "input_tokens"),
        _count(last, "output_tokens"),
        _count(last, "cached_input_tokens"),
    )
    return TokensSpent(str(_count(total, "total_tokens")), told)


def by_gemini(row: Json) -> TokensSpent | None:
    """Gemini CLI writes a message again when its tokens are known."""
    tokens = mapping_of(row.get("tokens"))
    if row.get("type") != "gemini" or not tokens:
        return None
    told = Usage(
        text_of(row.get("model")) or "gemini",
        _count(tokens, "input") + _count(tokens, "tool"),
        _count(tokens, "output") + _count(tokens, "thoughts"),
        _count(tokens, "cached"),
    )
    return TokensSpent(text_of(row.get("id")), told)


def by_qwen(row: Json) -> TokensSpent | None:
    """Qwen Code keeps the API's own words, in its record's assistant rows."""
    usage = mapping_of(row.get("usageMetadata"))
    if row.get("type") != "assistant" or not usage:
        return None
    told = Usage(
        text_of(row.get("model")) or "qwen",
        _count(usage, "promptTokenCount"),
        _count(usage, "candidatesTokenCount") + _count(usage, "thoughtsTokenCount"),
        _count(usage, "cachedContentTokenCount"),
    )
    return TokensSpent(text_of(row.get("uuid")), told)


def by_opencode(row: Json) -> TokensSpent | None:
    """opencode tells a message's tokens with each change of it, and its price if it knows one."""
    try:
        info = mapping_of(mapping_of(json.loads(row["data"])).get("info"))
    except (ValueError, KeyError, TypeError):
        return None
    tokens, cache = (
        mapping_of(info.get("tokens")),
        mapping_of(mapping_of(info.get("tokens")).get("cache")),
    )
    if info.get("role") != "assistant" or not tokens:
        return None
    cached = _count(cache, "read")
    cost = info.get("cost")
    told = Usage(
        text_of(info.get("modelID")) or "opencode",
        _count(tokens, "input") + _count(cache, "write") + cached,
        _count(tokens, "output") + _count(tokens, "reasoning"),
        cached,
        float(cost) if isinstance(cost, int | float) and cost > 0 else None,
    )
    return TokensSpent(text_of(info.get("id")), told, text_of(row.get("turn")))


def by_copilot(row: Json) -> TokensSpent | None:
    """Copilot writes a row a call of the model, before the message that it gave."""
    usage = mapping_of(mapping_of(row.get("data")).get("usage"))
    if row.get("type") != "session.usage_record" or not usage:
        return None
    told = Usage(
        text_of(usage.get("model")) or "copilot",
        _count(usage, "inputTokens"),
        _count(usage, "outputTokens"),
        _count(usage, "cacheReadTokens"),
    )
    return TokensSpent(text_of(row.get("id")), told)


def by_vibe(row: Json) -> TokensSpent | None:
    """Vibe tells it with the result of each completion, without the model's name."""
    payload = mapping_of(row.get("payload"))
    result = mapping_of(payload.get("result"))
    usage = mapping_of(mapping_of(result.get("result")).get("usage"))
    if row.get("type") != "action_result" or not usage:
        return None
    told = Usage(
        "vibe",
        _count(usage, "input_tokens"),
        _count(usage, "output_tokens"),
        _count(usage, "cached_input_tokens"),
    )
    return TokensSpent(text_of(payload.get("action_id")), told)


def by_llm(row: Json) -> TokensSpent | None:
    """llm keeps a turn's tokens, and the API's own details of them, beside it."""
    if not isinstance(row.get("input_tokens"), int):
        return None
    try:
        details = mapping_of(json.loads(row.get("token_details") or "{}"))
    except (TypeError, ValueError):
        details = {}
    told = Usage(
        text_of(row.get("model")) or "llm",
        _count(row, "input_tokens"),
        _count(row, "output_tokens"),
        _count(mapping_of(details.get("prompt_tokens_details")), "cached_tokens"),
    )
    return TokensSpent(text_of(row.get("id")), told)


def total(told: Sequence[Usage]) -> Usage | None:
    """All of it in one; None: nothing was told. The cost is known when each one's is."""
    if not told:
        return None
    costs = [one.cost_usd for one in told]
    return Usage(
        told[-1].model,
        sum(one.input_tokens for one in told),
        sum(one.output_tokens for one in told),
        sum(one.cached_tokens for one in told),
        None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def _count(values: Json, name: str) -> int:
    value = values.get(name)
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else 0
