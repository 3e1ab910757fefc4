"""An answer is bound to the question that was seen: by its place, its code, its detail and the role
of whoever gives it."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from adapters.agent import Reply
from contract.agent import Option, Question
from contract.chat import Chosen, Destination, Inbound, Speaker
from gateway.audit.audit import EVERY
from gateway.settings.access import AccessTable
from gateway.settings.tables import TurnsTable
from tests.doubles.platform import ROOM, FakeBot, said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms

OPTIONS = (Option("Yes"), Option("Yes, always"), Option("No", refuses=True))
LIST = Question("q1", "Run this command?", "ls -la", OPTIONS)
DELETE = replace(LIST, id="q2", title="Delete it?", detail="DELETE PROD")
OLIVIA, PAUL = (Speaker(f"fake:{name}", name.title()) for name in ("olivia", "paul"))
BOTH = frozenset({OLIVIA.id, PAUL.id})
ACCESS = AccessTable(rooms="open", approvers=BOTH)
EARLY = "Olivia, your answer stands before that question: read it, and answer again."


def asking(questions: Mapping[str, Question]) -> ScriptedPrograms:
    """Each persona asks its own question, whenever it is asked."""

    async def ask(prompt: str, reply: Reply) -> str:
        name = next(name for name in questions if f"You are: @{name}" in prompt)
        return f"{name} chose {await reply.choose(questions[name])}"

    return ScriptedPrograms(ask)


TWO = {"demo": LIST, "codex": DELETE}


async def asked(moot: Opened, text: str = "@demo go", posts: int = 1) -> None:
    await moot.hear(said(text))
    await until(lambda: len(moot.bot.asked) == posts and bool(moot.bot.posted))


async def press(moot: Opened, question: Question, by: Speaker, option: int = 0) -> None:
    await moot.receive(Chosen(question.id, option, by, question.digest))


async def told(moot: Opened, message: Inbound) -> str:
    """The reply to a message."""
    before = len(moot.texts())
    await moot.hear(message)
    await until(lambda: len(moot.texts()) > before)
    return moot.texts()[-1]


async def refused(moot: Opened, wanted: Mapping[tuple[str, str], int]) -> None:
    """Wait until the audit log tells who was refused, and why."""
    found: Counter[tuple[str, str]] = Counter()
    for _ in range(200):
        rows = await moot.house.audit.page(EVERY, before=None, limit=99)
        denied = [(row.by.name, row.detail) for row in rows if row.act == "deny" and row.by]
        found = Counter((name, str(detail.get("reason", ""))) for name, detail in denied)
        if found == wanted:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{found} is not {wanted}")


# ── The order ───────────────────────────────────────────────────────────────────────────────


async def test_an_answer_that_stands_before_the_question_allows_nothing(tmp_path: Path) -> None:
    bot = FakeBot(early={"late"})
    async with gateway(tmp_path, bot=bot, programs=asking({"demo": DELETE}), access=ACCESS) as moot:
        await asked(moot)
        late = said("!1", by="olivia", message_id="late")
        assert await told(moot, late) == EARLY
        await moot.hear(late)  # delivered again
        await refused(moot, {("Olivia", "early"): 1})
        assert moot.texts().count(EARLY) == 1
        await moot.hear(said("!1", by="olivia"))
        await moot.settle()
        assert "demo chose 0" in moot.texts()


async def test_on_the_page_what_was_on_disk_before_the_question_is_no_answer_to_it(
    tmp_path: Path,
) -> None:
    def body(content: str, message_id: str) -> dict[str, object]:
        meta = {"source": "web", "sender_id": "web:olivia", "sender_display_name": "Olivia"}
        meta["sender_type"] = "human"
        room = "web:general"
        return {"content": content, "metadata": meta, "room": room, "message_id": message_id}

    async with gateway(tmp_path, programs=asking({"demo": DELETE}), access=ACCESS) as moot:
        inbox, questions = moot.house.services.inbox, moot.house.questions
        await inbox.store_passive(body("!1", "w1"))
        await inbox.submit(body("@demo go", "w2"))
        await until(lambda: bool(questions.all_open()))
        [card] = questions.all_open()
        async with asyncio.timeout(20):
            while None in [
                id_ for _, id_, _ in await moot.house.ledger.left_questions(card.turn_id)
            ]:
                await asyncio.sleep(0.005)
        await until(lambda: all(entry.standing.is_set() for entry in questions._open.values()))
        late = await inbox.submit(body("!1", "w1"), wait_s=20)
        assert [reply.text for reply in late.replies or ()] == [EARLY]
        new = await inbox.submit(body("!1", "w3"), wait_s=20)
        assert [reply.text for reply in new.replies or ()] == [""]
        assert questions.all_open() == []


async def test_where_nobody_knows_the_order_the_code_is_asked_for(tmp_path: Path) -> None:
    bot = FakeBot(unordered=True)
    async with gateway(tmp_path, bot=bot, programs=asking(TWO), access=ACCESS) as moot:
        await asked(moot)
        line = await told(moot, said("!1", by="olivia"))
        match = re.fullmatch(
            r"Olivia, say which question you mean: `!1 ([a-z]\d)` answers @demo's \(.*\)\.", line
        )
        assert match, line
        await moot.hear(said(f"!2 {match[1].upper()}", by="olivia"))
        await moot.settle()
        assert "demo chose 1" in moot.texts()


# ── Two that wait ───────────────────────────────────────────────────────────────────────────


async def test_two_in_one_place_are_told_apart_by_their_codes(tmp_path: Path) -> None:
    async with gateway(
        tmp_path, programs=asking(TWO), personas=("demo", "codex"), access=ACCESS
    ) as moot:
        await asked(moot, "@demo go")
        await asked(moot, "@codex go", 2)
        first, second = moot.bot.asked
        assert not first.crowded  # nothing else waited
        assert second.crowded
        assert re.fullmatch("[a-z][0-9]", second.code)
        line = await told(moot, said("!1", by="olivia"))
        codes = dict(reversed(pair) for pair in re.findall(r"`!1 (\w\d)` answers @(\w+)'s", line))
        assert line.startswith("More than one question waits here: ")
        assert codes["codex"] == second.code
        other = said("!1 z9" if "z9" not in codes.values() else "!1 a9", by="olivia")
        assert (await told(moot, other)).startswith("More than one question")
        await moot.hear(said(f"!1 {codes['codex']}", by="olivia"))
        await until(lambda: "codex chose 0" in moot.texts())
        assert "demo chose 0" not in moot.texts()
        again = await told(moot, said(f"!1 {codes['codex']}", by="olivia"))
        assert again == "Olivia, that question is closed already."
        # It may have been typed for the other one, which was open beside it.
        assert "say which question you mean" in await told(moot, said("!1", by="olivia"))
        await moot.hear(said(f"!2 {codes['demo']}", by="olivia"))
        await moot.settle()
        assert "demo chose 1" in moot.texts()


async def test_a_code_is_one_however_it_is_written(tmp_path: Path) -> None:
    """Else one that is over would be no code, and the digit alone would allow what waits now."""
    async with gateway(
        tmp_path, programs=asking(TWO), personas=("demo", "codex"), access=ACCESS
    ) as moot:
        await asked(moot, "@demo go")
        await asked(moot, "@codex go", 2)
        code = moot.bot.asked[1].code
        letter, digit = code[0], code[1]
        for question in (DELETE, LIST):
            await press(moot, question, PAUL)
        await until(lambda: "demo chose 0" in moot.texts() and "codex chose 0" in moot.texts())
        await asked(moot, "@demo go", 3)
        wide = chr(ord(letter) + 0xFEE0) + chr(ord(digit) + 0xFEE0)
        written = (letter + digit, (letter + digit).upper(), wide, f"{letter} {digit}")
        for one in (*written, f"`{code}`", f"({letter}-{digit})"):
            again = await told(moot, said(f"!1 {one}", by="olivia"))
            assert again == "Olivia, that question is closed already.", one
        assert moot.texts().count("demo chose 0") == 1
        await moot.hear(said("!3 no, not now", by="olivia"))
        await until(lambda: "demo chose 2" in moot.texts())


async def test_what_was_typed_between_two_questions_means_the_first(tmp_path: Path) -> None:
    async with gateway(
        tmp_path, programs=asking(TWO), personas=("demo", "codex"), access=ACCESS
    ) as moot:
        await asked(moot, "@demo go")
        await asked(moot, "@codex go", 2)
        moot.bot.early.add(("between", moot.bot.posted[1].id))
        await moot.hear(said("!1", by="olivia", message_id="between"))
        await until(lambda: "demo chose 0" in moot.texts())
        assert "codex chose 0" not in moot.texts()


async def test_a_reply_to_a_closed_question_is_no_answer_to_an_open_one(tmp_path: Path) -> None:
    async with gateway(
        tmp_path, programs=asking(TWO), personas=("demo", "codex"), access=ACCESS
    ) as moot:
        await asked(moot, "@demo go")
        old = moot.bot.posted[0].id
        await press(moot, LIST, PAUL)
        await until(lambda: "demo chose 0" in moot.texts())
        await asked(moot, "@codex go", 2)
        reply = replace(said("!1", by="olivia"), reply_to=old)
        assert await told(moot, reply) == "Olivia, that question is closed already."
        assert len(moot.house.questions.all_open()) == 1
        await refused(moot, {("Olivia", "closed"): 1})


# ── Buttons ─────────────────────────────────────────────────────────────────────────────────


async def test_a_button_of_another_detail_and_a_replayed_one_are_refused(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=asking({"demo": DELETE}), access=ACCESS) as moot:
        await asked(moot)
        for digest in ("", LIST.digest, "0" * 16):
            await moot.receive(Chosen("q2", 0, OLIVIA, digest))
        assert len(moot.house.questions.all_open()) == 1
        assert moot.texts()[-1].startswith("Olivia, that button is of an earlier form")
        await press(moot, DELETE, OLIVIA, 2)
        await moot.settle()
        await press(moot, DELETE, PAUL)
        assert moot.texts()[-1] == "Paul, that question is closed already."
        assert "demo chose 2" in moot.texts()
        await refused(moot, {("Olivia", "changed"): 1, ("Paul", "closed"): 1})


async def test_the_page_and_the_api_answer_what_was_seen_and_no_agent_does(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=asking({"demo": DELETE}), access=ACCESS) as moot:
        await asked(moot)
        inbox = moot.house.services.inbox
        assert await inbox.choose("q2", 0, OLIVIA, digest=LIST.digest) == "changed"
        assert await inbox.choose("q2", 0, Speaker("bot:demo", "demo")) == "forbidden"
        assert await inbox.choose("q2", 0, OLIVIA, digest=DELETE.digest) == "taken"
        await moot.settle()
        assert "demo chose 0" in moot.texts()
        await refused(moot, {("Olivia", "changed"): 1, ("demo", ""): 1})


async def test_a_question_that_comes_under_an_old_id_is_another_one(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=asking({"demo": LIST}), access=ACCESS) as moot:
        await asked(moot)
        await press(moot, LIST, OLIVIA)
        await moot.settle()
        await asked(moot, posts=2)
        await press(moot, LIST, OLIVIA)  # replayed
        assert moot.texts()[-1] == "Olivia, that question is closed already."
        assert len(moot.house.questions.all_open()) == 1


async def test_a_button_from_before_a_restart_is_answered_where_it_stands(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=asking(TWO), access=ACCESS) as moot:
        old = Chosen("gone", 0, OLIVIA, LIST.digest, Destination(ROOM, "thread"))
        for _ in range(2):
            await moot.receive(old)
        [line] = moot.bot.posted
        assert (line.text, line.place.thread_id) == (
            "Olivia, that question is closed already.",
            "thread",
        )
        await refused(moot, {("Olivia", "unknown"): 1})


# ── Roles ───────────────────────────────────────────────────────────────────────────────────


async def test_whoever_agreed_first_must_still_have_the_role_when_the_second_answers(
    tmp_path: Path,
) -> None:
    access = AccessTable(rooms="open", owners=frozenset({"fake:ash"}), second_person="always")
    async with gateway(tmp_path, programs=asking({"demo": DELETE}), access=access) as moot:
        for name in ("olivia", "paul"):
            await told(moot, said(f"!role fake:{name} owner"))
        await asked(moot, posts=1)
        await press(moot, DELETE, OLIVIA)
        await until(lambda: len(moot.bot.asked) == 2)
        await told(moot, said("!role fake:olivia none"))
        await press(moot, DELETE, PAUL)
        assert moot.texts()[-1].startswith("Paul, you agreed; who agreed before may not answer")
        assert "demo chose 0" not in moot.texts()
        await press(moot, DELETE, OLIVIA)
        assert "may not answer that" in moot.texts()[-1]
        assert "demo chose 0" not in moot.texts()
        await press(moot, DELETE, Speaker("fake:ash", "Ash"))
        await moot.settle()
        assert "demo chose 0" in moot.texts()
        assert any("Yes (Paul, Ash)" in text for _, text in moot.bot.edits)
        await refused(moot, {("Olivia", "role"): 1, ("Olivia", ""): 1})


async def test_a_role_that_is_taken_back_while_the_question_waits_answers_nothing(
    tmp_path: Path,
) -> None:
    access = AccessTable(rooms="open", owners=frozenset({"fake:ash"}))
    turns = TurnsTable(question_timeout_s=60)
    programs = asking({"demo": DELETE})
    async with gateway(tmp_path, programs=programs, access=access, turns=turns) as moot:
        await told(moot, said("!role fake:olivia owner"))
        await asked(moot)
        await told(moot, said("!role fake:olivia none"))
        assert "may not answer that" in await told(moot, said("!1", by="olivia"))
        assert len(moot.house.questions.all_open()) == 1
