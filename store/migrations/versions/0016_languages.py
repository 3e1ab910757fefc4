"""The language of a room is chosen in it."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("room_settings", sa.Column("language", sa.String()))
