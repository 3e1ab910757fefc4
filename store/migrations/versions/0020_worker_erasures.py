"""Erasures wait in the database for workers, until each has said that a scope is gone."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "worker_erasures",
        sa.Column("place", sa.String(), primary_key=True),
        sa.Column("scope_digest", sa.String(), primary_key=True),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )
