"""Who may go on in a thread is chosen in a room; a post is found by its platform's id."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("room_settings", sa.Column("follow", sa.String()))
    op.add_column("room_settings", sa.Column("require_mention", sa.Boolean()))
    op.create_index("ix_posts_platform_id", "posts", ["platform_id"])
