"""A message that is too long for a prompt: the room is told, and the agent has it as a file."""

from __future__ import annotations

import re
from pathlib import Path

from tests.doubles.api_stage import KEY, BareAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.service import service
from tests.test_api_whole import CONFIG, folder, get, say

LOG = "".join(f"{number:05} GET /health 200\n" for number in range(600))


async def test_the_room_is_told_what_is_cut_and_a_program_finds_the_whole_as_a_file(
    tmp_path: Path,
) -> None:
    (folder(tmp_path) / "personas" / "demo.md").write_text("---\nagent: demo\n---\n", "utf-8")
    async with BareAPI.open() as api:
        api.when("health", "Healthy.")
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(tmp_path, f"{CONFIG}[memory]\nmcp = false\n", **environment) as moot:
            text = f"is this healthy?\n{LOG}password: {KEY}"
            told = (
                f"✂️ A message of {len(text) + 8:,} characters is too long for one prompt: @claude "
            )
            notice, answer = (await say(moot.url, 1, f"@claude {text}"))["replies"]
            assert notice["text"] == f"{told}gets its beginning and its end only."
            header = (await get(moot.url, f"/api/turns/{answer['turn_id']}"))["header"]
            assert "whole-message" not in header
            assert "tools" not in api.requests[-1].body

            text = f"@demo {text}"
            notice, answer = (await say(moot.url, 2, text))["replies"]
            assert notice["text"].endswith(
                "@demo gets its beginning and its end, and all of it as a file."
            )
            header = (await get(moot.url, f"/api/turns/{answer['turn_id']}"))["header"]
            found = re.findall(
                r"\[attachment: whole-message.txt, text/plain, (\d+) bytes\] (\S+)", header
            )
            size, path = found[-1]  # the message to @claude is cut as well
            whole = Path(path).read_bytes()
            assert whole == text.replace(KEY, "[secret removed]").encode()
            assert len(whole) == int(size)
            assert Path(path).stat().st_mode & 0o007 == 0

            text = f"@demo @claude and this?\n{LOG}"
            notice, *answers = (await say(moot.url, 3, text))["replies"]
            assert "as a file; @claude gets its beginning and its end only." in notice["text"]
            assert len(answers) == 2
            assert len((await say(moot.url, 4, "@demo and now?"))["replies"]) == 1


async def test_an_agent_by_api_reads_the_whole_with_a_tool_and_no_other_file(
    tmp_path: Path,
) -> None:
    async with BareAPI.open() as api:
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(folder(tmp_path), CONFIG, **environment) as moot:
            text = f"@claude is this healthy?\n{LOG}{LOG}password: {KEY}"
            api.when("healthy", "Let me see.")
            notice, answer = (await say(moot.url, 1, text))["replies"]
            assert notice["text"].endswith("its beginning and its end, and all of it as a file.")
            header = (await get(moot.url, f"/api/turns/{answer['turn_id']}"))["header"]
            [path] = re.findall(r"whole-message.txt, text/plain, \d+ bytes\] (\S+)", header)

            uses: list[dict[str, object]] = [{"path": path}, {"path": path, "start": 20_000}]
            uses += [{"path": "/etc/passwd"}, {"path": str(tmp_path / "moot.toml")}, {"file": path}]
            read = [ToolUse("mcp__moot__read_message", use) for use in uses]
            api.when("whole of it", *read, "Healthy.")
            [reply] = (await say(moot.url, 2, "@claude look at the whole of it"))["replies"]
            assert reply["text"] == "Healthy."
            results = [
                (block["content"][0]["text"], block.get("is_error", False))
                for message in api.requests[-1].body["messages"]
                for block in message["content"]
                if block["type"] == "tool_result"
            ]
            whole = text.replace(KEY, "[secret removed]")
            first, second, *others = results
            size = f"{len(whole):,}"
            more = f"\n\n(characters 0 to 20,000 of {size}; go on with start=20000)"
            assert first == (whole[:20_000] + more, False)
            assert second == (f"{whole[20_000:]}\n\n(characters 20,000 to {size} of {size})", False)
            assert [failed for _, failed in others] == [True, True, True]
            assert "There is no such message" in others[0][0]
            assert others[1] == others[0]


HOSTILE = (  # each took a loop minutes
    "`!a" + " " * 60_000 + "b",
    "<private>x</private>\n" + "`" * 60_000,
    "let's go with " * 4_000,
    "Deploy is postgres" + "." * 60_000 + "x y",
    "!a" + "\u0315\u0300" * 30_000,
    "\\(a\\" * 12_000,
)


async def test_no_text_of_a_person_or_an_agent_keeps_a_room_waiting(tmp_path: Path) -> None:
    async with BareAPI.open() as api:
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(folder(tmp_path), CONFIG, **environment) as moot:
            api.when("say it", HOSTILE[-1])
            api.when("how are you", "Well.")
            for number, text in enumerate(HOSTILE):
                await say(moot.url, number, text)
            assert (await say(moot.url, 10, "@claude say it"))["replies"]
            [reply] = (await say(moot.url, 11, "@claude how are you?"))["replies"]
            assert reply["text"] == "Well."
