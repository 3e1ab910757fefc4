"""Who of a provider's people may come to the page, and which account is theirs.

An account is bound to the provider's own id of somebody (issuer and subject), which never changes;
names and e-mail addresses do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from contract.chat import Speaker
from contract.errors import MootError, Rejected
from contract.language import later
from contract.values import dataclass
from gateway.access.access import Access
from gateway.settings.access import Role
from gateway.settings.oidc import OidcTable
from gateway.settings.tables import RESERVED
from gateway.web.signin.caller import RequestRefused
from gateway.web.signin.names import look_of, person_of
from gateway.web.signin.people import Device, Entry, NameWanted, PagePeople, SignedIn
from gateway.web.signin.rows import PageRows, PageSubject, PageUser

CONFIGURED = Speaker("moot:oidc", "the configuration")  # gives roles by [oidc]


class ProviderAway(MootError):
    """The provider does not answer, or not as a provider."""


class ProviderRefused(MootError):
    """It did not let somebody in, or what it says is no proof."""


@dataclass(frozen=True, slots=True)
class NewNames:
    """Which names are somebody's. personas: their names. spoke: everybody who ever spoke."""

    access: Access
    personas: Callable[[], Iterable[str]]
    spoke: Callable[[], Awaitable[Sequence[Speaker]]]


@dataclass(slots=True)
class PageSubjects:
    """Signs people in whom the provider knows. `load` it before the first request."""

    table: OidcTable
    rows: PageRows
    people: PagePeople
    names: NewNames
    clock: Callable[[], datetime]
    _bound: dict[tuple[str, str], PageSubject] = field(default_factory=dict)
    _one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)

    def load(self, subjects: Sequence[PageSubject]) -> None:
        """Take those that are in the database."""
        self._bound = {(one.issuer, one.subject): one for one in subjects}

    async def sign_in(
        self, claims: Mapping[str, Any], code: str | None, device: Device
    ) -> SignedIn:
        """Sign in whom checked claims speak of. code: of the link that they opened. Raises
        RequestRefused, with the remedy."""
        async with self._one_by_one:  # two who come at once must not get one name
            bound = self._bound.get((self.table.issuer, claims["sub"]))
            try:
                entry = await self._entry(claims, code, bound)
            except Rejected as rejected:
                told = later(
                    "the name that you have there can't be yours here: {why}", why=rejected.phrase
                )
                raise RequestRefused(403, told) from None
            await self.people.use_up(entry)
            how = "invitation" if code else bound.how if bound else "claims"
            if bound is None or bound.how != how:
                await self._bind(claims["sub"], entry.user.id, how)
            return await self.people.enter(entry, device, "oidc", CONFIGURED)

    async def _entry(
        self, claims: Mapping[str, Any], code: str | None, bound: PageSubject | None
    ) -> Entry:
        """Whose account it is, and as what. Raises RequestRefused and Rejected."""
        role: Role | None = "owner" if _is_one_of(self.table.owners, claims) else None
        if code is not None:
            entry = self._admitted(claims, code)
            if bound is not None and bound.person_id != entry.user.id:
                told = later(
                    "your account there signs in {bound} here; this link is for {invited}",
                    bound=bound.person_id,
                    invited=entry.user.id,
                )
                raise RequestRefused(403, told)
            return Entry(entry.user, role or entry.role, entry.link)
        if bound is None or bound.how == "claims":
            self._check(claims, known=bound is not None, owner=role is not None)
        if bound is not None:
            user = self.people.account(bound.person_id)
            if user is not None and user.ended:
                raise RequestRefused(403, "your account was closed; ask an owner to invite you")
            if user is not None:
                return Entry(user, role)
            return Entry(self._user(bound.person_id, self._name(claims)), role or self.table.role)
        person_id, called = person_of(self._name(claims))
        await self._check_free(person_id, called)
        return Entry(self._user(person_id, called), role or self.table.role)

    def _admitted(self, claims: Mapping[str, Any], code: str) -> Entry:
        try:
            return self.people.admitted(code, None)
        except NameWanted:
            return self.people.admitted(code, self._name(claims))

    def _user(self, person_id: str, name: str) -> PageUser:
        return PageUser(person_id, name, self.clock())

    def _name(self, claims: Mapping[str, Any]) -> str:
        name = claims.get(self.table.name_claim)
        if not isinstance(name, str) or not name.strip():
            told = later(
                "{provider} does not say how you are called ({claim}): give yourself a name "
                "there, or ask an owner",
                provider=self.table.shown,
                claim=f"`{self.table.name_claim}`",
            )
            raise RequestRefused(403, told)
        return name

    def _check(self, claims: Mapping[str, Any], *, known: bool, owner: bool) -> None:
        """Raise RequestRefused for whom [oidc] doesn't let in."""
        table = self.table
        if owner:
            return
        email = _email(claims)
        well = not table.domains or "*" in table.domains
        well = well or email.rpartition("@")[2] in map(str.casefold, table.domains)
        well = well and all(_has(claims.get(name), of) for name, of in table.claims.items())
        if not well or not (known or table.domains or table.claims):
            raise RequestRefused(
                403, "your account there may not come here: ask an owner to invite you"
            )

    async def _check_free(self, person_id: str, called: str) -> None:
        """Raise RequestRefused for a name that is somebody's, or looks as if it were."""
        people, names = self.people, self.names
        looks = look_of(called)
        alike = (*RESERVED, *names.personas(), *people.names())
        if any(look_of(one) == looks for one in alike):
            taken = True
        else:
            taken = (
                people.has_account(person_id)
                or people.is_invited(person_id)
                or names.access.is_named(person_id)
                or any(one.id == person_id for one in await names.spoke())
            )
        if taken:
            told = later(
                "{name} is somebody's name here already, or reserved: if it is yours, ask an "
                "owner to invite you",
                name=called,
            )
            raise RequestRefused(403, told)

    async def _bind(self, subject: str, person_id: str, how: str) -> None:
        """From now on this subject is this person, and no other is."""
        new = PageSubject(self.table.issuer, subject, person_id, how, self.clock())
        await self.rows.put_subject(new)
        others = {key: one for key, one in self._bound.items() if one.person_id != person_id}
        self._bound = {**others, (new.issuer, new.subject): new}


def _email(claims: Mapping[str, Any]) -> str:
    """Their address, if the provider made sure that it is theirs."""
    email, verified = claims.get("email"), claims.get("email_verified")
    if not isinstance(email, str) or "@" not in email or verified not in (True, "true"):
        return ""
    return email.casefold()


def _is_one_of(listed: Sequence[str], claims: Mapping[str, Any]) -> bool:
    """True if somebody's subject or address is listed."""
    email = _email(claims)
    return claims["sub"] in listed or (bool(email) and email in map(str.casefold, listed))


def _has(given: object, wanted: Sequence[str]) -> bool:
    """True if a claim is one of these, or has one of them in it."""
    return any(one in wanted for one in (given if isinstance(given, list) else [given]))
