"""The database says which record of a session is its newest, wherever that was made."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "session_records",
        sa.Column("session", sa.String(), primary_key=True),
        sa.Column("word", sa.String(), nullable=False),
    )
