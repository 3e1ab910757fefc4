"""Who comes to the page: people who signed in, and programs with tokens."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from contract.values import dataclass
from gateway.access.access import Access
from gateway.access.grants import Grants
from gateway.audit.audit import Audit
from gateway.core.clock import clock
from gateway.web.signin.attempts import Attempts
from gateway.web.signin.people import Noted, PagePeople
from gateway.web.signin.rows import PageRows, PageState
from gateway.web.signin.tokens import PageTokens
from store.database import Store

if TYPE_CHECKING:  # few have a provider
    from gateway.web.signin.oidc_api import Oidc


@dataclass(frozen=True, slots=True)
class Visitors:
    """Who may come to the page, and what they may there. oidc: where else they may sign in."""

    people: PagePeople
    tokens: PageTokens
    attempts: Attempts
    access: Access
    audit: Noted
    oidc: Oidc | None = None

    async def load(self) -> PageState:
        """Read what is known of them; before the first request."""
        state = await self.people.load()
        self.tokens.load(state.tokens)
        if self.oidc is not None:
            self.oidc.subjects.load(state.subjects)
        return state


def visitors_of(
    store: Store,
    access: Access,
    grants: Grants,
    audit: Audit,
    *,
    secret: str,
    own: str | None = None,
    changed: Callable[[], None] = lambda: None,
    learn: Callable[[str], None] = lambda value: None,
) -> Visitors:
    """Those of a database. own: MOOT_TOKEN. changed: told when a list of the page would differ.
    learn: told what is never to be shown."""
    rows, attempts = PageRows(store), Attempts(time.monotonic)
    tokens = PageTokens(
        rows,
        secret=secret,
        own=own,
        attempts=attempts,
        audit=audit,
        clock=clock,
        learn=learn,
    )
    people = PagePeople(
        rows,
        access=access,
        roles=grants,
        programs=tokens,
        audit=audit,
        clock=clock,
        changed=changed,
    )
    return Visitors(people, tokens, attempts, access, audit)
