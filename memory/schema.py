"""The tables. Times are microseconds since 1970 (UTC); JSON columns hold plain values."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

# SQLite counts rows up by itself only in a plain INTEGER key.
_Sequence = BigInteger().with_variant(Integer, "sqlite")

rooms = Table(
    "rooms",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("project", String),
    Column("created_at", BigInteger, nullable=False),
)

messages = Table(
    "messages",
    metadata,
    Column("seq", _Sequence, primary_key=True),
    Column("room_id", String, nullable=False),
    Column("message_id", String, nullable=False),  # the platform's own id
    Column("scope", String, nullable=False),
    Column("thread_id", String),
    Column("reply_to", String),
    Column("sender_id", String, nullable=False),
    Column("sender_name", String, nullable=False),
    Column("sender_type", String, nullable=False),
    Column("mention", String),
    Column("persona", String),  # set on the answers of our own personas
    Column("turn_id", String),  # likewise
    Column("hop", Integer, nullable=False, default=0),  # n-th bot in a chain of bots; 0: a person
    Column("content", Text, nullable=False),
    Column("original", Text),  # the first text of an edited message
    Column("sent_at", BigInteger, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("edited_at", BigInteger),
    Column("deleted_at", BigInteger),
    Column("include_in_memory", Boolean, nullable=False, default=True),
    Column("meta", JSON, nullable=False),
    Column("attachments", JSON, nullable=False),
    UniqueConstraint("room_id", "message_id"),
    Index("ix_messages_scope_seq", "scope", "seq"),
    Index("ix_messages_thread", "room_id", "thread_id"),
    sqlite_autoincrement=True,
)

turns = Table(
    "turns",
    metadata,
    Column("seq", _Sequence, primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("message_seq", _Sequence, ForeignKey("messages.seq"), nullable=False),
    Column("persona", String, nullable=False),
    Column("scope", String, nullable=False),
    Column("room_id", String, nullable=False),
    Column("thread_id", String),  # where the answer goes
    Column("bot", String, nullable=False),
    Column("hop", Integer, nullable=False, default=0),
    Column("state", String, nullable=False),  # queued, running, answered, posted, dropped
    Column("states", JSON, nullable=False),  # [[state, at], ...]
    Column("header", Text),
    Column("record", JSON),  # sections, scores, trims, timings
    Column("answer", Text),
    Column("answer_source", String),
    Column("ended_by", String),
    Column("fault", String),  # an AgentFault when the agent could not answer
    UniqueConstraint("message_seq", "persona"),
    Index("ix_turns_open", "state"),
    Index("ix_turns_scope", "scope", "seq"),
    sqlite_autoincrement=True,
)

posts = Table(
    "posts",
    metadata,
    Column("key", String, primary_key=True),  # <turn id>:<number>
    Column("turn_id", String, nullable=False, index=True),
    Column("number", Integer, nullable=False),
    Column("kind", String, nullable=False),  # text, file, question
    Column("text", Text, nullable=False),
    Column("state", String, nullable=False),  # draft, planned, sent
    Column("platform_id", String),
    Column("drafted", Boolean, nullable=False, default=False),
    Column("created_at", BigInteger, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("persona", String, primary_key=True),
    Column("scope", String, primary_key=True),
    Column("agent", String, nullable=False),
    Column("agent_session_id", String),
    Column("used_at", BigInteger, nullable=False),
)

decisions = Table(
    "decisions",
    metadata,
    Column("seq", _Sequence, primary_key=True),
    Column("turn_id", String, nullable=False),
    Column("question", Text, nullable=False),
    Column("chosen", String, nullable=False),
    Column("by", String, nullable=False),  # a sender id, or "timeout", "stop", "policy"
    Column("at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)
