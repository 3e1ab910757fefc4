"""The editor of moot.toml over a running gateway."""

from __future__ import annotations

import os
from pathlib import Path

from gateway.cli.diagnosis.trial import PageTrial
from gateway.settings.config import load_config
from gateway.web.settings.service import Installed, SettingsService
from tests.doubles.running import Opened


def settings_of(moot: Opened, file: Path) -> SettingsService:
    """Of the moot.toml at that place, which need not be there. The running one said the same."""
    trial = PageTrial(file, load_config(None, base=file.parent))
    house = moot.house
    learn = house.context.redactor.learn
    return SettingsService(
        Installed(os.environ, trial, trial.config, learn),
        house.access,
        house.personas,
        house.transcript,
        house.audit,
        house.settings_changed,
    )
