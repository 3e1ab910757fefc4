"""A model's weights in a safetensors file, as they are published or in eight bits.

Eight bytes say how long the header is, then come the header in JSON and the arrays
(github.com/huggingface/safetensors, read 2026-11). In eight bits each row of a matrix is whole
numbers from -127 to 127 and a factor, an array of its own beside it: a quarter of the size.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Arrays = Mapping[str, NDArray[Any]]

SCALE = ".scale"
_TYPES: Mapping[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I8": np.dtype("i1")}


class Rows:
    """A matrix in eight bits of which only some rows are ever asked for."""

    def __init__(self, numbers: NDArray[np.int8], scale: Array) -> None:
        self._numbers, self._scale = numbers, scale

    def __getitem__(self, places: NDArray[np.int64]) -> Array:
        """These rows."""
        made: Array = self._numbers[places] * self._scale[places]
        return made


def read(path: Path) -> dict[str, NDArray[Any]]:
    """The file's arrays by name, mapped and not copied; those of other types are left out.

    Raises OSError, ValueError and KeyError for a file that is none.
    """
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8:start])
    return dict(_arrays(data, header, start))


def _arrays(
    data: mmap.mmap, header: Mapping[str, Any], start: int
) -> Iterator[tuple[str, NDArray[Any]]]:
    for name, about in header.items():
        if name != "__metadata__" and (kind := _TYPES.get(about["dtype"])):
            begin, end = about["data_offsets"]
            flat = np.frombuffer(data, kind, (end - begin) // kind.itemsize, start + begin)
            yield name, flat.reshape(about["shape"])


def write(path: Path, arrays: Arrays) -> None:
    """Write such a file. Raises OSError."""
    names = {kind: name for name, kind in _TYPES.items()}
    header, end = {}, 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        about = {"dtype": names[array.dtype], "shape": array.shape, "data_offsets": (begin, end)}
        header[name] = about
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)  # the arrays begin at a multiple of eight
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).data)


def in_eight_bits(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """The matrices in eight bits; what is small stays as it is."""
    made: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        made[name] = array
        if array.ndim == 2:
            scale = np.abs(array).max(axis=1, keepdims=True) / np.float32(127)
            scale[scale == 0] = 1
            made[name] = np.rint(array / scale).astype(np.int8)
            made[name + SCALE] = scale
    return made


def is_in_eight_bits(arrays: Arrays) -> bool:
    """True if `in_eight_bits` made them."""
    return any(name.endswith(SCALE) for name in arrays)


def in_full(arrays: Arrays, looked_up: str) -> dict[str, Any]:
    """All as float32 again, but for the one matrix of which single rows are looked up."""
    made: dict[str, Any] = {}
    for name, array in arrays.items():
        if (scale := arrays.get(name + SCALE)) is not None:
            made[name] = Rows(array, scale) if name == looked_up else array * scale
        elif not name.endswith(SCALE):
            made[name] = array
    return made


def sha256_of(path: Path) -> str:
    """The file's checksum, in hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
