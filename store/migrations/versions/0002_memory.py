"""Tables for memory: facts, landmarks, episodes, insights, observations."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_TEXTS = "lower(content || coalesce(original, ''))"
_PRIVATE = ("private", "ｐｒｉｖａｔｅ", "ＰＲＩＶＡＴＥ")  # every tag of a private part has one
HAS_PRIVATE_PART = {  # by dialect; word for word what the index says, or it isn't used
    dialect: f"({' OR '.join(f'{find}({_TEXTS}, {word!r}) > 0' for word in _PRIVATE)})"
    for dialect, find in (("sqlite", "instr"), ("postgresql", "strpos"))
}


def upgrade() -> None:
    op.create_table(
        "agent_sessions",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("persona", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=True),
        sa.Column("subtitle", sa.String(), nullable=True),
        sa.Column("overview", sa.Text(), nullable=True),
        sa.Column("last_number", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("agent_sessions", schema=None) as batch_op:
        batch_op.create_index("ix_agent_sessions_scope", ["scope", "persona"], unique=False)

    op.create_table(
        "episodes",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("first_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("record", sa.JSON(), nullable=True),
        sa.Column("persona", sa.String(), nullable=True),
        sa.Column("plain", sa.Boolean(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("episodes", schema=None) as batch_op:
        batch_op.create_index("ix_episodes_scope", ["scope", "seq"], unique=False)

    op.create_table(
        "facts",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("person", sa.String(), nullable=True),
        sa.Column("person_name", sa.String(), nullable=True),
        sa.Column("persona", sa.String(), nullable=True),
        sa.Column("origin", sa.String(), nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("room_id", sa.String(), nullable=True),
        sa.Column("first_seq", sa.BigInteger(), nullable=True),
        sa.Column("last_seq", sa.BigInteger(), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("said_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("shared_from", sa.String(), nullable=True),
        sa.Column("replaced_by", sa.String(), nullable=True),
        sa.Column("indexed_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("id"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("facts", schema=None) as batch_op:
        batch_op.create_index("ix_facts_index", ["indexed_by"], unique=False)
        batch_op.create_index("ix_facts_person", ["person"], unique=False)
        batch_op.create_index("ix_facts_scope", ["scope", "seq"], unique=False)

    op.create_table(
        "insights",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("sender_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("insights", schema=None) as batch_op:
        batch_op.create_index("ix_insights_key", ["scope", "sender_id"], unique=False)

    op.create_table(
        "landmarks",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("by_id", sa.String(), nullable=False),
        sa.Column("by_name", sa.String(), nullable=False),
        sa.Column("message_seq", sa.BigInteger(), nullable=True),
        sa.Column("author_id", sa.String(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("landmarks", schema=None) as batch_op:
        batch_op.create_index("ix_landmarks_scope", ["scope", "seq"], unique=False)

    op.create_table(
        "model_calls",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("ms", sa.Integer(), nullable=False),
        sa.Column("fault", sa.String(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("model_calls", schema=None) as batch_op:
        batch_op.create_index("ix_model_calls_at", ["at"], unique=False)

    op.create_table(
        "observations",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("persona", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("subtitle", sa.Text(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("narrative", sa.Text(), nullable=False),
        sa.Column("concepts", sa.JSON(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("notes", sa.JSON(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("id"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("observations", schema=None) as batch_op:
        batch_op.create_index("ix_observations_scope", ["scope", "persona", "seq"], unique=False)

    op.create_table(
        "pointers",
        sa.Column("layer", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("tried_at", sa.BigInteger(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("layer", "scope"),
    )
    op.create_table(
        "staging",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("persona", sa.String(), nullable=True),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("first_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("found", sa.JSON(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("staging", schema=None) as batch_op:
        batch_op.create_index("ix_staging_scope", ["scope"], unique=False)

    op.create_table(
        "tool_uses",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("persona", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("given", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("tool_uses", schema=None) as batch_op:
        batch_op.create_index("ix_tool_uses_scope", ["scope", "persona"], unique=False)

    op.create_table(
        "fact_speakers",
        sa.Column("fact_seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("sender_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["fact_seq"], ["facts.seq"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("fact_seq", "sender_id"),
    )
    with op.batch_alter_table("fact_speakers", schema=None) as batch_op:
        batch_op.create_index("ix_fact_speakers_sender", ["sender_id"], unique=False)

    with op.batch_alter_table("rooms", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("include_in_memory", sa.Boolean(), server_default=sa.true(), nullable=False)
        )
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.create_index("ix_messages_sender", ["scope", "sender_id"], unique=False)
        batch_op.create_index(
            "ix_messages_private",
            ["scope", "seq"],
            unique=False,
            sqlite_where=sa.text(HAS_PRIVATE_PART["sqlite"]),
            postgresql_where=sa.text(HAS_PRIVATE_PART["postgresql"]),
        )
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.add_column(sa.Column("ended_at", sa.BigInteger(), nullable=True))
