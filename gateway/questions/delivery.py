"""An answer to the platform: each piece once, whatever fails in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog

from bots.bot import Bot
from contract.chat import Destination
from contract.errors import PlatformError
from contract.work import Work
from gateway.core.ledger import Post, Turn
from gateway.core.sql_ledger import SqlLedger
from gateway.core.trace import StepTimer
from store.timestamps import moment

log = structlog.stdlib.get_logger("moot.delivery")

LONGEST_WAIT_S = 30.0
QUICK_CHARS = 1_500  # splitting takes about 10 ms for a thousand characters of dense Markdown


async def pieces(text: str, bot: Bot) -> list[str]:
    """A text as pieces that each fit one post; a long one is split off the loop."""
    if len(text) <= QUICK_CHARS:
        return bot.split(text)
    return await asyncio.to_thread(bot.split, text)


async def plan(answer: str, bot: Bot, work: Work | None = None) -> list[tuple[str, str]]:
    """The posts that carry an answer, as (kind, text): its pieces, or a summary and a file; and
    what was done for it, in one line."""
    split = await pieces(answer, bot)
    planned = [("text", piece) for piece in split]
    if len(split) > bot.capabilities.max_posts and bot.capabilities.files:
        planned = [("text", _summary(answer)), ("file", answer)]
    if work and bot.capabilities.notes:
        planned.append(("work", work.summary))
    return planned


def _summary(answer: str) -> str:
    lines = answer.count("\n") + 1
    first = next((line.strip() for line in answer.splitlines() if line.strip()), "")
    shown = first if len(first) <= 200 else first[:199] + "…"
    return f"{shown}\n\n(The whole answer, {lines} lines, is in the attached file.)"


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
        try:
            if message_id is None and uncertain:
                message_id = await look(turn, post.key, bot, place, ledger)
                uncertain = False
            if message_id is None:
                if post.kind == "work":
                    message_id = await bot.note(place, post.text, post.key)
                elif post.kind == "text":
                    message_id = await bot.post(place, post.text, post.key)
                else:
                    data = post.text.encode("utf-8", "replace")
                    message_id = await bot.upload(place, "answer.md", data, "", post.key)
            elif post.kind == "text" and post.drafted:
                await bot.edit(place, message_id, post.text)
            return replace(post, state="sent", platform_id=message_id)
        except PlatformError as error:
            if error.outcome == "refused" and message_id is None:
                if post.kind != "work":
                    raise
                log.warning("post.left_out", key=post.key, reason=str(error))
                return replace(post, state="sent", platform_id="")
            if error.outcome == "refused":  # its draft is gone or can't be edited: say it again
                message_id = None
                continue
            if error.outcome == "unknown" and message_id is None:
                uncertain = True
            delay_s = error.retry_after_s if error.outcome == "retry" else wait_s
            log.warning("post.retry", key=post.key, in_s=round(delay_s, 1), reason=str(error))
            await asyncio.sleep(delay_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)


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
