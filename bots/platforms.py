"""The platforms as they describe themselves, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from bots import PLATFORMS
from bots.kit.platform_spec import PlatformSpec


def _spec(name: str) -> PlatformSpec:
    spec = import_module(f"bots.{name}.settings").PLATFORM
    assert isinstance(spec, PlatformSpec)
    return spec


SPECS: Mapping[str, PlatformSpec] = {name: _spec(name) for name in PLATFORMS}
