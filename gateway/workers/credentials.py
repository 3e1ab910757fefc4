"""Who may say what at the broker: a key for the gateway and each worker, and the broker's rules.

Keys are NATS's nkeys (Ed25519): a broker knows their public halves alone. A worker may publish and
hear subjects with its own name, and nothing else.
"""

from __future__ import annotations

import json
import re
from base64 import b32decode, b32encode, b64encode
from binascii import crc_hqx
from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from contract.errors import ConfigError
from contract.values import dataclass
from gateway.core.private_folders import make_private, private

GATEWAY = "gateway"
FOLDER = "workers"
RULES = "broker.conf"
MAKES = "`moot worker add NAME` beside the gateway writes one"
MOST_BYTES = 8 << 20  # of one message, as far as NATS advises to go
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_SEED, _USER = 18 << 3, 20 << 3  # begin the bytes of a seed and of a user's public key: "S" and "U"


@dataclass(frozen=True, slots=True)
class Key:
    """A key with which somebody signs in at the broker."""

    seed: str

    @classmethod
    def make(cls) -> Key:
        """A new one."""
        prefix = bytes([_SEED | _USER >> 5, (_USER & 31) << 3])
        return cls(_encoded(prefix + Ed25519PrivateKey.generate().private_bytes_raw()))

    @classmethod
    def read(cls, path: Path) -> Key:
        """The one in a file. Raises ConfigError."""
        try:
            return cls.parse(path.read_text(encoding="ascii", errors="replace"), str(path))
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}; {MAKES}") from None

    @classmethod
    def parse(cls, seed: str, where: str) -> Key:
        """The one of a text, which stands somewhere. Raises ConfigError."""
        key = cls(seed.strip())
        try:
            key._private()
        except ValueError:
            raise ConfigError(f"{where}: this is no seed of an nkey; {MAKES}") from None
        return key

    def _private(self) -> Ed25519PrivateKey:
        raw = b32decode(self.seed + "=" * (-len(self.seed) % 8))
        if _encoded(raw[:-2]) != self.seed or len(raw) != 36:
            raise ValueError("no seed")
        return Ed25519PrivateKey.from_private_bytes(raw[2:-2])

    @property
    def public(self) -> str:
        """Its public half, which the broker knows."""
        return _encoded(bytes([_USER]) + self._private().public_key().public_bytes_raw())

    def sign(self, nonce: str) -> bytes:
        """The signature of a broker's challenge, in Base64."""
        return b64encode(self._private().sign(nonce.encode()))


def _encoded(raw: bytes) -> str:
    check = crc_hqx(raw, 0).to_bytes(2, "little")
    return b32encode(raw + check).decode().rstrip("=")


# ── The folder beside the gateway ───────────────────────────────────────────────────────


def gateway_key(data_dir: Path) -> Key:
    """The gateway's own key, made when there is none. Raises ConfigError."""
    if not (data_dir / FOLDER / f"{GATEWAY}.nk").exists():
        add(data_dir, GATEWAY)
    return Key.read(data_dir / FOLDER / f"{GATEWAY}.nk")


def add(data_dir: Path, name: str) -> Path:
    """Make a key and let it in by the broker's rules; returns its file. Raises ConfigError."""
    folder = data_dir / FOLDER
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name of a worker: small letters, digits and -, e.g. w1")
    make_private(folder, below=data_dir)
    names = _names(folder)
    if name in names:
        raise ConfigError(f"there is a worker {name}; `moot worker remove {name}` forgets it")
    key, file = Key.make(), folder / f"{name}.nk"
    with open(file, "w", opener=private) as out:
        out.write(f"{key.seed}\n")
    _write(folder, {**names, name: key.public})
    if name != GATEWAY:
        gateway_key(data_dir)
    return file


def remove(data_dir: Path, name: str) -> None:
    """Let a key in no more. Raises ConfigError."""
    folder = data_dir / FOLDER
    names = _names(folder)
    if name == GATEWAY or name not in names:
        known = ", ".join(one for one in names if one != GATEWAY) or "none"
        raise ConfigError(f"there is no worker {name!r}; known: {known}")
    _write(folder, {one: public for one, public in names.items() if one != name})
    (folder / f"{name}.nk").unlink(missing_ok=True)


def places_of(data_dir: Path) -> tuple[str, ...]:
    """Where sessions may have been but here: the broker, "", and the workers that were added; ():
    there never was one."""
    names = _names(data_dir / FOLDER)
    return ("", *(one for one in names if one != GATEWAY)) if names else ()


def _names(folder: Path) -> dict[str, str]:
    """The public keys by name."""
    try:
        found = json.loads((folder / "keys.json").read_text())
    except FileNotFoundError:
        return {}
    return {str(name): str(public) for name, public in found.items()}


def _write(folder: Path, names: Mapping[str, str]) -> None:
    for file, text in (("keys.json", json.dumps(names, indent=1)), (RULES, rules(names))):
        with open(folder / file, "w", opener=private) as out:
            out.write(f"{text}\n")


def rules(names: Mapping[str, str]) -> str:
    """The part of the broker's configuration that says who may do what."""
    users = ",\n".join(f"    {_user(name, public)}" for name, public in names.items())
    return f"max_payload: {MOST_BYTES}\nauthorization {{\n  users: [\n{users}\n  ]\n}}"


def _user(name: str, public: str) -> str:
    if name == GATEWAY:
        return f"{{ nkey: {public} }}"
    says = [f"moot.from.{name}.>", f"moot.answer.{name}"]
    hears = [f"moot.to.{name}.>", f"_INBOX_{name}.>"]
    may = {"publish": says, "subscribe": hears}
    return f"{{ nkey: {public}, permissions: {json.dumps({**may, 'allow_responses': True})} }}"
