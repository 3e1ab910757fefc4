"""Accounts of the page, their sessions, links and tokens in the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection, Table, Update, delete, select, update

from contract.chat import Speaker
from contract.values import dataclass
from gateway.settings.access import Role
from store.database import Store
from store.gateway_schema import (
    page_links,
    page_sessions,
    page_subjects,
    page_tokens,
    page_users,
)
from store.rows import from_row, to_row
from store.timestamps import micros

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageUser:
    """An account. ended_at: when it was closed; its id stays nobody else's until an owner invites
    it again."""

    id: str
    name: str
    created_at: datetime
    ended_at: datetime | None = None

    @property
    def ended(self) -> bool:
        """True if it was closed."""
        return self.ended_at is not None

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
    which they get; None: they stay what they are. by_id: who made it; "": nobody wrote it down."""

    id: str
    hash: str
    person_id: str | None
    person_name: str
    role: Role | None
    created_at: datetime
    expires_at: datetime
    by_id: str = ""
    by_name: str = ""

    @property
    def by(self) -> Speaker | None:
        """Who invited by it; None: a link that lets the house owner in, or nobody wrote it down."""
        return Speaker(self.by_id, self.by_name) if self.by_id and self.person_id else None


@dataclass(frozen=True, slots=True)
class PageToken:
    """A program's token. reads: all that it is good for; "": whatever an owner may."""

    name: str
    salt: str
    reads: str
    created_at: datetime
    used_at: datetime | None = None
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class PageSubject:
    """Somebody of a provider, and who they are on the page. how: by its claims, or by an owner's
    invitation."""

    issuer: str
    subject: str
    person_id: str
    how: str
    bound_at: datetime


@dataclass(frozen=True, slots=True)
class PageState:
    """All of it."""

    users: Sequence[PageUser] = ()
    sessions: Sequence[PageSession] = ()
    links: Sequence[PageLink] = ()
    tokens: Sequence[PageToken] = ()
    subjects: Sequence[PageSubject] = ()


@dataclass(frozen=True, slots=True)
class PageRows:
    """Reads all of it once, and writes what changes."""

    store: Store

    async def load(self) -> PageState:
        """Everything."""
        return await self.store.read(_load)

    async def put_user(self, user: PageUser) -> None:
        """Add an account, or change it."""

        def work(connection: Connection) -> None:
            gone = delete(page_users).where(page_users.c.id == user.id)
            connection.execute(gone)
            connection.execute(page_users.insert().values(to_row(user)))

        await self.store.write(work)

    async def put_session(self, session: PageSession) -> None:
        """Add a session."""
        new = page_sessions.insert().values(to_row(session))
        await self.store.write(lambda c: c.execute(new))

    def seen(self, session: PageSession) -> None:
        """Its person was there, and it lasts longer; nobody waits for that."""
        change = (
            update(page_sessions)
            .where(page_sessions.c.id == session.id)
            .values(seen_at=micros(session.seen_at), expires_at=micros(session.expires_at))
        )
        self._later(change)

    async def drop_sessions(self, ids: Collection[str]) -> None:
        """End sessions."""
        gone = delete(page_sessions).where(page_sessions.c.id.in_(list(ids)))
        await self.store.write(lambda c: c.execute(gone))

    async def put_link(self, link: PageLink) -> None:
        """Add a link."""
        new = page_links.insert().values(to_row(link))
        await self.store.write(lambda c: c.execute(new))

    async def drop_links(self, ids: Collection[str]) -> None:
        """Take links away: they were used, or are too old."""
        gone = delete(page_links).where(page_links.c.id.in_(list(ids)))
        await self.store.write(lambda c: c.execute(gone))

    async def put_subject(self, subject: PageSubject) -> None:
        """Bind somebody of a provider to a person, and nobody else to either."""
        c = page_subjects.c
        same = (c.issuer == subject.issuer) & (c.subject == subject.subject)
        gone = delete(page_subjects).where(same | (c.person_id == subject.person_id))

        def work(connection: Connection) -> None:
            connection.execute(gone)
            connection.execute(page_subjects.insert().values(to_row(subject)))

        await self.store.write(work)

    async def put_token(self, token: PageToken) -> None:
        """Add a token."""
        new = page_tokens.insert().values(to_row(token))
        await self.store.write(lambda c: c.execute(new))

    def used(self, token: PageToken) -> None:
        """It was used; nobody waits for that."""
        at = micros(token.used_at) if token.used_at else None
        change = update(page_tokens).where(page_tokens.c.name == token.name).values(used_at=at)
        self._later(change)

    def _later(self, change: Update) -> None:
        """Whoever leads keeps how long sessions last; who stands by writes nothing."""
        if not self.store.read_only:
            self.store.write_later(lambda c: c.execute(change))

    async def drop_token(self, name: str) -> None:
        """End a token."""
        gone = delete(page_tokens).where(page_tokens.c.name == name)
        await self.store.write(lambda c: c.execute(gone))


def _load(connection: Connection) -> PageState:
    def found(kind: type[T], table: Table) -> list[T]:
        return [from_row(kind, row) for row in connection.execute(select(table))]

    return PageState(
        found(PageUser, page_users),
        found(PageSession, page_sessions),
        found(PageLink, page_links),
        found(PageToken, page_tokens),
        found(PageSubject, page_subjects),
    )
