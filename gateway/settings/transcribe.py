"""[transcribe] in moot.toml: who writes down what people say in voice messages."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from bots.kit.platform_spec import Url
from gateway.settings.tables import Table, words

KEY = "MOOT_TRANSCRIBE_KEY"
"""The variable of the endpoint's key; an endpoint of one's own may need none."""

FILE = "{file}"
"""Stands for the path of the sound file in a command."""


def _with_file(value: tuple[str, ...]) -> tuple[str, ...]:
    return value if any(FILE in word for word in value) or not value else (*value, FILE)


class TranscribeTable(Table):
    """[transcribe]; see docs/configuration.md."""

    command: Annotated[tuple[str, ...], BeforeValidator(words), AfterValidator(_with_file)] = ()
    url: Url | None = None
    model: str = "whisper-1"
    language: Annotated[str, Field(pattern=r"^([a-z]{2,3})?$")] = ""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    file_mb: Annotated[int, Field(ge=1, le=1000)] = 25

    @model_validator(mode="after")
    def _one_way(self) -> TranscribeTable:
        if bool(self.command) == bool(self.url):
            raise ValueError("name either a command or a url")
        return self
