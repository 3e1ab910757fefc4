"""The links that sign somebody in once: invitations, and those of `moot open`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from contract.chat import Speaker
from contract.values import dataclass
from gateway.settings.access import Role
from gateway.web.signin.caller import RequestRefused
from gateway.web.signin.rows import PageLink, PageRows
from gateway.web.signin.secret import hashed

USED = "this link was used already, or is too old: `moot open` makes a new one, or an owner does"
UNMADE = "this link is no good any more: who made it is no owner any more; ask an owner for another"


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link as it is made. code: what stands behind the # of its address."""

    code: str
    link: PageLink


class PageLinks:
    """Those that nobody has used yet. stands: asks whether who made one could make another."""

    def __init__(
        self, rows: PageRows, clock: Callable[[], datetime], stands: Callable[[PageLink], bool]
    ) -> None:
        self._rows = rows
        self._clock = clock
        self._stands = stands
        self._by_hash: dict[str, PageLink] = {}

    def load(self, links: Iterable[PageLink]) -> None:
        """Take those that are in the database."""
        now = self._clock()
        self._by_hash = {link.hash: link for link in links if link.expires_at > now}

    def of_code(self, code: str) -> PageLink:
        """The link with this code. Raises RequestRefused."""
        link = self._by_hash.get(hashed(code))
        if link is None or link.expires_at <= self._clock():
            raise RequestRefused(401, USED)
        if not self._stands(link):
            raise RequestRefused(401, UNMADE)
        return link

    def all(self) -> Sequence[PageLink]:
        """Also those that are good no more."""
        return list(self._by_hash.values())

    def of_person(self, person_id: str) -> Sequence[PageLink]:
        """All of them that somebody could use."""
        return [one for one in self._by_hash.values() if one.person_id == person_id]

    def is_good(self, link: PageLink) -> bool:
        """True while it lets somebody in."""
        return link.expires_at > self._clock() and self._stands(link)

    async def make(
        self,
        person_id: str | None,
        name: str,
        role: Role | None,
        lasts: timedelta,
        by: Speaker,
    ) -> NewLink:
        """A new one; see PageLink."""
        code, now = secrets.token_urlsafe(24), self._clock()
        link = PageLink(
            secrets.token_hex(4),
            hashed(code),
            person_id,
            name,
            role,
            created_at=now,
            expires_at=now + lasts,
            by_id=by.id,
            by_name=by.name,
        )
        await self._rows.put_link(link)
        self._by_hash[link.hash] = link
        return NewLink(code, link)

    async def drop(self, links: Sequence[PageLink]) -> None:
        """They sign nobody in any more, from before anything is waited for: a link works once."""
        for link in links:
            self._by_hash.pop(link.hash, None)
        if links:
            await self._rows.drop_links([link.id for link in links])
