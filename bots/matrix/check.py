"""The bot's account on its homeserver: how it comes in, and what it keeps for the next time."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from bots.bot import SecretSink, forget
from bots.kit.cursor import KeptSecrets, read_file
from bots.kit.platform_bot import BotSetup
from bots.matrix import oauth
from bots.matrix.api import CLIENT, MatrixApi, MatrixRefused, TokenRefused
from contract.errors import ConfigError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

DEVICE_NAME = "Moot"
ACCOUNT = "account.json"


@dataclass(frozen=True, slots=True)
class Credentials:
    """token: an access token; else user and password. user: `name` or `@name:server`.

    recovery_key: opens the account's secrets; "": the one that was made here.
    """

    token: str = ""
    user: str = ""
    password: str = ""
    recovery_key: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """The bot's account. pickle_key: what its stored keys are encrypted with on disk.

    refresh_token: gets the next token; "": this one lasts. client_id, token_url: where it does so
    by OAuth 2.0; "": at the homeserver itself.
    """

    user_id: str
    device_id: str
    token: str = field(repr=False)
    pickle_key: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    client_id: str = ""
    token_url: str = ""


class _KeptAccount(BaseModel):
    model_config = ConfigDict(extra="ignore")

    user_id: str = ""
    device_id: str = ""
    token: str = ""
    pickle_key: str = ""
    refresh_token: str = ""
    client_id: str = ""
    token_url: str = ""


class _Who(BaseModel):
    user_id: str
    device_id: str | None = None
    access_token: str = ""
    refresh_token: str = ""


class CredentialStore:
    """The account on disk, among the bot's secrets."""

    def __init__(self, secrets: KeptSecrets) -> None:
        self._secrets = secrets

    async def load(self) -> Account | None:
        """Raises MootError."""
        return _account_in(await self._secrets.read(ACCOUNT))

    async def save(self, account: Account) -> None:
        """Raises MootError."""
        await self._secrets.write(ACCOUNT, json.dumps(asdict(account)))


def is_signed_in(setup: BotSetup) -> bool:
    """True if somebody allowed the bot by OAuth 2.0, so that no other credentials are needed, or if
    only its database could tell."""
    if setup.secrets.rows is not None:
        return True
    kept = _account_in(read_file(setup.own_dir / ACCOUNT))
    return bool(kept and kept.client_id)


def _not_signed_in(bot: str, kept: Account | None) -> ConfigError:
    if not (kept and kept.client_id):
        return no_login(bot)
    return ConfigError(f"Matrix bot {bot!r} isn't signed in any more: `moot login {bot}`")


def no_login(bot: str) -> ConfigError:
    """Nobody said as whom it comes in."""
    return ConfigError(
        f"Matrix bot {bot!r}: set MATRIX_USER and MATRIX_PASSWORD, or MATRIX_TOKEN, or sign it in "
        f"by `moot login {bot}`"
    )


def _account_in(text: str | None) -> Account | None:
    try:
        kept = _KeptAccount.model_validate_json(text or "")
    except ValidationError:
        return None
    return Account(**kept.model_dump())


class Renewal:
    """Gets the next access token when one has expired. account: as it is on disk now."""

    def __init__(
        self, api: MatrixApi, wallet: CredentialStore, account: Account, learned: SecretSink
    ) -> None:
        self._api, self._wallet, self.account, self._learned = api, wallet, account, learned
        self._one = asyncio.Lock()

    async def __call__(self, refused: str) -> bool:
        """True if the calls' token is another one than that now. Raises PlatformError."""
        async with self._one:
            if self._api.token == refused:
                on_disk = await self._wallet.load()
                if on_disk and on_disk.token != refused:  # another process was faster
                    self._use(on_disk)
                else:
                    await self._refresh()
            return self._api.token != refused

    async def _refresh(self) -> None:
        """A refresh token is good for one time: the next one is on disk before it is used."""
        own = self.account
        try:
            if own.client_id:
                found = await oauth.refreshed(own.token_url, own.client_id, own.refresh_token)
            else:
                found = await self._api.refreshed(own.refresh_token)
        except TokenRefused:
            return
        token = str(found.get("access_token") or own.token)
        refresh_token = str(found.get("refresh_token") or own.refresh_token)
        renewed = replace(own, token=token, refresh_token=refresh_token)
        self._learned(token)
        self._learned(refresh_token)
        await self._wallet.save(renewed)
        self._use(renewed)

    def _use(self, account: Account) -> None:
        self.account, self._api.token = account, account.token


async def sign_in(
    api: MatrixApi,
    wallet: CredentialStore,
    given: Credentials,
    bot: str,
    learned: SecretSink = forget,
) -> Account:
    """The account, with a token that the homeserver takes; `api` uses it from now on.

    With a password the device of the last time is used again: it has the keys. Raises ConfigError
    when the homeserver won't have us.
    """
    kept = await wallet.load()
    for secret in (kept.token, kept.pickle_key, kept.refresh_token) if kept else ():
        learned(secret)
    if given.token:
        who = await _asked(api, given.token)
        if who is None:
            raise ConfigError(
                f"Matrix bot {bot!r}: the access token is refused: log in again and set "
                "MATRIX_TOKEN, or set MATRIX_USER and MATRIX_PASSWORD"
            )
        return await _take(api, wallet, _account(who, given.token, kept), kept)
    if kept and kept.token and _is_for(kept, given):
        if (own := await _kept_account(api, wallet, kept, learned)) is not None:
            return own
        log.warning("bot.login_renewed", bot=bot, reason="its stored token is refused")
    if not given.user:
        raise _not_signed_in(bot, kept)
    same_device = kept if kept and _same_user(kept.user_id, given.user) else None
    who = await _log_in(api, given, same_device.device_id if same_device else "", bot)
    learned(who.access_token)
    learned(who.refresh_token)
    own = await _take(api, wallet, _account(who, who.access_token, kept), kept)
    learned(own.pickle_key)
    api.renew = Renewal(api, wallet, own, learned) if own.refresh_token else None
    return own


async def sign_in_by_browser(
    api: MatrixApi, wallet: CredentialStore, say: oauth.Say, learned: SecretSink
) -> Account:
    """The account that somebody allows the bot in their browser. Raises ConfigError.

    The device of the last time is used again: it has the keys.
    """
    kept = await wallet.load()
    grant = await oauth.signed_in(api, kept.device_id if kept else "", say)
    for secret in (grant.token, grant.refresh_token):
        learned(secret)
    who = await _asked(api, grant.token)
    if who is None:
        raise ConfigError("the homeserver refuses the token that its own sign-in gave")
    own = replace(
        _account(who, grant.token, kept),
        refresh_token=grant.refresh_token,
        client_id=grant.client_id,
        token_url=grant.token_url,
    )
    learned(own.pickle_key)
    return await _take(api, wallet, own, kept)


async def _kept_account(
    api: MatrixApi, wallet: CredentialStore, kept: Account, learned: SecretSink
) -> Account | None:
    """The account of the last time, with its next token if need be; None when it is refused."""
    renewal = Renewal(api, wallet, kept, learned)
    api.renew = renewal if kept.refresh_token else None
    who = await _asked(api, kept.token)
    if who is None:
        api.renew = None
        return None
    now = renewal.account
    account = replace(now, user_id=who.user_id, device_id=who.device_id or "")
    return await _take(api, wallet, account, now)


def _is_for(kept: Account, given: Credentials) -> bool:
    """True if the account of the last time is the one that was given, or signed in by OAuth 2.0."""
    return _same_user(kept.user_id, given.user) if given.user else bool(kept.client_id)


def _same_user(user_id: str, given: str) -> bool:
    """True if `@name:server` is who `name` or `@name:server` names."""
    named = given if given.startswith("@") else f"@{given}"
    return user_id == named or user_id.partition(":")[0] == named


def _account(who: _Who, token: str, kept: Account | None) -> Account:
    """Who came in. What is stored of another account is left behind."""
    same = kept is not None and kept.user_id == who.user_id
    pickle_key = kept.pickle_key if kept and same and kept.pickle_key else secrets.token_hex(32)
    return Account(who.user_id, who.device_id or "", token, pickle_key, who.refresh_token)


async def _take(
    api: MatrixApi, wallet: CredentialStore, account: Account, kept: Account | None
) -> Account:
    if account != kept:
        await wallet.save(account)
    api.token = account.token
    return account


async def _asked(api: MatrixApi, token: str) -> _Who | None:
    """The account that a token belongs to; None when it is refused."""
    api.token = token
    try:
        return _Who.model_validate(await api.get(CLIENT + "/account/whoami"))
    except TokenRefused:
        return None
    except ValidationError as error:
        raise ConfigError(_no_homeserver(error)) from error


async def _log_in(api: MatrixApi, given: Credentials, device_id: str, bot: str) -> _Who:
    api.token = ""
    body: dict[str, Any] = {
        "type": "m.login.password",
        "identifier": {"type": "m.id.user", "user": given.user},
        "password": given.password,
        "initial_device_display_name": DEVICE_NAME,
        "refresh_token": True,
    }
    if device_id:
        body["device_id"] = device_id
    try:
        answer: Mapping[str, Any] = await api.post(CLIENT + "/login", body)
        return _Who.model_validate(answer)
    except (MatrixRefused, TokenRefused) as error:
        raise ConfigError(
            f"Matrix bot {bot!r}: the homeserver doesn't let {given.user} in ({error.code}): "
            "see MATRIX_USER and MATRIX_PASSWORD"
        ) from error
    except ValidationError as error:
        raise ConfigError(_no_homeserver(error)) from error


def _no_homeserver(error: ValidationError) -> str:
    fields = ", ".join(str(e["loc"][0]) for e in error.errors())
    return f"what answers at `url` is no Matrix homeserver: its answer lacks {fields}"
