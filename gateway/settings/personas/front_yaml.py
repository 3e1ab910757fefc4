"""The YAML of a persona's front matter: the safe one, and no deeper than anybody writes it."""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 20  # lists in lists; PyYAML's time grows with the square of it


class FrontLoader(yaml.SafeLoader):
    """A safe loader that refuses what is nested deeper. Raises yaml.MarkedYAMLError."""

    def fetch_flow_collection_start(self, token_class: Any) -> None:
        """One more bracket or brace is open."""
        if self.flow_level >= MAX_DEPTH:
            raise yaml.scanner.ScannerError(None, None, "it is nested too deeply", self.get_mark())
        super().fetch_flow_collection_start(token_class)
