"""An owner verifies the bot by emoji, from Element's library on a real Synapse."""

from __future__ import annotations

import asyncio
import re

import pytest

from bots.matrix.crypto.sas import EmojiVerification, Side, VerificationFailed
from bots.matrix.invites import Welcome
from contract.chat import Inbound
from tests.doubles.inbox import PATIENCE_S, Inbox, running, until
from tests.doubles.matrix_person import ElementPerson
from tests.doubles.matrix_stage import Stage, said


def owned_by(person: ElementPerson) -> Welcome:
    return Welcome(lambda _: True, is_owner=lambda by: by == f"matrix:{person.user_id}")


async def verified(person: ElementPerson, user: str) -> None:
    """Wait until somebody's client holds somebody for verified."""
    async with asyncio.timeout(PATIENCE_S):
        while not (await person("devices", user=user))["verified"]:
            await asyncio.sleep(0.1)


async def test_an_owner_verifies_it_in_their_room_with_it(stage: Stage, inbox: Inbox) -> None:
    async with (
        ElementPerson.open(stage.homeserver, "ella", stage.folder) as ella,
        running(stage.bot(invites=owned_by(ella)), inbox),
    ):
        room = await ella.room(stage.bot_id, direct=True, name="")
        shown = (await ella("verify", user=stage.bot_id, room=room))["emoji"]
        note = await ella.sees(lambda e: "Are these" in str(e["content"].get("body")))
        assert await ella("compared", same=True) == {"done": True}
        await verified(ella, stage.bot_id)
        await ella.say(room, "thanks")
        await said(inbox, "thanks")
    assert len(shown) == 7
    assert [
        line.split()[0] for line in re.split(r" {2,}|\n+", note["content"]["body"])[1:]
    ] == shown
    assert note["was_encrypted"]
    texts = [event.content for event in inbox.events if isinstance(event, Inbound)]
    assert texts == ["thanks"]  # the request was nobody's question


async def test_an_owner_verifies_it_from_device_to_device(
    stage: Stage, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with (
        ElementPerson.open(stage.homeserver, "ella", stage.folder) as ella,
        running(stage.bot(invites=owned_by(ella)), inbox),
    ):
        await ella.room(stage.bot_id)
        (device,) = (await ella("devices", user=stage.bot_id))["devices"]
        shown = (await ella("verify", user=stage.bot_id, device=device))["emoji"]
        await until(lambda: "verification.compare" in caplog.text)
        assert await ella("compared", same=True) == {"done": True}
        await verified(ella, stage.bot_id)
    assert all(sign in caplog.text for sign in shown)


async def test_whoever_sees_other_emoji_ends_it(
    stage: Stage, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        ElementPerson.open(stage.homeserver, "ella", stage.folder) as ella,
        running(stage.bot(invites=owned_by(ella)), inbox),
    ):
        room = await ella.room(stage.bot_id)
        await ella("verify", user=stage.bot_id, room=room)
        assert "cancelled" in await ella("compared", same=False)
        await until(lambda: "m.mismatched_sas" in caplog.text)
        assert not (await ella("devices", user=stage.bot_id))["verified"]


async def test_nobody_but_an_owner_verifies_it(
    stage: Stage, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        ElementPerson.open(stage.homeserver, "ella", stage.folder) as ella,
        running(stage.bot(), inbox),
    ):
        room = await ella.room(stage.bot_id)
        answer = await ella("verify", user=stage.bot_id, room=room)
        await ella.say(room, "hello")
        await said(inbox, "hello")
    assert answer == {"cancelled": "m.user"}
    assert "only an owner may verify it" in caplog.text
    assert len(inbox.events) == 1


OWN = Side("@moot:x", "M", {"ed25519:M": "m"})
OTHER = Side("@ella:x", "E", {"ed25519:E": "e"})
START = {
    "method": "m.sas.v1",
    "key_agreement_protocols": ["curve25519-hkdf-sha256"],
    "hashes": ["sha256"],
    "message_authentication_codes": ["hkdf-hmac-sha256.v2"],
    "short_authentication_string": ["decimal", "emoji"],
}


@pytest.mark.parametrize(
    "change",
    [
        {"method": "m.other"},
        {"hashes": []},
        {"hashes": "sha256"},
        {"short_authentication_string": ["decimal"]},
        {"message_authentication_codes": ["hkdf-hmac-sha256"]},
        {"key_agreement_protocols": None},
    ],
)
def test_another_way_to_verify_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(VerificationFailed) as failed:
        EmojiVerification(OWN, OTHER, "t").accept(START | change)
    assert failed.value.code == "m.unknown_method"


def test_keys_that_are_others_than_the_compared_ones_are_refused() -> None:
    """The two sides below are one another's; then one says that it has another key."""
    mine = EmojiVerification(OWN, OTHER, "t")
    mine.accept(START)
    theirs = EmojiVerification(OTHER, OWN, "t")
    with pytest.raises(VerificationFailed, match="nothing was compared"):
        mine.confirm({"mac": {"ed25519:E": "AAAA"}, "keys": "AAAA"})
    key = theirs.reveal({"key": "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo"})
    mine.reveal(key)
    for content in (
        {"mac": {}, "keys": ""},
        {"mac": {"ed25519:E": "AAAA"}, "keys": "AAAA"},
        {"mac": "x", "keys": "AAAA"},
    ):
        with pytest.raises(VerificationFailed):
            mine.confirm(content)
    with pytest.raises(VerificationFailed, match="no key"):
        theirs.reveal({"key": "nonsense"})
