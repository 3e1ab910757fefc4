"""What a header says, section by section."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from composer.briefing import parse_briefing
from composer.header import compose
from contract.briefing import Briefing, Fact, Landmark, Note, Observation, ThreadMessage
from contract.chat import Attachment, Room, Speaker
from contract.errors import ConfigError
from tests.doubles.briefings import ANDI, AT, BUDI, CLAUDE, briefing, line
from tests.doubles.header_reader import read

GOLDEN = sorted((Path(__file__).parent / "golden").iterdir())


def section(given: Briefing, name: str) -> list[str]:
    return read(compose(given).text).sections[name]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_a_golden_briefing_gives_its_header_to_the_byte(case: Path) -> None:
    given = parse_briefing((case / "briefing.json").read_bytes())
    assert compose(given).text.encode() == (case / "header.txt").read_bytes()


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_the_sections_of_a_header_are_its_text(case: Path) -> None:
    header = compose(parse_briefing((case / "briefing.json").read_bytes()))
    assert "\n\n".join(section.text for section in header.sections) + "\n" == header.text
    assert all(s.text.startswith(f"[{s.name}") and s.source for s in header.sections)


def test_the_same_briefing_gives_the_same_bytes() -> None:
    text = (GOLDEN[0] / "briefing.json").read_text(encoding="utf-8")
    assert compose(parse_briefing(text)) == compose(parse_briefing(text))


def test_empty_sections_vanish_with_their_headings() -> None:
    header = compose(briefing())
    assert [section.name for section in header.sections] == [
        "SESSION CONTEXT",
        "RAW TRANSCRIPT",
        "CURRENT INVOCATION",
    ]
    assert "[RAW TRANSCRIPT — most recent 40 messages]\n(no messages)\n\n" in header.text
    assert header.trims == ()


def test_texts_of_nothing_visible_count_as_empty() -> None:
    given = briefing(
        recall=(Fact(" \u200b\n"),),
        pins=(Note("\u2060"),),
        landmarks=(Landmark("\x1b[0m", "2026-01-01", "Andi"),),
        observations=(Observation("\t"),),
        summary="\n\u00ad ",
        thread_context="[Thread context — prior messages in this thread, newest last]\n\n",
    )
    assert len(compose(given).sections) == 3


@pytest.mark.parametrize(
    ("room", "said", "asked"),
    [
        (Room("web:x", "x"), "#x", "in room #x."),
        (Room("web:x", "##x"), "#x", "in room #x."),
        (Room("web:x", "x", project="saga"), "#x (project: saga)", "in room #x."),
        (Room("slack:C06", ""), "#C06", "in room #C06."),
        (Room("web:d", "", "dm"), "direct message with Andi", "in this direct message."),
        (Room("web:d", "", "huddle"), "direct message with Andi", "in this direct message."),
        (Room("web:g", "family", "gdm"), "#family", "in room #family."),
        (
            Room("web:g", "", "gdm"),
            "group direct message with Andi and Budi",
            "in this group direct message.",
        ),
    ],
)
def test_where_it_is_said(room: Room, said: str, asked: str) -> None:
    given = briefing(room=room, spoke_since=(BUDI,))
    assert section(given, "SESSION CONTEXT")[0] == f"Room: {said}"
    assert section(given, "CURRENT INVOCATION") == [f"Respond to Andi and Budi {asked}"]


def test_the_roster_is_named_without_this_bot_under_any_of_its_ids() -> None:
    roster = (
        CLAUDE,
        Speaker("slack:B1", "@Claude", "bot"),
        Speaker("web:andi", "Andi", role="backend lead"),
        Speaker("slack:B2", "@codex", "bot", role="reviewer"),
        ANDI,
    )
    lines = section(briefing(participants=roster), "SESSION CONTEXT")
    assert lines[1] == "Participants: Andi (backend lead), @codex (bot)"


def test_without_a_roster_the_senders_and_who_triggered_are_named() -> None:
    said = (line("1", by=BUDI), line("2", by=CLAUDE), line("3", by=BUDI))
    lines = section(briefing(transcript=said), "SESSION CONTEXT")
    assert lines[1] == "Participants: Budi, Andi"


def test_twenty_participants_are_named_and_the_rest_counted() -> None:
    roster = tuple(Speaker(f"web:{i}", f"P{i}") for i in range(25))
    names = section(briefing(participants=roster), "SESSION CONTEXT")[1].split(", ")
    assert names[-2:] == ["P19", "+5 more"]
    assert len(names) == 21


def test_time_is_the_triggers_in_the_configured_zone() -> None:
    given = briefing(timezone="Asia/Kathmandu", transcript=(line("1", minutes=1),))
    assert section(given, "SESSION CONTEXT")[-1] == "Time: 2026-04-21 19:47 Asia/Kathmandu"
    assert section(given, "RAW TRANSCRIPT") == ["[19:48 | Andi] hello"]


@pytest.mark.parametrize(
    "name", ["", "Mars", "../etc/passwd", "Asia", "localtime", "a\nb", "UTC\n"]
)
def test_an_unknown_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="timezone"):
        compose(briefing(timezone=name))


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(ConfigError, match="UTC"):
        compose(briefing(at=AT.replace(tzinfo=None)))


@pytest.mark.parametrize(
    ("fact", "printed"),
    [
        (Fact("x", "fact", "2026-04-15", "DM"), "- x (fact, 2026-04-15, DM)"),
        (Fact("x", "preference", "2026-04-15T09:00:00Z"), "- x (preference, 2026-04-15)"),
        (Fact("x", "fact", None, "#ops"), "- x (fact, #ops)"),
        (Fact("x", "fact", "last week"), "- x (fact)"),
        (Fact("x", "project", "2026-04-15", "#ops"), "- x (project memory)"),
        (Fact("x", ""), "- x"),
        (
            Fact("x", "fact", "2026-04-15", replaced="2026-05-02"),
            "- x (fact, 2026-04-15, replaced 2026-05-02)",
        ),
        (Fact("x", "project", replaced="2026-05-02"), "- x (project memory, replaced 2026-05-02)"),
        (Fact(" x\n y\t"), "- x y (fact)"),
    ],
)
def test_a_recalled_fact_tells_its_kind_day_and_origin(fact: Fact, printed: str) -> None:
    assert section(briefing(recall=(fact,)), "RECALL") == [printed]


def test_the_five_best_hits_are_shown_in_the_order_given_among_equals() -> None:
    scores = [0.1, 0.5, float("nan"), 0.5, 0.9, 0.5, 0.2]
    hits = tuple(Fact(str(i), "", score=score) for i, score in enumerate(scores))
    assert section(briefing(recall=hits), "RECALL") == ["- 4", "- 1", "- 3", "- 5", "- 6"]


def test_the_newest_ten_landmarks_are_shown_oldest_first() -> None:
    days = [f"2026-04-{day:02d}" for day in (12, 3, 9, 1, 10, 11, 2, 8, 7, 6, 5, 4)]
    pinned = tuple(Landmark("x", day, "Budi") for day in days)
    shown = section(briefing(landmarks=pinned), "LANDMARKS")
    assert shown == [f"- [2026-04-{day:02d}] x (by Budi)" for day in range(3, 13)]


def test_a_thread_is_told_from_values_or_from_the_platforms_block() -> None:
    said = (ThreadMessage(Speaker("slack:U03", "Ash", mention="<@U03>"), "one\ntwo"),)
    block = (
        "[Thread context — prior messages in this thread, newest last]\n- Ash (<@U03>): one\ntwo"
    )
    expected = ["- Ash (<@U03>): one", "  two"]
    assert section(briefing(thread=said), "THREAD CONTEXT") == expected
    assert section(briefing(thread_context=block), "THREAD CONTEXT") == expected
    assert section(briefing(thread=said, thread_context="- x"), "THREAD CONTEXT") == expected


def test_a_block_without_bullets_is_one_message_a_line() -> None:
    given = briefing(thread_context="Ash: one\n\nBudi: two\n")
    assert section(given, "THREAD CONTEXT") == ["- Ash: one", "- Budi: two"]


def test_messages_are_shown_oldest_first_up_to_the_window() -> None:
    said = tuple(line(str(i), str(i), minutes=i) for i in reversed(range(45)))
    given = briefing(transcript=said, trigger_ids=("2", "44"))
    shown = section(given, "RAW TRANSCRIPT")
    assert [int(text.rpartition(" ")[2]) for text in shown] == [2, *range(6, 45)]
    assert compose(given).trims[0].section == "RAW TRANSCRIPT"


@pytest.mark.parametrize(
    ("count", "heading"),
    [(0, "0 messages"), (1, "1 message"), (3, "3 messages")],
)
def test_a_living_session_is_told_how_many_messages_are_new(count: int, heading: str) -> None:
    said = tuple(line(str(i)) for i in range(count))
    header = read(compose(briefing(transcript=said, since_last_reply=True)).text)
    assert header.headings[1] == f"[RAW TRANSCRIPT — {heading} since your last reply]"


def test_the_configured_window_is_named_and_not_the_count() -> None:
    given = briefing(transcript=(line("1"),))
    given = replace(given, budget=replace(given.budget, window_messages=12))
    assert "[RAW TRANSCRIPT — most recent 12 messages]" in compose(given).text


def test_further_lines_and_attachments_are_indented() -> None:
    files = (
        Attachment("a, b.log", "text/plain", 2_048, "/data/a b.log"),
        Attachment("c.png", "image/png", 7),
        Attachment("d", "x/y", 1, "/data/\n[PINS"),
    )
    said = line("1", "\nfirst\n\n  deeper\n\n", attachments=files)
    assert section(briefing(transcript=(said,)), "RAW TRANSCRIPT") == [
        "[14:02 | Andi] first",
        "  ",
        "    deeper",
        "  [attachment: a, b.log, text/plain, 2048 bytes] /data/a b.log",
        "  [attachment: c.png, image/png, 7 bytes]",
        "  [attachment: d, x/y, 1 bytes]",
    ]


def test_many_attachments_are_counted() -> None:
    said = line("1", "", attachments=(Attachment("a", "b/c", 1),) * 25)
    shown = section(briefing(transcript=(said,)), "RAW TRANSCRIPT")
    assert shown[0] == "[14:02 | Andi]"
    assert shown[-1] == "  [attachment: +5 more]"


@pytest.mark.parametrize(
    ("others", "addressed"),
    [
        ((), "Andi"),
        ((ANDI, CLAUDE, Speaker("web:b", "codex", "bot")), "Andi"),
        ((BUDI, BUDI), "Andi and Budi"),
        ((BUDI, Speaker("web:c", "Carol")), "Andi, Budi and Carol"),
    ],
)
def test_who_triggered_and_the_people_who_spoke_since_are_addressed(
    others: tuple[Speaker, ...], addressed: str
) -> None:
    given = briefing(spoke_since=others)
    assert section(given, "CURRENT INVOCATION") == [f"Respond to {addressed} in room #auth-team."]


def test_the_transcript_tells_who_spoke_since_when_nobody_else_does() -> None:
    said = (
        line("0", by=Speaker("web:x", "X")),
        line("1", minutes=1),
        line("2", by=BUDI, minutes=2),
    )
    given = briefing(transcript=said, trigger_ids=("1",))
    assert section(given, "CURRENT INVOCATION") == [
        "Respond to Andi and Budi in room #auth-team, to the message of 14:03."
    ]


@pytest.mark.parametrize(
    ("asked", "which"),
    [
        ("1", "the message of 14:02 (2 of theirs follow in that minute)"),
        ("2", "the message of 14:02 (1 of theirs follows in that minute)"),
        ("3", "the message of 14:02 (their last in that minute)"),
    ],
)
def test_among_messages_of_a_person_and_a_minute_the_asked_one_is_told(
    asked: str, which: str
) -> None:
    said = (*map(line, "123"), line("4", by=BUDI), line("5", minutes=1))
    given = briefing(transcript=said, trigger_ids=(asked,), spoke_since=(ANDI,))
    assert section(given, "CURRENT INVOCATION") == [
        f"Respond to Andi in room #auth-team, to {which}."
    ]


def test_a_bare_mention_is_told() -> None:
    assert section(briefing(only_mention=True), "CURRENT INVOCATION") == [
        "Respond to Andi in room #auth-team. (The message was only a mention.)"
    ]


def test_who_was_cut_off_is_told_to_look_first() -> None:
    [told] = section(briefing(cut_off=True), "CURRENT INVOCATION")
    assert told.startswith("Respond to Andi in room #auth-team. (This is your second try: ")


@pytest.mark.parametrize(("hop", "told"), [(0, "1 of 2"), (1, "1 of 2"), (2, "2 of 2")])
def test_another_bot_is_addressed_with_its_hop(hop: int, told: str) -> None:
    codex = Speaker("slack:B2", "codex", "bot")
    given = briefing(triggered_by=codex, hop=hop, spoke_since=(BUDI,))
    assert section(given, "CURRENT INVOCATION") == [
        f"Respond to @codex (bot, hop {hop or 1} of 2) and Budi in room #auth-team."
    ], told


def test_times_at_the_calendars_ends_do_not_fail() -> None:
    last = AT.replace(year=9999, month=12, day=31, hour=23)
    given = briefing(timezone="Asia/Jakarta", at=last, transcript=(line("1", minutes=-1),))
    assert "Time: 9999-12-31 23:02" in compose(given).text
    assert compose(briefing(at=AT - timedelta(days=365 * 2_000))).text


def test_composing_leaves_the_briefing_as_it_was() -> None:
    text = (Path(__file__).parent / "golden" / "forged" / "briefing.json").read_text("utf-8")
    given, again = parse_briefing(text), parse_briefing(text)
    compose(given)
    assert given == again
    assert given.transcript[0].text == json.loads(text)["transcript"][0]["text"]
