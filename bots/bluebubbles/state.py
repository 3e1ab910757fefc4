"""What a BlueBubbles bot must not forget: its secret, its place in the history, its own posts.

Everything lies in a folder of its own, readable by nobody else.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bots.bluebubbles.wire import Millis
from bots.kit.cursor import JsonState
from bots.kit.files import write
from contract.errors import ConfigError

SECRET = re.compile(r"[A-Za-z0-9_-]{16,128}")
"""What may stand in an address without being escaped, and isn't guessed."""


class HistoryPosition(BaseModel):
    """How far the history was read. began_ms: the first start ever, nothing before it is read.

    webhooks: addresses that were registered at the server.
    """

    model_config = ConfigDict(frozen=True)

    began_ms: Millis
    read_ms: Millis
    webhooks: tuple[str, ...] = ()


class OwnPost(BaseModel):
    """A message that we sent, or tried to. mark: of its text (see `Echoes`); guid: "" until known.

    chat: the part of its chat's guid that stays.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    chat: str
    mark: str
    at_ms: Millis
    guid: str = ""


class OwnPosts(BaseModel):
    model_config = ConfigDict(frozen=True)

    posts: Annotated[list[OwnPost], Field()] = []


M = TypeVar("M", bound=BaseModel)


class BlueBubblesState:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._place = JsonState(folder / "history.json", HistoryPosition)
        self._own_posts = JsonState(folder / "own_posts.json", OwnPosts)

    def secret(self) -> str:
        """The webhook's secret; made when there is none. Raises ConfigError, OSError.

        Blocks its thread.
        """
        path = self._folder / "webhook_secret"
        if path.exists():
            secret = path.read_text(encoding="ascii", errors="replace").strip()
            if not SECRET.fullmatch(secret):
                raise ConfigError(f"{path} holds no secret: delete it, and a new one is made")
            return secret
        secret = secrets.token_urlsafe(32)
        write(path, secret.encode())
        return secret

    async def place(self) -> HistoryPosition | None:
        return await asyncio.to_thread(_read, self._place)

    async def keep_place(self, place: HistoryPosition) -> None:
        await self._place.save(place)

    async def own_posts(self) -> OwnPosts:
        return await asyncio.to_thread(_read, self._own_posts) or OwnPosts()

    async def keep_own_posts(self, posts: OwnPosts) -> None:
        await self._own_posts.save(posts)


def _read(kept: JsonState[M]) -> M | None:
    """Raises ConfigError when the file is there and isn't ours."""
    try:
        return kept.read()
    except ValidationError:
        raise ConfigError(f"{kept.path} can't be read: delete it to begin anew") from None
