"""Settings of `kafka://` streams, and what they mean to kafka-python."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError


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

    def client_options(self) -> dict[str, Any]:
        """Give the security options that every kafka-python client takes, secrets in the clear."""
        options: dict[str, Any] = {
            "security_protocol": self.security_protocol,
            "sasl_mechanism": self.sasl_mechanism,
            "sasl_plain_username": self.sasl_username,
            "sasl_plain_password": self.sasl_password.get_secret_value(),
            "ssl_cafile": self.ssl_cafile,
            "ssl_certfile": self.ssl_certfile,
            "ssl_keyfile": self.ssl_keyfile,
            "ssl_password": self.ssl_password.get_secret_value(),
        }
        return {name: value for name, value in options.items() if value}
