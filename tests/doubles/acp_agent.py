"""An agent that speaks the Agent Client Protocol, made with the library's agent side.

It does what the prompt's last line says, and keeps on record, in HOME, what it was told:

    say TEXT          says it, word by word; `\\n` is a line's end
    work              says something, uses two tools, and says how it went
    ask [N]           asks for permission to run a command, N times at once
    ask only yes      asks, and offers no way to refuse
    hang, deaf        never ends; deaf: not even when it is told to
    astray            ends in an error when it is told to
    slow              says a beginning and waits to be cancelled
    crash, error TEXT, login, stop REASON
    again N           says N messages, one after the other, the last of which is "Done."
    flood             says more than anybody reads
    stray TEXT        writes lines that are no messages, and asks to read a file
    persona           says what it was told before the prompt
    anything else     says that it responds

As argv: `banner` it greets on stdout, `new` it keeps no sessions, `resume` it can resume them,
`instead` and begins another one in place of one that it lost,
`late` it tells the history after it answered, `options` it offers models, `v9` it
speaks another version, `login` it wants a login, `mute` it never answers, `broken` it ends, `sees`
it takes pictures.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any

import acp
from acp import schema

MODES = frozenset(sys.argv[1:])
RECORD = Path(os.environ["HOME"]) / "acp.jsonl"
HISTORY = "This was said before."


def record(kind: str, **row: Any) -> None:
    with RECORD.open("a") as file:
        file.write(json.dumps({"type": kind, **row}) + "\n")


def known(session_id: str) -> bool:
    rows = map(json.loads, RECORD.read_text().splitlines() if RECORD.exists() else ())
    return any(row["type"] == "session" and row["id"] == session_id for row in rows)


def models() -> dict[str, Any]:
    if "options" in MODES:
        group = {"group": "g", "name": "G", "options": [{"value": "big", "name": "Big"}]}
        option = {"type": "select", "id": "m", "name": "Model", "category": "model"}
        return {"configOptions": [{**option, "currentValue": "small", "options": [group]}]}
    return {}


class Double:
    """The agent. Its methods are named as the library wants them."""

    def __init__(self) -> None:
        self.client: Any = None
        self.cancelled = asyncio.Event()
        self.later: set[asyncio.Task[None]] = set()

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **given: Any) -> Any:
        offered = given["client_capabilities"].model_dump(exclude_none=True)
        record("initialize", version=protocol_version, offered=offered)
        if "broken" in MODES:
            sys.stderr.write("\x1b[31mno such model: x\x1b[0m\n")
            sys.stderr.flush()
            os._exit(3)
        if "mute" in MODES:
            await asyncio.Event().wait()
        return {
            "protocolVersion": 9 if "v9" in MODES else protocol_version,
            "agentCapabilities": {
                "loadSession": not {"new", "resume"} & MODES,
                "promptCapabilities": {"image": "sees" in MODES},
                "sessionCapabilities": {"resume": {}} if "resume" in MODES else {},
            },
        }

    async def new_session(self, cwd: str, mcp_servers: list[Any], **_: Any) -> Any:
        if "login" in MODES:
            raise acp.RequestError.auth_required()
        session_id = str(uuid.uuid4())
        servers = [server.model_dump(mode="json") for server in mcp_servers]
        record("session", id=session_id, cwd=cwd, servers=servers)
        return {"sessionId": session_id, **models()}

    async def load_session(self, session_id: str, **_: Any) -> Any:
        record("load", id=session_id)
        if not known(session_id):
            raise acp.RequestError.resource_not_found(session_id)
        if "late" in MODES:
            task = asyncio.create_task(self._tell_history(session_id))
            self.later.add(task)
        else:
            await self._tell_history(session_id)
        return {}

    async def _tell_history(self, session_id: str) -> None:
        for _ in range(5):
            await asyncio.sleep(0.02)
            await self._say(session_id, HISTORY)

    async def resume_session(self, session_id: str, **_: Any) -> Any:
        record("resume", id=session_id)
        if known(session_id):
            return {}
        begun = {"double": {"acpSessionId": str(uuid.uuid4())}}
        return {"_meta": begun} if "instead" in MODES else None

    async def set_config_option(self, config_id: str, value: Any, **_: Any) -> Any:
        record("option", id=config_id, value=value)
        return {"configOptions": []}

    async def cancel(self, session_id: str, **_: Any) -> None:
        record("cancel", id=session_id)
        self.cancelled.set()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> Any:
        texts = [block.text for block in prompt if block.type == "text"]
        shown = [(block.mime_type, block.data) for block in prompt if block.type == "image"]
        record("prompt", texts=texts, id=session_id, **({"shown": shown} if shown else {}))
        self.cancelled.clear()
        word, _, rest = texts[-1].rstrip("\n").rpartition("\n")[2].partition(" ")
        rest = texts[0] if word == "persona" else rest
        act = getattr(self, f"_{word}", self._respond)
        reason = await act(session_id, rest.replace("\\n", "\n"))
        record("end", reason=reason)
        return {"stopReason": reason or "end_turn"}

    # ── What it does ────────────────────────────────────────────────────────────────────

    async def _tell(self, session_id: str, update: Any) -> None:
        await self.client.session_update(session_id=session_id, update=update)

    async def _say(self, session_id: str, text: str) -> None:
        await self._tell(session_id, acp.update_agent_thought_text("a thought"))
        for word in text.split(" "):
            chunk = word if word == text.split(" ")[0] else f" {word}"
            await self._tell(session_id, acp.update_agent_message_text(chunk))

    async def _persona(self, session_id: str, text: str) -> None:
        await self._say(session_id, text)

    async def _respond(self, session_id: str, text: str) -> None:
        await self._say(session_id, f"I respond {text}")

    async def _work(self, session_id: str, _: str) -> None:
        await self._say(session_id, "Let me look.")
        start, update = acp.start_tool_call, acp.update_tool_call
        plan = [acp.plan_entry("Look", status="completed"), acp.plan_entry("Edit it")]
        await self._tell(session_id, acp.update_plan(plan))
        shell = {"command": "ls -la", "description": "List"}
        await self._tell(session_id, start("t1", "Shell", kind="execute", status="pending"))
        await self._tell(session_id, update("t1", title="ls -la", raw_input=shell))
        told = [acp.tool_content(acp.text_block("total 0"))]
        await self._tell(session_id, update("t1", status="completed", content=told))
        await self._say(session_id, "Now the file.")
        edit = [acp.tool_diff_content("/w/a.py", "x = 2\n", "x = 1\n")]
        await self._tell(session_id, start("t2", "Edit a.py", kind="edit", content=edit))
        await self._tell(session_id, update("t2", status="failed", raw_output="it is read-only"))
        other = acp.update_agent_message_text("not of this session")
        await self._tell("another", other)
        await self._say(session_id, "It **failed**.")

    async def _ask(self, session_id: str, how: str) -> str | None:
        kinds: list[tuple[str, str, schema.PermissionOptionKind]] = [
            ("a", "Always", "allow_always"),
            ("y", "Yes", "allow_once"),
            ("n", "No, thanks", "reject_once"),
        ]
        offered = [
            schema.PermissionOption(option_id=option, name=name, kind=kind)
            for option, name, kind in kinds
            if how != "only yes" or option != "n"
        ]
        numbers = range(int(how) if how.isdecimal() else 1)
        outcomes = await asyncio.gather(*(self._one(session_id, n, offered) for n in numbers))
        record("outcomes", outcomes=outcomes)
        if "cancelled" in outcomes and self.cancelled.is_set():
            return "cancelled"
        await self._say(session_id, f"It was {' '.join(outcomes)}.")
        return None

    async def _one(self, session_id: str, number: int, offered: Any) -> str:
        raw = {"command": f"rm -rf build{number}"}
        answer = await self.client.request_permission(
            session_id=session_id,
            tool_call=schema.ToolCallUpdate(
                tool_call_id=f"p{number}", title="Clean up", kind="execute", raw_input=raw
            ),
            options=offered,
        )
        outcome = answer.outcome
        return str(getattr(outcome, "option_id", outcome.outcome))

    async def _slow(self, session_id: str, _: str) -> str:
        await self._say(session_id, "I take my time.")
        await self.cancelled.wait()
        await self._say(session_id, "Or not.")
        return "cancelled"

    async def _hang(self, session_id: str, _: str) -> str:
        await self.cancelled.wait()
        return "cancelled"

    async def _astray(self, session_id: str, _: str) -> None:
        await self.cancelled.wait()
        raise acp.RequestError.internal_error()

    async def _deaf(self, session_id: str, _: str) -> None:
        await self._say(session_id, "I can't hear you.")
        await asyncio.Event().wait()

    async def _crash(self, session_id: str, _: str) -> None:
        await self._say(session_id, "Oh")
        sys.stderr.write("Segmentation fault of the secret sk-123\n")
        sys.stderr.flush()
        os._exit(9)

    async def _error(self, session_id: str, text: str) -> None:
        await self._say(session_id, "Hm.")
        raise acp.RequestError(-32603, "Internal error", {"details": text})

    async def _login(self, session_id: str, _: str) -> None:
        raise acp.RequestError.auth_required()

    async def _stop(self, session_id: str, reason: str) -> str:
        await self._say(session_id, "So far.")
        return reason

    async def _again(self, session_id: str, count: str) -> str | None:
        """As opencode does when it sums up the conversation."""
        for number in range(1, int(count) + 1):
            text = "Done." if number == int(count) else f"Summary {number}."
            chunk = acp.update_agent_message_text(text)
            chunk.message_id = uuid.uuid4().hex
            await self._tell(session_id, chunk)
            if self.cancelled.is_set():
                return "cancelled"
            await asyncio.sleep(0.01)
        return None

    async def _flood(self, session_id: str, _: str) -> None:
        for _piece in range(30):
            await self._tell(session_id, acp.update_agent_message_text("x" * 50_000))

    async def _stray(self, session_id: str, text: str) -> None:
        """Says something among lines that are no messages, and asks what nobody knows."""
        lines = ("oops", "[1]", '{"id": [], "result": 1}', '{"id": 1, "error": "x"}', "x" * 20_000)
        for written in (*lines, '{"method": "session/update", "params": {"update": {}}}'):
            sys.stdout.write(f"{written}\n")
            sys.stdout.flush()
        try:
            await self.client.read_text_file(session_id=session_id, path="/etc/passwd")
        except acp.RequestError as error:
            await self._say(session_id, f"files: {error.code}")


async def main() -> None:
    if "banner" in MODES:
        print("Welcome!\n", flush=True)
    double: Any = Double()
    await acp.run_agent(double, use_unstable_protocol=True)


asyncio.run(main())
