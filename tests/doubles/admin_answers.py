"""Answers of the routes that the administrator's side draws: access, the audit log, schedules."""

from __future__ import annotations

from typing import Any

AT, LATER = "2026-04-21T14:02:00Z", "2099-04-22T14:02:00Z"

ACCESS: dict[str, Any] = {
    "rooms": "closed",
    "dms": "pairing",
    "grants": [
        {
            "seq": 1, "person_id": "slack:U1", "person_name": "Ana Lima", "role": "member",
            "room_id": None, "room_name": None, "persona": None, "where": "dms",
            "by_name": "the page", "at": AT,
        },
    ],
    "configured": [
        {"role": "owner", "people": ["slack:U9"], "rooms": [], "personas": [], "where": ""},
    ],
    "pairings": [
        {
            "code": "K7RM2QXP", "person_id": "slack:U7", "person_name": "Eko Wirawan",
            "room_id": "slack:D7", "persona": "claude", "bot": "slack", "at": AT,
            "expires_at": LATER,
        },
    ],
}  # fmt: skip
AUDIT: dict[str, Any] = {
    "items": [
        {
            "seq": 2, "at": AT, "act": "approve",
            "by": {"id": "slack:U1", "name": "Ana Lima", "kind": "human", "role": None},
            "persona": "claude", "room_id": "slack:C1", "turn_id": "t4",
            "detail": {"option": "Yes", "late": None, "second": False}, "hash": "9f86d081",
        },
        {
            "seq": 1, "at": AT, "act": "invoke", "by": None, "persona": "claude",
            "room_id": "slack:C9", "turn_id": None, "detail": {}, "hash": "60303ae2",
        },
    ],
    "next_before": None,
}  # fmt: skip
VERIFIED: dict[str, Any] = {
    "ok": True, "rows": 2, "erased": 0, "head": "9f86d081", "broken": None, "broken_seq": None,
}  # fmt: skip
SCHEDULES: dict[str, Any] = {
    "schedules": [
        {
            "id": 3, "room_id": "slack:C1", "thread_id": None, "bot": "slack", "persona": "claude",
            "when": "weekday 9:00", "once": False, "timezone": "Asia/Jakarta",
            "text": "summarise yesterday", "missed": "once",
            "by": {"id": "slack:U1", "name": "Ana Lima"}, "configured": False, "paused": False,
            "why": None, "next_at": LATER, "ran_at": AT,
        },
        {
            "id": 1, "room_id": "slack:C1", "thread_id": None, "bot": "slack", "persona": "codex",
            "when": "friday 16:00", "once": False, "timezone": "Asia/Jakarta",
            "text": "list what is still open", "missed": "skip",
            "by": {"id": "moot:config", "name": "moot.toml"}, "configured": True, "paused": True,
            "why": "There is no persona codex any more.", "next_at": None, "ran_at": None,
        },
    ],
}  # fmt: skip

ANSWERS: dict[str, dict[str, Any]] = {
    "/api/access": ACCESS,
    "/api/audit": AUDIT,
    "/api/audit/verify": VERIFIED,
    "/api/schedules": SCHEDULES,
}
