"""Names of time zones, as people write them."""

from __future__ import annotations

import difflib
from functools import cache
from zoneinfo import available_timezones

known_zones = cache(available_timezones)
"""The names of all zones; they are read from the disk once."""


def zone_fault(name: str) -> str:
    """The reason why no zone is called so, with the one that was meant; "": there is one."""
    known = known_zones()
    if name in known:
        return ""
    cities = [zone for zone in sorted(known) if "/" in zone and not zone.startswith("Etc/")]
    places = {zone: zone.rpartition("/")[2].lower() for zone in cities}
    plain = name.strip().replace(" ", "_").lower()
    same = [zone for zone, place in places.items() if plain in (place, zone.lower())]
    near = same or difflib.get_close_matches(name, places, 1, 0.75)
    hint = f"did you mean {near[0]}?" if near else "write a place of it, e.g. Europe/Berlin"
    return f"{name!r} is not an IANA time zone; {hint}"
