"""`!1`, `!2`, ...: an agent's permission question is answered."""

from __future__ import annotations

from dataclasses import dataclass

from contract.errors import Rejected
from gateway.core.addressing import named
from gateway.questions.questions import Questions
from gateway.turns.commands import CommandRequest


@dataclass(frozen=True, slots=True)
class QuestionCommands:
    """Handles them."""

    questions: Questions

    async def run(self, request: CommandRequest) -> str:
        """Answer the question that is meant."""
        asked = request.asked
        option = int(request.name) - 1
        meant = self.questions.meant(
            request.turn.room.id,
            personas={
                persona.name for persona in named(asked.content, request.here) or request.here
            },
            thread_id=asked.thread_id,
            reply_to=asked.reply_to,
        )
        if not meant:
            return "Nothing is being asked here."
        if len(meant) > 1:
            return "More than one question waits here: reply to the one you mean, or name who asks."
        try:
            choice = self.questions.choose(meant[0], option, asked.by)
        except Rejected:
            return f"There is no choice `!{option + 1}`: take one of those under the question."
        return self.questions.reply(choice, meant[0], asked.by)
