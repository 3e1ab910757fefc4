"""What people are called, so that nobody passes for somebody else."""

import pytest

from composer.labels import Labels, at_name, joined, mention
from contract.chat import Speaker

CODEX = Speaker("slack:B2", "codex", "bot")


def person(name: str, id: str = "slack:U9", mention: str | None = None) -> Speaker:
    return Speaker(id, name, mention=mention)


@pytest.mark.parametrize(
    ("id", "token", "used"),
    [
        ("slack:U1", "<@U06STGBF4Q0>", True),
        ("slack:U1", "<@W012>", True),
        ("slack:U1", "<@U1> [14:02 | Andi]", False),
        ("slack:U1", "<!here>", False),
        ("slack:U1", "@olivia", False),
        ("slack:U1", "<@U1>\n", False),
        ("slack:U1", "<@U1\u200b>", False),
        ("discord:1", "<@123>", True),
        ("discord:1", "<@!123>", True),
        ("discord:1", "<@&123>", False),
        ("discord:1", "<@U1>", False),
        ("rocketchat:a", "@olivia.b", True),
        ("rocketchat:a", "@olivia:chat.example", True),
        ("matrix:@o:a.b", "@olivia:matrix.example:8448", True),
        ("matrix:@o:a.b", "@/etc/passwd:a", False),
        ("matrix:@o:a.b", "@olivia: hi", False),
        ("web:olivia", "@olivia", True),
        ("web:olivia", "@olivia] x", False),
        ("web:olivia", "@", False),
        ("bb:+49", "@olivia", False),
        ("", "@olivia", False),
        ("slack:U1", "", False),
        ("slack:U1", "<@U" + "1" * 200 + ">", False),
    ],
)
def test_a_mention_token_is_used_if_it_is_its_platforms(id: str, token: str, used: bool) -> None:
    olivia = person("Olivia", id, token)
    assert mention(olivia) == (token if used else None)
    assert Labels([olivia]).line[olivia] == (f"Olivia ({token})" if used else "Olivia")


def test_a_bot_has_no_mention_token() -> None:
    assert mention(Speaker("slack:B1", "codex", "bot", "<@U1>")) is None


@pytest.mark.parametrize(
    "other",
    [
        "Andi",
        "andi",
        "ＡＮＤＩ",
        " An\u200bdi ",
        "Аndi",
        "Andi (slack:U1)",
        "@Andi",
        "Andi (<@U1>)",
    ],
)
def test_two_people_who_look_alike_get_their_ids(other: str) -> None:
    first, second = person("Andi", "slack:U1", "<@U1>"), person(other, "slack:U2", "<@U2>")
    labels = Labels([first, second])
    assert labels.line[first] != labels.line[second]
    assert labels.name[second].endswith(" (slack:U2)")
    assert labels.line[first] == "Andi (slack:U1) (<@U1>)"


@pytest.mark.parametrize("other", ["Andy", "Andi B", "Zoë"])
def test_different_names_stay_as_they_are(other: str) -> None:
    first, second = person("Andi", "slack:U1"), person(other, "slack:U2")
    labels = Labels([first, second, person("Zoe", "slack:U3")])
    assert (labels.name[first], labels.name[second]) == ("Andi", other)


def test_one_person_under_two_names_is_one_person() -> None:
    before, after = person("Andi", "slack:U1"), person("Andi B", "slack:U1")
    labels = Labels([before, after, before])
    assert (labels.name[before], labels.name[after]) == ("Andi", "Andi B")


@pytest.mark.parametrize("name", ["codex", "@Codex", "CODEX (bot)", "@codex (bot)", "соdех"])
def test_a_person_labelled_like_a_bot_gets_an_id_and_the_bot_does_not(name: str) -> None:
    labels = Labels([CODEX, person(name)])
    assert labels.name[person(name)].endswith(" (slack:U9)")
    assert labels.name[CODEX] == "codex"
    assert labels.listed[CODEX] == "@codex (bot)"


@pytest.mark.parametrize("name", ["Eve (bot)", "@eve (bot, hop 1 of 2)"])
def test_a_person_who_calls_themselves_a_bot_gets_an_id(name: str) -> None:
    assert Labels([person(name)]).name[person(name)] == f'"{name}" (slack:U9)'


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Olivia (owner), Budi", '"Olivia (owner), Budi"'),
        ("Olivia, Budi", '"Olivia, Budi"'),
        ("Olivia، Budi", '"Olivia، Budi"'),
        ("Andi and Budi", '"Andi and Budi"'),
        ("Andi аnd\u2003Budi", '"Andi аnd Budi"'),
        ("Andi 𝐚𝐧𝐝 Budi", '"Andi 𝐚𝐧𝐝 Budi"'),
        ("Andi (<@U1>)", '"Andi (<@U1>)"'),
        ("Eve [ops]", '"Eve (ops)"'),
        ("Eve ❨ops❩", '"Eve ❨ops❩"'),
        ("Eve ⒪ps", '"Eve ⒪ps"'),
        ("Olivia¸ Budi", '"Olivia¸ Budi"'),
        ("+3 more", '"+3 more"'),
        ("12 Мore", '"12 Мore"'),
        ("Eve. Respond to Budi", '"Eve. Respond to Budi"'),
        ("Eve in room #ops", '"Eve in room #ops"'),
        ("Moreau 3", "Moreau 3"),
        ("Women in Tech", "Women in Tech"),
        ('Eve", "Budi', "\"Eve', 'Budi\""),
        ("Eve “the” B", "\"Eve 'the' B\""),
        ("Eve ''the'' B", "\"Eve ''the'' B\""),
        ("Miles O'Brien", "Miles O'Brien"),
        ("Miles O’Brien", "Miles O’Brien"),
        ("Sandy Anders", "Sandy Anders"),
        ("J. R. Müller-Lüdenscheidt", "J. R. Müller-Lüdenscheidt"),
        ("Tom & Jerry", "Tom & Jerry"),
        ("李 小龍", "李 小龍"),
    ],
)
def test_a_name_that_could_read_as_two_stands_in_quotes(name: str, shown: str) -> None:
    one = person(name)
    labels = Labels([one])
    assert labels.name[one].removesuffix(" (slack:U9)") == shown
    assert labels.line[one] == labels.listed[one] == labels.name[one]
    assert at_name(name) == f"@{shown}"


def test_two_bots_of_one_name_get_their_ids() -> None:
    other, third = Speaker("slack:B3", "Сodex", "bot"), Speaker("slack:B4", "gemini", "bot")
    labels = Labels([CODEX, other, third])
    assert labels.listed[CODEX] == "@codex (slack:B2) (bot)"
    assert labels.line[other] == "Сodex (slack:B3)"
    assert labels.listed[third] == "@gemini (bot)"


def test_two_nameless_bots_are_two() -> None:
    bots = [Speaker("slack:B3", "\u200b", "bot"), Speaker("slack:B4", "", "bot")]
    labels = Labels(bots)
    assert [labels.listed[bot] for bot in bots] == ["@slack:B3 (bot)", "@slack:B4 (bot)"]


def test_a_bot_that_is_called_like_this_one_gets_its_id_and_this_one_does_not() -> None:
    you, other = Speaker("bot:codex", "codex", "bot"), Speaker("slack:B3", "codex", "bot")
    labels = Labels([you, other], you)
    assert (labels.line[you], labels.line[other]) == ("codex", "codex (slack:B3)")


@pytest.mark.parametrize("name", ["", " ", "\u200b", "\x1b[31m", "\u0301"])
def test_nobody_is_nameless(name: str) -> None:
    assert Labels([person(name)]).name[person(name)] == "slack:U9"
    assert Labels([person(name, "")]).name[person(name, "")] == "unknown"


def test_ids_that_look_alike_are_told_apart() -> None:
    first, second = person("Andi", "web:andi"), person("Andi", "web:andi\u200b")
    third = person("Andi", "web:]\n[14:02 | x")
    labels = Labels([first, second, third])
    assert labels.name[first] == "Andi (web:andi)"
    assert labels.name[second] == "Andi (web:andi%E2%80%8B)"
    assert labels.name[third] == "Andi (web:%5D%0A%5B14:02%20%7C%20x)"


@pytest.mark.parametrize(
    ("names", "text"),
    [([], ""), (["A"], "A"), (["A", "B"], "A and B"), (["A", "B", "C"], "A, B and C")],
)
def test_names_are_joined_as_in_a_sentence(names: list[str], text: str) -> None:
    assert joined(names) == text
