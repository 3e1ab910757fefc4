"""The tables of the gateway itself: who may do what, what was done, what it took, what is due.

Times are microseconds since 1970 (UTC), as in store/schema.py.
"""

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
    String,
    Table,
    Text,
    false,
    text,
)

from store.schema import SEQUENCE
from store.schema import metadata as metadata

grants = Table(  # roles that were given while it runs; those of moot.toml are not here
    "grants",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("person_id", String, nullable=False),
    Column("person_name", String, nullable=False),
    Column("role", String, nullable=False),  # guest, member, owner
    Column("room_id", String),  # null: everywhere
    Column("persona", String),  # null: every one
    Column("within", String, nullable=False),  # rooms, dms; "": both
    Column("by_id", String, nullable=False),  # who gave it
    Column("by_name", String, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),  # taken back
    Index("ix_grants_person", "person_id"),
    sqlite_autoincrement=True,
)

pairings = Table(  # unknown people who asked to be let in
    "pairings",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("code", String, nullable=False),
    Column("person_id", String, nullable=False),
    Column("person_name", String, nullable=False),
    Column("room_id", String, nullable=False),
    Column("persona", String),
    Column("bot", String, nullable=False),
    Column("message_seq", BigInteger, nullable=False),  # to which the code was told
    Column("question_seq", BigInteger),  # the last question since; null: none
    Column("state", String, nullable=False),  # waiting, displaced, approved, refused, expired
    Column("at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("by_id", String),  # who decided
    Column("by_name", String),
    Column("decided_at", BigInteger),
    Index("ix_pairings_code", "code"),
    Index("ix_pairings_person", "person_id"),
    sqlite_autoincrement=True,
)

refusals = Table(  # what somebody was told once, also over a restart
    "refusals",
    metadata,
    Column("room_id", String, primary_key=True),
    Column("person_id", String, primary_key=True),
    Column("reason", String, primary_key=True),  # access, access:member, rate, budget, ...
    Column("until", BigInteger),  # told again after it; null: never
    Column("at", BigInteger, nullable=False),
)

audit = Table(  # append-only; each row's hash covers the one before it: see gateway/audit/chain.py
    "audit",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("act", String, nullable=False),  # a word: invoke, ask, answer, pair, grant, ...
    Column("by_id", String, nullable=False),
    Column("by_name", String, nullable=False),
    Column("persona", String),
    Column("room_id", String),
    Column("turn_id", String),
    Column("detail", JSON, nullable=False),  # flat: str to str, int, bool or null
    Column("who_salt", String, nullable=False),  # "": who it was is erased
    Column("who_digest", String, nullable=False),  # of salt, by_id and by_name
    Column("what_salt", String, nullable=False),  # "": what it was about is erased
    Column("what_digest", String, nullable=False),  # of salt, room_id and detail
    Column("before", String, nullable=False, unique=True),  # hash of the row before; first: ""
    Column("hash", String, nullable=False),
    Index("ix_audit_room", "room_id", "seq"),
    Index("ix_audit_turn", "turn_id"),
    Index("ix_audit_by", "by_id"),
    sqlite_autoincrement=True,
)

usage = Table(  # what a turn took
    "usage",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("turn_id", String, nullable=False, unique=True),
    Column("at", BigInteger, nullable=False),
    Column("person_id", String, nullable=False),  # who asked
    Column("room_id", String, nullable=False),
    Column("persona", String, nullable=False),
    Column("agent", String, nullable=False),
    Column("input_tokens", Integer),  # null: the agent doesn't tell
    Column("output_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("cost_usd", Float),
    Column("seconds", Float, nullable=False),  # of the agent's work
    Index("ix_usage_person", "person_id", "at"),
    Index("ix_usage_room", "room_id", "at"),
    Index("ix_usage_at", "at"),
    sqlite_autoincrement=True,
)

persona_versions = Table(  # every good form that a persona's file had
    "persona_versions",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),
    Column("name", String, nullable=False),
    Column("number", Integer, nullable=False),  # of this persona, from 1
    Column("text", Text, nullable=False),  # the whole file
    Column("by_id", String),  # null: the file was edited outside of Moot
    Column("by_name", String),
    Column("why", String, nullable=False),  # a word: file, page, rollback, delete
    Column("at", BigInteger, nullable=False),
    Index("ix_persona_versions_name", "name", "number", unique=True),
    sqlite_autoincrement=True,
)

persona_files = Table(  # the version that a file is to have on each machine, where several may lead
    "persona_files",
    metadata,
    Column("name", String, primary_key=True),
    Column("number", Integer, nullable=False),  # in persona_versions
    Column("digest", String, nullable=False),  # of its text; "": the file is gone
)

room_settings = Table(  # what was chosen in a room with a command
    "room_settings",
    metadata,
    Column("scope", String, primary_key=True),
    Column("persona", String, primary_key=True),  # "": for every persona
    Column("thread_id", String, primary_key=True),  # "": for the whole scope
    Column("model", String),  # `!model`; null: the persona's own
    Column("sessions", String),  # room, thread; null: as moot.toml says
    Column("workspace", String),  # name of one that an administrator listed; null: its own
    Column("mode", String),  # plan, ask, auto; null: as its agent begins
    Column("mode_by", String),  # id of the person who chose it
    Column("follow", String),  # asker, everybody, never; null: as moot.toml says
    Column("require_mention", Boolean),  # null: as its bot's table says
    Column("language", String),  # en, de, ...; null: as moot.toml says
    Column("by_id", String, nullable=False),
    Column("at", BigInteger, nullable=False),
)

schedules = Table(  # those of moot.toml have a key; people's have an author
    "schedules",
    metadata,
    Column("seq", SEQUENCE, primary_key=True),  # what people type: `!every stop 3`; never reused
    Column("key", String, unique=True),
    Column("room_id", String, nullable=False),
    Column("thread_id", String),
    Column("bot", String, nullable=False),
    Column("persona", String, nullable=False),
    Column("words", String, nullable=False),  # "weekday 9:00", as it was said
    Column("cron", String, nullable=False),  # five fields
    Column("timezone", String, nullable=False),
    Column("text", Text, nullable=False),  # what the persona is asked
    Column("missed", String, nullable=False),  # once, skip
    Column("by_id", String, nullable=False),
    Column("by_name", String, nullable=False),
    Column("through_id", String),  # the program that made it in their name; null: they did
    Column("through_name", String),
    Column("created_at", BigInteger, nullable=False),
    Column("due_at", BigInteger),  # the next run; null: none any more
    Column("ran_at", BigInteger),  # the moment for which it ran last
    Column("paused", Boolean, nullable=False, server_default=false()),
    Column("why", String),  # it is paused, for people; null: somebody said so
    Column("ended_at", BigInteger),
    Index("ix_schedules_room", "room_id"),
    sqlite_autoincrement=True,
)

figures = Table(  # what each turn that ended came to; narrow, for lists and plots
    "figures",
    metadata,
    Column("seq", SEQUENCE, ForeignKey("turns.seq", ondelete="CASCADE"), primary_key=True),
    Column("at", BigInteger, nullable=False),  # when it was queued
    Column("state", String, nullable=False),  # posted, failed, stopped
    Column("command", Boolean, nullable=False),  # no agent was asked
    Column("persona", String, nullable=False),
    Column("room_id", String, nullable=False),
    Column("person_id", String, nullable=False),  # who asked
    Column("total_ms", BigInteger, nullable=False),
    Column("queued_ms", Integer),  # the steps; null: it didn't come to that
    Column("ready_ms", Integer),
    Column("brief_ms", Integer),
    Column("compose_ms", Integer),
    Column("agent_ms", Integer),
    Column("post_ms", Integer),
    Index("ix_figures_at", "command", "state", "at", "total_ms"),
    Index("ix_figures_room", "room_id", "seq"),
    Index("ix_figures_persona", "persona", "seq"),
    Index("ix_figures_person", "person_id", "seq"),
    Index("ix_figures_state", "state", "seq"),
)

# ── People of the page ──────────────────────────────────────────────────────────────────

page_users = Table(  # who has an account on the page; their roles are grants
    "page_users",
    metadata,
    Column("id", String, primary_key=True),  # the sender id, e.g. web:andi
    Column("name", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),  # the account was closed; its id is still nobody else's
)

page_sessions = Table(  # where they are signed in
    "page_sessions",
    metadata,
    Column("id", String, primary_key=True),  # to name it; proves nothing
    Column("hash", String, nullable=False, unique=True),  # SHA-256 of the cookie's value
    Column("person_id", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("user_agent", String, nullable=False),
    Column("address", String, nullable=False),
    Index("ix_page_sessions_person", "person_id"),
)

page_links = Table(  # links that sign in once and were not used yet
    "page_links",
    metadata,
    Column("id", String, primary_key=True),
    Column("hash", String, nullable=False, unique=True),  # SHA-256 of the code in the link
    Column("person_id", String),  # null: the house owner's, who has no account yet
    Column("person_name", String, nullable=False),
    Column("role", String),  # which they get; null: as they have
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("by_id", String, nullable=False, server_default=text("''")),  # "": nobody wrote it down
    Column("by_name", String, nullable=False, server_default=text("''")),
)

page_subjects = Table(  # who of a provider of OpenID Connect is who on the page
    "page_subjects",
    metadata,
    Column("issuer", String, primary_key=True),
    Column("subject", String, primary_key=True),
    Column("person_id", String, nullable=False, unique=True),
    Column("how", String, nullable=False),  # claims, invitation
    Column("bound_at", BigInteger, nullable=False),
)

page_reads = Table(  # how far somebody has read a room, in whatever browser
    "page_reads",
    metadata,
    Column("person_id", String, primary_key=True),
    Column("room_id", String, primary_key=True),
    Column("until", BigInteger, nullable=False),  # by the time when a message was sent
)

page_tokens = (
    Table(  # of programs; the value follows from the salt and the secret of a machine's owner
        "page_tokens",
        metadata,
        Column("name", String, primary_key=True),
        Column("salt", String, nullable=False),
        Column("reads", String, nullable=False),  # metrics; "": everything an owner may
        Column("created_at", BigInteger, nullable=False),
        Column("used_at", BigInteger),
        Column("hash", String),  # SHA-256 of the value; null: of an earlier version
    )
)

audit_head = Table(  # the hash of the newest row, where several machines know the database: one row
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # 1
    Column("hash", String, nullable=False),
)

bot_states = Table(  # what a bot must not forget, as how far it has read: JSON
    "bot_states",
    metadata,
    Column("bot", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
)

bot_keys = Table(  # secrets of bots on a server, where several gateways take turns
    "bot_keys",
    metadata,
    Column("bot", String, primary_key=True),
    Column("device", String, primary_key=True),  # whose keys they are; "": the bot's own secrets
    Column("kind", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
)

house = Table(  # the gateway that leads, where several know one database: one row
    "house",
    metadata,
    Column("id", Integer, primary_key=True),  # 1
    Column("epoch", BigInteger, nullable=False),  # one more each time that another one leads
    Column("holder", String, nullable=False),  # its name, for people
    Column("seen_at", BigInteger, nullable=False),  # by the database's clock
)

commits = Table(  # the last ones of a server: who lost the connection in one looks for it here
    "commits",
    metadata,
    Column("id", String, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Index("ix_commits_at", "at"),
)

machine_erasures = Table(  # what is erased also where another gateway led; each notes what it did
    "machine_erasures",
    metadata,
    Column("act", String, primary_key=True),  # a word that stands for one erasure
    Column("what", String, primary_key=True),  # file; scope: its folder; homes: of its programs
    Column("digest", String, primary_key=True),  # of a file's name or of a scope; names nobody
    Column("at", BigInteger, nullable=False),
)

session_records = Table(  # where what a program recorded of a session can be had on any machine
    "session_records",
    metadata,
    Column("session", String, primary_key=True),  # digests of its scope and its own; names nobody
    Column("word", String, nullable=False),  # names the newest object of it; "": there is none
)

worker_erasures = Table(  # what is still to be deleted elsewhere of scopes that were erased
    "worker_erasures",
    metadata,
    Column("place", String, primary_key=True),  # a worker; "": the broker
    Column("scope_digest", String, primary_key=True),  # names the scope's folder, and nobody
    Column("whole", Boolean, nullable=False),  # else only what programs recorded in their HOMEs
    Column("at", BigInteger, nullable=False),
)
