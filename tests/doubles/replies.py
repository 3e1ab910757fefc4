"""The room's side of a turn, recorded."""

import asyncio
from collections.abc import Sequence

from adapters.agent import TurnContext
from contract.agent import Question
from contract.work import Work


class Replies:
    """A `Reply` that remembers drafts and questions; answers these from `choices`, else waits."""

    def __init__(self, choices: Sequence[int] = (), occasion: TurnContext | None = None) -> None:
        self.occasion = occasion or TurnContext()
        self.drafts: list[str] = []
        self.works: list[Work] = []
        self.questions: list[Question] = []
        self.withdrawn = 0
        self.drafted = asyncio.Event()
        self.asked = asyncio.Event()
        self._choices = list(choices)

    def draft(self, text: str) -> None:
        self.drafts.append(text)
        self.drafted.set()

    def work(self, work: Work) -> None:
        self.works.append(work)

    async def choose(self, question: Question) -> int:
        self.questions.append(question)
        self.asked.set()
        if self._choices:
            return self._choices.pop(0)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        raise AssertionError
