"""The demo agent's record of its sessions: JSON Lines in HOME/.moot-demo."""

from __future__ import annotations

import json
import os

from adapters.demo.answers import Session

FOLDER = ".moot-demo"
PERSONA = "persona.md"


class Record:
    """Appends rows of one session; each is on file before the screen shows it.

    {"type": "session", "id"}; {"type": "prompt", "turn", "bytes", "text", "question"};
    {"type": "tool", "turn", "tool", "detail"}; {"type": "reply", "turn", "text"};
    {"type": "end", "turn", "how": "done" | "interrupted" | "error", "message"}
    """

    def __init__(self, session_id: str) -> None:
        folder = os.path.join(os.environ.get("HOME", "."), FOLDER)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.path = os.path.join(folder, f"{session_id}.jsonl")
        self.exists = os.path.exists(self.path)

    def persona(self) -> int:
        """Characters of the persona that lies beside the records."""
        try:
            with open(os.path.join(os.path.dirname(self.path), PERSONA), encoding="utf-8") as file:
                return len(file.read())
        except FileNotFoundError:
            return 0

    def rows(self) -> list[dict[str, object]]:
        """The rows written so far."""
        with open(self.path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def write(self, *rows: dict[str, object]) -> None:
        """Append rows."""
        lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, lines.encode("utf-8", "surrogateescape"))
        finally:
            os.close(handle)


def open_session(session_id: str, resume: bool) -> tuple[Session, Record] | None:
    """The session and its record, or None when there is none to resume."""
    record = Record(session_id)
    persona = record.persona()
    if not resume:
        record.write({"type": "session", "id": session_id})
        return Session(session_id, [], resumed=False, persona=persona), record
    if not record.exists:
        return None
    questions = [str(row["question"]) for row in record.rows() if row["type"] == "prompt"]
    return Session(session_id, questions, resumed=True, persona=persona), record
