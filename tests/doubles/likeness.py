"""How far two pictures of the page are from each other, as a person sees it."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

BLOCK = 4  # pixels on a side; a letter's edge may fall a little differently, a line may not
SEEN = 14.0  # of 255, on average in a block and its strongest channel


def share_that_differs(one: bytes, other: bytes) -> float:
    """The share of blocks, 0 to 1, in which two PNGs visibly differ; 1: they have other sizes."""
    a, b = _blocks(one), _blocks(other)
    if a.shape != b.shape:
        return 1.0
    return float(np.mean(np.abs(a - b).max(axis=2) > SEEN))


def _blocks(png: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The mean colour of each block."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=np.float64)
    rows, columns = (size - size % BLOCK for size in pixels.shape[:2])
    cut = pixels[:rows, :columns].reshape(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK, 3)
    mean: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = cut.mean(axis=(1, 3))
    return mean
