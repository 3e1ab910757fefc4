"""A session may be a thread's; more is chosen in a room than a model."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

OF_SESSIONS = ("persona", "scope", "agent", "agent_session_id", "used_at", "ended_at")
OF_ROOM_SETTINGS = ("scope", "persona", "model", "by_id", "at")


def upgrade() -> None:
    op.add_column(
        "turns", sa.Column("session_thread", sa.String(), nullable=False, server_default="")
    )
    _make_again(
        "sessions",
        OF_SESSIONS,
        sa.Column("persona", sa.String(), primary_key=True),
        sa.Column("scope", sa.String(), primary_key=True),
        sa.Column("thread_id", sa.String(), primary_key=True),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("agent_session_id", sa.String()),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
    )
    _make_again(
        "room_settings",
        OF_ROOM_SETTINGS,
        sa.Column("scope", sa.String(), primary_key=True),
        sa.Column("persona", sa.String(), primary_key=True),
        sa.Column("thread_id", sa.String(), primary_key=True),
        sa.Column("model", sa.String()),
        sa.Column("sessions", sa.String()),
        sa.Column("workspace", sa.String()),
        sa.Column("mode", sa.String()),
        sa.Column("by_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )


def _make_again(name: str, copied: tuple[str, ...], *columns: Any) -> None:
    """A table with another key, and its rows: SQLite can't change a key."""
    old = f"old_{name}"
    op.rename_table(name, old)
    if op.get_bind().dialect.name != "sqlite":  # the name of its key is taken otherwise
        op.execute(f"ALTER INDEX {name}_pkey RENAME TO {old}_pkey")
    made = op.create_table(name, *columns)
    before = sa.table(old, *(sa.column(column) for column in copied))
    rows = sa.select(*before.c, sa.literal(""))
    op.execute(sa.insert(made).from_select([*copied, "thread_id"], rows))
    op.drop_table(old)
