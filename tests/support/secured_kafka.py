"""A Kafka broker that asks who is there. In: nothing. Out: its settings, and the keys to it.

Beside the open listener: SASL_SSL takes `USER` with `PASSWORD` by PLAIN and SCRAM; SSL takes whoever has a
certificate of our authority. The broker's own certificate names 127.0.0.1 and not localhost.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import trustme
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

USER: Final = "perceptron"
PASSWORD: Final = "correct-horse-battery-staple"
KEY_PASSWORD: Final = "tr0ub4dor"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_LOGIN: Final = "org.apache.kafka.common.security"


class Certificates:
    """PEM files in `folder`: of the authority, the broker, a client, and an authority no one knows.

    Parameters
    ----------
    folder
        Where to write them.

    """

    def __init__(self, folder: Path) -> None:
        authority, stranger = trustme.CA(), trustme.CA()
        broker, client = authority.issue_cert("127.0.0.1"), authority.issue_cert("client.example")
        self.authority = _write(folder / "authority.pem", authority.cert_pem.bytes())
        self.stranger = _write(folder / "stranger.pem", stranger.cert_pem.bytes())
        self.broker = _write(folder / "broker.pem", _key(broker, NoEncryption()), _chain(broker))
        self.client = _write(folder / "client.pem", _chain(client))
        self.client_key = _write(
            folder / "client.key", _key(client, BestAvailableEncryption(KEY_PASSWORD.encode()))
        )


def _write(path: Path, *parts: bytes) -> str:
    path.write_bytes(b"".join(parts))
    return str(path)


def _chain(issued: trustme.LeafCert) -> bytes:
    return b"".join(blob.bytes() for blob in issued.cert_chain_pems)


def _key(issued: trustme.LeafCert, encryption: KeySerializationEncryption) -> bytes:
    """Write the key as Kafka wants it, in PKCS 8."""
    key = load_pem_private_key(issued.private_key_pem.bytes(), password=None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


def broker_settings(certificates: Certificates) -> dict[str, str]:
    """Return the lines of ``server.properties`` for a broker with the protocols SASL_SSL and SSL."""
    scram_login = f"{_LOGIN}.scram.ScramLoginModule required;"
    scram = {
        f"listener.name.sasl_ssl.{mechanism.lower()}.sasl.jaas.config": scram_login
        for mechanism in MECHANISMS
        if mechanism.startswith("SCRAM")
    }
    return scram | {
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        ),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": certificates.broker,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": certificates.authority,
        "listener.name.ssl.ssl.client.auth": "required",
    }


def add_scram_user(address: str) -> None:
    """Let `USER` log in by SCRAM at the broker whose open listener is at `address`."""
    admin = AdminClient({"bootstrap.servers": address})
    for kind in (
        ScramMechanism.SCRAM_SHA_256,
        ScramMechanism.SCRAM_SHA_512,
    ):  # a request may have one of a user
        wanted = UserScramCredentialUpsertion(USER, ScramCredentialInfo(kind, 4096), PASSWORD.encode())
        admin.alter_user_scram_credentials([wanted])[USER].result()
