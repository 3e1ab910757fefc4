"""Which of several gateways leads on a database of theirs, and which commits are in it."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "house",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "commits",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_commits_at", "commits", ["at"])
