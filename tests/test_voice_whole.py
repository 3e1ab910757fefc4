"""The whole way: a voice message becomes text before it is decided whom it is for."""

import json
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.doubles.running import until
from tests.doubles.service import Service, service
from tests.doubles.slack import BOT_USER, DM, SlackDouble
from tests.test_slack_whole import CONFIG as WITH_SLACK
from tests.test_slack_whole import secrets

CONFIG = WITH_SLACK.replace('rooms = "open"', 'rooms = "open"\ndms = "open"')
VOICE = b"OggS, and somebody's voice"
SAID = "why is the token expiry\nonly 15 minutes?\n"


def program(folder: Path, does: str) -> str:
    """A stand-in for whisper.cpp's CLI: what it does with its sound file."""
    path = folder / "whisper"
    path.write_text(
        f"#!{sys.executable}\nimport os, sys, time\n"
        f"sound = open(sys.argv[-1], 'rb').read()\n{does}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return f"[transcribe]\ncommand = [{json.dumps(str(path))}, '-m', 'tiny.bin']\n"


@asynccontextmanager
async def running(tmp_path: Path, table: str) -> AsyncIterator[tuple[SlackDouble, Service]]:
    async with SlackDouble.open() as slack:
        config = CONFIG.format(api_url=slack.api_url) + table
        async with service(
            tmp_path, config, MOOT_TRANSCRIBE_KEY="sk-voice", **secrets(slack)
        ) as moot:
            await slack.delivery.connected()
            yield slack, moot


def voice(slack: SlackDouble, data: bytes = VOICE, name: str = "audio_message.m4a") -> tuple[str]:
    return (slack.file(name, data, "audio/mp4"),)


async def test_a_program_writes_down_what_is_said_in_a_direct_message(tmp_path: Path) -> None:
    does = (
        f"assert sound == {VOICE!r} and sys.argv[1:3] == ['-m', 'tiny.bin']\n"
        "assert not [name for name in os.environ if 'SLACK' in name or 'MOOT' in name]\n"
        f"print({SAID!r})"
    )
    async with running(tmp_path, program(tmp_path, does)) as (slack, moot):
        await slack.say("", channel=DM, files=voice(slack))
        await until(lambda: slack.texts(DM) != [])
        [answer] = slack.texts(DM)
        assert "🎤 why is the token expiry only 15 minutes?" in answer
        await slack.say(f"<@{BOT_USER}> echo and this", files=voice(slack), times=2)
        await until(lambda: slack.texts() != [])
        assert "echo" not in slack.texts()[0]
        assert "and this\n🎤 why is" in slack.texts()[0]
        await moot.stop()
        assert "token expiry" not in moot.log(), "what people say is in no log"


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("sys.exit(3)", "the transcription failed"),
        ("time.sleep(60)", "it took longer than 2 seconds"),
        ("", "(nothing is said)"),
    ],
)
async def test_a_person_is_told_what_could_not_be_made_out(
    tmp_path: Path, does: str, told: str
) -> None:
    table = program(tmp_path, does) + "timeout_s = 2\nfile_mb = 1\n"
    async with running(tmp_path, table) as (slack, _):
        await slack.say("echo hello", channel=DM, files=voice(slack))
        await until(lambda: any(told in text for text in slack.texts(DM)))
        await until(lambda: any("hello" in text for text in slack.texts(DM)))
        await slack.say("echo again", channel=DM, files=voice(slack, bytes(1_000_001)))
        large = "I could not make out audio_message.m4a: it is larger than 1 MB."
        await until(lambda: any(large in text for text in slack.texts(DM)))


async def test_an_endpoint_like_openais_writes_it_down(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    async def transcriptions(request: web.Request) -> web.Response:
        form = await request.post()
        sound = form["file"]
        assert isinstance(sound, web.FileField)
        asked.append(
            {
                "key": request.headers.get("Authorization"),
                "model": form["model"],
                "language": form["language"],
                "sound": sound.file.read(),
                "type": sound.content_type,
            }
        )
        if len(asked) > 1:
            return web.json_response({"error": {"message": "no more"}}, status=429)
        return web.json_response({"text": "let us use PASETO"})

    app = web.Application()
    app.router.add_post("/v1/audio/transcriptions", transcriptions)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    table = f'[transcribe]\nurl = "http://127.0.0.1:{port}/v1/"\nmodel = "tiny"\nlanguage = "de"\n'
    try:
        async with running(tmp_path, table) as (slack, moot):
            await slack.say("", channel=DM, files=voice(slack, name="memo.ogg"))
            await until(lambda: any("🎤 let us use PASETO" in t for t in slack.texts(DM)))
            assert asked == [
                {
                    "key": "Bearer sk-voice",
                    "model": "tiny",
                    "language": "de",
                    "sound": VOICE,
                    "type": "audio/ogg",
                }
            ]
            await slack.say("echo more", channel=DM, files=voice(slack))
            await until(lambda: any("the transcription failed" in t for t in slack.texts(DM)))
            await until(lambda: "HTTP 429" in moot.log())
    finally:
        await runner.cleanup()


async def test_a_file_that_is_too_large_is_said_to_the_person(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        config = CONFIG.format(api_url=slack.api_url).replace(
            'platform = "slack"', 'platform = "slack"\nfile_mb = 1'
        )
        async with service(tmp_path, config, **secrets(slack)) as _:
            await slack.delivery.connected()
            large = (slack.file("plan.zip", bytes(1_000_001), "application/zip"),)
            await slack.say("echo look", channel=DM, files=large)
            told = "📎 plan.zip did not reach me: it is larger than 1 MB."
            await until(lambda: any(told in text for text in slack.texts(DM)))
            await until(lambda: any("look" in text for text in slack.texts(DM)))
