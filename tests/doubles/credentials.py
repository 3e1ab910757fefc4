"""How tests come in: by the owner's secret, as programs do, or signed in, as people are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp

from contract.chat import Speaker
from gateway.access.access import Access
from gateway.access.grants import GrantSpan, KeptGrant
from gateway.core.clock import clock
from gateway.settings.access import AccessTable, Role
from gateway.web.signin.attempts import Attempts
from gateway.web.signin.names import SHELL
from gateway.web.signin.people import Device, PagePeople
from gateway.web.signin.rows import PageState
from gateway.web.signin.secret import read_secret
from gateway.web.signin.tokens import PageTokens
from gateway.web.signin.visitors import Visitors

SECRET = "the-secret-of-an-owner-that-only-tests-know"
BEARER = {"Authorization": f"Bearer {SECRET}"}
"""Of a page whose visitors are those made here."""

DEVICE = Device("a test", "127.0.0.1")


def bearer(installation: Path) -> Mapping[str, str]:
    """The headers of a program that can read the secret of an installation: of its folder with
    moot.toml, or of its data."""
    for folder in (installation / "data", installation):
        if (secret := read_secret(folder)) is not None:
            return {"Authorization": f"Bearer {secret}"}
    raise AssertionError(f"no owner's secret in {installation}")


_SERVED: dict[str, Path] = {}  # installations by the address of their page


def served(url: str, installation: Path) -> None:
    """Remember whose page an address is."""
    _SERVED[url.rstrip("/")] = installation


def headers_of(url: str) -> Mapping[str, str]:
    """The headers of a program on the machine of the Moot at an address."""
    return bearer(_SERVED[url.rstrip("/")])


def program_at(url: str) -> aiohttp.ClientSession:
    """A program on the machine of the Moot at an address, which can read its owner's secret."""
    return aiohttp.ClientSession(url, headers=headers_of(url))


class NoRows:
    """A database that keeps nothing of the page's people: for a page without a store."""

    async def load(self) -> PageState:
        return PageState()

    async def put(self, given: object) -> None:
        """Add it, or not."""

    put_user = put_session = put_link = put_token = put_subject = put

    async def drop(self, given: Collection[str] | str) -> None:
        """Take it away."""

    drop_sessions = drop_links = drop_token = drop

    def touch(self, given: object) -> None:
        """It was seen."""

    seen = used = touch


class PlainRoles:
    """Gives roles in memory."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._held: list[KeptGrant] = []

    async def grant(self, person: Speaker, role: Role, span: GrantSpan, by: Speaker) -> KeptGrant:
        kept = KeptGrant(len(self._held) + 1, role, person, span, None, by, datetime.now(UTC))
        self._held = [one for one in self._held if one.person.id != person.id] + [kept]
        self._access.kept = tuple(one.grant() for one in self._held)
        return kept

    async def revoke(self, by: Speaker, chosen: Callable[[KeptGrant], bool]) -> Sequence[KeptGrant]:
        gone = [one for one in self._held if chosen(one)]
        self._held = [one for one in self._held if one not in gone]
        self._access.kept = tuple(one.grant() for one in self._held)
        return gone


class PlainNotes:
    """An audit log as a list."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, dict[str, Any]]] = []

    async def note(self, act: str, by: Speaker, *, room: object = None, **detail: object) -> None:
        self.rows.append((act, by.id, detail))


def make_visitors(
    *, own: str | None = None, now: Callable[[], float] = lambda: 0.0, notes: Any = None
) -> Visitors:
    """Those of a page without a store. own: MOOT_TOKEN. now: the seconds of the lock-out."""
    access, rows = Access(AccessTable()), cast(Any, NoRows())
    roles, attempts, audit = PlainRoles(access), Attempts(now), notes or PlainNotes()
    tokens = PageTokens(rows, secret=SECRET, own=own, attempts=attempts, audit=audit, clock=clock)
    people = PagePeople(rows, access=access, roles=roles, programs=tokens, audit=audit, clock=clock)
    return Visitors(people, tokens, attempts, access, audit)


async def cookie_of(visitors: Visitors, name: str = "Citra", role: Role = "owner") -> str:
    """Sign somebody in, who is made a user if they are none; the value of their cookie."""
    link = await visitors.people.invite(name, role, SHELL)
    entry = visitors.people.admitted(link.code, None)
    return (await visitors.people.enter(entry, DEVICE, "invitation")).cookie


def cookie_header(url: str, cookie: str) -> Mapping[str, str]:
    """The headers of a browser in which somebody is signed in."""
    return {"Cookie": f"moot-{urlsplit(url).port}={cookie}"}
