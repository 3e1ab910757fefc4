"""Which person of the page signs in at a provider of OpenID Connect, and as whom there."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "page_subjects",
        sa.Column("issuer", sa.String(), primary_key=True),
        sa.Column("subject", sa.String(), primary_key=True),
        sa.Column("person_id", sa.String(), nullable=False, unique=True),
        sa.Column("how", sa.String(), nullable=False),
        sa.Column("bound_at", sa.BigInteger(), nullable=False),
    )
