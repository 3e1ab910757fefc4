"""A command-line agent borrowed as a model: the real Claude Code, and programs that misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.headless.model import HeadlessModel, objects_in
from adapters.headless.programs import CLAUDE_CODE, PROGRAMS, HeadlessProgram, read_plain
from contract.agent import Tool
from contract.errors import ModelError
from tests.doubles.claude_stage import KEY, Stage
from tests.doubles.model_steps import Fault, Message, Text
from tests.doubles.processes import until_gone

NOTE = Tool("note", "Take a note.", {"type": "object", "properties": {"text": {"type": "string"}}})

# ── Claude Code ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with Stage.open(tmp_path) as stage:
        yield stage


def claude(stage: Stage, **changes: Any) -> HeadlessModel:
    env = {
        "PATH": os.environ["PATH"],
        "ANTHROPIC_BASE_URL": stage.api.url,
        "ANTHROPIC_API_KEY": KEY,
        "HTTP_PROXY": stage.proxy,
        "HTTPS_PROXY": stage.proxy,
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }
    home = stage.folder / "home"
    return HeadlessModel(
        CLAUDE_CODE, command=(stage.command,), home=home, env=env, timeout_s=60, **changes
    )


async def test_claude_code_answers_without_tools_or_a_trace(stage: Stage) -> None:
    stage.api.aside = '{"text": "a note"}'
    prompt = "/clear\n!ls\n# remember\n@/etc/hostname says <x> ``` ü"
    model = claude(stage, model="haiku")
    completion = await model.complete(system="You take notes.", prompt=prompt, tool=NOTE)
    assert [(call.name, call.input) for call in completion.calls] == [("note", {"text": "a note"})]
    assert completion.usage.model == "claude-haiku-5-5"
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (1000, 50)
    assert completion.usage.cost_usd is not None
    [request] = stage.api.requests
    assert not request.body.get("tools")
    assert request.history[0].endswith(prompt)
    assert request.system.index("You take notes.") < request.system.index('"properties"')
    home = stage.folder / "home"
    kept = [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()]
    assert not [name for name in kept if "call-" in name or name.endswith(".jsonl")]
    assert not [name for name in kept if "says <x>" in (home / name).read_text(errors="ignore")]


async def test_the_text_of_claude_code_is_exact(stage: Stage) -> None:
    text = "# Title\n\n- **bold** `x`\n\n```py\nprint(1)\n```\n✓ ende"
    stage.api.aside = text
    completion = await claude(stage).complete(system="s", prompt="p")
    assert (completion.text, completion.calls) == (text, ())


@pytest.mark.parametrize(
    ("fault", "passing"),
    [
        (Fault.overloaded(), True),
        (Fault(429, "rate_limit_error", "secret words", {"retry-after": "0"}), True),
        (Fault(401, "authentication_error", "secret words"), False),
        (Fault(400, "invalid_request_error", "secret words"), False),
    ],
)
async def test_a_refusal_of_claude_codes_api_is_an_error(
    stage: Stage, fault: Fault, passing: bool
) -> None:
    stage.api.aside = fault
    with pytest.raises(ModelError) as caught:
        await claude(stage).complete(system="s", prompt="p", tool=NOTE)
    assert caught.value.passing is passing
    assert str(fault.status) in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_an_answer_of_claude_code_that_was_cut_off_is_an_error(stage: Stage) -> None:
    stage.api.aside = Message((Text('{"text": "half'),), stop="refusal")
    with pytest.raises(ModelError) as caught:
        await claude(stage).complete(system="s", prompt="p", tool=NOTE)
    assert caught.value.passing is False


# ── Programs that misbehave ─────────────────────────────────────────────────────────────


def scripted(tmp_path: Path, body: str, **changes: Any) -> HeadlessModel:
    """A model whose program is the body, which sees `given`, `argv` and the environment."""
    code = f"import json, os, sys, time, signal\n{body}"
    program = HeadlessProgram(
        name="double",
        title="The double",
        begin=("double", "{folder}", "-"),
        with_model=("--model", "{model}"),
        read=read_plain("The double"),
        env=(("OWN", "{folder}/own"),),
        leaves=(".double/sessions", ".double/log"),
    )
    program = replace(program, **changes.pop("program", {}))
    settings: dict[str, Any] = {"env": {"PATH": "/usr/bin"}, "timeout_s": 20.0} | changes
    command = (sys.executable, "-I", "-S", "-c", code)
    return HeadlessModel(program, command=command, home=tmp_path / "home", **settings)


async def failure(model: HeadlessModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.complete(system="SYSTEM", prompt="PROMPT", tool=NOTE)
    return caught.value


async def test_a_program_is_given_everything_by_stdin_and_nothing_by_argv(tmp_path: Path) -> None:
    body = """
given = sys.stdin.read()
print(json.dumps({"argv": sys.argv, "given": given, "env": dict(os.environ), "cwd": os.getcwd()}))
"""
    model = scripted(tmp_path, body, model="small")
    completion = await model.complete(system="SYSTEM", prompt="PROMPT", tool=NOTE)
    seen = dict(completion.calls[0].input)
    assert seen["given"].startswith("SYSTEM\n\n")
    assert seen["given"].endswith("\n\nPROMPT")
    assert '"properties"' in seen["given"]
    folder = seen["cwd"]
    assert seen["argv"][1:] == [folder, "--model", "small", "-"]
    env: Mapping[str, str] = seen["env"]
    assert {key: env[key] for key in ("HOME", "OWN", "PATH")} == {
        "HOME": str(tmp_path / "home"),
        "OWN": f"{folder}/own",
        "PATH": "/usr/bin",
    }
    assert set(env) <= {"HOME", "OWN", "PATH", "LC_CTYPE", "PWD"}
    assert not Path(folder).exists()


async def test_what_a_program_keeps_of_a_call_is_removed(tmp_path: Path) -> None:
    body = """
os.makedirs(os.environ["HOME"] + "/.double/sessions/1")
for name in ("sessions/1/a", "log", "credentials"):
    open(os.environ["HOME"] + "/.double/" + name, "w").write("said")
print("fine")
"""
    await scripted(tmp_path, body).complete(system="s", prompt="p")
    assert os.listdir(tmp_path / "home" / ".double") == ["credentials"]


async def test_a_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    body = f"""
import subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(pids)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
print("half", flush=True)
time.sleep(600)
"""
    began = time.monotonic()
    error = await failure(scripted(tmp_path, body, timeout_s=1.0))
    assert error.passing is True
    assert time.monotonic() - began < 15
    for pid in pids.read_text().split():
        await until_gone(int(pid))


async def test_a_child_that_outlives_its_program_does_not_hold_the_answer_up(
    tmp_path: Path,
) -> None:
    body = """
import subprocess
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print('{"text": "x"}')
"""
    completion = await scripted(tmp_path, body).complete(system="s", prompt="p", tool=NOTE)
    assert len(completion.calls) == 1


async def test_a_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    body = f'open({str(pid)!r}, "w").write(str(os.getpid()))\ntime.sleep(600)'
    asking = asyncio.create_task(scripted(tmp_path, body).complete(system="s", prompt="p"))
    async with asyncio.timeout(20):
        while not (pid.exists() and pid.read_text()):
            await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await until_gone(int(pid.read_text()))


@pytest.mark.parametrize(
    "body",
    ["sys.exit(1)", "print('said'); sys.exit(3)", "", "os.kill(os.getpid(), 9)"],
    ids=["exit 1", "exit 3 with text", "silence", "killed"],
)
async def test_a_program_that_fails_is_an_error(tmp_path: Path, body: str) -> None:
    error = await failure(scripted(tmp_path, body))
    assert error.passing is False
    assert "said" not in str(error)


async def test_an_answer_without_end_is_broken_off(tmp_path: Path) -> None:
    body = 'while True: sys.stdout.write("x" * 65536)'
    error = await failure(scripted(tmp_path, body, most_bytes=100_000))
    assert "no end" in str(error)


async def test_a_program_that_reads_nothing_takes_a_prompt_of_any_size(tmp_path: Path) -> None:
    model = scripted(tmp_path, 'print("fine")')
    completion = await model.complete(system="s", prompt="x" * 1_000_000)
    assert completion.text == "fine"


async def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    program = PROGRAMS["codex"]
    model = HeadlessModel(program, command=("/no/such/thing",), home=tmp_path, env={})
    with pytest.raises(ModelError, match=r"can't be run"):
        await model.complete(system="s", prompt="p")


async def test_prose_instead_of_an_object_is_no_call(tmp_path: Path) -> None:
    model = scripted(tmp_path, 'print("I would note this.")')
    completion = await model.complete(system="s", prompt="p", tool=NOTE)
    assert (completion.text, completion.calls) == ("I would note this.", ())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', [{"a": 1}]),
        (' \n{"a": 1}\n', [{"a": 1}]),
        ('```json\n{"a": 1}\n```', [{"a": 1}]),
        ('```\n{"a": 1}\n```', [{"a": 1}]),
        ('Here:\n```json\n{"a": 1}\n```\nDone.', [{"a": 1}]),
        ('{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ('```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', [{"a": 1}, {"a": 2}]),
        (json.dumps({"a": "```json\n{}\n```"}), [{"a": "```json\n{}\n```"}]),
        ('{"a": 1} and more', []),
        ('Sure! {"a": 1}', []),
        ('[{"a": 1}]', []),
        ('{"a": 1', []),
        ('{"a": NaN}', []),
        ('{"a": 1, "a": 2}', []),
        ('{"a": {"b": 1, "b": 2}}', []),
        ('"text"', []),
        ("", []),
        ("[" * 100_000, []),
        ('{"a":' * 100_000, []),
    ],
)
def test_an_answer_is_objects_or_none(text: str, found: list[object]) -> None:
    assert objects_in(text) == found


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_every_program_fills_only_words_that_there_are(program: HeadlessProgram) -> None:
    words = [*program.begin, *program.with_model, *(value for _, value in program.env)]
    known = {"instructions", "model", "folder"}
    assert {name for word in words for name in re.findall(r"\{(\w+)\}", word)} <= known
    assert program.told == any("{instructions}" in word for word in words)
