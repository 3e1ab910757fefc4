"""What a BlueBubbles bot must not forget: its secret, its place in the history, its own posts.

Everything lies in a folder of its own, readable by nobody else. Blocks its thread.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bots.bluebubbles_wire import Millis
from contract import ConfigError

SECRET = re.compile(r"[A-Za-z0-9_-]{16,128}")
"""What may stand in an address without being escaped, and isn't guessed."""


class Place(BaseModel):
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


class Store:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def secret(self) -> str:
        """The webhook's secret; made when there is none. Raises ConfigError, OSError."""
        path = self._folder / "webhook_secret"
        if path.exists():
            secret = path.read_text(encoding="ascii", errors="replace").strip()
            if not SECRET.fullmatch(secret):
                raise ConfigError(f"{path} holds no secret: delete it, and a new one is made")
            return secret
        secret = secrets.token_urlsafe(32)
        self._write(path, secret)
        return secret

    def place(self) -> Place | None:
        return self._read("history.json", Place)

    def keep_place(self, place: Place) -> None:
        self._write(self._folder / "history.json", place.model_dump_json())

    def own_posts(self) -> OwnPosts:
        return self._read("own_posts.json", OwnPosts) or OwnPosts()

    def keep_own_posts(self, posts: OwnPosts) -> None:
        self._write(self._folder / "own_posts.json", posts.model_dump_json())

    def _read(self, name: str, model: type[M]) -> M | None:
        """Raises ConfigError when the file is there and isn't ours."""
        path = self._folder / name
        try:
            return model.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            raise ConfigError(f"{path} can't be read: delete it to begin anew") from None

    def _write(self, path: Path, text: str) -> None:
        """Whole or not at all; on disk when this returns."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = path.with_name(f".{path.name}.part")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
