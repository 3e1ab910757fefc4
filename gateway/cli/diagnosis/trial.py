"""The checks that the page asks for before it writes moot.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contract.values import dataclass
from gateway.settings.config import Config

if TYPE_CHECKING:
    from gateway.web.settings.values import Told


@dataclass(frozen=True, slots=True)
class PageTrial:
    """Those of `moot check` and `moot init`. file: moot.toml, which need not be there. config: what
    it said when Moot started."""

    file: Path
    config: Config

    def mistakes(self, config: Config, environment: Mapping[str, str]) -> Sequence[str]:
        """What `moot check` would call a mistake."""
        from gateway.cli.diagnosis.configuration import check  # nobody asks at the start

        return [found.text for found in check(config, environment) if found.mistake]

    async def ask(
        self, config: Config, number: int, environment: Mapping[str, str]
    ) -> Sequence[Told]:
        """What the platform of one [[bots]] table says."""
        from gateway.cli.diagnosis.platforms import try_bot
        from gateway.web.settings.values import Told

        found = await try_bot(config, number, environment)
        return [Told(one.mark, one.text) for one in found]
