"""The routes below /api/admin/connect: an agent is tried for real, and given to a persona."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import Field

from contract.chat import Room
from contract.errors import Busy, ConfigError
from contract.values import dataclass
from gateway.settings.personas.faults import Conflict, Unsound
from gateway.setup.connecting import Connecting, Way, Wish
from gateway.web.body import ChoosingBody, answer, parse, read_object
from gateway.web.plain_json import error
from gateway.web.signin.caller import acting

HERE = Room("web:connect", "Connect an agent")  # where the audit log says that it was done


class ConnectBody(ChoosingBody):
    """A persona's agent, with its login and its folder; see `Wish`."""

    persona: str = Field(max_length=100)
    agent: str = Field(max_length=100)
    way: Way
    key: str = Field("", max_length=100)
    value: str = Field("", max_length=10_000)
    workspace: str = Field("", max_length=4_000)

    def wish(self) -> Wish:
        """What was filled in, without blanks around it."""
        value, workspace = self.value.strip(), self.workspace.strip()
        return Wish(self.persona, self.agent, self.way, self.key, value, workspace)


@dataclass(frozen=True, slots=True)
class ConnectApi:
    """The routes. They are for owners: see web/auth.py."""

    connecting: Connecting | None

    def routes(self) -> list[web.RouteDef]:
        """Every route; none where no program can be started."""
        if self.connecting is None:
            return []
        at = "/api/admin/connect"
        return [
            web.get(at, self.agents),
            web.post(f"{at}/try", _answered(self.try_out)),
            web.post(at, _answered(self.save)),
        ]

    async def agents(self, request: web.Request) -> web.Response:
        assert self.connecting is not None
        found = {
            "agents": self.connecting.agents(),
            "personas": await self.connecting.personas(),
            "folder": self.connecting.folder(),
        }
        return answer(found)

    async def try_out(self, request: web.Request) -> web.Response:
        assert self.connecting is not None
        body = parse(ConnectBody, await read_object(request))
        return answer(await self.connecting.try_out(body.wish()))

    async def save(self, request: web.Request) -> web.Response:
        assert self.connecting is not None
        body = parse(ConnectBody, await read_object(request))
        text = await self.connecting.save(body.wish(), acting(request, body.by), HERE)
        return answer({"persona": body.persona, "text": text})


def _answered(handler: Handler) -> Handler:
    """Turn what can't be done into the status that says why."""

    async def answered(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except Busy as fault:
            return error(409, fault.phrase)
        except Conflict as fault:
            return error(409, fault.phrase, "persona")
        except Unsound as fault:
            return error(422, fault.phrase, "persona")
        except ConfigError as fault:
            return error(400, fault.phrase, "persona")

    return answered
