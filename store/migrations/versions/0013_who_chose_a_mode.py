"""The mode `auto` holds as long as the one who chose it is an owner."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("room_settings", sa.Column("mode_by", sa.String()))
    op.execute("UPDATE room_settings SET mode_by = by_id WHERE mode IS NOT NULL")
