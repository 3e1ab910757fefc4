"""The table of the rooms in which bots' accounts are."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("rooms", sa.Column("heard_by", sa.JSON(), nullable=True))
