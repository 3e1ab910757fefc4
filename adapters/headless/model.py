"""A command-line agent borrowed as a model: one question, one run, nothing kept."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters.headless.programs import HeadlessProgram
from adapters.pty.process_group import OutputTooLarge, run_once
from contract.agent import Completion, Tool, ToolCall
from contract.errors import ModelError

MOST_BYTES = 4_000_000  # a long answer is 50 KB; Claude Code's JSON around it 3 KB
BEGIN = "Here is what you are asked about.\n\n"  # a leading `/`, `!` or `#` would be a command


class HeadlessModel:
    """A program in its headless mode, as a model: the protocol of memory's `Model`.

    command: replaces begin[0], e.g. a path; its first word is absolute. home: the program's own
    HOME. env: all of its environment but HOME and the program's own settings. timeout_s: after it
    the program is ended. `max_tokens` is the program's own affair.
    """

    def __init__(
        self,
        program: HeadlessProgram,
        *,
        command: Sequence[str],
        home: Path,
        env: Mapping[str, str],
        model: str = "",
        timeout_s: float = 180.0,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.name = model or program.name
        self._program = program
        self._command = tuple(command)
        self._home = home
        self._env = dict(env)
        self._model = model
        self._timeout_s = timeout_s
        self._most_bytes = most_bytes

    async def complete(
        self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
    ) -> Completion:
        """Ask once; `tool` is emulated: the answer is read as its input. Raises ModelError only."""
        instructions = f"{system}\n\n{_told(tool)}" if tool else system
        said = f"{BEGIN}{prompt}"
        if not self._program.told:
            said = f"{instructions}\n\n{said}"
        title = self._program.title
        try:
            with self._folder(instructions) as folder:
                ran = await run_once(
                    self._argv(folder),
                    env=self._environment(folder),
                    cwd=folder,
                    given=said.encode(),
                    timeout_s=self._timeout_s,
                    most_bytes=self._most_bytes,
                )
        except TimeoutError:
            what = f"{title}: no answer within {self._timeout_s:g} s"
            raise ModelError(what, passing=True) from None
        except OutputTooLarge:
            raise ModelError(f"{title}: its answer has no end", passing=False) from None
        except OSError as error:
            what = f"{title}: it can't be run: {error.strerror}"
            raise ModelError(what, passing=False) from error
        answer = self._program.read(ran)
        inputs = objects_in(answer.text) if tool else []
        calls = tuple(ToolCall(tool.name, item) for item in inputs) if tool else ()
        return Completion("" if calls else answer.text, calls, answer.usage)

    @contextlib.contextmanager
    def _folder(self, instructions: str) -> Iterator[Path]:
        """An empty directory for one call; it and what the program keeps go afterwards."""
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, text in self._program.files.items():
            if not (path := self._home / name).exists():
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.write_text(text, encoding="utf-8")
        with tempfile.TemporaryDirectory(
            dir=self._home, prefix="call-", ignore_cleanup_errors=True
        ) as name:
            folder = Path(name)
            (folder / "instructions.md").write_text(instructions, encoding="utf-8")
            try:
                yield folder
            finally:
                for glob in self._program.leaves:
                    for path in self._home.glob(glob):
                        shutil.rmtree(path, ignore_errors=True)
                        path.unlink(missing_ok=True)

    def _argv(self, folder: Path) -> list[str]:
        program, words = self._program, self._program.begin[1:]
        end = ("-",) if words[-1:] == ("-",) else ()  # behind everything else
        words = (*words[: len(words) - len(end)], *(program.with_model if self._model else ()))
        filled = (self._fill(word, folder) for word in words)
        return [*self._command, *filled, *program.settings(self._env), *end]

    def _environment(self, folder: Path) -> dict[str, str]:
        own = {name: self._fill(value, folder) for name, value in self._program.env}
        return {**own, **self._env, "HOME": str(self._home)}

    def _fill(self, template: str, folder: Path) -> str:
        values = {
            "instructions": str(folder / "instructions.md"),
            "model": self._model,
            "folder": str(folder),
        }
        return _WORD.sub(lambda match: values[match[1]], template)


_WORD = re.compile(r"\{(instructions|model|folder)\}")


def _told(tool: Tool) -> str:
    """The tool as an instruction."""
    schema = json.dumps(tool.schema, ensure_ascii=False)
    return (
        f"Your whole answer is one JSON object and no other text: the input of {tool.name}. "
        f"{tool.description}\nIts JSON Schema:\n{schema}"
    )


# ── Reading the answer ──────────────────────────────────────────────────────────────────

_FENCE = re.compile(r"^ {0,3}```(?:json)?[ \t]*\n(.*?)^ {0,3}```[ \t]*$", re.DOTALL | re.MULTILINE)


def objects_in(text: str) -> list[Mapping[str, Any]]:
    """The JSON objects that a text consists of, or those of its fenced blocks.

    Empty when there is anything else: a list, half an object, a key that comes twice.
    """
    fenced = _FENCE.findall(f"{text}\n")
    try:
        return [item for part in fenced or [text] for item in _objects(part)]
    except (ValueError, RecursionError):
        return []


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse)
    at = _blank(text, 0)
    while at < len(text):
        item, at = decoder.raw_decode(text, at)
        if not isinstance(item, dict):
            raise ValueError("not an object")
        yield item
        at = _blank(text, at)


def _blank(text: str, at: int) -> int:
    """Where the next thing begins."""
    return len(text) - len(text[at:].lstrip(" \t\r\n"))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")
