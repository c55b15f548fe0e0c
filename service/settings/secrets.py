"""Secrets: in files that are mounted for them, in the hash of tenants' features, as fingerprints."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from service.errors import ConfigurationError

if TYPE_CHECKING:
    from service.settings.fields import Settings

HASH_KEY: Final = "hash_key"
_SHORTEST_KEY: Final = 16


def check_key(key: SecretStr) -> SecretStr:
    """Return a secret, which may be empty, but not so short that it can be guessed from its fingerprint."""
    if 0 < len(key.get_secret_value()) < _SHORTEST_KEY:
        raise ValueError(f"expected at least {_SHORTEST_KEY} characters, as `openssl rand -hex 32` prints")
    return key


def hash_key(settings: Settings) -> bytes:
    """Return the key in 64 bytes, of a secret of any length; none where no feature is hashed with it."""
    secret = settings.hash_key.get_secret_value()
    is_used = secret and settings.hash_bits and settings.events.tenant
    return blake2b(secret.encode()).digest() if is_used else b""


def key_fingerprint(settings: Settings) -> str:
    """Return what a model made with a key keeps of it: a fingerprint; empty if it is made without one."""
    key = hash_key(settings)
    if not key:
        return ""
    return f"fingerprint {blake2b(b'', key=key, digest_size=8, person=b'fingerprint').hexdigest()}"


def read_secret(name: str, path: str, origin: str) -> str:
    """Read a secret; the end of its last line does not belong to it.

    Parameters
    ----------
    name
        The setting that names the file.
    path
        The file.
    origin
        The source of the setting.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or holds nothing; the message shows nothing of what it holds.

    """
    try:
        secret = Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start}"
    else:
        if secret:
            return secret
        reason = "the file is empty"
    hint = f"{name} names a file that holds the secret and nothing else, readable by this process"
    raise ConfigurationError(f"{name} = {path!r} (from {origin}): {reason}", hint=hint)
