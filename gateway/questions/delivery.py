"""An answer to the platform: each piece once, whatever fails in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from bots.bot import Bot
from bots.kit.questions import literal
from bots.markdown.reader import with_fences_inside
from bots.markdown.split import with_a_file
from contract.chat import Destination
from contract.errors import PlatformError
from contract.language import say
from contract.work import handed_file, recorded_work
from gateway.core.ledger import Post, PostKind, Turn
from gateway.core.sql_ledger import SqlLedger
from gateway.core.trace import StepTimer
from store.timestamps import moment

log = structlog.stdlib.get_logger("moot.delivery")

LONGEST_WAIT_S = 30.0
QUICK_CHARS = 200  # splitting takes about 10 ms for a thousand characters of dense Markdown


async def pieces(text: str, bot: Bot) -> list[str]:
    """A text as pieces that each fit one post; a long one is split off the loop."""
    return await _beside(text, bot.split)


async def _beside(text: str, read: Callable[[str], list[str]]) -> list[str]:
    """What is read of a text; of a long one off the loop."""
    return read(text) if len(text) <= QUICK_CHARS else await asyncio.to_thread(read, text)


async def plan(answer: str, bot: Bot, record: Mapping[str, Any]) -> list[tuple[PostKind, str]]:
    """The posts that carry an answer, as (kind, text): its pieces, the last of them in a file where
    there are too many; code that can't be copied from them; then the files that the agent handed
    over, and what was done for it, in one line. record: the turn's."""
    split, able = await pieces(answer, bot), bot.capabilities
    planned: list[tuple[PostKind, str]] = [("text", piece) for piece in split]
    if len(split) > able.max_posts and able.files:
        shown = with_a_file(split, able.max_posts, answer.count("\n") + 1)
        planned = [*(("text", piece) for piece in shown), ("file", answer)]
    elif able.files and not able.nests_fences:
        inside = await _beside(answer, lambda text: [*with_fences_inside(text)])
        planned += [("file", code) for code in inside]
    if able.files:
        handed = (json.dumps(values, ensure_ascii=False) for values in record.get("files", ()))
        planned += [("handed", text) for text in handed]
    if "work" in record and able.notes:
        work = recorded_work(record["work"])
        planned += [("work", work.summary)] if work else []
    return planned


async def deliver(
    turn: Turn,
    posts: Sequence[Post],
    bot: Bot,
    place: Destination,
    ledger: SqlLedger,
    step: StepTimer,
) -> list[Post]:
    """Send every piece that the platform doesn't have yet; return them as sent.

    Waits out rate limits and outages. Raises PlatformError when the platform refuses for good.
    """
    sent = []
    for post in posts:
        done = post
        if post.state != "sent":
            with step("post.send", "post") as sending:
                sending.attributes["moot.post.kind"] = post.kind
                done = await _send(turn, post, bot, place, ledger)
            log.info("post.sent", kind=post.kind, chars=len(post.text), key=post.key)
            if len(posts) > 1:
                done = await ledger.sent(done, done.platform_id or "")
        sent.append(done)
    return sent


async def _send(turn: Turn, post: Post, bot: Bot, place: Destination, ledger: SqlLedger) -> Post:
    uncertain = post.uncertain
    message_id = post.platform_id
    wait_s = 0.5
    while True:
        await ledger.sure_to_lead()
        try:
            if message_id is None and uncertain:
                message_id = await look(turn, post.key, bot, place, ledger)
                uncertain = False
            if message_id is None:
                message_id = await _made(post, bot, place)
            elif post.kind == "text" and post.drafted:
                await bot.edit(place, message_id, post.text)
            return replace(post, state="sent", platform_id=message_id)
        except PlatformError as error:
            if error.outcome == "refused" and message_id is not None:
                return await _said_again(turn, post, message_id, bot, place, ledger)
            if error.outcome == "refused":
                return await _left_out(post, bot, place, error)
            if error.outcome == "unknown" and message_id is None:
                uncertain = True
            delay_s = error.retry_after_s if error.outcome == "retry" else wait_s
            log.warning("post.retry", key=post.key, in_s=round(delay_s, 1), reason=str(error))
            await asyncio.sleep(delay_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)


async def _said_again(
    turn: Turn, post: Post, draft_id: str, bot: Bot, place: Destination, ledger: SqlLedger
) -> Post:
    """A post whose draft is gone or can't be edited any more, as a new message.

    By a key of its own: that of the draft names the draft, where a platform makes each key once.
    """
    again = replace(post, key=f"{post.key}:again", platform_id=None)
    sent = await _send(turn, again, bot, place, ledger)
    try:
        await bot.delete(place, draft_id)
    except PlatformError as error:
        log.info("draft.not_deleted", turn=turn.id, reason=str(error))
    return replace(sent, key=post.key)


async def _made(post: Post, bot: Bot, place: Destination) -> str:
    """A post that the platform doesn't have; its id."""
    match post.kind:
        case "work":
            return await bot.note(place, post.text, post.key)
        case "file":
            data = post.text.encode("utf-8", "replace")
            return await bot.upload(place, "answer.md", data, "", post.key)
        case "handed":
            handed = handed_file(json.loads(post.text))
            try:
                data = await asyncio.to_thread(Path(handed.file.path or "").read_bytes)
            except OSError as error:
                raise PlatformError(f"the file is gone: {error}", outcome="refused") from error
            return await bot.upload(place, handed.file.name, data, handed.comment, post.key)
    return await bot.post(place, post.text, post.key)


async def _left_out(post: Post, bot: Bot, place: Destination, refusal: PlatformError) -> Post:
    """A post that the platform refuses and the answer can do without; of a file people are told.
    Raises the refusal of any other."""
    if post.kind not in ("work", "handed"):
        raise refusal
    log.warning("post.left_out", kind=post.kind, key=post.key, reason=str(refusal))
    message_id = ""
    if post.kind == "handed":
        name = literal(handed_file(json.loads(post.text)).file.name)
        line = say(
            "({name} could not be posted here; it is on the page, with this answer.)", name=name
        )
        try:
            message_id = await bot.post(place, line, post.key)
        except PlatformError as error:
            log.warning("post.left_out", kind=post.kind, key=post.key, reason=str(error))
    return replace(post, state="sent", platform_id=message_id)


async def look(turn: Turn, key: str, bot: Bot, place: Destination, ledger: SqlLedger) -> str | None:
    """The platform's id of a post that may have arrived: it is not older than its question.

    Raises PlatformError when the platform can't tell now; None when it never can.
    """
    since = moment(turn.asked_at)
    known = await ledger.known_posts(turn.room.id)
    try:
        return await bot.find(place, key, since, known)
    except PlatformError as error:
        if error.outcome != "refused":
            raise
        log.warning("post.unverifiable", key=key, reason=str(error))
        return None
