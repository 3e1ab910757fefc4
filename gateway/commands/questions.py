"""`!1`, `!2`, ...: an agent's permission question is answered."""

from __future__ import annotations

from contract.errors import Rejected
from contract.language import say
from contract.values import dataclass
from gateway.core.addressing import named
from gateway.questions.questions import Questions
from gateway.questions.typed import TypedChoice
from gateway.turns.commands import CommandRequest


@dataclass(frozen=True, slots=True)
class QuestionCommands:
    """Handles them."""

    questions: Questions

    async def run(self, request: CommandRequest) -> str:
        """Answer the question that is meant."""
        asked, option = request.asked, int(request.name) - 1
        personas = {one.name for one in named(asked.content, request.here) or request.here}
        try:
            return await self.questions.choose_typed(
                TypedChoice(option, request.argument, asked, personas, request.turn.room)
            )
        except Rejected:
            return say(
                "There is no choice `!{option}`: take one of those under the question.",
                option=option + 1,
            )
