"""A gateway that takes over has the login and the keys of each bot."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "bot_keys",
        sa.Column("bot", sa.String(), primary_key=True),
        sa.Column("device", sa.String(), primary_key=True),
        sa.Column("kind", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
