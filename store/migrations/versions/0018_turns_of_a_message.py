"""The turns of a message are found by an index, not among all that there are."""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_index("ix_turns_message", "turns", ["message_seq"])
