"""Tokens of programs: of the API for whatever an owner may, or for the metrics alone."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from contract.chat import Speaker
from contract.errors import Rejected
from contract.language import later, phrase
from gateway.web.signin.attempts import Attempts
from gateway.web.signin.caller import Caller, RequestRefused
from gateway.web.signin.names import SHELL
from gateway.web.signin.own_token import OWN
from gateway.web.signin.people import Noted
from gateway.web.signin.rows import PageRows, PageToken
from gateway.web.signin.secret import derived, hashed, same

log = structlog.stdlib.get_logger("moot.page")

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
READS = ("", "metrics")
USED_EVERY = timedelta(minutes=5)
NOT_IT = phrase("that is not the token")


class PageTokens:
    """What programs prove themselves by: the owner's secret, tokens that follow from it, and the
    MOOT_TOKEN that an administrator chose, if there is one."""

    def __init__(
        self,
        rows: PageRows,
        *,
        secret: str,
        own: str | None,
        attempts: Attempts,
        audit: Noted,
        clock: Callable[[], datetime],
        learn: Callable[[str], None] = lambda value: None,
    ) -> None:
        """own: MOOT_TOKEN. learn: told each value, which is never to be shown."""
        self._rows = rows
        self._secret = secret
        self._own = own
        self._attempts = attempts
        self._audit = audit
        self._clock = clock
        self._learn = learn
        self._tokens: dict[str, PageToken] = {}  # by the value's hash
        learn(secret)

    def load(self, tokens: Sequence[PageToken]) -> None:
        """Take those that are in the database."""
        self._tokens.clear()
        for token in tokens:
            self._keep(token)

    def _keep(self, token: PageToken) -> None:
        value = derived(self._secret, token.salt, token.reads)
        self._tokens[token.hash or hashed(value)] = token
        if self._is_of_here(token):
            self._learn(value)

    def _is_of_here(self, token: PageToken) -> bool:
        """True if this machine's secret makes its value."""
        made = hashed(derived(self._secret, token.salt, token.reads))
        return token.hash is None or token.hash == made

    # ── Who it is ───────────────────────────────────────────────────────────────────────

    def by_bearer(self, value: str, address: str) -> Caller:
        """Who sends this token. Raises RequestRefused."""
        if same(value, self._secret):
            return Caller(SHELL, token="shell")  # noqa: S106  (a name)
        token = self._tokens.get(key := hashed(value))
        if token is not None:
            self._used(key, token)
            return Caller(_speaker(token.name), token=token.name, reads=token.reads)
        if wait_s := self._attempts.wait_s(address):
            raise RequestRefused(
                429,
                later(
                    "too many wrong tokens: try again in {seconds} s, or use a link",
                    seconds=wait_s,
                ),
                wait_s,
            )
        if self._own is not None and same(value, self._own):
            self._attempts.right(address)
            return Caller(_speaker(OWN), token=OWN)
        self._attempts.wrong(address)
        tell_failed(self._attempts, address, "token")
        raise RequestRefused(401, NOT_IT)

    def is_good(self, caller: Caller) -> bool:
        """True while a program's token is good."""
        known = {OWN, *(token.name for token in self._tokens.values())}
        return caller.person == SHELL or caller.token in known

    def stands(self, person_id: str, since: datetime) -> bool:
        """True if what a program did at a time is still an owner's word: its token is good, and no
        other one of the same name."""
        if person_id == SHELL.id:
            return True
        if self._own is not None and person_id == _speaker(OWN).id:
            return True
        made = (one for one in self._tokens.values() if one.created_at <= since and not one.reads)
        return any(person_id == _speaker(one.name).id for one in made)

    def _used(self, key: str, token: PageToken) -> None:
        now = self._clock()
        if token.used_at is None or now - token.used_at > USED_EVERY:
            used = replace(token, used_at=now)
            self._tokens[key] = used
            self._rows.used(used)

    # ── Making and ending them ──────────────────────────────────────────────────────────

    def listed(self) -> Sequence[PageToken]:
        """Those that were made, by name."""
        return sorted(self._tokens.values(), key=lambda token: token.name)

    async def get(self, name: str, reads: str, by: Speaker) -> PageToken:
        """The token of this name, made if there is none. Raises Rejected."""
        if not NAME.fullmatch(name):
            raise Rejected("name", "must be lower-case letters, digits, - and _, at most 40")
        if reads not in READS:
            raise Rejected("reads", "must be metrics, or be left out")
        known = next((token for token in self.listed() if token.name == name), None)
        if known is not None:
            if known.reads != reads:
                raise Rejected(
                    "name", later("{name} is another kind of token; take another name", name=name)
                )
            if not self._is_of_here(known):
                raise Rejected(
                    "name",
                    later(
                        "{name} was made on another machine: take another name, or revoke it",
                        name=name,
                    ),
                )
            return known
        salt = secrets.token_hex(16)
        own = hashed(derived(self._secret, salt, reads))
        token = PageToken(name, salt, reads, self._clock(), hash=own)
        await self._rows.put_token(token)
        self._keep(token)
        await self._audit.note("token_make", by, token=name, reads=reads or "all")
        return token

    async def revoke(self, name: str, by: Speaker) -> bool:
        """End a token. False: there is none of this name."""
        key = next((key for key, token in self._tokens.items() if token.name == name), None)
        if key is None:
            return False
        del self._tokens[key]
        await self._rows.drop_token(name)
        await self._audit.note("token_revoke", by, token=name)
        return True


def tell_failed(attempts: Attempts, address: str, how: str) -> None:
    """Log a wrong token or link, without it."""
    if attempts.is_told():
        log.warning("signin.failed", address=address, how=how, wait_s=attempts.wait_s(address))


def _speaker(name: str) -> Speaker:
    return Speaker(f"moot:token-{name}", f"the token {name}")
