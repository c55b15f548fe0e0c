"""Settings of `kafka://` streams with their names in each client, and of the Schema Registry."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import SecretStr, model_validator

from service.errors import ConfigurationError
from service.redaction import without_query
from service.settings.declaration import Table, disagreement, setting
from service.stream.protocol import KafkaClient


class KafkaSettings(Table):
    """How to reach an Apache Kafka cluster, and how long to wait for it."""

    transaction_timeout_seconds: float = setting(60, ge=1, le=900)
    """Seconds after which the broker aborts the open transaction of a dead process; at most 0.9 of the
    session timeout, unless a transaction has failed."""
    commit_timeout_seconds: float = setting(30, ge=1, le=900)
    """Seconds a commit may take before it counts as failed."""
    client_id: str = setting("online-perceptron", min_length=1, max_length=249)
    """Name of this process in the brokers' logs, metrics and quotas."""
    instance_id: str = setting("", max_length=249)
    """Name of this member for static membership; empty for dynamic membership."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = setting("PLAINTEXT")
    """Protocol spoken with the brokers."""
    sasl_mechanism: Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = setting("")
    """How to authenticate when the protocol is SASL_PLAINTEXT or SASL_SSL."""
    sasl_username: str = setting("")
    """User name for SASL."""
    sasl_password: SecretStr = setting(SecretStr(""))
    """Password for SASL."""
    ssl_cafile: str = setting("")
    """PEM file of trusted certificate authorities (empty: the system's)."""
    ssl_certfile: str = setting("")
    """PEM file with the client's certificate."""
    ssl_keyfile: str = setting("")
    """PEM file with the client's private key (empty: it is in kafka.ssl_certfile)."""
    ssl_password: SecretStr = setting(SecretStr(""))
    """Password of the client's private key."""

    @model_validator(mode="after")
    def _check_layers(self) -> KafkaSettings:
        protocol, layers = self.security_protocol, self.security_protocol.split("_")
        for needed in ("sasl_mechanism", "sasl_username") if "SASL" in layers else ():
            if not getattr(self, needed):
                both = ("kafka.security_protocol", f"kafka.{needed}")
                raise disagreement(both, f"kafka.security_protocol {protocol} needs kafka.{needed}")
        for name in ("sasl_username", "ssl_cafile", "ssl_certfile", "ssl_keyfile"):
            layer = name.partition("_")[0].upper()
            if getattr(self, name) and layer not in layers:
                both = (f"kafka.{name}", "kafka.security_protocol")
                wanted = "only with SSL and SASL_SSL" if layer == "SSL" else "only with SASL_..."
                raise disagreement(both, f"not used with kafka.security_protocol {protocol}, {wanted}")
        if self.ssl_keyfile and not self.ssl_certfile:
            both = ("kafka.ssl_keyfile", "kafka.ssl_certfile")
            raise disagreement(both, "kafka.ssl_keyfile needs kafka.ssl_certfile")
        if self.commit_timeout_seconds > self.transaction_timeout_seconds:
            both = ("kafka.commit_timeout_seconds", "kafka.transaction_timeout_seconds")
            raise disagreement(both, f"{both[0]} must not exceed {both[1]}")
        return self

    def check_files(self) -> None:
        """Read the certificates and the key, as a client would only report that no broker answers.

        Raises
        ------
        ConfigurationError
            A file cannot be read, or the key does not belong to the certificate.

        """
        for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile"):
            if path := getattr(self, name):
                with _explained(f"kafka.{name}", path, "a file that this process may read"):
                    Path(path).read_bytes()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if path := self.ssl_cafile:
            with _explained("kafka.ssl_cafile", path, "certificates in PEM form"):
                context.load_verify_locations(path)
        if path := self.ssl_certfile:
            names = "kafka.ssl_certfile, kafka.ssl_keyfile, kafka.ssl_password"
            with _explained(names, path, "a certificate, its key and the password that opens it"):
                # an empty password, as OpenSSL would otherwise ask for one on the terminal
                password = self.ssl_password.get_secret_value()
                context.load_cert_chain(path, self.ssl_keyfile or None, password)

    def client_options(self, client: KafkaClient) -> dict[str, Any]:
        """Return the options for every client of this kind, with secrets in clear text."""
        given = {name: getattr(self, name) for name in _OPTION_NAMES}
        given["ssl_keyfile"] = self.ssl_keyfile or self.ssl_certfile
        return {
            _OPTION_NAMES[name][client]: value.get_secret_value() if isinstance(value, SecretStr) else value
            for name, value in given.items()
            if value
        }


def _check_url(url: str) -> str:
    scheme, separator, address = url.partition("://")
    if url and (scheme not in {"http", "https"} or not separator or not address or "," in address):
        raise ValueError("expected http://host:8081 or https://host")
    if "@" in address:
        raise ValueError(
            "credentials belong in schema_registry.username and schema_registry.password, not here"
        )
    return url


class RegistrySettings(Table):
    """Where the schemas of records are, and who asks for them."""

    url: str = setting("", shown=without_query, check=_check_url)
    """URL of the Schema Registry."""
    username: str = setting("")
    """User name, or API key, for the Schema Registry."""
    password: SecretStr = setting(SecretStr(""))
    """Password, or API secret, for it."""
    ssl_cafile: str = setting("")
    """PEM file of trusted certificate authorities (empty: the system's)."""


@contextmanager
def _explained(settings: str, path: str, wanted: str) -> Iterator[None]:
    """Raise `ConfigurationError` with the settings and the expectation if a file cannot be used."""
    try:
        yield
    except ssl.SSLError as error:
        why = f"not {wanted}: {error.reason or error}"
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    else:
        return
    raise ConfigurationError(f"{settings}: {path}: {why}", hint=f"expected {wanted}")


_OPTION_NAMES: Final[dict[str, dict[KafkaClient, str]]] = {
    "client_id": {"kafka-python": "client_id", "confluent": "client.id"},
    "security_protocol": {"kafka-python": "security_protocol", "confluent": "security.protocol"},
    "sasl_mechanism": {"kafka-python": "sasl_mechanism", "confluent": "sasl.mechanism"},
    "sasl_username": {"kafka-python": "sasl_plain_username", "confluent": "sasl.username"},
    "sasl_password": {"kafka-python": "sasl_plain_password", "confluent": "sasl.password"},
    "ssl_cafile": {"kafka-python": "ssl_cafile", "confluent": "ssl.ca.location"},
    "ssl_certfile": {"kafka-python": "ssl_certfile", "confluent": "ssl.certificate.location"},
    "ssl_keyfile": {"kafka-python": "ssl_keyfile", "confluent": "ssl.key.location"},
    "ssl_password": {"kafka-python": "ssl_password", "confluent": "ssl.key.password"},
}
"""The names of the settings in each client."""
