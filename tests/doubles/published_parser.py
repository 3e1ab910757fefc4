"""A platform's Markdown parser as it was published on npm, one process for any number of texts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import pytest

CLIENTS = Path(__file__).parents[1] / "clients"


def need_node(folder: str, package: str) -> str:
    """Node with the package installed; without, the test is skipped, or fails where CI is set."""
    node = shutil.which("node")
    reason = "needs Node.js" if node is None else f"needs `npm ci` in tests/clients/{folder}"
    if node is not None and (CLIENTS / folder / "node_modules" / package).is_dir():
        return node
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


class PublishedParser:
    """parse(text): the parser's own tree, as JSON."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def parse(self, text: str) -> Any:
        say, hear = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        say.write(json.dumps(text) + "\n")
        say.flush()
        answer = json.loads(hear.readline())
        assert "tree" in answer, (text, answer)
        return answer["tree"]


@contextmanager
def published_parser(folder: str, package: str, *others: Any) -> Iterator[PublishedParser]:
    node = need_node(folder, package)
    command = [node, "parse.mjs", str(CLIENTS / folder), package, *map(json.dumps, others)]
    with subprocess.Popen(
        command, cwd=CLIENTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield PublishedParser(process)
        finally:
            process.kill()
