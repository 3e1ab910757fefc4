"""Erasures wait in the database for every machine on which a gateway led."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "machine_erasures",
        sa.Column("act", sa.String(), primary_key=True),
        sa.Column("what", sa.String(), primary_key=True),
        sa.Column("digest", sa.String(), primary_key=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )
