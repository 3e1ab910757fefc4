"""What people say of time, and when that is."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.settings.cron import Cron
from gateway.settings.when import WhenError, read_once, read_when

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 22, 13, 0, tzinfo=UTC)  # a Sunday, 14:00 in Berlin
FIVE = timedelta(minutes=5)


def read(text: str) -> tuple[str, str, str]:
    when, rest = read_when(text, zone=BERLIN, now=NOW, least=FIVE)
    first = Cron(when.cron, BERLIN).after(NOW)
    assert first is not None
    return when.words, f"{first.astimezone(BERLIN):%a %d %H:%M}", rest


@pytest.mark.parametrize(
    ("text", "words", "first", "rest"),
    [
        ("weekday 9:00 do it", "weekday 9:00", "Mon 23 09:00", "do it"),
        ("day at 9am do it", "day 9:00", "Mon 23 09:00", "do it"),
        ("day 9 pm do it", "day 21:00", "Sun 22 21:00", "do it"),
        ("weekend noon rest", "weekend 12:00", "Sat 28 12:00", "rest"),
        ("weekend 17.30 rest", "weekend 17:30", "Sun 22 17:30", "rest"),
        ("monday 9:00,15:30 x", "mon 9:00,15:30", "Mon 23 09:00", "x"),
        ("Wed, Monday and friday 9:00 and 15:00 x", "mon,wed,fri 9:00,15:00", "Mon 23 09:00", "x"),
        ("mon,wed 12am x", "mon,wed 0:00", "Mon 23 00:00", "x"),
        ("hour ping", "hour", "Sun 22 15:00", "ping"),
        ("15 minutes look", "15 minutes", "Sun 22 14:15", "look"),
        ("6 hours look", "6 hours", "Sun 22 18:00", "look"),
        ("month 8:00 pay", "month 8:00", "Tue 01 08:00", "pay"),
        ('"0 9 * * 1-5" go', '"0 9 * * 1-5"', "Mon 23 09:00", "go"),
        ('"0 9 * * 0" go', '"0 9 * * 0"', "Sun 29 09:00", "go"),
        ('"0 9 * * 0-2,7" go', '"0 9 * * 0-2,7"', "Mon 23 09:00", "go"),
        ("“*/10 9-17 * * *” go", '"*/10 9-17 * * *"', "Sun 22 14:10", "go"),
        ("day 9:00  two\n lines ", "day 9:00", "Mon 23 09:00", "two\n lines "),
        ('"weekday 9:00" go', "weekday 9:00", "Mon 23 09:00", "go"),
        ("0 9 * * 1-5 go", '"0 9 * * 1-5"', "Mon 23 09:00", "go"),
        ("9am x", "day 9:00", "Mon 23 09:00", "x"),
        ("9:00pm: x", "day 21:00", "Sun 22 21:00", "x"),
        ("day 17h x", "day 17:00", "Sun 22 17:00", "x"),
        ("day 17h30 - x", "day 17:30", "Sun 22 17:30", "x"),
        ("noon x", "day 12:00", "Mon 23 12:00", "x"),
        ("every 2 hours x", "2 hours", "Sun 22 16:00", "x"),
        ("30min x", "30 minutes", "Sun 22 14:30", "x"),
        ("half an hour, x", "30 minutes", "Sun 22 14:30", "x"),
        ("hourly x", "hour", "Sun 22 15:00", "x"),
        ("Monday and Thursday at 8 x", "mon,thu 8:00", "Mon 23 08:00", "x"),
        ("mondays 9 x", "mon 9:00", "Mon 23 09:00", "x"),
        ("weekly fri. 9 a.m. x", "fri 9:00", "Fri 27 09:00", "x"),
        ("mon-fri at 9 and 17 x", "weekday 9:00,17:00", "Mon 23 09:00", "x"),
        ("saturday to monday 9 Uhr x", "mon,sat,sun 9:00", "Mon 23 09:00", "x"),
        ("daily at 9 o'clock 3 things", "day 9:00", "Mon 23 09:00", "3 things"),
        ("9:00 on weekends rest", "weekend 9:00", "Sat 28 09:00", "rest"),
        ("9:00 every day x", "day 9:00", "Mon 23 09:00", "x"),
        ("9:00 day plan", "day 9:00", "Mon 23 09:00", "day plan"),
    ],
)
def test_what_people_say_is_read(text: str, words: str, first: str, rest: str) -> None:
    assert read(text) == (words, first, rest)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Say when."),
        ("weekday do it", "Say at what time, e.g. `weekday 9:00`."),
        ("day 25:00 x", "There is no `25:00`."),
        ("day 13pm x", "There is no `13pm`."),
        ("fnord 9:00 x", "I don't know when `fnord` is."),
        ("7 minutes x", "these do: 5, 6, 10, 12, 15, 20, 30."),
        ("0 minutes x", "doesn't go into a day evenly"),
        ("3 fortnights x", "I don't know how long `3 fortnights` is."),
        ("2 days x", "I can't do `every 2 days`"),
        ("weekly x", "Say on which day of the week"),
        ("day 9:00 Europe/London x", "Times are those of Europe/Berlin here"),
        ("minute x", "too often: 5 minutes are the shortest"),
        ('"0,1 9 * * *" x', "too often"),
        ('"59 23,0 * * *" x', ""),
        ('"0 9 31 2 *" x', "never comes"),
        ('"* * *" x', "it needs five fields"),
        ('"0 99 * * *" x', "I can't read the cron line"),
        ('"0 9 * * 1#2" x', "I can't read the cron line"),
        (f'"{"0," * 60}0 9 * * *" x', "may have 100 characters"),
    ],
)
def test_what_cannot_be_read_is_answered_with_examples(text: str, why: str) -> None:
    if not why:
        assert read(text)[2] == "x"
        return
    with pytest.raises(WhenError) as error:
        read(text)
    assert why in error.value.say
    assert "`weekday 9:00`" in error.value.say


@given(st.text(max_size=60))
def test_nothing_that_is_said_breaks_it(text: str) -> None:
    with suppress(WhenError):
        read_when(text, zone=BERLIN, now=NOW, least=FIVE)
    with suppress(WhenError):
        read_once(text, zone=BERLIN, now=NOW)


@given(st.text(alphabet="0123456789*/-, monsuapr", max_size=24))
def test_no_cron_line_breaks_it(line: str) -> None:
    with suppress(WhenError):
        read_when(f'"{line}" x', zone=BERLIN, now=NOW, least=FIVE)


@pytest.mark.parametrize(
    ("text", "words", "moment"),
    [
        ("tomorrow 8:30 x", "tomorrow 8:30", datetime(2026, 11, 23, 7, 30, tzinfo=UTC)),
        ("sunday 13:00 x", "sunday 13:00", datetime(2026, 11, 29, 12, 0, tzinfo=UTC)),
        ("sunday 20:00 x", "sunday 20:00", datetime(2026, 11, 22, 19, 0, tzinfo=UTC)),
        ("in 20 minutes x", "in 20 minutes", datetime(2026, 11, 22, 13, 20, tzinfo=UTC)),
        ("2027-01-31 9:00 x", "2027-01-31 9:00", datetime(2027, 1, 31, 8, 0, tzinfo=UTC)),
        ("2027-01-31T09:00 x", "2027-01-31 9:00", datetime(2027, 1, 31, 8, 0, tzinfo=UTC)),
        ("31.1. 9 Uhr x", "31.1. 9:00", datetime(2027, 1, 31, 8, 0, tzinfo=UTC)),
        ("on January 31st at 9am x", "january 31st 9:00", datetime(2027, 1, 31, 8, 0, tzinfo=UTC)),
        ("Tomorrow at 8: x", "tomorrow 8:00", datetime(2026, 11, 23, 7, 0, tzinfo=UTC)),
        ("8:30 tomorrow x", "tomorrow 8:30", datetime(2026, 11, 23, 7, 30, tzinfo=UTC)),
        (
            "day after tomorrow noon x",
            "day after tomorrow 12:00",
            datetime(2026, 11, 24, 11, 0, tzinfo=UTC),
        ),
        ("at 17:00 x", "17:00", datetime(2026, 11, 22, 16, 0, tzinfo=UTC)),
        ("9am x", "9:00", datetime(2026, 11, 23, 8, 0, tzinfo=UTC)),
        ("next friday 17h x", "friday 17:00", datetime(2026, 11, 27, 16, 0, tzinfo=UTC)),
        ("In 2h: x", "in 2h", datetime(2026, 11, 22, 15, 0, tzinfo=UTC)),
        ("in half an hour x", "in half an hour", datetime(2026, 11, 22, 13, 30, tzinfo=UTC)),
        ("in 3 days at 9:00 x", "in 3 days 9:00", datetime(2026, 11, 25, 8, 0, tzinfo=UTC)),
    ],
)
def test_once_is_read(text: str, words: str, moment: datetime) -> None:
    assert read_once(text, zone=BERLIN, now=NOW) == (words, moment, "x")


@pytest.mark.parametrize(
    "text", ["", "today 9:00 x", "tomorrow x", "2031-01-01 9:00 x", "in 0 minutes x", "in 2 x"]
)
def test_a_moment_that_is_over_or_none_is_refused(text: str) -> None:
    with pytest.raises(WhenError, match="For example: `tomorrow 8:30`"):
        read_once(text, zone=BERLIN, now=NOW)


# ── Where the clock is changed ──────────────────────────────────────────────────────────


def runs(line: str, since: datetime, until: datetime) -> list[str]:
    found, cron, moment = [], Cron(line, BERLIN), since
    while (run := cron.after(moment)) is not None and run < until:
        found.append(f"{run:%d %H:%M}Z {run.astimezone(BERLIN):%H:%M}")
        moment = run
    return found


def test_a_time_that_the_clock_jumps_over_comes_once_after_the_jump() -> None:
    """29 March 2026: 02:00 is 03:00."""
    day = datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 3, 30, 12, tzinfo=UTC)
    assert runs("30 2 * * *", *day) == ["29 01:30Z 03:30", "30 00:30Z 02:30"]
    assert runs("30 2,3 * * *", *day)[:2] == ["29 01:30Z 03:30", "30 00:30Z 02:30"]


def test_a_time_that_the_clock_shows_twice_comes_once() -> None:
    """25 October 2026: 03:00 is 02:00 once more."""
    day = datetime(2026, 10, 24, 12, tzinfo=UTC), datetime(2026, 10, 26, 12, tzinfo=UTC)
    assert runs("30 2 * * *", *day) == ["25 00:30Z 02:30", "26 01:30Z 02:30"]


def test_what_comes_every_hour_comes_in_both_hours() -> None:
    since = datetime(2026, 10, 24, 23, 30, tzinfo=UTC)
    assert runs("0 * * * *", since, since + timedelta(hours=3)) == [
        "25 00:00Z 02:00",
        "25 01:00Z 02:00",
        "25 02:00Z 03:00",
    ]
