"""The tables. Times are microseconds since 1970 (UTC); JSON columns hold plain values."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
    true,
)

# Tables are made by migrations. Partial indexes are those of PostgreSQL as well: `postgresql_where`
# would import its dialect wherever one is named here.
metadata = MetaData()

# SQLite counts rows up by itself only in a plain INTEGER key.
SEQUENCE = BigInteger().with_variant(Integer, "sqlite")

rooms = Table(
    "rooms",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("project", String),
    Column("created_at", BigInteger, nullable=False),
    Column("include_in_memory", Boolean, nullable=False, server_default=true()),
    Column("heard_by", JSON),  # names of the bots whose accounts are in the room
)

messages = Table(
    "messages",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
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
    Column("private", String),  # see contract/private.py; None: no part of it is
    Column("meta", JSON, nullable=False),
    Column("attachments", JSON, nullable=False),
    UniqueConstraint("room_id", "message_id"),
    Index("ix_messages_scope_seq", "scope", "seq"),
    Index("ix_messages_room", "room_id", "seq"),
    Index("ix_messages_thread", "room_id", "thread_id"),
    Index("ix_messages_latest", "room_id", "sent_at"),
    Index("ix_messages_sender", "scope", "sender_id"),  # who takes part; see memory/members.py
    Index("ix_messages_people", "sender_type", "sender_id", "seq"),  # who has ever spoken
    Index(  # few have any, and all of a scope are looked for with every turn
        "ix_messages_private",
        "scope",
        "seq",
        sqlite_where=text("private IS NOT NULL"),
    ),
    sqlite_autoincrement=True,
)

# A message asks each persona, and commands Moot, once, and once again for each message that says
# so; Moot may give notice of it several times.
ONCE_A_MESSAGE = text("persona != '' OR kind != 'notice'")

turns = Table(
    "turns",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("message_seq", SEQUENCE, ForeignKey("messages.seq"), nullable=False),
    Column("persona", String, nullable=False),  # "": no persona's, only Moot's own
    Column("scope", String, nullable=False),
    Column("room_id", String, nullable=False),
    Column("thread_id", String),  # where the answer goes
    Column("bot", String, nullable=False),
    Column("hop", Integer, nullable=False, default=0),
    Column("kind", String, nullable=False, server_default="ask"),  # ask, command, notice
    Column("state", String, nullable=False),  # queued, running, answered, posted, dropped
    Column("states", JSON, nullable=False),  # [[state, at], ...]
    Column("header", Text),
    Column("record", JSON),  # sections, scores, trims, timings
    Column("answer", Text),
    Column("answer_source", String),
    Column("ended_by", String),
    Column("fault", String),  # an AgentFault when the agent could not answer
    # seq of the message that had it asked again; 0: it is the first
    Column("again", BigInteger, nullable=False, server_default=text("0")),
    Column("session_thread", String, nullable=False, server_default=""),  # see SessionKey
    Index(
        "ix_turns_once",
        "message_seq",
        "persona",
        "again",
        unique=True,
        sqlite_where=ONCE_A_MESSAGE,
    ),
    Index("ix_turns_message", "message_seq"),  # the one above has not all of them
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
    Column("state", String, nullable=False),  # draft, planned, sent, closed
    Column("platform_id", String, index=True),
    Column("drafted", Boolean, nullable=False, default=False),
    Column("created_at", BigInteger, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("persona", String, primary_key=True),
    Column("scope", String, primary_key=True),
    Column("thread_id", String, primary_key=True),  # "": the scope's own
    Column("agent", String, nullable=False),  # "": not to be resumed any more
    Column("agent_session_id", String),
    Column("used_at", BigInteger, nullable=False),  # end of its last turn
    Column("ended_at", BigInteger),  # when the memory had learned that it ended; null: not yet
)

decisions = Table(
    "decisions",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("turn_id", String, nullable=False),
    Column("question", Text, nullable=False),
    Column("chosen", String, nullable=False),
    Column("by", String, nullable=False),  # a sender id, or "timeout", "stop", "policy"
    Column("at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

# ── What is remembered. Every row carries its scope; see memory/scopes.py and memory/gate.py ──

facts = Table(
    "facts",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),  # what people type: `!forget 12`; never reused
    Column("id", String, nullable=False, unique=True),  # what the index knows it by
    Column("scope", String, nullable=False),
    Column("kind", String, nullable=False),  # see memory.recall.facts.Kind
    Column("text", Text, nullable=False),
    Column("person", String),  # sender id of whom it is about, where one is known
    Column("person_name", String),
    Column("persona", String),  # of the session that it was learned in
    Column("origin", String),  # for people: "DM", "#auth-team"
    Column("source", String, nullable=False),  # a session, a command, an import
    Column("room_id", String),
    Column("first_seq", BigInteger),  # range of the messages it was made from
    Column("last_seq", BigInteger),
    Column("data", JSON, nullable=False),  # the entry as it was extracted
    Column("said_at", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("shared_from", String),  # id of the fact that a person shared
    Column("replaced_by", String),  # id of the fact that took its place
    Column("indexed_by", String),  # name of the index that holds it; null: not indexed yet
    Index("ix_facts_scope", "scope", "seq"),
    Index("ix_facts_person", "person"),
    Index("ix_facts_index", "indexed_by"),
    Index("ix_facts_created", "created_at"),
    sqlite_autoincrement=True,
)

fact_speakers = Table(  # whose words a fact was made from
    "fact_speakers",
    metadata,
    Column("fact_seq", SEQUENCE, ForeignKey("facts.seq", ondelete="CASCADE"), primary_key=True),
    Column("sender_id", String, primary_key=True),
    Index("ix_fact_speakers_sender", "sender_id"),
)

pointers = Table(  # how far a layer has read a scope
    "pointers",
    metadata,
    Column("layer", String, primary_key=True),  # extraction, messages, episodes, consolidation
    Column("scope", String, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("tried_at", BigInteger),
    Column("failures", Integer, nullable=False, default=0),  # in a row
)

staging = Table(  # what an extraction found, before its entries are facts
    "staging",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("scope", String, nullable=False),
    Column("persona", String),
    Column("session_id", String, nullable=False),
    Column("first_seq", BigInteger, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("found", JSON, nullable=False),  # write_extracted's input
    Column("at", BigInteger, nullable=False),
    Index("ix_staging_scope", "scope"),
    sqlite_autoincrement=True,
)

landmarks = Table(
    "landmarks",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),  # what people type: `!unpin 12`; never reused
    Column("scope", String, nullable=False),
    Column("kind", String, nullable=False),  # pin, landmark, decision, spec, action
    Column("text", Text, nullable=False),
    Column("by_id", String, nullable=False),
    Column("by_name", String, nullable=False),
    Column("message_seq", BigInteger),  # the message that was pinned
    Column("author_id", String),  # who wrote it, when somebody else pinned it
    Column("at", BigInteger, nullable=False),
    Index("ix_landmarks_scope", "scope", "seq"),
    sqlite_autoincrement=True,
)

episodes = Table(
    "episodes",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("scope", String, nullable=False),
    Column("first_seq", BigInteger, nullable=False),  # range of the messages it covers
    Column("last_seq", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
    Column("record", JSON),  # at a session's end: the eight fields
    Column("persona", String),
    Column("plain", Boolean, nullable=False),  # made without a model
    Column("at", BigInteger, nullable=False),
    Index("ix_episodes_scope", "scope", "seq"),
    sqlite_autoincrement=True,
)

insights = Table(  # replaced as a set, a scope and sender
    "insights",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("scope", String, nullable=False),
    Column("sender_id", String, nullable=False),
    Column("kind", String, nullable=False),  # pin, recommendation
    Column("text", Text, nullable=False),
    Column("question", Text, nullable=False),  # the message that it was learned from
    Column("used_at", BigInteger, nullable=False),  # idle for 30 min: expired
    Index("ix_insights_key", "scope", "sender_id"),
    sqlite_autoincrement=True,
)

tool_uses = Table(  # what an observer has not read yet
    "tool_uses",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("turn_id", String, nullable=False),
    Column("scope", String, nullable=False),
    Column("persona", String, nullable=False),
    Column("session_id", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("given", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("failed", Boolean, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("ix_tool_uses_scope", "scope", "persona"),
    sqlite_autoincrement=True,
)

agent_sessions = Table(  # what an agent's session was about; last_number: of its observations
    "agent_sessions",
    metadata,
    Column("id", String, primary_key=True),
    Column("scope", String, nullable=False),
    Column("persona", String, nullable=False),
    Column("project", String, nullable=False),
    Column("title", String),
    Column("subtitle", String),
    Column("overview", Text),
    Column("last_number", Integer, nullable=False, default=0),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Index("ix_agent_sessions_scope", "scope", "persona"),
)

observations = Table(
    "observations",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("id", String, nullable=False, unique=True),  # {project}_{session}_{date}_{NNN}
    Column("scope", String, nullable=False),
    Column("persona", String, nullable=False),
    Column("session_id", String, nullable=False),
    Column("turn_id", String),
    Column("kind", String, nullable=False),  # decision, bugfix, feature, refactor, discovery
    Column("title", Text, nullable=False),
    Column("subtitle", Text, nullable=False),
    Column("facts", JSON, nullable=False),
    Column("narrative", Text, nullable=False),
    Column("concepts", JSON, nullable=False),
    Column("files", JSON, nullable=False),  # relative to the workspace
    Column("notes", JSON, nullable=False),  # which lengths were off
    Column("at", BigInteger, nullable=False),
    Index("ix_observations_scope", "scope", "persona", "seq"),
    sqlite_autoincrement=True,
)

model_calls = Table(  # what the model behind the memory was called for, and what it took
    "model_calls",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("purpose", String, nullable=False),  # the layer
    Column("scope", String, nullable=False),
    Column("model", String, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("cost_usd", Float),
    Column("ms", Integer, nullable=False),
    Column("fault", String),  # what went wrong, without any text of the conversation
    Column("at", BigInteger, nullable=False),
    Index("ix_model_calls_at", "at"),
    sqlite_autoincrement=True,
)

tombstones = Table(  # people who were deleted: what they said before is not stored again
    "tombstones",
    metadata,
    Column("who", String, primary_key=True),  # hash of the sender id with the salt
    Column("salt", String, nullable=False),  # the same in every row
    Column("until", BigInteger, nullable=False),  # by the time when a message was sent
)
