"""A link remembers who made it, and a schedule by which program it was made in somebody's name."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    for name in ("by_id", "by_name"):
        unknown = sa.text("''")
        new = sa.Column(name, sa.String(), nullable=False, server_default=unknown)
        op.add_column("page_links", new)
    for name in ("through_id", "through_name"):
        op.add_column("schedules", sa.Column(name, sa.String()))
