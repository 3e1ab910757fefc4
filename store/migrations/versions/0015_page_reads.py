"""How far somebody has read the rooms on the page, in whatever browser; what is there was read."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "page_reads",
        sa.Column("person_id", sa.String(), primary_key=True),
        sa.Column("room_id", sa.String(), primary_key=True),
        sa.Column("until", sa.BigInteger(), nullable=False),
    )
    op.execute(
        "INSERT INTO page_reads (person_id, room_id, until) "
        "SELECT page_users.id, messages.room_id, MAX(messages.sent_at) "
        "FROM page_users CROSS JOIN messages GROUP BY page_users.id, messages.room_id"
    )
