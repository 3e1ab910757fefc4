"""What Prometheus is told of a turn, of the memory and of its model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from composer.header import compose
from composer.headings import HEADINGS
from contract.agent import Completion, Tool, Usage
from contract.briefing import Budget, Fact, Header, Landmark, Note
from gateway.core.ledger import Turn
from gateway.observability.metrics import Counted, Metrics
from memory.recall.facts import NewFact, add_facts
from memory.recall.index import Hit
from store.database import Store
from tests.doubles.briefings import briefing
from tests.doubles.index import WordIndex
from tests.doubles.platform import ROOM, said
from tests.doubles.running import Opened, gateway, until

Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


def figures(text: bytes) -> Figures:
    """Every sample by its name and labels; the times of creation left out."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


async def scrape(moot: Opened) -> Figures:
    return figures(await moot.house.services.monitor.metrics())


def of(found: Figures, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


async def test_each_sections_size_and_part_of_the_header_is_told(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        for text in ("@demo hello", "@demo and again"):
            await moot.hear(said(text))
            await moot.settle()
        found = await scrape(moot)
        lengths = [len(prompt) for prompt in moot.programs.prompts]
        sections = [prompt.split("\n\n") for prompt in moot.programs.prompts]
        named = {"SESSION CONTEXT": 0, "RAW TRANSCRIPT": 1, "CURRENT INVOCATION": 2}
        assert of(found, "moot_header_chars_sum") == sum(lengths)
        for name, place in named.items():
            chars = sum(len(texts[place].rstrip("\n")) for texts in sections)
            assert of(found, "moot_header_section_chars_sum", section=name) == chars
            share = of(found, "moot_header_section_share", section=name)
            assert share == pytest.approx(chars / sum(lengths))
        assert of(found, "moot_header_section_share", section="RECALL") == 0
        assert of(found, "moot_header_section_chars_count", section="RECALL") is None
        assert of(found, "moot_header_section_items_count", section="RECALL") == 2
        assert of(found, "moot_header_section_items_sum", section="RECALL") == 0


def turn(header: Header | None = None, **record: Any) -> Turn:
    return Turn(
        id="t1",
        seq=1,
        message_seq=1,
        asked_at=0,
        persona="demo",
        scope="room:fake:general",
        room=ROOM,
        thread_id=None,
        bot="fake",
        hop=0,
        state="posted",
        header=header.text if header else None,
        states=(("queued", 1), ("running", 2)) if header else (("queued", 1),),
        record=record,
    )


def measured(*turns: Turn) -> Figures:
    metrics = Metrics()
    for item in turns:
        metrics.ended(item)
    return figures(metrics.text(waiting=0, sessions=Counted()))


def record(header: Header) -> dict[str, Any]:
    return {
        "sections": [asdict(section) for section in header.sections],
        "trims": [asdict(trim) for trim in header.trims],
    }


def test_what_a_header_showed_and_what_was_trimmed_is_counted() -> None:
    facts = tuple(Fact(f"fact {n} " + "x" * 400, score=n) for n in range(7))
    given = briefing(recall=facts, pins=(Note("pin", 1.0),), landmarks=(Landmark("l", "", "A"),))
    header = compose(given)
    found = measured(turn(header, **record(header)))
    shown = {"RECALL": 5, "PINS": 1, "RECOMMENDATIONS": 0, "LANDMARKS": 1, "OBSERVATIONS": 0}
    for name, count in shown.items():
        assert of(found, "moot_header_section_items_sum", section=name) == count
    assert of(found, "moot_header_section_items_bucket", section="RECALL", le="5.0") == 1
    assert of(found, "moot_header_section_items_bucket", section="RECALL", le="3.0") == 0
    trims = [trim for trim in header.trims if trim.section == "RECALL"]
    assert of(found, "moot_header_trims_total", section="RECALL") == len(trims) > 0
    chars = sum(trim.chars for trim in trims)
    assert of(found, "moot_header_trimmed_chars_total", section="RECALL") == chars
    assert of(found, "moot_header_over_total") == 0


def test_the_sections_parts_sum_up_to_the_headers() -> None:
    header = compose(briefing(recall=(Fact("a"),), summary="b\nc"))
    found = measured(turn(header, **record(header)), turn(header, **record(header)))
    parts = [of(found, "moot_header_section_share", section=name) or 0 for name in HEADINGS]
    blank = 2 * len(header.sections) - 1
    assert sum(parts) == pytest.approx(1 - blank / len(header.text))


def test_a_header_that_nothing_could_make_fit_is_counted_apart() -> None:
    header = compose(briefing(budget=Budget(total=10)))
    assert header.trims[-1].section == "TOTAL"
    found = measured(turn(header, **record(header)))
    assert of(found, "moot_header_over_total") == 1
    assert of(found, "moot_header_trims_total", section="TOTAL") is None


def test_a_record_with_unknown_sections_makes_no_labels() -> None:
    odd = {"sections": [{"name": "ODD", "text": "x"}], "trims": []}
    found = measured(turn(compose(briefing()), **odd))
    sections = {value for _, labels in found for key, value in labels if key == "section"}
    assert sections <= set(HEADINGS)


def test_an_answer_without_a_header_costs_no_prompt() -> None:
    found = measured(turn())
    assert of(found, "moot_header_chars_count") == 0
    assert of(found, "moot_header_section_items_count", section="RECALL") is None


def test_layers_are_timed_and_those_missing_are_counted() -> None:
    memory = {
        "missing": ["recall", "insights"],
        "late": ["recall"],
        "ms": {"recall": 2000.4, "insights": 1.5, "landmarks": 0.5},
    }
    found = measured(turn(compose(briefing()), memory=memory), turn(compose(briefing())))
    assert of(found, "moot_memory_missing_total", layer="recall", why="late") == 1
    assert of(found, "moot_memory_missing_total", layer="insights", why="failed") == 1
    assert of(found, "moot_memory_brief_seconds_sum", layer="insights") == 0.0015
    assert of(found, "moot_memory_brief_seconds_bucket", layer="recall", le="2.0") == 0
    assert of(found, "moot_memory_brief_seconds_count", layer="landmarks") == 1


def test_calls_of_the_model_are_counted_by_purpose_with_tokens_and_cost() -> None:
    metrics = Metrics()
    usage = Usage("haiku", input_tokens=700, output_tokens=60, cached_tokens=500, cost_usd=0.25)
    metrics.called("insights", "haiku", usage, 1200.0, None)
    metrics.called("insights", "haiku", Usage("haiku", 100, 1), 800.0, None)
    metrics.called("episodes", "haiku", None, 30.0, "rate limit")
    found = figures(metrics.text(waiting=0, sessions=Counted()))
    own = {"purpose": "insights", "model": "haiku"}
    assert of(found, "moot_model_calls_total", **own, fault="none") == 2
    assert of(found, "moot_model_tokens_total", **own, kind="input") == 800
    assert of(found, "moot_model_tokens_total", **own, kind="output") == 61
    assert of(found, "moot_model_tokens_total", **own, kind="cached") == 500
    assert of(found, "moot_model_cost_usd_total", **own) == 0.25
    assert of(found, "moot_model_call_seconds_sum", purpose="insights") == 2.0
    failed = {"purpose": "episodes", "model": "haiku"}
    assert of(found, "moot_model_calls_total", **failed, fault="rate limit") == 1
    assert of(found, "moot_model_tokens_total", **failed, kind="input") is None


def test_faults_and_models_without_number_fill_no_registry() -> None:
    metrics = Metrics()
    for n in range(1000):
        metrics.called("insights", f"model {n}", None, 1.0, f"fault {n}")
    found = figures(metrics.text(waiting=0, sessions=Counted()))
    calls = [labels for name, labels in found if name == "moot_model_calls_total"]
    assert len(calls) == 31
    other = {"purpose": "insights", "model": "other", "fault": "other"}
    assert of(found, "moot_model_calls_total", **other) == 970


class Broken(WordIndex):
    async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        raise OSError("secret text of a fact")


async def test_what_failed_stands_in_the_figures_the_record_and_why(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    fact = NewFact("room:fake:general", "fact", "hello", now, "test")
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        await store.write(lambda c: add_facts(c, [fact], now))
    async with gateway(tmp_path, index=Broken()) as moot:
        accepted = await moot.hear(said("@demo which port has the staging database?"))
        await moot.settle()
        found = await scrape(moot)
        assert of(found, "moot_memory_missing_total", layer="recall", why="failed") == 1
        assert of(found, "moot_memory_brief_seconds_count", layer="recall") == 1
        assert of(found, "moot_memory_brief_seconds_count", layer="insights") == 1
        shown = await moot.house.services.chat.turn(accepted.turns[0].id)
        assert shown is not None
        assert [(item.layer, item.reason) for item in shown.left_out] == [("recall", "failed")]
        turn = await moot.house.ledger.turn(accepted.turns[0].id)
        assert turn is not None
        assert turn.record["memory"]["missing"] == ["recall"]
        assert "insights" in turn.record["memory"]["ms"]
        await moot.hear(said("@demo !why"))
        await moot.settle()
        assert "\n- Left out of what is remembered: facts (failed)\n" in moot.texts()[-1]


async def test_what_waits_to_be_learned_from_is_told(tmp_path: Path) -> None:
    async with gateway(tmp_path, model=(slow := Slow())) as moot:
        assert of(await scrape(moot), "moot_memory_learning") == 0
        await moot.hear(said("@demo " + "word " * 20))
        await moot.settle()
        await until(lambda: slow.asked > 0)
        assert of(await scrape(moot), "moot_memory_learning") == 1
        slow.goes.set()
        await until(lambda: moot.house.memories.layers.learning() == 0)
        assert of(await scrape(moot), "moot_memory_learning") == 0


class Slow:
    """A model that answers when it is let."""

    name = "slow"

    def __init__(self) -> None:
        self.goes = asyncio.Event()
        self.asked = 0

    async def complete(
        self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
    ) -> Completion:
        self.asked += 1
        await self.goes.wait()
        return Completion("", (), Usage(self.name))


def test_refusals_questions_and_waits_are_counted() -> None:
    metrics = Metrics()
    metrics.refused("slack")
    metrics.decided("timeout")
    metrics.waited(0.2)
    found = figures(metrics.text(waiting=0, sessions=Counted()))
    assert of(found, "moot_refusals_total", platform="slack") == 1
    assert of(found, "moot_questions_total", outcome="timeout") == 1
    assert of(found, "moot_turn_queue_seconds_sum") == 0.2
    [build] = [labels for name, labels in found if name == "moot_build_info"]
    assert {key for key, _ in build} == {"version", "python"}


async def test_the_exposition_keeps_prometheus_rules_and_names_no_room_and_nobody(
    tmp_path: Path,
) -> None:
    hostile = 'evil"\n} 1\nmoot_forged 1'
    async with gateway(tmp_path) as moot:
        room = replace(ROOM, id="fake:secret-room", name=hostile)
        for number in range(3):
            inbound = said(f"@demo hello {number}")
            await moot.hear(replace(inbound, room=room))
        await moot.settle()
        text = (await moot.house.services.monitor.metrics()).decode()
    for source in range(1000):
        moot.house.metrics.refused(f"source-{source}")
        moot.house.metrics.called("insights", f"{hostile} {source}", None, 1.0, hostile)
    text += moot.house.metrics.text(waiting=0, sessions=Counted()).decode()
    assert "secret-room" not in text
    assert "Andi" not in text
    for family in text_string_to_metric_families(text):
        assert re.fullmatch(r"moot_[a-z][a-z0-9_]*", family.name)
        assert family.documentation, family.name
        if family.name != "moot_build_info":
            assert not re.search(r"_(ms|msec|minutes|kb|mb|percent)$", family.name)
        if family.type == "counter":
            assert {s.name.rpartition("_")[2] for s in family.samples} <= {"total", "created"}
        else:
            assert not family.name.endswith("_total")
        assert len(family.samples) < 200
    assert "moot_forged" not in {f.name for f in text_string_to_metric_families(text)}
