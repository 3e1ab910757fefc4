"""Signs the account in, and says what it lacks; always with a remedy."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from pydantic import ValidationError

from bots.bot import SecretSink, forget
from bots.rocketchat.api import RocketApi, RocketRefused
from bots.rocketchat.ddp import Ddp, DdpRefused
from bots.rocketchat.events import Account
from bots.rocketchat.wire import WirePerson
from contract.errors import ConfigError, PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

ROLE_REMEDY = (
    "Administration → Workspace → Users → {name} → Edit → Roles: add “bot” (without it the server "
    "takes 10 calls a minute: drafts are edited every 15 s and answers may be late)"
)

# What the role has from the beginning, and what it is for.
WANTED = {
    "api-bypass-rate-limit": "drafts and answers without waiting",
    "view-full-other-user-info": "telling other bots from people",
}
_SETTINGS = (
    "Message_MaxAllowedSize",
    "Message_AllowEditing",
    "FileUpload_Enabled",
    "UI_Use_Real_Name",
    "Message_AllowEditing_BlockEditInMinutes",
)
_LATE_EDITS = "bypass-time-limit-edit-and-delete"  # the role's from the beginning


@dataclass(frozen=True, slots=True)
class Credentials:
    """A personal access token with its user id, or a user name with its password."""

    user_id: str = ""
    token: str = ""
    username: str = ""
    password: str = ""

    @property
    def digest(self) -> str:
        """The password as DDP has it."""
        return hashlib.sha256(self.password.encode()).hexdigest()

    def credentials(self, token: str) -> Mapping[str, Any]:
        """DDP's login. token: from an earlier login of this process, or the account's own."""
        if token:
            return {"resume": token}
        user = {"email" if "@" in self.username else "username": self.username}
        return {"user": user, "password": {"digest": self.digest, "algorithm": "sha-256"}}


class SignIn:
    """Signs the account in, over DDP for the stream and with its token for REST."""

    def __init__(
        self, api: RocketApi, login: Credentials, bot: str, learned: SecretSink = forget
    ) -> None:
        self._api, self._login, self._bot, self._learned = api, login, bot, learned
        self._given = ""  # the token that a login by password gave
        self._renewing = asyncio.Lock()
        if login.token:
            api.sign_in(login.user_id, login.token)
        else:
            learned(login.digest)  # logs in as well as the password does
            api.renew = self._renew

    async def enter(self, ddp: Ddp) -> str:
        """The account's user id. Raises ConfigError when it is refused."""
        try:
            user_id, token = await self._entered(ddp)
        except DdpRefused as error:
            if error.code in ("too-many-requests", "error-too-many-requests"):
                raise PlatformError(str(error), outcome="retry", retry_after_s=10.0) from error
            raise self._refused(error.reason) from error
        if not self._login.token:
            self._take(user_id, token)
        elif user_id and user_id != self._login.user_id:
            raise ConfigError(
                f"Rocket.Chat bot {self._bot!r}: the token isn't that of ROCKETCHAT_USER_ID: it "
                f"belongs to {user_id}"
            )
        return user_id or self._login.user_id

    async def _entered(self, ddp: Ddp) -> tuple[str, str]:
        known = self._login.token or self._given
        try:
            return await ddp.login(self._login.credentials(known))
        except DdpRefused:
            if not self._given or self._login.token:
                raise
            self._given = ""  # it has run out; the password is still good
            return await ddp.login(self._login.credentials(""))

    async def _renew(self, stale: str) -> bool:
        """REST's way in, for a token that ran out while the socket stayed open."""
        async with self._renewing:
            if self._api.token != stale:
                return True
            try:
                user_id, token = await self._api.login(self._login.username, self._login.password)
            except RocketRefused as error:
                log.warning("bot.login_refused", reason=self._refused(error.code))
                return False
            self._take(user_id, token)
            return True

    def _take(self, user_id: str, token: str) -> None:
        self._learned(token)
        self._given = token
        self._api.sign_in(user_id, token)

    def _refused(self, why: str) -> ConfigError:
        remedy = (
            "make a personal access token (avatar → Profile → Personal Access Tokens, “Ignore "
            "Two Factor Authentication” ticked) and set ROCKETCHAT_TOKEN and ROCKETCHAT_USER_ID"
            if self._login.token
            else "check ROCKETCHAT_USER and ROCKETCHAT_PASSWORD"
        )
        return ConfigError(f"Rocket.Chat bot {self._bot!r}: the login is refused ({why}): {remedy}")

    async def account(self) -> Account:
        """The bot's own account. Raises ConfigError when REST refuses the token."""
        try:
            answer = await self._api.get("me")
        except RocketRefused as error:
            if error.status in (401, 403):
                raise self._refused(error.code) from error
            log.warning("roles.unknown", reason=error)
            answer = {}
        try:
            me = WirePerson.model_validate(answer)
        except ValidationError:
            me = WirePerson.model_validate({})
        user_id = me.id or self._login.user_id
        username = me.username or self._login.username
        roles = None if me.roles is None else frozenset(me.roles)
        return Account(user_id, username, me.name or "", roles, self._api.counted)


@dataclass(frozen=True, slots=True)
class ServerRules:
    """The public settings that matter; None where the server doesn't tell.

    edit_minutes: how long a message may be edited; 0: for ever.
    """

    most_chars: int | None = None
    editing: bool | None = None
    files: bool | None = None
    real_names: bool | None = None
    edit_minutes: int | None = None


async def rules(api: RocketApi) -> ServerRules:
    """The server's rules, as far as it tells them. Never raises PlatformError."""
    try:
        answer = await api.get("settings.public", _id=",".join(_SETTINGS), count=len(_SETTINGS))
    except PlatformError as error:
        log.info("rules.unknown", reason=error)
        return ServerRules()
    told = {
        entry.get("_id"): entry.get("value")
        for entry in answer.get("settings") or ()
        if isinstance(entry, dict)
    }
    size, *flags, minutes = (told.get(name) for name in _SETTINGS)
    editing, files, real_names = (flag if isinstance(flag, bool) else None for flag in flags)
    most_chars, edit_minutes = (
        int(str(value)) if str(value).isdecimal() else None for value in (size, minutes)
    )
    return ServerRules(most_chars, editing, files, real_names, edit_minutes)


async def lacks(api: RocketApi, own: Account, personas: Sequence[str]) -> list[str]:
    """One line with its remedy for each thing that is missing."""
    name = f"@{own.username}"
    missing = (
        [] if own.unlimited else [f"{name} lacks the role bot: {ROLE_REMEDY.format(name=name)}"]
    )
    permissions = await _permissions(api)
    wanted = dict(WANTED) if own.unlimited else {}
    if len(personas) > 1:
        wanted["message-impersonate"] = "each persona under its own name"
    for permission, purpose in wanted.items():
        holders = permissions.get(permission)
        if holders is not None and not holders & {*(own.roles or ()), "user"}:
            missing.append(
                f"{name} lacks the permission {permission} ({purpose}): Administration → "
                f"Workspace → Permissions → {permission}: tick “bot”"
            )
    told = await rules(api)
    if told.editing is False:
        missing.append(
            "messages can't be edited, so there are no drafts: Administration → Workspace → "
            "Settings → Message → Allow Message Editing"
        )
    late = permissions.get(_LATE_EDITS, set()) & {*(own.roles or ()), "user"}
    if told.edit_minutes and not late:
        missing.append(
            f"messages can be edited for {told.edit_minutes} minutes only, so the draft of a "
            "longer turn is replaced by a new post: Administration → "
            f"Workspace → Permissions → {_LATE_EDITS}: tick “bot”"
        )
    if told.files is False:
        missing.append(
            "files are refused: Administration → Workspace → Settings → File Upload → File "
            "Uploads Enabled"
        )
    return missing


async def _permissions(api: RocketApi) -> dict[str, set[str]]:
    """Permission to roles; empty where the server doesn't tell."""
    try:
        answer = await api.get("permissions.listAll")
    except PlatformError as error:
        log.info("permissions.unknown", reason=error)
        return {}
    return {
        str(entry.get("_id")): {str(role) for role in entry.get("roles") or ()}
        for entry in answer.get("update") or ()
        if isinstance(entry, dict)
    }
