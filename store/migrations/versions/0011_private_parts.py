"""A message says itself what of it is private, in whatever spelling."""

import sqlalchemy as sa
from alembic import op

from contract.private import kind_of_private

revision = "0011"
down_revision = "0010"

ROWS = 1_000  # looked at together


def upgrade() -> None:
    op.drop_index("ix_messages_private", "messages")
    op.add_column("messages", sa.Column("private", sa.String()))
    said = sa.table("messages", *map(sa.column, ("seq", "content", "original", "private")))
    after = 0
    look = sa.select(said.c.seq, said.c.content, said.c.original).order_by(said.c.seq).limit(ROWS)
    while rows := op.get_bind().execute(look.where(said.c.seq > after)).all():
        for row in rows:
            if kind := kind_of_private(row.content, row.original or ""):
                op.execute(sa.update(said).where(said.c.seq == row.seq).values(private=kind))
        after = rows[-1].seq
    there = sa.text("private IS NOT NULL")
    op.create_index(
        "ix_messages_private",
        "messages",
        ["scope", "seq"],
        sqlite_where=there,
        postgresql_where=there,
    )
