"""hermes-agent."""

from aiohttp import web

from adapters.profiles.hermes import HERMES
from tests.doubles.chat_api import ChatAPI, Request
from tests.doubles.model_steps import ToolUse
from tests.every_agent.stage import INSTALLED, Cli


def dangerous(command: str) -> ToolUse:
    """It asks only before what it holds for dangerous."""
    path = command.split()[-1]
    return ToolUse("terminal", {"command": f"{command} && chmod 777 {path}"})


PROBED = (
    *("/api/v1/models", "/api/tags", "/api/show", "/v1/props", "/props", "/version"),
    "/v1/models/double",
)


class LocalAPI(ChatAPI):
    """hermes asks an API on this machine whether it is one of four local servers."""

    async def _dispatch(self, request: web.Request, seen: Request) -> web.StreamResponse | None:
        if request.path in PROBED:
            return web.json_response({}, status=404)
        return await super()._dispatch(request, seen)


CLI = Cli(
    profile=HERMES,
    program=INSTALLED / "venvs" / "hermes" / "bin" / "hermes",
    api=LocalAPI,
    env=lambda url: {"OPENAI_API_KEY": "sk-dummy-0000", "OPENAI_BASE_URL": f"{url}/v1"},
    edit=lambda path: ToolUse("write_file", {"path": path, "content": "x"}),
    shell=dangerous,
    model="double",
    merges=True,
    lacks={"test_a_stop_ends_what_its_command_left_behind": "it refuses such commands"},
    silence=("(empty)",),
)
