"""Turns that a restart cut off: they are asked twice at most, and the second try is said."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import Reply
from composer.scene import CUT_OFF
from contract.errors import MachineLost
from gateway.turns.turn import AgentCaller
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import gateway, until
from tests.doubles.scripted import ScriptedPrograms


async def test_what_was_cut_off_twice_is_not_asked_again_but_told(tmp_path: Path) -> None:
    async def never(prompt: str, reply: Reply) -> str:
        await asyncio.Event().wait()
        return ""

    programs, bot = ScriptedPrograms(never), FakeBot()
    async with gateway(tmp_path, bot=bot, programs=programs) as moot:
        await moot.hear(said("@demo go"))
        await until(lambda: len(programs.prompts) == 1)
        await moot.house.context.store.flush()  # that it was asked is on disk
    async with gateway(tmp_path, bot=bot, programs=programs) as moot:
        await until(lambda: len(programs.prompts) == 2)
        await moot.house.context.store.flush()
    async with gateway(tmp_path, bot=bot, programs=programs) as moot:
        await moot.settle()
        assert len(programs.prompts) == 2
        assert [CUT_OFF in prompt for prompt in programs.prompts] == [False, True]
        [told] = moot.texts()
        assert "cut off twice" in told


async def test_what_goes_on_elsewhere_and_is_lost_while_its_prompt_is_made_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = [True]  # a worker works on it still, until somebody has looked once

    async def answer(prompt: str, reply: Reply) -> str:
        match len(programs.prompts):
            case 1:
                await asyncio.Event().wait()
            case 2:
                raise MachineLost("w1")
        return "done"

    def caller(**given: Any) -> AgentCaller:
        return AgentCaller(**{**given, "waits": lambda turn: bool(goes_on) and goes_on.pop()})

    programs, bot = ScriptedPrograms(answer), FakeBot()
    async with gateway(tmp_path, bot=bot, programs=programs) as moot:
        await moot.hear(said("@demo go"))
        await until(lambda: len(programs.prompts) == 1)
        await moot.house.context.store.flush()
    monkeypatch.setattr("gateway.app.turns.AgentCaller", caller)
    async with gateway(tmp_path, bot=bot, programs=programs) as moot:
        await moot.settle()
        assert moot.texts() == ["done"]
        assert CUT_OFF in programs.prompts[-1]
