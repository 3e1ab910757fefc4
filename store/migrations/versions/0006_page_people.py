"""Who has an account on the page, where they are signed in, and programs' tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "page_users",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
    )
    op.create_table(
        "page_sessions",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("hash", sa.String(), nullable=False, unique=True),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("user_agent", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
    )
    op.create_index("ix_page_sessions_person", "page_sessions", ["person_id"])
    op.create_table(
        "page_links",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("hash", sa.String(), nullable=False, unique=True),
        sa.Column("person_id", sa.String()),
        sa.Column("person_name", sa.String(), nullable=False),
        sa.Column("role", sa.String()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "page_tokens",
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("salt", sa.String(), nullable=False),
        sa.Column("reads", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
    )
