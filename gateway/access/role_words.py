"""The roles as people read them; what they type stays English."""

from __future__ import annotations

from contract.language import phrase, say
from gateway.settings.access import Role

_CALLED: dict[Role, str] = {
    "guest": phrase("guest"),
    "member": phrase("member"),
    "owner": phrase("owner"),
}
_ONE: dict[Role, str] = {
    "guest": phrase("a guest"),
    "member": phrase("a member"),
    "owner": phrase("an owner"),
}
_MANY: dict[Role, str] = {
    "guest": phrase("guests"),
    "member": phrase("members"),
    "owner": phrase("owners"),
}


def role_name(role: Role) -> str:
    """A role."""
    return say(_CALLED[role])


def one_with(role: Role) -> str:
    """Somebody who has a role."""
    return say(_ONE[role])


def many_with(role: Role) -> str:
    """Those who have a role."""
    return say(_MANY[role])
