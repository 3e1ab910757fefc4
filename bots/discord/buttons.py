"""A question's options as Discord's buttons."""

from __future__ import annotations

from typing import Any

from bots.discord.interactions import CHOOSE
from contract.agent import Question

# Message components: docs.discord.com, read 2026-11.
_ROWS, _ROW, _LABEL, _CUSTOM_ID = 5, 5, 80, 100
_ACTION_ROW, _BUTTON, _SECONDARY, _DANGER = 1, 2, 2, 4


def buttons(question: Question) -> list[dict[str, Any]]:
    """Rows of buttons; what Discord has no room for can still be typed."""
    if len(_custom_id(question, _ROWS * _ROW)) > _CUSTOM_ID:
        return []
    made = [_button(question, n) for n in range(min(len(question.options), _ROWS * _ROW))]
    rows = range(0, len(made), _ROW)
    return [{"type": _ACTION_ROW, "components": made[row : row + _ROW]} for row in rows]


def _button(question: Question, number: int) -> dict[str, Any]:
    option = question.options[number]
    label = " ".join(option.label.split()) or f"!{number + 1}"
    return {
        "type": _BUTTON,
        "style": _DANGER if option.refuses else _SECONDARY,
        "label": label if len(label) <= _LABEL else label[: _LABEL - 1] + "…",
        "custom_id": _custom_id(question, number),
    }


def _custom_id(question: Question, number: int) -> str:
    return f"{CHOOSE}{number}:{question.digest}:{question.id}"
