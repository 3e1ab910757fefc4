"""The connection with a NATS: messages that are lost with it, requests, and a log for answers.

Only here is its library imported. A connection that breaks is made again, for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.api import ConsumerConfig, KeyValueConfig, ObjectStoreConfig, StreamConfig
from nats.js.errors import BucketNotFoundError, NoKeysError, NotFoundError, ObjectNotFoundError

from contract.cancelling import cancellable
from contract.values import dataclass
from gateway.workers.credentials import GATEWAY, Key

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext
    from nats.js.object_store import ObjectStore

log = structlog.stdlib.get_logger("moot.workers")

ANSWERS, LEASES, HOMES, FILES = "moot-answers", "moot-leases", "moot-homes", "moot-files"
ANSWERED = "moot.answer"
KEPT_S = 7 * 24 * 3600.0  # an answer that no gateway asked for
AGAIN_S = 0.2
PING_S = 2  # a broker that is silent for two of these is given up, and looked for again
BUFFER_BYTES = 16 << 20
ACK_S = 5.0  # after that an answer that is not done with is told again, also to the next gateway
SMALL_BYTES = 4096  # what is not worth to be packed
MOST_BYTES = 64 << 20  # of an unpacked message

Hear = Callable[[str, bytes], Awaitable[bytes | None]]
"""Given the subject and a message; what it returns goes back, if somebody waits for it."""


class LinkDown(Exception):
    """Nobody answered: the broker, or whom it was meant for, is away."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A message of the log, which is told again until `done`."""

    subject: str
    data: bytes
    done: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    """A broker, as it says of itself. version: major and minor. most_bytes: of a message."""

    version: tuple[int, int]
    most_bytes: int


class Link:
    """One party's connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._hearing: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, key: Key, name: str, told: Callable[[str], None] = lambda fault: None
    ) -> AsyncIterator[Link]:
        """Connect, however long that takes, as the gateway or a worker of this name. told: what
        goes wrong meanwhile."""

        async def trouble(error: Exception) -> None:
            told(str(error) or type(error).__name__)
            log.debug("link.trouble", error=type(error).__name__, reason=str(error))

        client = _SigningClient(key)
        link = cls(client)
        try:
            connecting = client.connect(
                url,
                name=f"moot {name}",
                nkeys_seed_str=key.seed,
                inbox_prefix="_INBOX" if name == GATEWAY else f"_INBOX_{name}",
                tls=ssl.create_default_context() if url.startswith(("tls:", "wss:")) else None,
                max_reconnect_attempts=-1,
                reconnect_time_wait=AGAIN_S,  # type: ignore[arg-type]  # it sleeps so long
                ping_interval=PING_S,
                pending_size=BUFFER_BYTES,
                error_cb=trouble,
                disconnected_cb=_disconnected,
                reconnected_cb=_connected,
            )
            await cancellable(connecting)
            yield link
        finally:
            for task in link._hearing:
                task.cancel()
            with contextlib.suppress(NatsError, OSError, TimeoutError):
                await client.end()

    @property
    def up(self) -> bool:
        """True while there is a connection, as far as this end knows."""
        return self._client.is_connected

    @property
    def facts(self) -> BrokerFacts:
        """Of the broker."""
        version = self._client.connected_server_version
        return BrokerFacts((version.major, version.minor), self._client.max_payload)

    async def has_store(self) -> None:
        """Ask it for JetStream. Raises LinkDown: there is none."""
        try:
            await self._stream.account_info()
        except (NatsError, TimeoutError) as error:
            raise LinkDown("JetStream") from error

    # ── Messages ────────────────────────────────────────────────────────────────────────

    async def say(self, subject: str, data: bytes) -> None:
        """Tell whoever listens now; nobody may."""
        with contextlib.suppress(NatsError):
            await self._client.publish(subject, packed(data))

    async def ask(self, subject: str, data: bytes, timeout_s: float) -> bytes:
        """The reply. Raises LinkDown: there is none, and it may have been heard all the same."""
        try:
            reply = await self._client.request(subject, packed(data), timeout_s)
        except (NatsError, TimeoutError) as error:
            raise LinkDown(subject) from error
        return unpacked(reply.data)

    async def hear(self, subject: str, heard: Hear) -> None:
        """Have every message of a subject handled, in tasks of their own that begin in order."""

        async def handle(message: Msg) -> None:
            reply = await heard(message.subject, unpacked(message.data))
            if reply is not None and message.reply:
                with contextlib.suppress(NatsError):
                    await message.respond(packed(reply))

        async def begin(message: Msg) -> None:
            task = asyncio.create_task(handle(message), name=f"hears {subject}")
            self._hearing.add(task)
            task.add_done_callback(self._heard)

        await self._client.subscribe(subject, cb=begin)

    def _heard(self, task: asyncio.Task[None]) -> None:
        self._hearing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("link.not_understood", error=type(error).__name__)
            log.debug("link.not_understood", exc_info=error)

    # ── The log of answers ──────────────────────────────────────────────────────────────

    async def log(self, name: str, key: str, data: bytes) -> None:
        """Put an answer on disk at the broker, once, however long that takes."""
        while True:
            with contextlib.suppress(NatsError, TimeoutError, ValueError):
                reply = await self._client.request(
                    f"{ANSWERED}.{name}", packed(data), 2.0, headers={"Nats-Msg-Id": key}
                )
                told = json.loads(reply.data)
                if "error" not in told:
                    return
                log.error("answer.refused", reason=str(told["error"].get("description")))
            await asyncio.sleep(AGAIN_S)

    async def prepare(self) -> None:
        """The gateway's: make what is kept at the broker. Raises LinkDown."""
        js = self._stream
        try:
            await js.add_stream(
                StreamConfig(
                    name=ANSWERS,
                    subjects=[f"{ANSWERED}.*"],
                    retention="workqueue",  # type: ignore[arg-type]
                    max_age=KEPT_S,
                    duplicate_window=3600.0,
                )
            )
            consumer = ConsumerConfig(
                durable_name=GATEWAY,
                ack_policy="explicit",  # type: ignore[arg-type]
                ack_wait=ACK_S,
                filter_subject=f"{ANSWERED}.*",
            )
            await js.add_consumer(ANSWERS, consumer)
            await self._prepare_leases(js)
            await self._bucket(HOMES)
        except (NatsError, TimeoutError) as error:
            raise LinkDown(str(error)) from error

    async def _prepare_leases(self, js: JetStreamContext) -> None:
        """Numbers begin with the clock's milliseconds: beyond those of a disk that was lost."""
        try:
            await js.key_value(LEASES)
        except BucketNotFoundError:
            await js.create_key_value(KeyValueConfig(bucket=LEASES, history=1))
            await js.purge_stream(f"KV_{LEASES}", seq=time.time_ns() // 1_000_000)

    async def logged(self, term: int) -> AsyncIterator[Logged]:
        """Every answer that was not done with yet, and those that come, for ever: unless a gateway
        with a greater term began, whose they are. What the broker lost is made again."""
        waiting = await self._stream.pull_subscribe_bind(GATEWAY, ANSWERS)
        while True:
            messages: list[Msg] = []
            try:
                messages = await waiting.fetch(16, timeout=1.0)
            except TimeoutError:
                pass
            except NatsError:
                await asyncio.sleep(AGAIN_S)
                with contextlib.suppress(LinkDown):
                    await self.prepare()
            if messages and await self._is_followed(term):
                with contextlib.suppress(NatsError):
                    await asyncio.gather(*(message.nak() for message in messages))
                messages = await asyncio.sleep(ACK_S, [])
            for message in messages:
                yield Logged(message.subject, unpacked(message.data), _done(message))

    async def _is_followed(self, term: int) -> bool:
        """True if another gateway is known to have begun since."""
        with contextlib.suppress(NatsError, TimeoutError):
            newest = await self._stream.get_last_msg(f"KV_{LEASES}", f"$KV.{LEASES}.{GATEWAY}")
            return (newest.seq or 0) > term
        return False

    async def lease(self, session: str, worker: str) -> int:
        """Note who has a session; returns a number greater than any before. Raises LinkDown."""
        try:
            kept = await self._stream.key_value(LEASES)
            return await kept.put(session, worker.encode())
        except (NatsError, TimeoutError) as error:
            raise LinkDown("lease") from error

    async def last_lease(self, session: str) -> tuple[str, int] | None:
        """The worker that had a session last, and its number. Raises LinkDown."""
        try:
            kept = await self._stream.key_value(LEASES)
            newest = await kept.get(session)
            return (newest.value or b"").decode(), newest.revision or 0
        except NotFoundError:
            return None
        except (NatsError, TimeoutError) as error:
            raise LinkDown("lease") from error

    # ── What is kept of conversations and files ─────────────────────────────────────────

    async def keep(self, bucket: str, name: str, data: bytes) -> None:
        """Keep it, in the place of what has that name. Raises LinkDown."""
        with _down(bucket):
            await (await self._bucket(bucket)).put(name, data)

    async def kept(self, bucket: str, name: str) -> bytes | None:
        """What is kept by that name. Raises LinkDown."""
        with _down(bucket):
            try:
                return (await (await self._bucket(bucket)).get(name)).data
            except ObjectNotFoundError:
                return None

    async def names(self, bucket: str) -> list[str]:
        """The names of all that is kept there. Raises LinkDown."""
        with _down(bucket):
            kept = await self._bucket(bucket)
            with contextlib.suppress(NotFoundError):
                return [one.name for one in await kept.list(ignore_deletes=True) if one.name]
            return []

    async def drop(self, bucket: str, names: Collection[str]) -> None:
        """Keep these no more. Raises LinkDown."""
        with _down(bucket):
            kept = await self._bucket(bucket)
            for name in names:
                with contextlib.suppress(ObjectNotFoundError):
                    await kept.delete(name)

    async def _bucket(self, name: str) -> ObjectStore:
        try:
            return await self._stream.object_store(name)
        except BucketNotFoundError:
            return await self._stream.create_object_store(name, ObjectStoreConfig())

    # ── Erasure ─────────────────────────────────────────────────────────────────────────

    async def forget(self, scopes: Collection[str], belongs: Callable[[bytes], bool]) -> None:
        """Delete what is kept of scopes' sessions: records, leases, and the answers that belong to
        them. Raises LinkDown."""
        with _down("forget"):
            await self._forget_records(scopes)
            await self._forget_leases(scopes)
            await self._forget_answers(belongs)

    async def drop_old_records(self) -> None:
        """Delete the records that earlier versions kept, which nobody reads. Raises LinkDown."""
        await self.drop(HOMES, [name for name in await self.names(HOMES) if "/" not in name])

    async def _forget_records(self, scopes: Collection[str]) -> None:
        names = await self.names(HOMES)  # a folder, a scope's folder, and a session's record
        gone = [name for name in names if "/" not in name or name.split("/")[1] in scopes]
        await self.drop(HOMES, gone)

    async def _forget_leases(self, scopes: Collection[str]) -> None:
        kept = await self._stream.key_value(LEASES)
        with contextlib.suppress(NoKeysError):
            for session in await kept.keys():
                if session.partition(".")[0] in scopes:
                    await kept.purge(session)

    async def _forget_answers(self, belongs: Callable[[bytes], bool]) -> None:
        at = 1
        with contextlib.suppress(NotFoundError):
            while True:
                message = await self._stream.get_msg(
                    ANSWERS, seq=at, subject=f"{ANSWERED}.*", next=True
                )
                assert message.seq is not None
                at = message.seq + 1
                if belongs(unpacked(message.data or b"")):
                    await self._stream.delete_msg(ANSWERS, message.seq)

    @property
    def _stream(self) -> JetStreamContext:
        return self._client.jetstream(timeout=3)


class _SigningClient(Client):
    """Signs with the library that Moot has anyway; NATS's own would need another one."""

    def __init__(self, key: Key) -> None:
        super().__init__()
        self._key = key

    async def end(self) -> None:
        """Close it, also where it was broken off while it closed a connection by itself."""
        try:
            await self.close()
        finally:
            if self._transport is not None:
                self._transport.close()  # type: ignore[no-untyped-call]

    def _setup_nkeys_connect(self) -> None:
        self._public_nkey, self._signature_cb = self._key.public, self._key.sign


@contextlib.contextmanager
def _down(what: str) -> Iterator[None]:
    try:
        yield
    except (NatsError, TimeoutError) as error:
        raise LinkDown(what) from error


def _done(message: Msg) -> Callable[[], Awaitable[None]]:
    async def done() -> None:
        with contextlib.suppress(NatsError):
            await message.ack()

    return done


def packed(data: bytes) -> bytes:
    """A message on its way: as it is or, where that is worth it, compressed."""
    return b"\0" + data if len(data) < SMALL_BYTES else b"\1" + zlib.compress(data, 1)


def unpacked(data: bytes) -> bytes:
    """The message. Raises ValueError, zlib.error: it is none, or larger than any."""
    if data[:1] != b"\1":
        return data[1:]
    unpacking = zlib.decompressobj()
    whole = unpacking.decompress(data[1:], MOST_BYTES)
    if unpacking.unconsumed_tail:
        raise ValueError("larger than any message")
    return whole


async def _disconnected() -> None:
    log.warning("link.down")


async def _connected() -> None:
    log.info("link.up")
