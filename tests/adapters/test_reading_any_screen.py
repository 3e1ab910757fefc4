"""Whatever a screen shows, reading it gives text and never fails."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.profiles import looks
from adapters.reading.reply import TranscriptView, find_dialog, read_error, read_reply
from adapters.screen.screen import Screen
from adapters.screen_profile import ScreenProfile

PIECES = st.one_of(
    st.sampled_from(
        [
            *(
                "❯ ",
                "❯\xa0",
                "> ",
                "› ",
                "● ",
                "• ",
                "✦ ",
                "  ◆︎ ",
                " ● ",
                "  ┃ ",
                "  ╹▀▀▀▀▀▀",
                "ask> ",
            ),
            *(
                "  ⎿ \xa0",
                "  └ ",
                "╭─ ⚕ Hermes ─╮",
                "╰────╯",
                "─" * 30,
                "━━━━  ━━━━",
                " ─────",
                "!end",
            ),
            *(
                "┌──┬──┐",
                "│ a│ b│",
                "├──┼──┤",
                "└──┴──┘",
                "1. ",
                " ❯ 2. ",
                "3. ",
                "- ",
                "▎ ",
                "1 x",
                "2 y",
            ),
            *(
                "Bash(ls)",
                "Allow once  Reject",
                "key: v",
                "x" * 28,
                "漢字" * 7,
                "https://a/b",
                "a ",
                " ",
                "\xa0",
            ),
            *(
                "\r\n",
                "\r\n",
                "\r\n",
                "\r\n  ",
                "\r\n    ",
                "\x1b[1m",
                "\x1b[90m",
                "\x1b[m",
                "\x1b[7m",
            ),
            *("\x1b[?1049h", "\x1b[?1049l", "\x1b[H", "\x1b[2J", "\x1b[5A"),
        ]
    ),
    st.text(max_size=6),
)
TEXT = st.lists(PIECES, max_size=60).map("".join)


@pytest.mark.parametrize("look", looks().values(), ids=looks())
@given(frames=st.lists(TEXT, min_size=1, max_size=4), prompt=st.none() | st.text(max_size=8))
@settings(max_examples=60, deadline=None)
def test_any_screen_can_be_read(look: ScreenProfile, frames: list[str], prompt: str | None) -> None:
    screen, roll = Screen(30, 10), TranscriptView(look)
    for frame in frames:
        screen.feed(frame.encode("utf-8", "surrogatepass"))
        roll.see(screen)
        for reply in (read_reply(screen, look, prompt), read_reply(screen, look, prompt, roll)):
            assert reply == reply.strip("\n")
            assert not any(char < " " and char != "\n" for char in reply)
        read_error(screen, look, prompt)
        dialog = find_dialog(screen, look)
        assert dialog is None or 0 <= dialog.selected < len(dialog.options) > 1
