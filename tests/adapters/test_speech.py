"""What a model says in one turn, while it grows."""

from adapters.api.speech import Speech


def test_drafts_are_shown_at_most_ten_times_a_second() -> None:
    shown: list[str] = []
    now = [0.0]
    speech = Speech(shown.append, lambda: now[0])
    speech.begin()
    for step in range(100):
        now[0] = step / 64  # exact in binary
        speech.add("x")
    assert 12 <= len(shown) <= 100 / 64 * 10 + 1
    speech.show()
    assert shown[-1] == "x" * 100
    speech.show()
    assert shown.count("x" * 100) == 1


def test_blanks_are_no_draft_and_no_part() -> None:
    shown: list[str] = []
    speech = Speech(shown.append, lambda: 0.0)
    for text in ("first", " \n", "second "):
        speech.begin()
        speech.add(text)
    speech.begin()
    speech.show()
    assert shown == ["first", "first\n\nsecond "]
    assert (speech.all(), speech.last()) == ("first\n\nsecond ", "second ")


def test_what_is_said_anew_takes_the_place_of_what_broke_off() -> None:
    speech = Speech(lambda _: None)
    speech.begin()
    speech.add("before")
    speech.begin()
    speech.add("hal")
    speech.again()
    speech.add("half and more")
    assert speech.all() == "before\n\nhalf and more"
