"""The room's side of an ask that nobody watches."""

from __future__ import annotations

from dataclasses import field

from adapters.agent import TurnContext
from contract.agent import Question
from contract.values import dataclass
from contract.work import Work
from gateway.questions.open_question import refusing


@dataclass(slots=True)
class UnwatchedReply:
    """Refuses every permission question. said: the newest draft. asked: the questions' titles."""

    occasion: TurnContext = field(default_factory=TurnContext)
    asked: list[str] = field(default_factory=list)
    said: str = ""

    def draft(self, text: str) -> None:
        self.said = text

    def work(self, work: Work) -> None:
        """Nobody watches."""

    async def choose(self, question: Question) -> int:
        self.asked.append(question.title)
        return refusing(question)
