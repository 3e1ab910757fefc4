"""A small chat of our own making, as entries of the index."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memory.recall.index import AGENT, IndexEntry
from memory.recall.vectors import SqliteVectors

START = datetime(2026, 4, 13, 9, 0, tzinfo=UTC)  # a Monday
AUTH = "room:slack:C1"
GARDEN = "room:slack:C2"
ANDIS = "dm:slack:U1:claude"

_SAID = {
    AUTH: [
        ("Andi", "users complain that they are logged out all the time"),
        ("Budi", "the access token expires after 15 minutes"),
        ("Andi", "I prefer 30 minutes for the JWT expiry"),
        ("Carol", "then we should rotate the refresh tokens, too"),
        ("Budi", "fine, I will write the migration for Prisma tomorrow"),
        ("Carol", "the staging database was restored from the backup last week"),
        ("Andi", "my daughter plays the violin, she has a concert on Saturday"),
    ],
    GARDEN: [
        ("Dewi", "the tomatoes need water twice a day"),
        ("Eko", "I planted basil beside them in March"),
        ("Dewi", "the cat sleeps between the pots"),
        ("Eko", "東京タワーの写真を撮りました"),
        ("Dewi", "明天我们去看猫"),
        ("Eko", "Am Café gibt es Käsekuchen für alle"),
    ],
    ANDIS: [
        ("Andi", "I am looking for a new job, please tell nobody"),
        ("Andi", "my JWT secret is hunter2-violet"),
    ],
}


def entries(*scopes: str) -> list[IndexEntry]:
    """What was said in these scopes, or in all; ids are `<scope>/<number from 0>`."""
    return [
        IndexEntry(
            id=f"{scope}/{number}",
            scope=scope,
            text=text,
            at=START + timedelta(days=number),
            order=number,
            person=person,
            source="morning",
        )
        for scope in scopes or tuple(_SAID)
        for number, (person, text) in enumerate(_SAID[scope])
    ]


def put(vectors: SqliteVectors, some: Sequence[IndexEntry]) -> None:
    """Give the store entries as Mem0 does."""
    payloads = [
        {
            "entry": entry.id,
            "user_id": entry.scope,
            "data": entry.text,
            "at": entry.at.isoformat(),
            "order": entry.order,
            "person": entry.person,
            "source": entry.source,
            "skip": 0,
        }
        for entry in some
    ]
    vectors.insert([[1.0]] * len(some), payloads)


def only(*scopes: str) -> dict[str, Any]:
    """The store's filter for these scopes, as Mem0 hands it on."""
    return {"agent_id": AGENT, "$or": [{"user_id": scope} for scope in scopes]}
