"""Every turn says its kind; scopes of direct messages in which no persona takes part get a sign."""

import re
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

ONCE = "persona != '' OR kind != 'notice'"
OURS = ("Moot", "Moot's news")  # stood for a persona in the turns of Moot's own
SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
BATCH = 1_000

UNSEEN = "\u200b-\u200d\u2060\ufeff"
# Who is addressed, then a command as people write it: `!stop`, `/stop`, `**!stop**`, `/moot stop`.
_COMMAND = re.compile(
    rf"[\s{UNSEEN}]*"
    rf"(?:(?:<@[!&]?[\w|]+>|@[\w.:=/+-]+|\w[\w .-]{{0,63}}:(?=\s*!\w))[,:]?[\s{UNSEEN}]*)*"
    r"(?:`{1,3}|\*{1,2}|_{1,2}|~{1,2})?\s*"
    r"(?:[!\uff01]\s?(?:[a-z]+|[1-9])|/(?:moot|[a-z]+|[1-9])(?=[\s`*_~.,:;!?]|\Z))",
    re.IGNORECASE,
)


def upgrade() -> None:
    _add_kind()
    connection = op.get_bind()
    _fill_kind(connection)
    connection.execute(
        sa.text("UPDATE turns SET persona = '' WHERE persona IN (:pins, :news)"),
        dict(zip(("pins", "news"), OURS, strict=True)),
    )
    _make_unique()
    _move_scopes(connection)


def _add_kind() -> None:
    """The column; and no table may say any more that a persona stands once with a message: of
    Moot's own notices there may be several."""
    kind = sa.Column("kind", sa.String(), nullable=False, server_default="ask")
    if op.get_bind().dialect.name != "sqlite":
        op.add_column("turns", kind)
        op.drop_constraint("turns_message_seq_persona_key", "turns", type_="unique")
        return
    connection = op.get_bind()
    numbered = connection.execute(
        sa.text("SELECT seq FROM sqlite_sequence WHERE name = 'turns'")
    ).scalar()
    with op.batch_alter_table("turns", copy_from=_turns(), recreate="always") as batch:
        batch.add_column(kind)
    if numbered is not None:  # a number is never given twice
        connection.execute(
            sa.text("UPDATE sqlite_sequence SET seq = :seq WHERE name = 'turns'"),
            {"seq": numbered},
        )


def _turns() -> sa.Table:
    """The table before, without its constraint."""
    return sa.Table(
        "turns",
        sa.MetaData(),
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String(), nullable=False, unique=True),
        sa.Column("message_seq", SEQUENCE, sa.ForeignKey("messages.seq"), nullable=False),
        sa.Column("persona", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("room_id", sa.String(), nullable=False),
        sa.Column("thread_id", sa.String()),
        sa.Column("bot", sa.String(), nullable=False),
        sa.Column("hop", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("states", sa.JSON(), nullable=False),
        sa.Column("header", sa.Text()),
        sa.Column("record", sa.JSON()),
        sa.Column("answer", sa.Text()),
        sa.Column("answer_source", sa.String()),
        sa.Column("ended_by", sa.String()),
        sa.Column("fault", sa.String()),
        sa.Index("ix_turns_open", "state"),
        sa.Index("ix_turns_scope", "scope", "seq"),
        sqlite_autoincrement=True,
    )


def _make_unique() -> None:
    where = sa.text(ONCE)
    op.create_index(
        "ix_turns_once",
        "turns",
        ["message_seq", "persona"],
        unique=True,
        sqlite_where=where,
        postgresql_where=where,
    )


def _fill_kind(connection: sa.Connection) -> None:
    """A turn for which an agent was asked has a header. The others are told by how they began, and
    by their message."""
    query = sa.text(
        "SELECT t.seq, t.persona, t.states, t.fault, t.answer, m.content FROM turns t"
        " JOIN messages m ON m.seq = t.message_seq"
        " WHERE t.header IS NULL AND t.seq > :after ORDER BY t.seq LIMIT :size"
    ).columns(states=sa.JSON())
    put = sa.text("UPDATE turns SET kind = :kind WHERE seq = :seq")
    after = 0
    while rows := connection.execute(query, {"after": after, "size": BATCH}).all():
        after = rows[-1].seq
        found = [{"seq": row.seq, "kind": _kind(row)} for row in rows]
        if told := [one for one in found if one["kind"] != "ask"]:
            connection.execute(put, told)


def _kind(row: sa.Row[Any]) -> str:
    states = [tuple(state) for state in row.states or ()]
    answered_at = next((at for state, at in states if state == "answered"), None)
    if row.answer is not None and row.fault is None and answered_at == states[0][1]:
        return "notice"  # its line was there when the turn was made
    if row.persona in OURS:
        return "command"
    return "command" if _COMMAND.match(row.content) else "ask"


def _move_scopes(connection: sa.Connection) -> None:
    """`nobody` stood in these scopes for a persona, and is a name that one could have."""
    schema = sa.inspect(connection)
    tables = [
        name
        for name in schema.get_table_names()
        if any(column["name"] == "scope" for column in schema.get_columns(name))
    ]
    for name in tables:
        table = sa.table(name, sa.column("scope"), sa.column("indexed_by"))
        query = sa.select(table.c.scope).distinct().where(table.c.scope.like("dm:%:nobody%"))
        for scope in connection.execute(query).scalars().all():
            if (moved := _moved(scope)) is None:
                continue
            values = {"scope": moved} | ({"indexed_by": None} if name == "facts" else {})
            connection.execute(sa.update(table).where(table.c.scope == scope).values(values))


def _moved(scope: str) -> str | None:
    """`dm:<sender>:nobody`, or `dm:<sender>:nobody:<room>:<length of the sender>:`."""
    if scope.endswith(":nobody"):
        return f"{scope.removesuffix('nobody')}-"
    found = re.fullmatch(r"dm:(.*):(\d+):", scope, re.DOTALL)
    if found is None:
        return None
    size, ids = int(found[2]), found[1]
    sender, rest = ids[:size], ids[size:]
    if not rest.startswith(":nobody:"):
        return None
    return f"dm:{sender}:-:{rest.removeprefix(':nobody:')}:{size}:"
