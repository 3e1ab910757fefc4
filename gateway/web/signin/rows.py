"""Accounts of the page, their sessions, links and tokens in the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from contract.chat import Speaker
from gateway.settings.access import Role
from store.database import Store
from store.gateway_schema import page_links, page_sessions, page_tokens, page_users
from store.timestamps import micros, moment


@dataclass(frozen=True, slots=True)
class PageUser:
    """An account. ended: closed; its id stays nobody else's until an owner invites it again."""

    id: str
    name: str
    created_at: datetime
    ended: bool = False

    @property
    def speaker(self) -> Speaker:
        """They as they speak."""
        return Speaker(self.id, self.name)


@dataclass(frozen=True, slots=True)
class PageSession:
    """A browser in which somebody is signed in. hash: of the cookie's value."""

    id: str
    hash: str
    person_id: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    user_agent: str
    address: str


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link that signs in once. person_id: None: the house owner, who has no account yet. role:
    which they get; None: they stay what they are."""

    id: str
    hash: str
    person_id: str | None
    person_name: str
    role: Role | None
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class PageToken:
    """A program's token. reads: all that it is good for; "": whatever an owner may."""

    name: str
    salt: str
    reads: str
    created_at: datetime
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PageState:
    """All of it."""

    users: Sequence[PageUser] = ()
    sessions: Sequence[PageSession] = ()
    links: Sequence[PageLink] = ()
    tokens: Sequence[PageToken] = ()


@dataclass(frozen=True, slots=True)
class PageRows:
    """Reads all of it once, and writes what changes."""

    store: Store

    async def load(self) -> PageState:
        """Everything."""
        return await self.store.read(_load)

    async def put_user(self, user: PageUser) -> None:
        """Add an account, or change it."""
        values = {
            "name": user.name,
            "created_at": micros(user.created_at),
            "ended_at": micros(user.created_at) if user.ended else None,
        }

        def work(connection: Connection) -> None:
            gone = delete(page_users).where(page_users.c.id == user.id)
            connection.execute(gone)
            connection.execute(page_users.insert().values(id=user.id, **values))

        await self.store.write(work)

    async def put_session(self, session: PageSession) -> None:
        """Add a session."""
        values = {
            "id": session.id,
            "hash": session.hash,
            "person_id": session.person_id,
            "created_at": micros(session.created_at),
            "seen_at": micros(session.seen_at),
            "expires_at": micros(session.expires_at),
            "user_agent": session.user_agent,
            "address": session.address,
        }
        await self.store.write(lambda c: c.execute(page_sessions.insert().values(values)))

    def seen(self, session: PageSession) -> None:
        """Its person was there, and it lasts longer; nobody waits for that."""
        change = (
            update(page_sessions)
            .where(page_sessions.c.id == session.id)
            .values(seen_at=micros(session.seen_at), expires_at=micros(session.expires_at))
        )
        self.store.write_later(lambda c: c.execute(change))

    async def drop_sessions(self, ids: Collection[str]) -> None:
        """End sessions."""
        gone = delete(page_sessions).where(page_sessions.c.id.in_(list(ids)))
        await self.store.write(lambda c: c.execute(gone))

    async def put_link(self, link: PageLink) -> None:
        """Add a link."""
        values = {
            "id": link.id,
            "hash": link.hash,
            "person_id": link.person_id,
            "person_name": link.person_name,
            "role": link.role,
            "created_at": micros(link.created_at),
            "expires_at": micros(link.expires_at),
        }
        await self.store.write(lambda c: c.execute(page_links.insert().values(values)))

    async def drop_links(self, ids: Collection[str]) -> None:
        """Take links away: they were used, or are too old."""
        gone = delete(page_links).where(page_links.c.id.in_(list(ids)))
        await self.store.write(lambda c: c.execute(gone))

    async def put_token(self, token: PageToken) -> None:
        """Add a token."""
        values = {
            "name": token.name,
            "salt": token.salt,
            "reads": token.reads,
            "created_at": micros(token.created_at),
        }
        await self.store.write(lambda c: c.execute(page_tokens.insert().values(values)))

    def used(self, token: PageToken) -> None:
        """It was used; nobody waits for that."""
        at = micros(token.used_at) if token.used_at else None
        change = update(page_tokens).where(page_tokens.c.name == token.name).values(used_at=at)
        self.store.write_later(lambda c: c.execute(change))

    async def drop_token(self, name: str) -> None:
        """End a token."""
        gone = delete(page_tokens).where(page_tokens.c.name == name)
        await self.store.write(lambda c: c.execute(gone))


def _load(connection: Connection) -> PageState:
    users = connection.execute(select(page_users))
    return PageState(
        [PageUser(r.id, r.name, moment(r.created_at), r.ended_at is not None) for r in users],
        [
            PageSession(
                r.id,
                r.hash,
                r.person_id,
                moment(r.created_at),
                moment(r.seen_at),
                moment(r.expires_at),
                r.user_agent,
                r.address,
            )
            for r in connection.execute(select(page_sessions))
        ],
        [
            PageLink(
                r.id,
                r.hash,
                r.person_id,
                r.person_name,
                r.role,
                moment(r.created_at),
                moment(r.expires_at),
            )
            for r in connection.execute(select(page_links))
        ],
        [
            PageToken(
                r.name,
                r.salt,
                r.reads,
                moment(r.created_at),
                moment(r.used_at) if r.used_at else None,
            )
            for r in connection.execute(select(page_tokens))
        ],
    )
