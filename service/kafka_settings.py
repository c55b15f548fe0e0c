"""Settings of `kafka://` streams, and what each client calls them."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

KafkaClient = Literal["kafka-python", "confluent"]
"""The packages that an Apache Kafka cluster can be reached with."""


def disagreement(settings: tuple[str, ...], reason: str) -> PydanticCustomError:
    """Make an error about several settings; the one that was not left at its default is to blame."""
    return PydanticCustomError("settings_disagree", "{reason}", {"settings": settings, "reason": reason})


class KafkaSettings(BaseModel):
    """How to reach an Apache Kafka cluster, and how long to wait for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    transaction_timeout_seconds: float = Field(
        60,
        ge=1,
        le=900,
        description="Seconds after which the broker aborts the open transaction of a dead process.",
    )
    commit_timeout_seconds: float = Field(
        30, ge=1, le=900, description="Seconds a commit may take before it counts as failed."
    )
    client_id: str = Field(
        "online-perceptron",
        min_length=1,
        max_length=249,
        description="Name of this process in the brokers' logs, metrics and quotas.",
    )
    instance_id: str = Field(
        "",
        max_length=249,
        description="Name of this member for static membership; empty for dynamic membership.",
    )
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="Protocol spoken with the brokers."
    )
    sasl_mechanism: Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "", description="How to authenticate when the protocol is SASL_PLAINTEXT or SASL_SSL."
    )
    sasl_username: str = Field("", description="User name for SASL.")
    sasl_password: SecretStr = Field(SecretStr(""), description="Password for SASL.")
    ssl_cafile: str = Field(
        "", description="PEM file of the authorities to trust; empty for the system's own."
    )
    ssl_certfile: str = Field("", description="PEM file with the client's certificate.")
    ssl_keyfile: str = Field("", description="PEM file with the client's private key.")
    ssl_password: SecretStr = Field(SecretStr(""), description="Password of the client's private key.")

    @model_validator(mode="after")
    def _check_together(self) -> KafkaSettings:
        protocol, sasl = self.security_protocol, self.security_protocol.startswith("SASL_")
        for needed in ("sasl_mechanism", "sasl_username"):
            if sasl and not getattr(self, needed):
                settings = ("kafka.security_protocol", f"kafka.{needed}")
                raise disagreement(settings, f"kafka.security_protocol {protocol} needs kafka.{needed}")
        if self.sasl_username and not sasl:
            settings = ("kafka.sasl_username", "kafka.security_protocol")
            raise disagreement(
                settings, f"not used with kafka.security_protocol {protocol}, only with SASL_..."
            )
        if self.commit_timeout_seconds > self.transaction_timeout_seconds:
            settings = ("kafka.commit_timeout_seconds", "kafka.transaction_timeout_seconds")
            raise disagreement(settings, f"{settings[0]} must not exceed {settings[1]}")
        return self

    def client_options(self, client: KafkaClient) -> dict[str, Any]:
        """Give the options that every client of this kind takes, secrets in the clear."""
        given = ((name, getattr(self, name)) for name in _OPTION_NAMES[client])
        plain = (
            (name, value.get_secret_value() if isinstance(value, SecretStr) else value)
            for name, value in given
        )
        return {_OPTION_NAMES[client][name]: value for name, value in plain if value}


_OPTION_NAMES: Final[dict[KafkaClient, dict[str, str]]] = {
    "kafka-python": {
        "client_id": "client_id",
        "security_protocol": "security_protocol",
        "sasl_mechanism": "sasl_mechanism",
        "sasl_username": "sasl_plain_username",
        "sasl_password": "sasl_plain_password",
        "ssl_cafile": "ssl_cafile",
        "ssl_certfile": "ssl_certfile",
        "ssl_keyfile": "ssl_keyfile",
        "ssl_password": "ssl_password",
    },
    "confluent": {
        "client_id": "client.id",
        "security_protocol": "security.protocol",
        "sasl_mechanism": "sasl.mechanism",
        "sasl_username": "sasl.username",
        "sasl_password": "sasl.password",
        "ssl_cafile": "ssl.ca.location",
        "ssl_certfile": "ssl.certificate.location",
        "ssl_keyfile": "ssl.key.location",
        "ssl_password": "ssl.key.password",
    },
}
"""What the settings are called by each client."""
