"""A program's token is known by its hash on each machine, whatever its owner's secret."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.add_column("page_tokens", sa.Column("hash", sa.String()))
