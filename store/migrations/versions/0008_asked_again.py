"""A turn may ask a persona again what a message asked it before."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

ONCE = sa.text("persona != '' OR kind != 'notice'")


def upgrade() -> None:
    op.add_column(
        "turns", sa.Column("again", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
    )
    op.drop_index("ix_turns_once", "turns")
    op.create_index(
        "ix_turns_once",
        "turns",
        ["message_seq", "persona", "again"],
        unique=True,
        sqlite_where=ONCE,
        postgresql_where=ONCE,
    )
