# ruff: noqa: E501 - a mistake a line
"""Mistakes as an administrator makes them: each gives one clear sentence that says what to do."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from pydantic_core._pydantic_core import list_all_errors

from gateway.settings.config import Config
from gateway.settings.mistakes.syntax import read_toml
from gateway.settings.mistakes.words import reason_of
from tests.gateway.conftest import Typed


@dataclass(frozen=True)
class Mistake:
    """One mistake. says: what the sentence has in it: what is wrong, and what to write."""

    name: str
    says: tuple[str, ...]
    toml: str = ""
    env: str | None = None
    persona: str = ""
    words: tuple[str, ...] = ("check", "--offline")
    environment: dict[str, str] = field(default_factory=dict)


def toml(name: str, text: str, *says: str) -> Mistake:
    return Mistake(name, says, toml=text)


SLACK = '[[bots]]\nplatform = "slack"\npersonas = ["demo"]\n'
TOKENS = {"SLACK_BOT_TOKEN": "xoxb-123-abcdefgh", "SLACK_APP_TOKEN": "xapp-1-abcdefgh"}

FILE = [
    toml("a text without quotes", "[gateway]\nlisten = 127.0.0.1:8377\n", ":2: ", 'listen = "127.0.0.1:8377"'),
    toml("a zone without quotes", "[gateway]\ntimezone = Europe/Berlin\n", ":2: ", 'timezone = "Europe/Berlin"'),
    toml("no equals sign", '[gateway]\ntimezone "UTC"\n', ":2: there is no = here", "key = value"),
    toml("a colon as in YAML", "[gateway]\ntimezone: UTC\n", ":2: write = instead of the colon", 'timezone = "UTC"'),
    toml("curly quotes", "[gateway]\ntimezone = “UTC”\n", ":2: the quotes are curly", '"…"'),
    toml("a quote that nothing ends", '[gateway]\ntimezone = "UTC\n', ":2: the text doesn't end", '"UTC"'),
    toml("a single quote that nothing ends", "[gateway]\ntimezone = 'UTC\n", ":2: the text doesn't end"),
    toml("a bracket that nothing closes", "[gateway\nlisten = \"x\"\n", ":1: the brackets don't match", "[gateway]"),
    toml("a list that nothing closes", '[gateway]\nhosts = ["a.example"\ntimezone = "UTC"\n', ":2: a comma or the ] is missing"),
    toml("a table twice", '[turns]\nfull_window = true\n[turns]\nmax_hops = 1\n', ":3: [turns] stands here a second time"),
    toml("a key twice", "[turns]\nmax_hops = 1\nmax_hops = 2\n", ":3: max_hops stands here a second time"),
    toml("True with a capital", "[turns]\nfull_window = True\n", ":2: write full_window = true, in lower case"),
    toml("yes for true", "[turns]\nfull_window = yes\n", ":2: write full_window = true"),
    toml("null", "[gateway]\npublic_url = null\n", ":2: TOML has no null", "#"),
    toml("nothing behind the equals sign", "[gateway]\npublic_url =\n", ":2: there is no value behind the ="),
    toml("a comment as in C", "// mine\n", ":1: a comment begins with #"),
    toml("a comma in a number", "[turns]\ntimeout_s = 1,5\n", ":2: a number has a point, no comma", "1.5"),
    toml("a blank that is none", '[gateway]\n\u00a0timezone = "UTC"\n', ":2: ", "U+00A0 (no-break space): type this line again"),
    toml("a letter that looks like another", "[gatewаy]\n", ":1: ", "U+0430 (cyrillic small letter a)"),
    toml("an equals sign of another script", '[gateway]\ntimezone ＝ "UTC"\n', ":2: ", "U+FF1D (fullwidth equals sign)"),
    toml("a character that no text has", '[gateway]\ntimezone = "U\x00TC"\n', ":2: ", "U+0000"),
    toml("a key behind its table", '[gateway] timezone = "UTC"\n', ":1: [gateway] stands on a line of its own"),
    toml("JSON", '{"gateway": {}}\n', ":1: this is JSON, and moot.toml is TOML"),
    toml("YAML", "gateway:\n", ":1: this is YAML, and moot.toml is TOML: write [gateway]"),
    toml("a merge that was not ended", "[gateway]\n<<<<<<< HEAD\n", ":2: a merge conflict is left here: keep one side"),
    toml("a backslash", '[gateway]\ndata_dir = "C:\\Users\\moot"\n', ":2: ", "stands twice"),
]  # fmt: skip

TABLES = [
    toml("[bots] for [[bots]]", '[bots]\nplatform = "slack"\n', ":1: bots: write [[bots]], in two brackets"),
    toml("[[gateway]] for [gateway]", '[[gateway]]\ntimezone = "UTC"\n', ":1: gateway: write [gateway], in one bracket"),
    toml("a table that is none", "[gatway]\n", ":1: gatway is not a key that Moot knows; did you mean gateway?"),
    toml("a key that is none", '[gateway]\ntimezome = "UTC"\n', ":2: gateway.timezome is not a key", "did you mean timezone?"),
    toml("a platform that is none", '[[bots]]\nplatform = "slcak"\npersonas = ["demo"]\n', ":2: bots.0.platform: 'slcak' is not one of", "did you mean 'slack'?"),
    toml("no platform", '[[bots]]\npersonas = ["demo"]\n', ":1: bots.0.platform is missing", 'add platform = "slack"'),
    toml("no personas", '[[bots]]\nplatform = "slack"\n', ":1: bots.0.personas is missing", "add personas = ["),
    toml("personas without brackets", '[[bots]]\nplatform = "slack"\npersonas = "demo"\n', ":3: bots.0.personas: must be a list: ["),
    toml("no personas in the list", '[[bots]]\nplatform = "slack"\npersonas = []\n', ":3: bots.0.personas: must have 1 or more entries"),
    toml("a token in the file", SLACK + 'bot_token = "xoxb-1-abcdefghijk"\n', ":4: bots.0.bot_token: secrets stand in moot.env", "SLACK_BOT_TOKEN=…"),
    toml("the page's token in the file", '[gateway]\ntoken = "abcdefghijkl"\n', ":2: gateway.token: secrets stand in moot.env", "MOOT_TOKEN=…"),
    toml("a port alone", "[gateway]\nlisten = 8377\n", ":2: gateway.listen: must be a text, in quotes"),
    toml("a port as a text", '[gateway]\nlisten = "8377"\n', ":2: gateway.listen: '8377' is not host:port", "127.0.0.1:8377"),
    toml("a port that is none", '[gateway]\nlisten = "127.0.0.1:99999"\n', ":2: gateway.listen", "is not host:port"),
    toml("a zone that is none", '[gateway]\ntimezone = "Europe/Berln"\n', ":2: gateway.timezone: ", "did you mean Europe/Berlin?"),
    toml("an address without https", '[gateway]\npublic_url = "moot.example.org"\n', ":2: gateway.public_url", "https://moot.example.org"),
    toml("a number in quotes", '[turns]\ntimeout_s = "10 minutes"\n', ":2: turns.timeout_s: must be a number, without quotes"),
    toml("a number below its range", "[turns]\ntimeout_s = 0\n", ":2: turns.timeout_s: must be more than 0"),
    toml("a number beyond its range", "[turns]\nfile_mb = 5000\n", ":2: turns.file_mb: must be from 1 to 1000"),
    toml("a word that is none of some", '[access]\nrooms = "opne"\n', ":2: access.rooms: 'opne' is not one of 'open' or 'closed'; did you mean 'open'?"),
    toml("a name for an id", '[access]\nowners = ["BOB"]\n', ":2: access.owners: 'BOB' is nobody's id", "slack:U06STGBF4Q0"),
    toml("a star for everybody", '[access]\npeople = "*"\n', ":2: access.people", 'rooms = "open"'),
    toml("a role that is none", '[[access.grants]]\nrole = "admin"\npeople = ["slack:U1"]\n', ":2: access.grants.0.role: 'admin' is not one of 'guest', 'member' or 'owner'"),
    toml("a pattern that is none", '[access]\ndangerous = ["rm ("]\n', ":2: access.dangerous: 'rm (' is no regular expression"),
    toml("a level that is none", '[logs]\nlevel = "verbose"\n', ":2: logs.level: 'verbose' is not one of 'DEBUG'"),
    toml("a time of day that is none", '[memory]\nconsolidate_at = "3am"\n', ":2: memory.consolidate_at", '"03:30"'),
    toml("a table that is a text", '[agents]\nclaude = "claude"\n', ":2: agents.claude: must be a table: [agents.claude]"),
    toml("a schedule that says nothing", '[[schedules]]\nroom = "slack:C1"\npersona = "demo"\nwhen = "weekdays 25:00"\ntext = "hi"\n', ":4: schedules.0.when"),
    toml("a room that is none", '[[schedules]]\nroom = "#general"\npersona = "demo"\nwhen = "day 9:00"\ntext = "hi"\n', ":2: schedules.0.room: must be a room's id", "slack:C06RY3YBSLE"),
    toml("a home of nobody", '[agents.demo]\nworkspace = "~nobody-here/x"\n', ":2: agents.demo.workspace: this machine has no account 'nobody-here'"),
    toml("a room's name for its id", '[memory]\nexcluded_rooms = ["general"]\n', ":2: memory.excluded_rooms: 'general' is no room's id", "slack:C06RY3YBSLE"),
    toml("one address twice", '[gateway]\nlisten = "127.0.0.1:9"\nwebhooks_listen = "127.0.0.1:9"\n', "webhooks_listen is the address of listen: leave it out"),
    toml("a key above its table", 'timezone = "UTC"\n', ":1: timezone is not a key", "it belongs below [gateway]"),
    toml("a city for a zone", '[gateway]\ntimezone = "berlin"\n', ":2: gateway.timezone", "did you mean Europe/Berlin?"),
    toml("a short word for a zone", '[gateway]\ntimezone = "CEST"\n', ":2: gateway.timezone", "Europe/Berlin"),
    toml("a price without its half", "[prices.opus]\ninput = 3\n", ":1: prices.opus.output is missing", "add output = 15.0"),
    toml("a folder that is no path", '[sandbox]\nmounts = ["src"]\n', ":2: sandbox.mounts: 'src' is not an absolute path"),
    toml("another program's file", "a:b:c\nd:e:f\ng:h:i\nj:k:l\nm:n:o\n", "this is no moot.toml; see moot.toml.example"),
    toml("a truth for a number", "[turns]\nmax_hops = true\n", ":2: turns.max_hops: must be a whole number"),
    toml("a truth for seconds", "[turns]\ntimeout_s = true\n", ":2: turns.timeout_s: must be a number"),
    toml("a password in the address", '[gateway]\npublic_url = "https://a:b@moot.example.org"\n', ":2: gateway.public_url: has a user in it"),
    toml("the way of a database", '[store]\nurl = "postgres://a:b@h/m"\n', ":2: store.url", "postgresql+asyncpg://"),
]  # fmt: skip

SOUND = [
    Mistake("a persona that is not there", ("bots.0.personas: there is no dmo.md", "did you mean demo?"), toml=SLACK.replace("demo", "dmo"), environment=TOKENS),
    Mistake("a schedule's persona that is not there", ("moot.toml:3: schedules.0.persona: there is no dmo.md", "did you mean demo?"), toml='[[schedules]]\nroom = "slack:C1"\npersona = "dmo"\nwhen = "day 9:00"\ntext = "hi"\n'),
    Mistake("a rule for a persona that is not there", ("access.personas.dmo: there is no dmo.md",), toml='[access.personas.dmo]\ninvoke = "owner"\n'),
    Mistake("a folder to work in that is not there", ("moot.toml:2: agents.demo.workspace: there is no folder /nope; make it first",), toml='[agents.demo]\nworkspace = "/nope"\nprofile = "demo"\n'),
    Mistake("an agent that is none", ("agents.x.profile: there is no 'clod'; known: ",), toml='[agents.x]\nprofile = "clod"\n'),
    Mistake("a persona's agent that is none", ("ada.md: agent: there is no agent 'clause-code'; did you mean claude-code?",), persona="---\nagent: clause-code\n---\nHi\n"),
    Mistake("the whole machine to work on", ("ada.md: workspace: / holds everything of this account", "name one folder in it"), persona="---\nagent: demo\nworkspace: /\n---\nHi\n"),
    Mistake("a folder to show that is not there", ("moot.toml:2: sandbox.mounts: there is no /nope; make it",), toml='[sandbox]\nmounts = ["/nope"]\n'),
    Mistake("an agent's program that is not there", ("moot.toml:3: agents.x.command: there is no program /nope/claude",), toml='[agents.x]\nprofile = "claude-code"\ncommand = "/nope/claude"\n'),
    Mistake("two bots with one login", ("moot.toml:5: bots.1: 'b' has the login of 'slack'", "SLACK_BOT_TOKEN_B=…"), toml=SLACK + '\n[[bots]]\nname = "b"\nplatform = "slack"\npersonas = ["demo"]\n', environment=TOKENS),
    Mistake("a word before the token", ("DISCORD_TOKEN looks wrong: ", "without Bot before it"), toml=SLACK.replace("slack", "discord"), environment={"DISCORD_TOKEN": "Bot abcdefgh"}),
    Mistake("no tokens", ("bots (slack): set SLACK_BOT_TOKEN", "moot.env"), toml=SLACK, environment={"SLACK_APP_TOKEN": "xapp-1-abcdefgh"}),
    Mistake("a token of another form", ("SLACK_BOT_TOKEN looks wrong: it is the bot token, xoxb-",), toml=SLACK, environment={**TOKENS, "SLACK_BOT_TOKEN": "abcdefgh12345"}),
    Mistake("two tokens mixed up", ("SLACK_APP_TOKEN looks wrong: it is the app-level token, xapp-",), toml=SLACK, environment={**TOKENS, "SLACK_APP_TOKEN": "xoxb-1-abcdefgh"}),
    Mistake("two bots of one name", ("bots.1.name: 'slack' is taken",), toml=SLACK + SLACK, environment=TOKENS),
    Mistake("a token that can be guessed", ("MOOT_TOKEN can be guessed",), toml='[gateway]\nlisten = "0.0.0.0:0"\n', environment={"MOOT_TOKEN": "moot"}),
    Mistake("a line of moot.env with blanks", ("moot.env:1: ", "without blanks around the ="), env="SLACK_BOT_TOKEN = xoxb-1\n"),
    Mistake("a line of moot.env with a colon", ("moot.env:2: ", "NAME=value"), env="A=b\nSLACK_BOT_TOKEN: xoxb-1\n"),
    Mistake("a quote in moot.env that nothing ends", ("moot.env:1: the quote doesn't end",), env="A='b\n"),
    Mistake("two words in moot.env", ("moot.env:1: ", "in quotes"), env="A=b c\n"),
    Mistake("a persona without its dashes", ("ada.md: begin with ---", "agent: NAME"), persona="You help.\n"),
    Mistake("a persona that goes on and on", ("ada.md: the front matter has no end", "---"), persona="---\nagent: demo\n"),
    Mistake("a persona without an agent", ("ada.md: agent is missing", "agent: claude-code"), persona="---\ndescription: x\n---\nHi\n"),
    Mistake("a key of a persona that is none", ("ada.md:3: modle", "did you mean `model`?"), persona="---\nagent: demo\nmodle: x\n---\nHi\n"),
    Mistake("a colon in a persona", ("ada.md:3: front matter", "in quotes"), persona="---\nagent: demo\ndescription: a: b\n---\nHi\n"),
    Mistake("a name for a driver that is none", ("ada.md:3: driver: 'robot' is not one of",), persona="---\nagent: demo\ndriver: robot\n---\nHi\n"),
]  # fmt: skip

TYPED = [
    Mistake("a command that is none", ("did you mean check?",), words=("chekc",)),
    Mistake("a configuration that is not there", ("nope.toml: there is no such file", "moot.toml.example"), words=("check", "--config", "nope.toml")),
    Mistake("a folder for the file", ("this is a folder; name the file in it", "moot.toml"), words=("check", "--config", ".")),
    Mistake("a role for nobody's id", ("'UBOB' is nobody's id", "slack:U06STGBF4Q0"), words=("access", "grant", "UBOB", "member")),
    Mistake("a backup that is not there", ("nosuch.tar.gz: there is no such file",), words=("restore", "nosuch.tar.gz")),
    Mistake("a briefing that is not there", ("nope.json: there is no such file",), words=("header", "nope.json")),
    Mistake("a scope that is none", ("not a scope: 'general'", "room:slack:C06RY3YBSLE"), words=("memory", "list", "--scope", "general")),
    Mistake("a time that is none", ("'yesterday'", "2026-04-21"), words=("audit", "show", "--since", "yesterday")),
    Mistake("a bot that is none", ("no bot is called 'matrx'", "[[bots]]"), words=("login", "matrx")),
    Mistake("an option that is none", ("there is no option --ofline", "did you mean --offline?"), words=("check", "--ofline")),
    Mistake("a role that is none, typed", ("role: there is no choice 'admin'", "guest, member, owner"), words=("access", "grant", "slack:U1", "admin")),
    Mistake("a number that is none", ("--port: 'abc' is not a number", "`moot help run`"), words=("run", "--port", "abc")),
    Mistake("a port beyond its range", ("--port: '127.0.0.1:99999' is not host:port",), words=("run", "--port", "99999")),
    Mistake("a word that is missing", ("file is missing", "`moot help restore`"), words=("restore",)),
    Mistake("a command below that is none", ("did you mean grant?",), words=("access", "gramt")),
    Mistake("an agent to try that is none", ("there is no agent 'clod'; known: ",), words=("agents", "clod")),
    Mistake("a recording that is not there", ("nope.jsonl: there is no such file",), words=("replay", "nope.jsonl", "--agent", "demo")),
    Mistake("no Moot to ask", ("no Moot runs here", "moot run"), words=("ask", "hi")),
]  # fmt: skip


def mistakes(told: str) -> list[str]:
    return [line for line in told.splitlines() if line.startswith(("moot", "✗ "))]


@pytest.mark.parametrize("case", [*FILE, *TABLES, *SOUND, *TYPED], ids=lambda case: case.name)
def test_a_mistake_is_one_sentence_with_its_remedy(
    case: Mistake, typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "demo.md").write_text("---\nagent: demo\n---\nYou help.\n")
    if case.persona:
        (tmp_path / "personas" / "ada.md").write_text(case.persona)
    if case.toml or case in SOUND:
        (tmp_path / "moot.toml").write_text(case.toml or '[gateway]\nlisten = "127.0.0.1:0"\n')
    if case.env is not None:
        (tmp_path / "moot.env").write_text(case.env)
        (tmp_path / "moot.env").chmod(0o600)
    for key in [key for key in os.environ if key.startswith(("SLACK_", "MOOT_"))]:
        monkeypatch.delenv(key)
    for key, value in case.environment.items():
        monkeypatch.setenv(key, value)
    code, told = typed(*case.words)
    assert code == 2, told
    [line] = mistakes(told)
    for words in case.says:
        assert words in line
    assert "abcdefgh" not in told


@pytest.mark.parametrize("text", [case.toml for case in FILE])
def test_what_stands_beside_a_line_that_is_no_toml_is_still_read(text: str) -> None:
    toml = read_toml(f"{text}[logs]\nlevel = 3\n")
    assert len(toml.mistakes) == 1
    assert toml.values is not None
    assert toml.values["logs"] == {"level": 3}


def test_all_mistakes_of_a_file_are_told_at_once_in_its_order(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text(
        '[gateway]\ntimezone = Berlin\nlisten = 5\n[access]\nrooms = "opne"\n[turns\nx = 1\n'
        "[logs]\nlevle = 3\n"
    )
    code, told = typed("check", "--offline")
    assert code == 2
    assert [line.partition("moot.toml:")[2][:1] for line in mistakes(told)] == list("23569")


def test_a_link_to_nothing_is_no_reason_to_begin_without_the_file(
    typed: Typed, tmp_path: Path
) -> None:
    (tmp_path / "moot.toml").symlink_to("/nowhere/moot.toml")
    code, told = typed("check", "--offline")
    assert code == 2
    [line] = mistakes(told)
    assert "moot.toml: this is a link to /nowhere/moot.toml, and there is no such file" in line


def test_a_folder_for_the_secrets_is_no_question_of_rights(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "moot.env").mkdir(mode=0o755)
    code, told = typed("check", "--offline")
    assert code == 2
    assert "moot.env: this is a folder, not a file" in told


def test_what_works_and_surprises_is_warned_of(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "demo.md").write_text("---\nagent: demo\nworkspace: ~\n---\nHi\n")
    (tmp_path / "moot.toml").write_text('[access]\nowners = ["slcak:U1"]\n')
    _, told = typed("check", "--offline")
    assert 'workspace: there is no value (YAML reads ~ as nothing: write "~" in quotes' in told
    assert "slcak:U1: there is no platform 'slcak'; did you mean slack?" in told


def test_files_of_other_programs_are_read_as_well(typed: Typed, tmp_path: Path) -> None:
    """A byte order mark and lines that end as on Windows."""
    text = '[gateway]\r\nlisten = "127.0.0.1:0"\r\n'
    (tmp_path / "moot.toml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (tmp_path / "moot.env").write_bytes(b"\xef\xbb\xbfA=b\r\n")
    (tmp_path / "moot.env").chmod(0o600)
    assert typed("memory", "scopes")[0] == 0
    (tmp_path / "moot.toml").write_bytes(text.encode("utf-16"))
    assert "it is not UTF-8; save it as UTF-8" in typed("memory", "scopes")[1]


# ── Pydantic's own words ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", list_all_errors(), ids=lambda kind: kind["type"])
def test_no_kind_of_mistake_is_told_in_pydantics_words(kind: dict[str, Any]) -> None:
    context = dict(kind.get("example_context") or {})
    message = kind["message_template_python"].format(**{"expected_plural": "s", **context})
    said = reason_of(
        {"type": kind["type"], "loc": ("a", "b"), "msg": message, "input": None, "ctx": context}
    )
    if kind["type"] in ("value_error", "assertion_error"):  # these are sentences of ours
        return
    assert said
    assert message.lower() not in said.lower()
    assert not any(word in said.lower() for word in ("input", "valid", "should", "pydantic"))


WRONG: tuple[object, ...] = (None, 5, -1, 10**12, 1.5, "", "x y", [], [5], {}, {"x": 5}, True)


@pytest.mark.parametrize("table", sorted(Config.model_fields))
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_a_value_of_a_wrong_kind_is_told_in_words(table: str, wrong: object) -> None:
    """Each table of moot.toml, and each key of it, with values that don't belong there."""
    sound: list[object] = [{table: wrong}]
    kind = Config.model_fields[table].annotation
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        sound += [{table: {key: wrong}} for key in kind.model_fields]
    for raw in sound:
        try:
            Config.model_validate(raw)
        except ValidationError as error:
            for one in error.errors():
                said = reason_of(one)
                assert said
                assert not said.lower().startswith(("input should", "field required", "value err"))
                assert one["type"] in ("value_error", "assertion_error") or one["msg"] != said
