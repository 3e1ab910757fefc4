"""The ledger's part on posts that go and come one by one: drafts, and permission questions."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from operator import methodcaller
from typing import Any

from sqlalchemy import Connection, bindparam, select

from gateway.core.ledger import Post, PostState, Turn
from gateway.core.sql_rows import (
    CLOSE_QUESTION,
    DECIDE,
    DECISIONS,
    KNOWN_POSTS,
    LEFT_QUESTIONS,
    NEWEST_MESSAGE,
    OF_POST,
    QUESTION_OF,
    marked,
)
from store.database import Store, insert_of
from store.schema import messages, posts
from store.timestamps import micros, moment
from store.together import Written, execute_together, running


class SqlPosts:
    """A part of the ledger, see SqlLedger."""

    def __init__(self, store: Store) -> None:
        self._store = store
        new_post = insert_of(store)(posts).values({name: bindparam(name) for name in OF_POST})
        self._put_post = new_post.on_conflict_do_update(
            index_elements=["key"],
            set_={name: new_post.excluded[name] for name in ("kind", "text", "state")},
        ).returning(posts.c.platform_id, posts.c.drafted, posts.c.created_at)

    async def sure_to_lead(self) -> None:
        """Return when no other gateway can have taken the turns: then something may be posted.
        Raises LeadLost."""
        if self._store.lead is not None:
            await self._store.lead.sure()

    async def draft(self, turn: Turn, text: str, now: datetime) -> Post:
        """A draft is about to be posted. An earlier process may have posted one: then it is
        uncertain, and has its id if that was known."""
        post = Post(f"{turn.id}:0", turn.id, 0, "text", text, "draft", None, micros(now), True)
        kept = await self._add_post(post)
        earlier = kept.created_at != post.created_at
        return replace(post, platform_id=kept.platform_id, uncertain=earlier)

    async def plan_question(self, turn: Turn, key: str, title: str) -> Post:
        """A permission question is about to be posted: an own message that carries no answer."""
        return await self._add_post(_question(turn, key, title, "planned"))

    async def is_post(self, key: str) -> bool:
        """True if a post was planned under a key, also by an earlier process."""
        statement = select(posts.c.key).where(posts.c.key == key)
        return await self._store.read(lambda connection: connection.scalar(statement)) is not None

    async def note_refusal(self, turn: Turn, key: str, platform_id: str) -> None:
        """A question was refused in a line of its own instead of being asked."""
        await self._add_post(_question(turn, key, "", "closed", platform_id))

    async def asker_of(self, message_seq: int) -> str:
        """The id of who sent a message."""
        statement = select(messages.c.sender_id).where(messages.c.seq == message_seq)
        return str(await self._store.read(lambda connection: connection.scalar(statement)))

    async def newest_message(self) -> int:
        """The number of the message that came to disk last; 0: there is none."""
        newest = await self._store.read(methodcaller("scalar", NEWEST_MESSAGE))
        return newest or 0

    def close_question(self, key: str) -> None:
        """Nobody can answer this post's question any more: on disk soon."""
        self._store.write_later(methodcaller("execute", CLOSE_QUESTION, {"of": key}))

    async def left_questions(self, turn_id: str) -> list[tuple[str, str | None, str]]:
        """Key, platform id and title of a turn's questions that were not closed. None: such a
        question was about to be posted, and may have been."""

        def work(connection: Connection) -> list[tuple[str, str | None, str]]:
            rows = connection.execute(LEFT_QUESTIONS, {"turn": turn_id})
            return [(row.key, row.platform_id, row.text) for row in rows]

        return await self._store.read(work)

    async def question_of(self, platform_id: str) -> str | None:
        """The id of the question that an own post asked, ever; None: it asked none."""
        where = {"post": platform_id}
        key: str | None = await self._store.read(methodcaller("scalar", QUESTION_OF, where))
        return key.split(":")[1] if key else None

    async def _add_post(self, post: Post) -> Post:
        return await self._store.write(partial(self.put_post, post=post), small=True)

    def put_post(self, connection: Connection, post: Post, *before: Written) -> Post:
        """Write a post. One that has its key keeps what the platform knows it by, and its age.
        before: what is written with it."""
        new = (self._put_post, {name: getattr(post, name) for name in OF_POST})
        [kept] = execute_together(connection, *before, new)
        return replace(
            post,
            platform_id=kept.platform_id,
            drafted=kept.drafted,
            created_at=kept.created_at,
            uncertain=kept.drafted and kept.platform_id is None,
        )

    async def sent(self, post: Post, platform_id: str) -> Post:
        """The platform has the post."""
        changed = replace(post, platform_id=platform_id)
        if post.state != "draft":
            changed = replace(changed, state="sent")
        await self._store.write(running(*marked(changed)), small=True)
        return changed

    async def known_posts(self, room_id: str) -> frozenset[str]:
        """The platform's ids of all own posts of a room."""
        where = {"room": room_id}
        return await self._store.read(
            lambda connection: frozenset(connection.execute(KNOWN_POSTS, where).scalars())
        )

    # ── Decisions ───────────────────────────────────────────────────────────────────────────

    async def decide(
        self, turn_id: str, question: str, chosen: str, by: str, now: datetime
    ) -> None:
        """Record who answered a permission question, and how."""
        values = {
            "turn_id": turn_id,
            "question": question,
            "chosen": chosen,
            "by": by,
            "at": micros(now),
        }
        await self._store.write(methodcaller("execute", DECIDE, values), small=True)

    async def decisions(self, turn_id: str) -> list[dict[str, Any]]:
        """The people who answered the permission questions of a turn, in order."""

        def work(connection: Connection) -> list[dict[str, Any]]:
            return [
                {
                    "question": row.question,
                    "chosen": row.chosen,
                    "by": row.by,
                    "at": moment(row.at).isoformat(),
                }
                for row in connection.execute(DECISIONS, {"turn": turn_id})
            ]

        return await self._store.read(work)


def _question(
    turn: Turn, key: str, title: str, state: PostState, platform_id: str | None = None
) -> Post:
    return Post(key, turn.id, -1, "question", title, state, platform_id, turn.states[-1][1])
