"""moot.toml: a mistake is one sentence with file, key and remedy."""

import re
import tomllib
from datetime import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from contract.errors import ConfigError
from gateway.settings.bots import TABLES
from gateway.settings.config import load_config, parse_config, secret
from gateway.settings.tables import AnthropicTable, HeadlessTable, MemoryTable

ROOT = Path(__file__).parents[2]


def test_without_a_file_the_default_is_embedded(tmp_path: Path) -> None:
    config = load_config(None, base=tmp_path)
    assert config.store_url == f"sqlite:///{tmp_path}/data/moot.db"
    assert (config.gateway.host, config.gateway.port) == ("127.0.0.1", 8377)


def test_paths_are_relative_to_the_file_and_not_to_the_caller(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    file = tmp_path / "etc" / "moot.toml"
    file.write_text('[gateway]\ndata_dir = "d"\n[agents.x]\ncommand = "x"\nworkspace = "w"\n')
    config = load_config(file, base=Path("/"))
    assert config.gateway.data_dir == tmp_path / "etc" / "d"
    assert config.agents["x"].workspace == tmp_path / "etc" / "w"
    assert config.agents["x"].command == ("x",)


def test_the_example_is_a_valid_configuration() -> None:
    load_config(ROOT / "moot.toml.example", base=Path("/"))


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("memory", MemoryTable),
        ("memory.anthropic", AnthropicTable),
        ("memory.headless", HeadlessTable),
    ],
)
def test_every_key_of_the_memory_is_explained_once_and_stands_in_the_example(
    name: str, table: type[BaseModel]
) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    explained = page.partition(f"\n## [{name}]\n")[2].partition("\n## ")[0]
    shown = (ROOT / "moot.toml.example").read_text("utf-8").partition(f"\n[{name}]")[2]
    shown = re.split(r"\n(?:# )?\[", shown)[0]
    tables = ("anthropic", "headless", "sources")
    keys = sorted(key for key in table.model_fields if key not in tables)
    assert sorted(re.findall(r"^\| `(\w+)` \|", explained, re.M)) == keys
    assert sorted(re.findall(r"^(?:# )?(\w+) = ", shown, re.M)) == keys


def test_the_example_shows_the_defaults_of_the_memory() -> None:
    shown = load_config(ROOT / "moot.toml.example", base=Path("/")).memory
    assert shown == MemoryTable()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[gateway\n", "moot.toml:1: the brackets don't match: write [gateway]"),
        (
            '[gateway]\ntimezome = "UTC"\n',
            "gateway.timezome is not a key that Moot knows; did you mean timezone?",
        ),
        ('[gateway]\ntimezone = "Europe/Berln"\n', "did you mean Europe/Berlin?"),
        (
            '[memory]\nconsolidate_at = "25:00"\n',
            'memory.consolidate_at: \'25:00\' is not a time of day like "03:30", nor "" for never',
        ),
        ('[memory]\nconsolidate_at = "3:30"\n', "is not a time of day"),
        ('[gateway]\nlisten = "8377"\n', "gateway.listen: '8377' is not host:port"),
        (
            '[[bots]]\nplatform = "slcak"\npersonas = ["a"]\n',
            "bots.0.platform: 'slcak' is not one of 'slack'",
        ),
        ('[[bots]]\npersonas = ["a"]\n', 'bots.0.platform is missing: add platform = "slack"'),
        ('[[bots]]\nplatform = "slack"\n', "bots.0.personas is missing: add personas = "),
        (
            '[[bots]]\nplatform = "matrix"\npersonas = ["a"]\nurl = "http://x"\ninvite = "no"\n',
            "bots.0.invite is not a key that Moot knows; did you mean invites?",
        ),
        (
            '[[bots]]\nplatform = "rocketchat"\npersonas = ["a"]\nurl = "chat.example.org"\n',
            "bots.0.url: 'chat.example.org' is not an address",
        ),
        ("[turns]\ntimeout_s = 0\n", "turns.timeout_s: must be more than 0"),
        ("[nonsense]\n", "nonsense is not a key that Moot knows; known here: access, agents"),
    ],
)
def test_a_mistake_is_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "moot.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(file, base=tmp_path)
    assert str(file) in str(caught.value)
    assert sentence in str(caught.value)


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load_config(tmp_path / "nope.toml", base=tmp_path)


def test_a_bots_own_secret_comes_before_the_general_one() -> None:
    environment = {"SLACK_BOT_TOKEN": "general", "SLACK_BOT_TOKEN_MY_TEAM": "own"}
    assert secret(environment, "SLACK_BOT_TOKEN", "my-team") == "own"
    assert secret(environment, "SLACK_BOT_TOKEN", "slack") == "general"
    assert secret({}, "SLACK_BOT_TOKEN", "slack") is None


def test_facts_are_consolidated_at_a_time_or_never(tmp_path: Path) -> None:
    file = tmp_path / "moot.toml"
    assert load_config(None, base=tmp_path).memory.consolidates == time(3, 30)
    file.write_text('[memory]\nconsolidate_at = ""\n')
    assert load_config(file, base=tmp_path).memory.consolidates is None


def test_the_commented_examples_of_bots_are_right(tmp_path: Path) -> None:
    shown = (ROOT / "moot.toml.example").read_text("utf-8")
    _, *commented = shown.partition("\n[agents.")[0].split("\n# [[bots]]\n")
    blocks = [block.partition("\n\n")[0] for block in commented]
    tables = ["\n".join(line.removeprefix("# ") for line in block.split("\n")) for block in blocks]
    file = tmp_path / "moot.toml"
    file.write_text("".join(f"[[bots]]\n{table}\n" for table in tables))
    platforms = [bot.platform for bot in load_config(file, base=tmp_path).bots]
    assert sorted(platforms) == sorted(TABLES)


@pytest.mark.parametrize(
    "table",
    [
        '[[bots]]\nplatform = "slack"\npersonas = ["nobody"]\n',
        '[access.personas.nobody]\ninvoke = "owner"\n',
        "[limits.personas.nobody]\nquestions_a_day = 3\n",
        '[[schedules]]\npersona = "nobody"\nroom = "web:a"\ntext = "hi"\nwhen = "day 9:00"\n',
    ],
)
def test_no_table_can_name_a_persona_by_a_reserved_name(table: str, tmp_path: Path) -> None:
    file = tmp_path / "moot.toml"
    with pytest.raises(ConfigError, match="no persona can be called 'nobody'"):
        parse_config(tomllib.loads(table), file)


def test_all_mistakes_are_told_at_once_each_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "moot.toml"
    file.write_text("""# a comment
[gateway]
listen = 18510
lisen = "x"

[[bots]]
platform = "slack"
name = "one"
personas = ["claude"]

[[bots]]
platform = "slack"
personas = [
  "claude",
]
allowed = [
  "[gateway]",
  "listen = 1",
]

[turns]
attempts = "many"
agents.x = 1
""")
    with pytest.raises(ConfigError) as caught:
        load_config(file, base=tmp_path)
    told = [line.removeprefix(f"{file}:") for line in caught.value.say.splitlines()]
    assert told[:2] == [
        'gateway.listen: must be a text, in quotes: "…"'.join(("3: ", "")),
        "4: gateway.lisen is not a key that Moot knows; did you mean listen?",
    ]
    assert [line.split(" is not a key")[0] for line in told[2:]] == [
        "16: bots.1.allowed",
        "22: turns.attempts",
        "23: turns.agents",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[bots]\nplatform = 'slack'", "1: bots: write [[bots]], in two brackets"),
        ("[gateway]\nlisten = 127.0.0.1:8377", "a text stands in quotes"),
        ("gateway = 3", "1: gateway: must be a table"),
        ("[sessions]\nmost = 'x'", "2: sessions.most: must be a whole number"),
    ],
)
def test_a_wrong_kind_of_value_is_told_in_words(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "moot.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(file, base=tmp_path)
    assert sentence in caught.value.say
    assert "valid" not in caught.value.say  # no library's words
