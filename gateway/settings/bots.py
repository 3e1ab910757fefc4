"""[[bots]] in moot.toml: a table a platform, which stands in the platform's own folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Union

from pydantic import Field

from bots.kit.platform_spec import BotTable
from bots.platforms import SPECS

TABLES: dict[str, type[BotTable]] = {name: spec.table for name, spec in SPECS.items()}

if TYPE_CHECKING:
    AnyBotTable = BotTable
else:
    AnyBotTable = Annotated[
        Union[tuple(TABLES.values())],  # noqa: UP007 - of as many as there are
        Field(discriminator="platform"),
    ]
