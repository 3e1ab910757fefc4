"""An agent that is called by API: the Anthropic Messages API behind an `Agent`.

Its session is a conversation on disk, of people's prompts and its answers. What it thought and what
its tools told belongs to the turn in which it happened: within that it goes back to the API as it
came, as the API demands (the signatures of newer models hold for an unchanged beginning only), and
with the turn it is dropped as a whole, as the API allows.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import structlog

from adapters.agent import Launch, Reply, ToolReply
from adapters.api.conversation import SESSION_ID, Conversation
from adapters.api.faults import agent_error
from adapters.api.memory_tools import PREFIX, NamedTools
from adapters.api.pictures import shown_pictures
from adapters.api.request import Frame, make_request, tool_result
from adapters.api.settings import MODEL, ApiSettings, Thinking, ThinkingForm, forms
from adapters.api.speech import Speech
from adapters.records.spent import total
from adapters.records.work import WorkSteps
from adapters.session.session import AgentSession
from adapters.turn_events import ToolReport, cut_tool_text
from contract.agent import Answer, ToolUse, Usage
from contract.errors import AgentError
from contract.language import Phrase, later
from contract.work import Work
from llm.answer import ModelAnswer
from llm.client import AnthropicClient, ApiConnections
from llm.errors import ApiError

log = structlog.stdlib.get_logger("moot.api_agent")

TITLE = "Anthropic API"
ROUNDS = 16  # messages of the model in a turn; a search in the memory takes three or four
FULL = 0.7  # of the context: from there on the oldest turns are forgotten
KEPT = 0.4  # of it, then: so that a cached beginning holds for many turns
CHARS_A_TOKEN = 3.0  # until the API told how many there are; English has 4, code 3
DETAIL_CHARS = 200  # of a tool's input, for people


class ApiAgent(AgentSession["_Turn"]):
    """One session. Started by `start`; whoever starts it closes it."""

    def __init__(
        self,
        settings: ApiSettings,
        launch: Launch,
        *,
        api_key: str,
        base_url: str,
        connections: ApiConnections | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """api_key, base_url: of the API. connections: shared with others; None: its own."""
        super().__init__("anthropic", "I")
        self.session_id: str | None = None
        self.resumed = False
        self._settings = settings
        self._launch = launch
        self._clock = clock
        self._tools = NamedTools(launch.tools)
        model, most = launch.model or MODEL, settings.max_tokens
        self._frame = Frame(model, launch.persona, most, self._tools.offered)
        self._client = AnthropicClient(
            api_key=api_key,
            base_url=base_url,
            timeout_s=settings.timeout_s,
            max_retries=settings.max_retries,
            connections=connections,
        )
        self._closed = False
        self._refused: set[ThinkingForm] = set()
        self._forgot = False  # since the last answer

    async def start(self) -> None:
        """Make ready, without a call: a wrong key is told by the first answer."""
        wanted = self._launch.session_id
        known = wanted if wanted and SESSION_ID.fullmatch(wanted) else None
        self.session_id = known or str(uuid.uuid4())
        self._conversation = await asyncio.to_thread(
            Conversation.open, self._launch.home, self.session_id
        )
        self.resumed = len(self._conversation) > 0

    async def _end(self) -> None:
        self._closed = True
        await self._client.close()

    def alive(self) -> bool:
        """See `Agent.alive`."""
        return not self._closed

    @property
    def pid(self) -> None:
        """None: an API has no process."""

    def picture(self) -> Sequence[Sequence[tuple[str, str]]]:
        """There is no terminal."""
        return ()

    # ── One turn ────────────────────────────────────────────────────────────────────────

    async def ask(self, prompt: str, reply: Reply) -> Answer:
        """See `Agent.ask`. The one limit is how long the API may be silent, in the settings."""
        return await self._within(None, self._ask(prompt, reply))

    async def undo(self) -> str:
        """See `Undoing`: it changes no files."""
        self._conversation.undo()
        return ""

    async def _ask(self, prompt: str, reply: Reply) -> Answer:
        turn = self._run = _Turn(Speech(reply.draft, self._clock), reply.work)
        occasion = reply.occasion
        self._conversation.say("user", prompt, occasion.context, pictures=occasion.pictures)
        try:
            thinking = "off" if occasion.small_talk else self._settings.thinking
            return self._answer(turn, await self._converse(turn, thinking))
        except ApiError as error:
            failure = agent_error(error, self._frame.model)
            failure.partial = turn.partial()
            raise failure from error
        except AgentError as error:
            error.partial = error.partial or turn.partial()
            raise
        finally:
            self._conversation.say("assistant", turn.kept())

    async def _converse(self, turn: _Turn, thinking: Thinking) -> ModelAnswer:
        """The message that ends the turn. What is too long loses its oldest turns."""
        while True:
            try:
                return await self._rounds(turn, thinking)
            except ApiError as error:
                if error.fault != "too_long":
                    raise
                if not self._forget(self._conversation.chars // 2):
                    self._retract(turn)  # else every later question would be too long
                    raise
                log.info("api.too_long", reason=error)
                turn.begin_again()

    async def _rounds(self, turn: _Turn, thinking: Thinking) -> ModelAnswer:
        said = self._conversation.messages()
        pictures = await shown_pictures(said)  # read once, however often the model uses tools
        for number in range(ROUNDS):
            last = number == ROUNDS - 1
            request = partial(
                make_request, self._frame, said, turn.since, last_round=last, pictures=pictures
            )
            message = await self._send(turn, thinking, request)
            if message.stop_reason not in ("tool_use", "pause_turn") or last:
                break
            turn.speech.show()
            turn.since.append({"role": "assistant", "content": list(message.content)})
            if message.stop_reason == "tool_use":
                results = [await self._use(turn, block) for block in _uses(message)]
                turn.since.append({"role": "user", "content": results})
        return message

    async def _send(
        self, turn: _Turn, thinking: Thinking, request: Callable[..., dict[str, Any]]
    ) -> ModelAnswer:
        """One message of the model, in the first form of the request that the API takes."""
        refused: ApiError | None = None
        for form in self._forms(thinking):
            try:
                message = await self._stream(request(form=form.parameters()), turn.speech)
                turn.calls.append(message.usage)
            except ApiError as error:
                if error.fault != "refused":
                    raise
                refused = refused or error
                continue
            if refused is not None:
                self._learn(thinking, taken=form)
            return message
        self._retract(turn)  # it may be what is refused
        assert refused is not None
        raise refused

    async def _stream(self, request: Mapping[str, Any], speech: Speech) -> ModelAnswer:
        """The answer; what broke off in mid-answer is asked for once more. Raises ApiError."""
        speech.begin()
        show = {"on_text": speech.add, "on_block": speech.begin_block}
        try:
            return await self._client.stream(request, **show)
        except ApiError as error:
            if not error.broken:
                raise
        speech.again()
        return await self._client.stream(request, **show)

    def _forms(self, thinking: Thinking) -> list[ThinkingForm]:
        every = forms(thinking, self._settings.effort)
        return [form for form in every if form not in self._refused]

    def _learn(self, thinking: Thinking, *, taken: ThinkingForm) -> None:
        """The forms before the one that was taken need not be tried again."""
        every = self._forms(thinking)
        self._refused.update(every[: every.index(taken)])

    async def _use(self, turn: _Turn, block: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool that the model asked for."""
        name, given = str(block["name"]), block.get("input") or {}
        turn.begin_use(str(block["id"]), name, given)
        result = await self._tools.call(name, given)
        turn.use(str(block["id"]), name, given, result)
        return tool_result(str(block["id"]), result.text, failed=result.failed)

    # ── Its end ─────────────────────────────────────────────────────────────────────────

    def _answer(self, turn: _Turn, message: ModelAnswer) -> Answer:
        """The answer that the message ends. Raises AgentError when it is not a whole one."""
        if message.stop_reason == "refusal":  # it would be refused again with every later question
            self._retract(turn)
            turn.speech.clear()  # nor is the beginning of an answer one
            say = later("The model declined to answer that. Ask in other words.")
            raise AgentError("api", "stop_reason refusal", say=say)
        self._weigh(message.usage, turn)
        if message.stop_reason == "max_tokens":
            raise AgentError("api", "stop_reason max_tokens", say=self._cut_off(turn))
        if message.stop_reason == "model_context_window_exceeded":
            self._forget(self._conversation.chars // 2)
            say = later("My context is full. I let go of what was said first: ask me to go on.")
            raise AgentError("context", "the context is full", say=say)
        turn.done = True
        forgot, self._forgot = self._forgot, False
        tools, uses = tuple(turn.tools), tuple(turn.uses)
        return Answer(turn.speech.last(), "record", "api", tools, uses, forgot, total(turn.calls))

    def _cut_off(self, turn: _Turn) -> Phrase:
        most = f"{self._settings.max_tokens:,}"
        if turn.speech.last():
            return later("Cut off at {most} tokens (`max_tokens`). Ask me to go on.", most=most)
        return later(
            "I thought for all of my {most} tokens (`max_tokens`) and said nothing. "
            "Ask for less at a time.",
            most=most,
        )

    def _weigh(self, usage: Usage, turn: _Turn) -> None:
        """Forget the oldest turns when the context is nearly full."""
        context = self._settings.context_tokens
        tokens = usage.input_tokens + usage.output_tokens
        if tokens <= FULL * context:
            return
        chars = self._conversation.chars + len(turn.speech.all())
        chars_a_token = min(chars / tokens, CHARS_A_TOKEN)
        self._forget(int(KEPT * context * chars_a_token))

    def _retract(self, turn: _Turn) -> None:
        """Take the question back: the conversation goes on as if it had not been asked."""
        self._conversation.retract()
        turn.retracted = True

    def _forget(self, most_chars: int) -> bool:
        forgot = self._conversation.forget(most_chars)
        self._forgot = self._forgot or forgot
        return forgot


class _Turn:
    """One question and all that comes of it. since: messages of the model and of its tools."""

    def __init__(self, speech: Speech, show: Callable[[Work], None]) -> None:
        self.speech = speech
        self._show = show
        self._work = WorkSteps()
        self.done = False
        self.retracted = False
        self.calls: list[Usage] = []  # also those of an attempt that was begun again
        self.begin_again()

    def begin_again(self) -> None:
        """Forget what the model did."""
        self.since: list[Mapping[str, Any]] = []
        self.tools: list[str] = []
        self.uses: list[ToolUse] = []
        self.speech.clear()

    def begin_use(self, use_id: str, name: str, given: Mapping[str, Any]) -> None:
        """A tool is used."""
        self._work.note(ToolReport(use_id, name, json.dumps(given, ensure_ascii=False)))
        self._show(self._work.told())

    def use(self, use_id: str, name: str, given: Mapping[str, Any], result: ToolReply) -> None:
        """A tool was used."""
        words = json.dumps(given, ensure_ascii=False)
        self._work.note(ToolReport(use_id, name, "", result.text, result.failed))
        self._show(self._work.told())
        self.tools.append(f"{name.removeprefix(PREFIX)} {words}"[:DETAIL_CHARS])
        use = ToolUse(name, cut_tool_text(words), cut_tool_text(result.text), result.failed)
        self.uses.append(use)

    def partial(self) -> str:
        """The model's words until it failed."""
        return self.speech.all()

    def usage(self) -> None:
        """None: only whole answers are accounted."""

    def unfinished(self) -> bool:
        """False: a request that is cancelled is over."""
        return False

    async def break_off(self) -> bool:
        """True at once: nothing is left of it."""
        return True

    def kept(self) -> str:
        """The words that the conversation keeps of it."""
        if self.retracted:
            return ""
        return self.speech.last() if self.done else self.speech.all()


def _uses(message: ModelAnswer) -> list[Mapping[str, Any]]:
    return [block for block in message.content if block["type"] == "tool_use"]
