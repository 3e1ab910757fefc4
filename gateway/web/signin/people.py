"""People of the page: their accounts, where they are signed in, and the links that let them in.

All of it is kept in memory, so that a request costs no query, and written to the database as it
changes. Roles are grants like anybody's, see gateway/access/grants.py.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from contract.chat import Room, Speaker
from contract.errors import MootError, Rejected
from contract.language import later
from contract.values import dataclass
from gateway.access.access import Access
from gateway.access.grants import EVERYWHERE, GrantSpan, KeptGrant, of_person
from gateway.settings.access import Role
from gateway.web.signin.caller import Caller
from gateway.web.signin.links import NewLink, PageLinks
from gateway.web.signin.names import PAGE, SHELL, check_look, person_of
from gateway.web.signin.rows import PageLink, PageRows, PageSession, PageState, PageUser
from gateway.web.signin.secret import hashed

log = structlog.stdlib.get_logger("moot.page")

SESSION_FOR = timedelta(days=30)  # after the last visit
SEEN_EVERY = timedelta(minutes=5)  # what is written of visits; a crash forgets no more
LINK_FOR = timedelta(minutes=30)
INVITATION_FOR = timedelta(days=3)


class NameWanted(MootError):
    """Whoever signs in must say how they are called: nothing was used up."""


class Roles(Protocol):
    """Gives roles and takes them back: see gateway.access.grants.Grants."""

    async def grant(self, person: Speaker, role: Role, span: GrantSpan, by: Speaker) -> KeptGrant:
        """Give one."""

    async def revoke(self, by: Speaker, chosen: Callable[[KeptGrant], bool]) -> Sequence[KeptGrant]:
        """Take back what is chosen."""


class Programs(Protocol):
    """Knows programs' tokens: see gateway.web.signin.tokens.PageTokens."""

    def stands(self, person_id: str, since: datetime) -> bool:
        """True if what a program did at a time is still to be taken as an owner's word."""


class Noted(Protocol):
    """Writes the audit log: see gateway.audit.audit.Audit."""

    async def note(
        self, act: str, by: Speaker, *, room: Room | None = None, **detail: str | None
    ) -> None:
        """Append a row."""


@dataclass(frozen=True, slots=True)
class Device:
    """Where somebody signs in: what their browser says of itself, and its address."""

    user_agent: str
    address: str


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session. cookie: its secret, which is kept nowhere else."""

    user: PageUser
    session: PageSession
    cookie: str


@dataclass(frozen=True, slots=True)
class Entry:
    """Who may begin a session. role: which they get; None: they stay what they are. link: it is
    used up by that."""

    user: PageUser
    role: Role | None
    link: PageLink | None = None


class PagePeople:
    """Who may come to the page. `load` it before the first request."""

    def __init__(
        self,
        rows: PageRows,
        *,
        access: Access,
        roles: Roles,
        programs: Programs,
        audit: Noted,
        clock: Callable[[], datetime],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._rows = rows
        self._access = access
        self._roles = roles
        self._programs = programs
        self._audit = audit
        self._clock = clock
        self._changed = changed
        self._users: dict[str, PageUser] = {}
        self._sessions: dict[str, PageSession] = {}
        self._of_cookie: dict[str, str] = {}  # sessions' ids by the cookie's hash
        self._links = PageLinks(rows, clock, self._is_made_by_owner)

    async def load(self) -> PageState:
        """Read all of it, also again: what another gateway changed holds from then on."""
        state, now = await self._rows.load(), self._clock()
        self._users = {user.id: user for user in state.users}
        self._sessions = {one.id: one for one in state.sessions if one.expires_at > now}
        self._of_cookie = {one.hash: one.id for one in self._sessions.values()}
        self._tell_access()
        self._links.load(state.links)
        return state

    async def tidy(self, state: PageState) -> None:
        """Delete what is too old of what was read."""
        now = self._clock()
        if old := [one.id for one in state.sessions if one.expires_at <= now]:
            await self._rows.drop_sessions(old)
        if late := [one.id for one in state.links if one.expires_at <= now]:
            await self._rows.drop_links(late)

    def _tell_access(self) -> None:
        self._access.page_users = frozenset(self._users)

    # ── Who it is ───────────────────────────────────────────────────────────────────────

    def by_cookie(self, cookie: str) -> Caller | None:
        """Who is signed in with this cookie. Their session lasts longer by it."""
        session = self._sessions.get(self._of_cookie.get(hashed(cookie), "")) if cookie else None
        now = self._clock()
        user = self._users.get(session.person_id) if session else None
        if session is None or user is None or user.ended or session.expires_at <= now:
            return None
        if now - session.seen_at > SEEN_EVERY:
            seen = replace(session, seen_at=now, expires_at=now + SESSION_FOR)
            self._sessions[session.id] = seen
            self._rows.seen(seen)
        return Caller(user.speaker, session.id)

    def is_signed_in(self, caller: Caller) -> bool:
        """True while a person's session lasts."""
        session = self._sessions.get(caller.session_id)
        return session is not None and session.expires_at > self._clock()

    def is_owner(self, person_id: str) -> bool:
        """True if somebody with an account administers the house."""
        return self._access.is_owner_everywhere(PAGE, person_id)

    def role(self, person_id: str) -> Role | None:
        """Their role in the page's rooms."""
        return self._access.role(PAGE, person_id)

    def has_account(self, person_id: str) -> bool:
        """True for the id of an account, also of one that was closed."""
        return person_id in self._users

    def account(self, person_id: str) -> PageUser | None:
        """An account, also one that was closed."""
        return self._users.get(person_id)

    def name(self, person_id: str) -> str:
        """How somebody with an account is called; else the id."""
        user = self._users.get(person_id)
        return user.name if user is not None else person_id

    def names(self) -> Sequence[str]:
        """How everybody is called who has, or had, an account."""
        return [user.name for user in self._users.values()]

    def users(self) -> Sequence[PageUser]:
        """Every account that is not closed, the oldest first."""
        found = [user for user in self._users.values() if not user.ended]
        return sorted(found, key=lambda user: (user.created_at, user.id))

    def house_owner(self) -> PageUser | None:
        """The owner among them whose account is the oldest."""
        return next((user for user in self.users() if self.is_owner(user.id)), None)

    # ── Signing in ──────────────────────────────────────────────────────────────────────

    def owner_entry(self, name: str | None) -> Entry:
        """Whom an owner's token lets in: the house owner. Raises Rejected and NameWanted."""
        return Entry(self._owner_named(name), "owner")

    def link(self, code: str) -> PageLink:
        """The link with this code. Raises RequestRefused."""
        return self._links.of_code(code)

    def _is_made_by_owner(self, link: PageLink) -> bool:
        """True while who made a link could make another one."""
        if not link.by_id:  # of the time before that was written down
            return True
        maker = self._users.get(link.by_id)
        if maker is None:
            return self._programs.stands(link.by_id, link.created_at)
        return not maker.ended and self.is_owner(maker.id)

    def admitted(self, code: str, name: str | None) -> Entry:
        """Whom a link lets in; nothing is used up. Raises RequestRefused, Rejected, NameWanted."""
        link = self.link(code)
        if link.person_id is None:
            return Entry(self._owner_named(name), "owner", link)
        user = PageUser(link.person_id, link.person_name, self._clock())
        return Entry(user, link.role, link)

    def _owner_named(self, name: str | None) -> PageUser:
        """The house owner; one who has no account yet is called as they say."""
        known = self.house_owner()
        if known is not None:
            return known
        if name is None:
            raise NameWanted("how are you called?")
        person_id, called = person_of(name)
        if self.has_account(person_id):
            raise Rejected("name", "is somebody's already; `moot invite` lets them in again")
        self._check_look(person_id, called)
        return PageUser(person_id, called, self._clock())

    async def use_up(self, entry: Entry) -> None:
        """From now on its link lets nobody in."""
        await self._links.drop([entry.link] if entry.link else [])

    async def enter(self, entry: Entry, device: Device, how: str, by: Speaker = SHELL) -> SignedIn:
        """Open the account if there is none, give the role, and begin a session. by: whose word
        gives the role."""
        user, role = entry.user, entry.role
        await self.use_up(entry)
        inviter = entry.link.by if entry.link else None
        giver = inviter if inviter and entry.link and entry.link.role == role else by
        known = self._users.get(user.id)
        if known is None or known.ended:
            self._users[user.id] = user
            self._tell_access()
            await self._rows.put_user(user)
        user = self._users[user.id]
        if role is not None and self._access.given(user.id) != role:
            await self._roles.grant(user.speaker, role, EVERYWHERE, giver)
        cookie, now = secrets.token_urlsafe(32), self._clock()
        session = PageSession(
            secrets.token_hex(4),
            hashed(cookie),
            user.id,
            created_at=now,
            seen_at=now,
            expires_at=now + SESSION_FOR,
            user_agent=device.user_agent[:200],
            address=device.address[:64],
        )
        await self._rows.put_session(session)
        self._sessions[session.id] = session
        self._of_cookie[session.hash] = session.id
        await self._audit.note(
            "sign_in",
            user.speaker,
            how=how,
            session=session.id,
            address=session.address,
            invited_by=inviter.id if inviter else None,
        )
        log.info("signin.done", person=user.id, how=how, session=session.id)
        self._changed()
        return SignedIn(user, session, cookie)

    # ── Links ───────────────────────────────────────────────────────────────────────────

    async def owner_link(self, person: str | None = None, by: Speaker = SHELL) -> NewLink:
        """A link for the house owner, or for another owner by id or name. Raises Rejected."""
        user = self._user(person) if person else self.house_owner()
        if user is not None and not self.is_owner(user.id):
            raise Rejected(
                "person",
                later("{name} is no owner: `moot invite` makes their link", name=user.name),
            )
        person_id, called = (user.id, user.name) if user else (None, "")
        return await self._links.make(person_id, called, None, LINK_FOR, by)

    async def invite(self, name: str, role: Role | None, by: Speaker) -> NewLink:
        """A link by which somebody becomes, or is again, a user of the page. role: None: the role
        that they have, or member. Raises Rejected.

        A name that was typed before there were accounts is theirs with all its messages.
        """
        person_id, called = person_of(name)
        known = self._users.get(person_id)
        if known is None:
            self._check_look(person_id, called)
        if known is not None and not known.ended:
            called = known.name
        elif role is None:
            role = "member"
        await self._links.drop(self._links.of_person(person_id))
        made = await self._links.make(person_id, called, role, INVITATION_FOR, by)
        await self._audit.note("invite", by, person=person_id, role=role)
        self._changed()
        return made

    def _check_look(self, person_id: str, called: str) -> None:
        """Raise Rejected for a name that readers would take for somebody else's."""
        others = {one.person_id: one.person_name for one in self._links.all() if one.person_id}
        others |= {user.id: user.name for user in self._users.values()}
        others.pop(person_id, None)
        check_look(called, others.values())

    def invitations(self) -> Sequence[PageLink]:
        """Invitations that can still be used, the oldest first."""
        found = [one for one in self._links.all() if one.person_id and self._links.is_good(one)]
        return sorted(found, key=lambda link: link.created_at)

    async def withdraw(self, link_id: str, by: Speaker) -> bool:
        """Take an invitation back. False: there is none."""
        found = next((one for one in self._links.all() if one.id == link_id), None)
        if found is None:
            return False
        await self._links.drop([found])
        await self._audit.note("invite", by, person=found.person_id, withdrawn="yes")
        self._changed()
        return True

    def is_invited(self, person_id: str) -> bool:
        """True if an invitation of theirs waits to be used."""
        return any(map(self._links.is_good, self._links.of_person(person_id)))

    # ── Sessions and accounts ───────────────────────────────────────────────────────────

    def sessions(self, person_id: str | None = None) -> Sequence[PageSession]:
        """Sessions that last, the one used last first; None: everybody's."""
        now = self._clock()
        found = [one for one in self._sessions.values() if one.expires_at > now]
        mine = [one for one in found if person_id in (None, one.person_id)]
        return sorted(mine, key=lambda one: one.seen_at, reverse=True)

    async def end_sessions(
        self, by: Speaker, chosen: Callable[[PageSession], bool]
    ) -> Sequence[PageSession]:
        """Sign browsers out; return what was ended."""
        gone = [one for one in self._sessions.values() if chosen(one)]
        for one in gone:
            self._sessions.pop(one.id, None)
            self._of_cookie.pop(one.hash, None)
        if gone:
            await self._rows.drop_sessions([one.id for one in gone])
        for one in gone:
            await self._audit.note("sign_out", by, person=one.person_id, session=one.id)
            log.info("signin.ended", person=one.person_id, session=one.id, by=by.id)
        if gone:
            self._changed()
        return gone

    async def close(self, person_id: str, by: Speaker) -> PageUser | None:
        """Close an account: no session, no link, no role is left of it, and none of the invitations
        that they made, to come back by. None: there is none."""
        user = self._users.get(person_id)
        if user is None or user.ended:
            return None
        if self.is_owner(person_id):
            for link in self.invitations():
                if link.by_id in (person_id, ""):
                    await self.withdraw(link.id, by)
        self._users[person_id] = replace(user, ended_at=self._clock())
        await self._rows.put_user(self._users[person_id])
        await self.end_sessions(by, lambda one: one.person_id == person_id)
        await self._links.drop(self._links.of_person(person_id))
        await self._roles.revoke(by, of_person(person_id))
        await self._audit.note("account_close", by, person=person_id)
        self._changed()
        return user

    def _user(self, named: str) -> PageUser:
        """An account by its id or its name. Raises Rejected."""
        wanted = named.casefold()
        for user in self.users():
            if user.id == named or user.name.casefold() == wanted:
                return user
        raise Rejected("person", later("there is no account {named} on the page", named=named))
