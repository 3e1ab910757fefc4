"""A message that is too long for a prompt: the room is told, and the agent has it as a file."""

from __future__ import annotations

import re
from pathlib import Path

from tests.doubles.api_stage import KEY, BareAPI
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
        async with service(tmp_path, CONFIG, **environment) as moot:
            text = f"is this healthy?\n{LOG}password: {KEY}"
            told = (
                f"✂️ A message of {len(text) + 8:,} characters is too long for one prompt: @claude "
            )
            notice, answer = (await say(moot.url, 1, f"@claude {text}"))["replies"]
            assert notice["text"] == f"{told}gets its beginning and its end only."
            header = (await get(moot.url, f"/api/turns/{answer['turn_id']}"))["header"]
            assert "whole-message" not in header

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
