"""What a deleted person had said is not stored again when its platform tells it again."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "tombstones",
        sa.Column("who", sa.String(), primary_key=True),
        sa.Column("salt", sa.String(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
    )
