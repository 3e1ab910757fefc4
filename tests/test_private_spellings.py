"""Spellings in which a text is private, and ordinary lines in which nothing is."""

import pytest

from contract.private import has_private, kind_of_private, private_spans
from memory.private import public

CANARY = "kestrel4711"
Z = "\u200b"

OPENED = [  # each hides all that follows
    *("<private>", "<PRIVATE>", "<Private>", "< private >", "<private >", "<\tprivate\n>"),
    *("<private/>", "<private:>", "<private.>", "<private!>", "<private,>", '<private why="x">'),
    *("<private reason=salary>", "<private = yes>", "<privat>", "<PRIVAT>", "<pivate>"),
    *("<prvate>", "<priate>", "<privte>", "<privae>", "<pirvate>", "<privaet>", "<privvate>"),
    *("<privatee>", "<privé>", "<privado>", "<privato>", "< p r i v a t e >", "<p.r.i.v.a.t.e>"),
    *("<p-r-i-v-a-t-e>", "<**private**>", "<_private_>", "<`private`>", "\\<private\\>"),
    *("<!-- private -->", f"<pri{Z}vate>", f"<{Z}private{Z}>", "<pri\u00advate>"),
    *("<priv\u2060ate>", "<p\ufeffrivate>", "<p\u0301rivate>", "<prívate>", "&lt;private&gt;"),
    *("&LT;private&GT;", "&#60;private&#62;", "&#x3c;private&#x3E;", "&#060;private&#062;"),
    *("&amp;lt;private&amp;gt;", "&amp;amp;lt;private>", "&lt;&#112;rivate&gt;", "＜private＞"),
    *("＜ＰＲＩＶＡＴＥ＞", "﹤private﹥", "‹private›", "〈private〉", "《private》"),
    *("⟨private⟩", "«private»", "<рrivate>", "<рrіvаtе>", "<ρrivate>", "<prıvate>", "<pr1vate>"),
    *("<prlvate>", "<pr|vate>", "<priv@te>", "<pr!v4t3>", "<𝐩𝐫𝐢𝐯𝐚𝐭𝐞>", "<ⓟⓡⓘⓥⓐⓣⓔ>", "[private] "),
    *("[PRIVATE] ", "［private］ ", "【private】 ", "[private:] ", "{private} "),
    *("&ltprivate&gt", "&lt private &gt ", "&LTprivate&GT", "<private?>", "<private;>"),
    *("<private & confidential>", "<private & co.>"),
    *("@claude [private] ", "hello\n[private] ", "<private ", "<<private>>"),
]  # fmt: skip
CLOSED = [  # what stands behind it is for everybody
    *("</private>", "</PRIVATE >", "< / private >", "<\\/private>", "＜／private＞"),
    *("&lt;/private&gt;", "&amp;lt;/private&amp;gt;", "﹤∕private﹥", "</privat>", "</рrivate>"),
    *("[/private]", "(/private)", "{/private}", f"</pri{Z}vate>", "</ p r i v a t e >"),
    *("&lt/private&gt", "&#60;&#47;private&#62;", "<end private>", "<//private>", "</private.>"),
]  # fmt: skip
ORDINARY = [
    *("a [private] repo", "it is (private) for now", "the [private] flag is set", "private key"),
    *("-----BEGIN PRIVATE KEY-----", "private int x;", "public and private > x", "private: true"),
    *("List<private> x = new List<private>();", "std::vector<private T> a", "Foo<private>(bar)"),
    *("set <private-key> here", "List<privateer>", "<privates-list>", "#include <private.h>"),
    *("#include <private/foo.h>", "usage: visibility <private|public>", "<private | public>"),
    *("<private,public>", "mail <private@example.com>", "use `<private>` to hide something"),
    *("`<private>` is a tag", "the `[private]` section", "[private](https://example.com/a)"),
    *("see [private][1] for it", "[private]: https://example.com", "- [private](x.md)"),
    *("[priv] ok", "<@U061F7AUR> is it private?", "<#C024BE91L|private>"),
    *("<!here> private talk at 5", "<pirate>", "<primate>", "<provide>", "<privacy>"),
    *("<privilege>", "<p>private</p>", "<b>private</b>", "if (a < private && b > c) {}"),
    *("a<privateCount>b", "x = y<private_key>z", "{ private: true }", "{private, public}"),
    *("private()", "(private, public)", "[private, public]", "[is private]", "array[private]"),
    *("self[private] = 1", "const [private, setPrivate] = x", "a private message"),
    *("git remote add private git@example.org:a.git", "in private, please", "privately"),
    *("privat", "das ist privat", "это приватно", "私のprivateメソッド"),
    *("「private」はアクセス修飾子です", "私有方法private", "AT&T private line"),
    *("R&D &amp; private", "a &lt; b", "&#8364; private", "<-- private", "<3 private"),
    *("```\n[private]\nkey = 1\n```", "->private", "=> private", "private => x", "#private <x>"),
    *("class A : private B {};", "def private(self): ...", "[ ] private", "[x] private repo"),
    *("[private", "private]", "**private**", "~private~", "private/public", "< 5 private rooms"),
    *("a &lt private", "x &gt private &gt y", "&ltimes; private", "List<private?> x"),
    *("<https://example.com/private>", "<https://example.com/a|private>"),
]  # fmt: skip


def test_there_are_enough_of_each() -> None:
    assert min(len(set(OPENED)), len(set(ORDINARY))) >= 60


@pytest.mark.parametrize("tag", OPENED)
def test_what_stands_behind_the_tag_is_private(tag: str) -> None:
    text = f"{tag}my pin is {CANARY}"
    assert CANARY not in public(text)
    assert CANARY in "".join(private_spans(text))
    assert kind_of_private(text) == "open"
    assert CANARY not in public(f"they repeated {CANARY} here", tuple(private_spans(text)))


@pytest.mark.parametrize("close", CLOSED)
@pytest.mark.parametrize(
    "tag", ["<private>", "[private]", "(private)", "＜рrivate＞", "a <privat>"]
)
def test_a_closing_tag_may_be_spelled_in_another_way(tag: str, close: str) -> None:
    text = f"{tag} {CANARY} {close} and the rest"
    assert CANARY not in public(text)
    assert public(text).endswith("and the rest")
    assert kind_of_private(text) == "part"


@pytest.mark.parametrize("close", CLOSED)
def test_what_stands_before_a_closing_tag_is_private(close: str) -> None:
    assert public(f"it is {CANARY} {close} fine") == "fine"


@pytest.mark.parametrize("line", ORDINARY)
def test_an_ordinary_line_is_not_private(line: str) -> None:
    assert not has_private(line)
    assert kind_of_private(f"{line} and more") is None
    assert public(line) == line.strip()


def test_a_closing_tag_makes_weak_brackets_a_tag() -> None:
    assert public("my [private] pin is 4711 [/private] ok") == "my  ok"
    assert public("List<private> 4711 </private> ok") == "List ok"


def test_a_long_text_of_tags_is_read_at_once() -> None:
    for piece in (
        "<private>",
        "</private>",
        "<",
        "[private",
        "&amp;",
        "< p",
        "<private ",
        "`[private]`",
    ):
        public(piece * (60_000 // len(piece)))
