"""The routes below /api/settings: moot.toml, what a change of it would do, and writing it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web
from pydantic import BaseModel, ConfigDict

from contract.chat import Speaker
from contract.errors import ConfigError
from contract.values import dataclass
from gateway.web.body import answer, parse, read_object
from gateway.web.plain_json import error
from gateway.web.settings.service import SettingsService
from gateway.web.settings.values import Change, Changed, NewBot, Unfit
from gateway.web.signin.caller import acting, caller_of
from gateway.web.signin.speaker import Chooser

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ChangeBody(BaseModel):
    """A change, and the form of the file that it began from."""

    model_config = ConfigDict(strict=True, extra="forbid")

    change: Change
    base: str
    by: str | Chooser | None = None


class TryBody(BaseModel):
    """A bot that is to be tried."""

    model_config = ConfigDict(strict=True, extra="forbid")

    bot: NewBot


@dataclass(frozen=True, slots=True)
class SettingsApi:
    """The routes. They are for owners: see web/auth.py."""

    settings: SettingsService

    def routes(self) -> list[web.RouteDef]:
        """Every route below /api/settings."""
        at = "/api/settings"
        return [
            web.get(at, _answered(self.read)),
            web.put(at, _answered(self.save)),
            web.post(f"{at}/preview", _answered(self.preview)),
            web.post(f"{at}/bot", _answered(self.try_bot)),
        ]

    async def read(self, request: web.Request) -> web.Response:
        return answer(self.settings.view())

    async def preview(self, request: web.Request) -> web.Response:
        body = parse(ChangeBody, await read_object(request))
        acting(request, body.by)
        return answer(await self.settings.propose(body.change, body.base, _person(request)))

    async def save(self, request: web.Request) -> web.Response:
        body = parse(ChangeBody, await read_object(request))
        by = acting(request, body.by)
        return answer(await self.settings.save(body.change, body.base, by, _person(request)))

    async def try_bot(self, request: web.Request) -> web.Response:
        body = parse(TryBody, await read_object(request))
        return answer({"said": await self.settings.try_bot(body.bot)})


def _person(request: web.Request) -> Speaker | None:
    """Whoever is signed in; None: a program, whose token no table takes away."""
    caller = caller_of(request)
    return caller.person if caller.is_person else None


def _answered(handler: Handler) -> Handler:
    """Turn what can't be done into the status that says why."""

    async def answered(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except Unfit as fault:
            key, reason = next(iter(fault.faults.items()))
            told = {"field": key or None, "message": fault.say or reason}
            return answer({"error": told, "faults": fault.faults}, 422)
        except Changed as fault:
            return error(409, fault.phrase, "base")
        except ConfigError as fault:
            return error(400, fault.phrase)

    return answered
