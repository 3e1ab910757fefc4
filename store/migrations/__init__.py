"""Alembic's migrations, run from the program itself; there is no alembic.ini.

Alembic is imported when something is migrated: it is a twentieth of what a start loads.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Bring the database behind `connection` to the newest version, in its transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
