"""Invitations: followed or declined by rule, in the background, until it is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from urllib.parse import quote

import structlog

from bots.matrix.api import CLIENT, MatrixApi, MatrixRefused, path
from bots.matrix.backfill import Cursor, Invite
from bots.matrix.directory import Directory
from bots.matrix.events import SOURCE, parsed
from bots.matrix.wire import WireInvited
from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

_DECLINED = "An administrator of this bot has to add you to its `people` first."
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 60.0


@dataclass(frozen=True, slots=True)
class Welcome:
    """The people whose invitations are followed.

    follows: by a sender id (`matrix:@user:server`). is_nobody: no one is listed whose it could be.
    is_owner: by a sender id, whether this is an owner of the whole house, who may verify the bot.
    """

    follows: Callable[[str], bool]
    is_nobody: bool = False
    is_owner: Callable[[str], bool] = field(default=lambda _: False)


class Invites:
    """An invitation that can't be followed now is on disk, and tried again."""

    def __init__(
        self,
        api: MatrixApi,
        directory: Directory,
        cursor: Cursor,
        follows: Callable[[str], bool],
        bot: str,
    ) -> None:
        self._api, self._directory, self._cursor = api, directory, cursor
        self._follows, self._bot = follows, bot
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        self._task = asyncio.create_task(self._answer(), name=f"invitations of {self._bot}")
        try:
            yield
        finally:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def take(self, invites: Mapping[str, WireInvited]) -> None:
        """Take the invitations of a sync. Raises what ended the work in the background."""
        if self._task and self._task.done():
            self._task.result()
        for room_id, invited in invites.items():
            self._cursor.place.invites[room_id] = self._invite(invited)
        self.look()

    def look(self) -> None:
        """There may be something to follow."""
        if self._cursor.place.invites:
            self._due.set()

    def _invite(self, invited: WireInvited) -> Invite:
        found = Invite(by="")
        for raw in invited.invite_state.events:
            event = parsed(raw)
            if event and (event.type, event.state_key) == (
                "m.room.member",
                self._directory.own.user_id,
            ):
                found = Invite(by=event.sender, direct=event.state().is_direct)
        return found

    async def _answer(self) -> None:
        self._due.set()  # for those of an earlier process
        wait_s = _FIRST_WAIT_S
        while True:
            await self._due.wait()
            self._due.clear()
            invites = self._cursor.place.invites
            for room_id, invite in list(invites.items()):
                try:
                    await self._follow(room_id, invite)
                    invites.pop(room_id, None)
                except PlatformError as error:
                    log.warning("invitation.unreadable", bot=self._bot, reason=error)
            await self._cursor.save()
            if invites:
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, _LONGEST_WAIT_S)
                self._due.set()
            else:
                wait_s = _FIRST_WAIT_S

    async def _follow(self, room_id: str, invite: Invite) -> None:
        """Raises PlatformError when it may be tried again."""
        moved = room_id in self._cursor.place.moved
        welcome = moved or (bool(invite.by) and self._follows(f"{SOURCE}:{invite.by}"))
        try:
            if not welcome:
                log.warning(
                    "invitation.declined",
                    bot=self._bot,
                    by=invite.by,
                    room=room_id,
                    remedy=(
                        f'it declines the invitation: list "matrix:{invite.by}" as `people` under '
                        '[access], or set `invites = "everybody"`'
                    ),
                )
                where = CLIENT + path("rooms", room_id, "leave")
                await self._api.post(where, {"reason": _DECLINED})
                return
            if invite.direct:
                await self._directory.add_direct(invite.by, room_id)
            await self._api.post(CLIENT + path("join", room_id) + _by_way_of(invite.by), {})
            log.info("room.joined", bot=self._bot, room=room_id)
        except MatrixRefused as error:
            hint = ": invite it to the room that took the old one's place" if moved else ""
            log.warning("invitation.failed", bot=self._bot, reason=f"{error}{hint}")


def _by_way_of(user_id: str) -> str:
    """The server that knows the room."""
    server = user_id.partition(":")[2]
    return f"?server_name={quote(server, safe='')}" if server else ""


def welcome(
    rule: str,
    is_listed: Callable[[str], bool],
    *,
    anyone_listed: bool,
    is_owner: Callable[[str], bool] = lambda _: False,
) -> Welcome:
    """The rule of moot.toml's `invites`: people listed under [access], everybody, or nobody.

    is_listed and is_owner are asked each time: roles are given while Moot runs.
    """
    if rule == "people":
        return Welcome(is_listed, not anyone_listed, is_owner)
    return Welcome(lambda _: rule == "everybody", is_owner=is_owner)
