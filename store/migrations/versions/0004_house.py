"""The house itself: access, the audit log, usage, persona versions, schedules."""

import sqlalchemy as sa
from alembic import op

from store.turn_metrics import fill_turn_metrics

revision = "0004"
down_revision = "0003"

# What a row of `audit` may still lose: whose it was, or what it was about, a half as a whole.
LOSS = """
    NEW.seq IS NOT DISTINCT FROM OLD.seq AND NEW.at IS NOT DISTINCT FROM OLD.at
    AND NEW.act IS NOT DISTINCT FROM OLD.act AND NEW.persona IS NOT DISTINCT FROM OLD.persona
    AND NEW.turn_id IS NOT DISTINCT FROM OLD.turn_id
    AND NEW.who_digest = OLD.who_digest AND NEW.what_digest = OLD.what_digest
    AND NEW.before = OLD.before AND NEW.hash = OLD.hash
    AND (
        (NEW.who_salt = OLD.who_salt AND NEW.by_id = OLD.by_id AND NEW.by_name = OLD.by_name)
        OR (NEW.who_salt = '' AND NEW.by_id = '' AND NEW.by_name = '')
    )
    AND (
        (NEW.what_salt = OLD.what_salt AND NEW.room_id IS NOT DISTINCT FROM OLD.room_id
            AND CAST(NEW.detail AS TEXT) = CAST(OLD.detail AS TEXT))
        OR (NEW.what_salt = '' AND NEW.room_id IS NULL AND CAST(NEW.detail AS TEXT) = '{}')
    )
"""
REFUSAL = "the audit log is append-only"


def _protect_audit() -> None:
    """Refuse every change of a row but the loss of personal data, and every deletion."""
    if op.get_bind().dialect.name == "sqlite":
        loss = LOSS.replace("IS NOT DISTINCT FROM", "IS")
        for name, when in (
            ("update", f"UPDATE ON audit WHEN NOT ({loss})"),
            ("delete", "DELETE ON audit"),
            ("replace", "INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)"),
        ):
            op.execute(
                f"CREATE TRIGGER audit_no_{name} BEFORE {when} "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
    )
    for name, when in (
        ("update", f"BEFORE UPDATE ON audit FOR EACH ROW WHEN (NOT ({LOSS}))"),
        ("delete", "BEFORE DELETE ON audit FOR EACH ROW"),
        ("truncate", "BEFORE TRUNCATE ON audit FOR EACH STATEMENT"),
    ):
        op.execute(f"CREATE TRIGGER audit_no_{name} {when} EXECUTE FUNCTION audit_refuse()")


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("act", sa.String(), nullable=False),
        sa.Column("by_id", sa.String(), nullable=False),
        sa.Column("by_name", sa.String(), nullable=False),
        sa.Column("persona", sa.String(), nullable=True),
        sa.Column("room_id", sa.String(), nullable=True),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("who_salt", sa.String(), nullable=False),
        sa.Column("who_digest", sa.String(), nullable=False),
        sa.Column("what_salt", sa.String(), nullable=False),
        sa.Column("what_digest", sa.String(), nullable=False),
        sa.Column("before", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("before"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.create_index("ix_audit_by", ["by_id"], unique=False)
        batch_op.create_index("ix_audit_room", ["room_id", "seq"], unique=False)
        batch_op.create_index("ix_audit_turn", ["turn_id"], unique=False)
    _protect_audit()

    op.create_table(
        "grants",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("person_name", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("room_id", sa.String(), nullable=True),
        sa.Column("persona", sa.String(), nullable=True),
        sa.Column("within", sa.String(), nullable=False),
        sa.Column("by_id", sa.String(), nullable=False),
        sa.Column("by_name", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("grants", schema=None) as batch_op:
        batch_op.create_index("ix_grants_person", ["person_id"], unique=False)

    op.create_table(
        "pairings",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("person_name", sa.String(), nullable=False),
        sa.Column("room_id", sa.String(), nullable=False),
        sa.Column("persona", sa.String(), nullable=True),
        sa.Column("bot", sa.String(), nullable=False),
        sa.Column("message_seq", sa.BigInteger(), nullable=False),
        sa.Column("question_seq", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("by_id", sa.String(), nullable=True),
        sa.Column("by_name", sa.String(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("pairings", schema=None) as batch_op:
        batch_op.create_index("ix_pairings_code", ["code"], unique=False)
        batch_op.create_index("ix_pairings_person", ["person_id"], unique=False)

    op.create_table(
        "persona_versions",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("by_id", sa.String(), nullable=True),
        sa.Column("by_name", sa.String(), nullable=True),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("persona_versions", schema=None) as batch_op:
        batch_op.create_index("ix_persona_versions_name", ["name", "number"], unique=True)

    op.create_table(
        "refusals",
        sa.Column("room_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("room_id", "person_id", "reason"),
    )
    op.create_table(
        "room_settings",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("persona", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("by_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "persona"),
    )
    op.create_table(
        "schedules",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("key", sa.String(), nullable=True),
        sa.Column("room_id", sa.String(), nullable=False),
        sa.Column("thread_id", sa.String(), nullable=True),
        sa.Column("bot", sa.String(), nullable=False),
        sa.Column("persona", sa.String(), nullable=False),
        sa.Column("words", sa.String(), nullable=False),
        sa.Column("cron", sa.String(), nullable=False),
        sa.Column("timezone", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("missed", sa.String(), nullable=False),
        sa.Column("by_id", sa.String(), nullable=False),
        sa.Column("by_name", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("ran_at", sa.BigInteger(), nullable=True),
        sa.Column("paused", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("why", sa.String(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("key"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("schedules", schema=None) as batch_op:
        batch_op.create_index("ix_schedules_room", ["room_id"], unique=False)

    op.create_table(
        "usage",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("room_id", sa.String(), nullable=False),
        sa.Column("persona", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("cached_tokens", sa.Integer(), nullable=True),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("turn_id"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("usage", schema=None) as batch_op:
        batch_op.create_index("ix_usage_at", ["at"], unique=False)
        batch_op.create_index("ix_usage_person", ["person_id", "at"], unique=False)
        batch_op.create_index("ix_usage_room", ["room_id", "at"], unique=False)

    op.create_table(
        "figures",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("command", sa.Boolean(), nullable=False),
        sa.Column("persona", sa.String(), nullable=False),
        sa.Column("room_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("total_ms", sa.BigInteger(), nullable=False),
        sa.Column("queued_ms", sa.Integer(), nullable=True),
        sa.Column("ready_ms", sa.Integer(), nullable=True),
        sa.Column("brief_ms", sa.Integer(), nullable=True),
        sa.Column("compose_ms", sa.Integer(), nullable=True),
        sa.Column("agent_ms", sa.Integer(), nullable=True),
        sa.Column("post_ms", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["seq"], ["turns.seq"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("seq"),
    )
    with op.batch_alter_table("figures", schema=None) as batch_op:
        batch_op.create_index("ix_figures_at", ["command", "state", "at", "total_ms"], unique=False)
        batch_op.create_index("ix_figures_room", ["room_id", "seq"], unique=False)
        batch_op.create_index("ix_figures_persona", ["persona", "seq"], unique=False)
        batch_op.create_index("ix_figures_person", ["person_id", "seq"], unique=False)
        batch_op.create_index("ix_figures_state", ["state", "seq"], unique=False)
    with op.batch_alter_table("facts", schema=None) as batch_op:
        batch_op.create_index("ix_facts_created", ["created_at"], unique=False)
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.create_index("ix_messages_latest", ["room_id", "sent_at"], unique=False)
        batch_op.create_index(
            "ix_messages_people", ["sender_type", "sender_id", "seq"], unique=False
        )
    fill_turn_metrics(op.get_bind())
