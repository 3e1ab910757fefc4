"""The whole way: `moot run` tells a collector what its turns went through."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from tests.doubles.api_stage import KEY, BareAPI
from tests.doubles.collector import Collector, Span
from tests.doubles.credentials import program_at
from tests.doubles.service import HOUSE, service
from tests.test_api_whole import folder, get, say

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
[telemetry]
otlp_endpoint = "{url}"
metrics = {metrics}
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
ROOM = "/api/rooms/web:general/messages"
ERROR = 2  # of a status, in OpenTelemetry's protocol


async def test_a_turn_is_one_trace_with_a_span_a_step_and_its_learning_is_linked(
    tmp_path: Path,
) -> None:
    async with Collector.open() as collector:
        config = CONFIG.format(url=collector.url, metrics="true")
        headers = "authorization=Bearer%20canary-10-d9c8"
        async with service(tmp_path, config, OTEL_EXPORTER_OTLP_HEADERS=headers) as moot:
            receipt = await say(moot.url, 1, "@demo echo secret words of a person")
            turn = receipt["turn_ids"][0]
            async with asyncio.timeout(20):
                while not ({"turn", "memory"} <= {span.name for span in collector.spans}):
                    await asyncio.sleep(0.05)
        lines = [json.loads(line) for line in moot.log().splitlines()]
    assert collector.headers[0]["authorization"] == "Bearer canary-10-d9c8"
    assert collector.resource["service.name"] == "moot"
    spans = collector.of(turn)  # the trace's id is the turn's
    root = spans["turn"]
    assert root.parent == ""
    assert root.status != ERROR
    below = ["ingest", "queue", "agent.open", "brief", "compose", "agent.ask", "record", "post"]
    steps = [spans[name] for name in below]
    assert [span.parent for span in steps] == [root.id] * len(steps)
    assert sorted(steps, key=lambda span: span.began) == steps
    assert all(root.began <= s.began <= s.ended <= root.ended for s in spans.values())
    layers = {"layer landmarks", "layer recall", "layer insights", "layer observations"}
    assert {spans[name].parent for name in layers} == {spans["brief"].id}
    assert spans["post.send"].parent == spans["post"].id
    assert spans["agent.ask"].attributes["gen_ai.operation.name"] == "invoke_agent"
    assert spans["agent.ask"].attributes["gen_ai.agent.name"] == "demo"
    assert root.attributes["moot.room.id"] == "web:general"
    assert root.attributes["moot.platform"] == "web"
    [memory] = [span for span in collector.spans if span.name == "memory"]
    assert memory.trace != turn
    assert memory.links == [(turn, root.id)]
    assert b"secret words" not in b"".join(collector.bodies)
    assert {line["trace_id"] for line in lines if line.get("turn") == turn} == {turn}


async def test_a_turn_that_fails_is_an_error_by_its_kind(tmp_path: Path) -> None:
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "gone.md").write_text("---\nagent: nobody\n---\nYou are gone.\n")
    async with Collector.open() as collector:
        config = CONFIG.format(url=collector.url, metrics="true")
        async with service(tmp_path, config) as moot:
            turn = (await say(moot.url, 1, "@gone hello"))["turn_ids"][0]
        spans = collector.of(turn)  # what was not sent yet is sent when it ends
    assert (spans["turn"].status, spans["turn"].message) == (ERROR, "missing")
    assert spans["agent.open"].attributes["error.type"] == "missing"


async def spans_of(collector: Collector, turn: str) -> dict[str, Span]:
    """Those of a turn, once it is over."""
    async with asyncio.timeout(20):
        while "turn" not in collector.of(turn):
            await asyncio.sleep(0.05)
    return collector.of(turn)


async def test_a_command_and_a_permission_question_are_told(tmp_path: Path) -> None:
    async with Collector.open() as collector:
        config = CONFIG.format(url=collector.url, metrics="true")
        async with (
            service(tmp_path, config) as moot,
            program_at(moot.url) as client,
        ):
            [told] = (await say(moot.url, 2, "@demo !status"))["turn_ids"]
            command = await spans_of(collector, told)
            assert command["command"].attributes == {"moot.command": "status"}
            assert command["post.send"].parent == command["post"].id

            asking = asyncio.create_task(say(moot.url, 3, "@demo permission"))
            async with asyncio.timeout(20):
                while not (open_ := (await get(moot.url, ROOM))["questions"]):
                    await asyncio.sleep(0.05)
            body = {"option": 0, "by": "web:andi"}
            async with client.post(f"/api/questions/{open_[0]['id']}", json=body) as response:
                assert response.status == 200
            [asked] = (await asking)["turn_ids"]
            spans = await spans_of(collector, asked)
            assert spans["question"].parent == spans["agent.ask"].id
            assert spans["question"].began <= spans["question"].ended <= spans["agent.ask"].ended


async def test_a_collector_that_is_away_is_told_once_and_so_is_its_return(tmp_path: Path) -> None:
    async with Collector.open(status=400) as collector:
        config = CONFIG.format(url=collector.url, metrics="true")
        async with service(tmp_path, config) as moot:
            for number in range(3):
                refused = len(collector.bodies)
                await say(moot.url, number, "@demo echo hello")
                async with asyncio.timeout(20):
                    while len(collector.bodies) == refused:
                        await asyncio.sleep(0.05)
            collector.status = 200
            await say(moot.url, 4, "@demo echo hello")
        lines = [json.loads(line) for line in moot.log().splitlines()]
    told = [line for line in lines if line["logger"].startswith(("moot.telemetry", "opentel"))]
    assert [line["event"] for line in told] == ["collector.away", "collector.back"]
    assert "400" in told[0]["reason"]
    assert told[1]["lost"] >= 3


async def test_an_agents_tokens_are_in_its_span_and_what_it_hands_over_to_is_linked(
    tmp_path: Path,
) -> None:
    (folder(tmp_path) / "personas" / "demo.md").write_text("---\nagent: demo\n---\nAnswers.\n")
    async with BareAPI.open() as api, Collector.open() as collector:
        api.when("who knows", "Over to @demo")
        config = CONFIG.format(url=collector.url, metrics="true")
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(tmp_path, config, **environment) as moot:
            [turn] = (await say(moot.url, 1, "@claude who knows?"))["turn_ids"]
            spans = await spans_of(collector, turn)
            async with asyncio.timeout(20):
                while not (after := [s for s in collector.spans if s.links and s.name == "turn"]):
                    await asyncio.sleep(0.05)
    told = spans["agent.ask"].attributes
    assert told["gen_ai.usage.input_tokens"] > 0
    assert told["gen_ai.usage.output_tokens"] > 0
    assert told["gen_ai.response.model"] == "claude-haiku-5-5"
    assert after[0].links == [(turn, spans["turn"].id)]
    assert (after[0].attributes["moot.persona"], after[0].attributes["moot.turn.hop"]) == (
        "demo",
        1,
    )


async def test_a_collector_that_is_away_costs_no_turn_and_no_end(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG.format(url="http://127.0.0.1:9", metrics="false")) as moot:
        receipt = await say(moot.url, 1, "@demo echo hello")
        assert receipt["replies"][0]["text"] == "hello"
        async with (
            program_at(moot.url) as client,
            client.get("/metrics") as response,
        ):
            assert response.status == 404
        await moot.stop()  # raises when that takes long


def test_without_traces_nothing_of_opentelemetry_is_imported() -> None:
    code = "import sys, gateway.app.run; print([m for m in sys.modules if 'opentelemetry' in m])"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=HOUSE, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"
