"""Keys of a message's metadata that are probably misspelt."""

from __future__ import annotations

import regex

from contract.chat import IngestMetadata


def likely_typos(meta: IngestMetadata) -> dict[str, str]:
    """Extra keys within edit distance 2 of a known one, each with the key that was meant."""
    near = {extra: _nearest(extra) for extra in meta.model_extra or ()}
    return {extra: name for extra, name in near.items() if name is not None}


def _nearest(extra: str) -> str | None:
    known = IngestMetadata.model_fields
    return next(
        (
            name
            for distance in (1, 2)
            for name in known
            if regex.fullmatch(rf"(?:{name}){{e<={distance}}}", extra)
        ),
        None,
    )
