"""Answers as agents write them, made by chance: the Markdown, and the characters that it shows."""

import random
from collections.abc import Callable

Part = tuple[str, str]
"""Markdown, and what a reader sees of it."""

PLAIN = ["word", "the build", "snake_case_name", "2*3*4 = 24", "x**2 + y", "a*b*c", "__init__.py"]
PLAIN += ["8) done", "D: drive", ":) fine", "x=D", "<3", "~/src and ~/lib", "50 % of 3 * 4", "C#"]
PLAIN += [
    "漢字とかな",
    "مرحبا بالعالم",
    "שלום",
    "naïve café",
    "😀 👨‍👩‍👧‍👦",
    "a || b",
    "1986. A year",
    "no. 7) of",
]
PLAIN += [
    "a < b && c > d",
    "<div class=x>",
    "&lt;p&gt; &amp;",
    "Vec<T>",
    "f(x)[0]",
    "e.g. main.py,",
    "$5 and $9",
]
PLAIN += [
    "array[i] = b[j]",
    "v1.2.3-rc.4",
    "C:\\Users\\x",
    "#1234",
    "a/b/c.py:12",
    "\u201cquoted\u201d \u2014 so",
    "it's",
    "!",
]
PLAIN += [
    ":warning: careful",
    ":thumbs_up:",
    "O:) hm",
    "12:30:45",
    "@bob",
    "a@b.co",
    "[1]",
    "[^2]",
    "long " * 60 + "end",
]
CODE = [
    "a_b * c",
    "x",
    "**kwargs",
    "<b>",
    "@all",
    "npm i && make",
    "|",
    "\\(x\\)",
    "$HOME",
    "[a](b)",
    "日本",
]
URLS = [
    "https://x.com/a_b_c",
    "https://example.org/p/(q)?a=1&b=*2*",
    "https://x.com/#frag",
    "https://x.com/日本",
]
FORMULAS = ["\\(E=mc^2\\)", "\\(a_1 * b_2\\)", "$$x_1 = y_2$$"]
LISTING = [
    "def f(a_b):",
    "    return `a` * **b**",
    "",
    "# no heading",
    "- no list",
    "\tx <- y && z",
    "| a | b |",
]
LISTING += [
    "1. no",
    "> no",
    ":x: 8) D:",
    "@all",
    "\\(x\\) $$y$$",
    "<!-- c -->",
    "[l](https://x.com)",
]


class Answers:
    """formulas: also formulas, whose look differs from platform to platform."""

    def __init__(self, seed: int, *, formulas: bool = False) -> None:
        self._chance = random.Random(seed)
        self._formulas = formulas

    def answer(self) -> Part:
        kinds: list[Callable[[], Part]] = [
            self.line,
            self.line,
            self.heading,
            self.fence,
            self.quote,
        ]
        kinds += [self.bullets, self.numbers, self.tasks, self.table, self.nested, self.rule]
        return self._stacked(
            [self._chance.choice(kinds)() for _ in range(self._chance.randint(1, 6))]
        )

    # ── In a line ───────────────────────────────────────────────────────────────────────────

    def inline(self, depth: int = 0) -> Part:
        roll = self._chance.random()
        if roll < 0.45 or depth > 1:
            words = self._chance.choice(PLAIN)
            return words, words
        if roll < 0.6:
            code = self._chance.choice(CODE)
            return f"`{code}`", code
        if roll < 0.8:
            return self._styled(depth)
        if roll < 0.88:
            label = self._chance.choice(["the docs", "`code` here", "**bold** one", "a_b (c)"])
            return f"[{label}]({self._chance.choice(URLS[:1])})", label.replace("`", "").replace(
                "*", ""
            )
        if roll < 0.94:
            url = self._chance.choice(URLS[:3])
            return self._chance.choice([url, f"<{url}>"]), url
        if self._formulas and roll < 0.97:
            formula = self._chance.choice(FORMULAS)
            return formula, formula
        return f"![a chart]({URLS[0]})", "a chart"

    def _styled(self, depth: int) -> Part:
        mark = self._chance.choice(["**", "*", "_", "~~", "***", "__"])
        words, shown = self._chance.choice(
            [("so", "so"), ("the word", "the word"), self.inline(depth + 2)]
        )
        if "*" in mark and "*" in words:  # what is meant is nobody's guess
            words = shown = "so"
        words = f"this {words} too" if not words.isalpha() else words
        shown = f"this {shown} too" if not shown.isalpha() else shown
        return f"{mark}{words}{mark}", shown

    def line(self) -> Part:
        parts = [self.inline() for _ in range(self._chance.randint(1, 5))]
        return "So " + " ".join(md for md, _ in parts), "So " + " ".join(
            shown for _, shown in parts
        )

    # ── Blocks ──────────────────────────────────────────────────────────────────────────────

    def heading(self) -> Part:
        words, shown = self.line()
        return "#" * self._chance.randint(1, 6) + " " + words, shown

    def fence(self) -> Part:
        code = self._chance.sample(LISTING, self._chance.randint(1, 6))
        fence, inside = self._chance.choice([("```", False), ("~~~", False), ("````", True)])
        code += ["```sh", "make", "```"] if inside else []
        info = self._chance.choice(["", "python", "c++", "js title=x"])
        return "\n".join([fence + info, *code, fence]), "\n".join(code)

    def quote(self) -> Part:
        words, shown = self._stacked(
            [self._chance.choice([self.line, self.bullets])() for _ in range(2)]
        )
        return "\n".join(f"> {line}".rstrip() for line in words.split("\n")), shown

    def _items(self, sign: Callable[[int], str]) -> Part:
        items = [self.line() for _ in range(self._chance.randint(1, 4))]
        gap = self._chance.choice(["\n", "\n", "\n\n"])
        return gap.join(sign(n) + md for n, (md, _) in enumerate(items)), "\n".join(
            s for _, s in items
        )

    def bullets(self) -> Part:
        return self._items(lambda n: "- ")

    def numbers(self) -> Part:
        return self._items(lambda n: f"{n + 1}. ")

    def tasks(self) -> Part:
        words, shown = self._items(lambda n: "- [x] ")
        return words, shown

    def nested(self) -> Part:
        (a, sa), (b, sb), (c, sc), (d, sd) = (self.line() for _ in range(4))
        code = "   ```py\n   x = 1\n   ```\n" if self._chance.random() < 0.5 else ""
        shown = "x = 1" if code else ""
        return f"1. {a}\n{code}   - {b}\n     - {c}\n2. {d}", " ".join([sa, shown, sb, sc, sd])

    def table(self) -> Part:
        rows = [[self._cell() for _ in range(3)] for _ in range(self._chance.randint(1, 3))]
        lines = ["| " + " | ".join(md for md, _ in row) + " |" for row in rows]
        shown = " ".join(s for row in rows for _, s in row)
        return "\n".join(["| n | *b* | c |", "|---|:-:|--:|", *lines]), f"n b c {shown}"

    def _cell(self) -> Part:
        words, shown = self._chance.choice([("x", "x"), ("**b**", "b"), ("`c_d`", "c_d"), ("", "")])
        return words, shown

    def rule(self) -> Part:
        return "---", ""

    def _stacked(self, parts: list[Part]) -> Part:
        return "\n\n".join(md for md, _ in parts), "\n".join(shown for _, shown in parts)
