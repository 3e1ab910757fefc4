"""The bot's account on its homeserver: how it comes in, and what it keeps for the next time."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from bots.bot import SecretSink, forget
from bots.kit.files import write
from bots.matrix.api import CLIENT, MatrixApi, MatrixRefused, TokenRefused
from contract.errors import ConfigError

log = structlog.stdlib.get_logger("moot.bots")

DEVICE_NAME = "Moot"


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
    """The bot's account. pickle_key: what its stored keys are encrypted with on disk."""

    user_id: str
    device_id: str
    token: str
    pickle_key: str


class _KeptAccount(BaseModel):
    model_config = ConfigDict(extra="ignore")

    user_id: str = ""
    device_id: str = ""
    token: str = ""
    pickle_key: str = ""


class _Who(BaseModel):
    user_id: str
    device_id: str | None = None
    access_token: str = ""


class CredentialStore:
    """The account on disk, in a file that only its owner may read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "account.json"

    def load(self) -> Account | None:
        try:
            kept = _KeptAccount.model_validate_json(self._path.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return Account(kept.user_id, kept.device_id, kept.token, kept.pickle_key)

    def save(self, account: Account) -> None:
        write(self._path, json.dumps(asdict(account)).encode())


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
    kept = wallet.load()
    for secret in (kept.token, kept.pickle_key) if kept else ():
        learned(secret)
    if given.token:
        who = await _asked(api, given.token)
        if who is None:
            raise ConfigError(
                f"Matrix bot {bot!r}: the access token is refused: log in again and set "
                "MATRIX_TOKEN, or set MATRIX_USER and MATRIX_PASSWORD"
            )
        return _take(api, wallet, who, given.token, kept)
    if kept and kept.token and _same_user(kept.user_id, given.user):
        who = await _asked(api, kept.token)
        if who is not None:
            return _take(api, wallet, who, kept.token, kept)
        log.warning("bot.login_renewed", bot=bot, reason="its stored token is refused")
    same_device = kept if kept and _same_user(kept.user_id, given.user) else None
    who = await _log_in(api, given, same_device.device_id if same_device else "", bot)
    learned(who.access_token)
    own = _take(api, wallet, who, who.access_token, kept)
    learned(own.pickle_key)
    return own


def _same_user(user_id: str, given: str) -> bool:
    """True if `@name:server` is who `name` or `@name:server` names."""
    named = given if given.startswith("@") else f"@{given}"
    return user_id == named or user_id.partition(":")[0] == named


def _take(
    api: MatrixApi, wallet: CredentialStore, who: _Who, token: str, kept: Account | None
) -> Account:
    """The account; what is stored of another account is left behind."""
    same = kept is not None and kept.user_id == who.user_id
    pickle_key = kept.pickle_key if kept and same and kept.pickle_key else secrets.token_hex(32)
    account = Account(who.user_id, who.device_id or "", token, pickle_key)
    if account != kept:
        wallet.save(account)
    api.token = token
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
