"""The bot's own posts in Mattermost: made once each, changed, removed, and found again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from bots.kit.doubt import oldest
from bots.kit.questions import question_markdown
from bots.kit.recent import Recent
from bots.kit.wire import demanded
from bots.mattermost.api import MattermostApi, MattermostRefused
from bots.mattermost.directory import posts_of
from bots.mattermost.events import KEY, NOTE, Account, hook_of, millis
from bots.mattermost.text import written
from bots.mattermost.wire import WirePost
from contract.agent import Question
from contract.chat import SLASH, Destination

_REMEMBERED = 500
_LABEL_CHARS = 75  # a longer button breaks the row


class Posts:
    """me: our own account, asked for where nothing ran yet."""

    def __init__(self, api: MattermostApi, me: Callable[[], Awaitable[Account]]) -> None:
        self._api, self._me = api, me
        self._made: Recent[str, WirePost] = Recent(_REMEMBERED)
        self.press_url = ""  # where the server tells of buttons; "": nowhere

    async def post(
        self,
        place: Destination,
        text: str,
        key: str,
        *,
        file_ids: Sequence[str] = (),
        **props: object,
    ) -> str:
        """Post a text as Mattermost takes it. The same key twice is one post: the server knows it
        for thirty seconds, and `find` for ever."""
        if place.only_for and (hook := hook_of(place.only_for)):
            await self._api.respond(hook, text)
            return f"{SLASH}{hook}:{key}"
        channel, own = place.room.external_id, await self._me()
        body = {
            "channel_id": channel,
            "root_id": place.thread_id or "",
            "message": text,
            "file_ids": list(file_ids),
            "props": {KEY: key, **_voice(place), **props},
            "pending_post_id": f"{own.user_id}:{channel}:{key}",
        }
        return self._learn(await self._api.post("posts", body=body)).id

    async def note(self, place: Destination, text: str, key: str) -> str:
        return await self.post(place, "", key, attachments=[{"text": text}], **{NOTE: "yes"})

    async def edit(self, place: Destination, message_id: str, text: str) -> None:
        """Replace the text; the buttons of a question go, and all else that the post has stays."""
        made = self._made.get(message_id) or self._learn(await self._api.get("posts", message_id))
        body: dict[str, Any] = {"message": text}
        if made.props and "attachments" in made.props:
            body["props"] = {k: v for k, v in made.props.items() if k != "attachments"}
        self._learn(await self._api.put("posts", message_id, "patch", body=body))

    async def delete(self, place: Destination, message_id: str) -> None:
        try:
            await self._api.delete("posts", message_id)
        except MattermostRefused as error:
            if error.status != 404:
                raise

    async def find(self, place: Destination, key: str, since: datetime) -> str | None:
        """The id of the post that the key made, if it is there."""
        own, since_ms = await self._me(), millis(oldest(since))
        told = await self._api.get(
            "channels", place.room.external_id, "posts", since=max(since_ms, 1)
        )
        for post in posts_of(told):
            is_ours = post.user_id == own.user_id and post.prop(KEY) == key
            if is_ours and not post.delete_at and not post.original_id:
                self._made[post.id] = post
                return post.id
        return None

    def _learn(self, told: object) -> WirePost:
        made = demanded(WirePost, told, "Mattermost: a post", "unknown")
        self._made[made.id] = made
        return made

    def said_at(self, post_id: str) -> int | None:
        """The server's time of an own post; None: it isn't known."""
        made = self._made.get(post_id)
        return made.create_at if made else None

    # ── Questions ───────────────────────────────────────────────────────────────────────

    async def ask(self, place: Destination, question: Question, key: str) -> str:
        """With a button for each choice, where the server can tell of it."""
        text = written(question_markdown(question))
        if not self.press_url:
            return await self.post(place, text, key)
        buttons = [self._button(question, number) for number in range(len(question.options))]
        shown = {"text": "", "fallback": "", "actions": buttons}
        return await self.post(place, text, key, attachments=[shown])

    def _button(self, question: Question, number: int) -> Mapping[str, object]:
        """Its id may have letters and digits alone."""
        context = {"question": question.id, "option": number, "digest": question.digest}
        return {
            "id": f"choice{number}",
            "type": "button",
            "name": (question.options[number].label or f"!{number + 1}")[:_LABEL_CHARS],
            "integration": {"url": self.press_url, "context": context},
        }


def _voice(place: Destination) -> dict[str, str]:
    """The persona that speaks, where the account serves several. Clients show the name of a post
    that says it is a webhook's, and where the server allows it."""
    if place.voice is None:
        return {}
    icon = {"override_icon_url": place.voice.avatar} if place.voice.avatar else {}
    return {"from_webhook": "true", "override_username": place.voice.name, **icon}
