"""The secret key in the hash of tenants' features, and its fingerprint."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from service.settings.fields import Settings

HASH_KEY: Final = "hash_key"


def hash_key(settings: Settings) -> bytes:
    """Return the key in 64 bytes, of a secret of any length; none where no feature is hashed with it."""
    secret = settings.hash_key.get_secret_value()
    is_used = secret and settings.hash_bits and settings.events.tenant
    return blake2b(secret.encode()).digest() if is_used else b""


def key_given(settings: Settings) -> dict[str, str]:
    """Return what a model made with a key keeps of it, by the setting's name: a fingerprint, or nothing."""
    key = hash_key(settings)
    if not key:
        return {}
    return {
        HASH_KEY: f"fingerprint {blake2b(b'', key=key, digest_size=8, person=b'fingerprint').hexdigest()}"
    }
