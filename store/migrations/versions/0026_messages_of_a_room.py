"""A room's messages are found in their order, however many there are."""

from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.create_index("ix_messages_room", "messages", ["room_id", "seq"])
