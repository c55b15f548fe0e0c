"""Settings of a Schema Registry."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator


class RegistrySettings(BaseModel):
    """Where the schemas of records are, and who asks for them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(
        "", description="URL of the Schema Registry, or several of one registry separated by commas."
    )
    username: str = Field("", description="User name, or API key, for the Schema Registry.")
    password: SecretStr = Field(SecretStr(""), description="Password, or API secret, for it.")
    ssl_cafile: str = Field(
        "", description="PEM file of the authorities to trust; empty for the system's own."
    )

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        for each in filter(None, url.split(",")):
            scheme, separator, place = each.strip().partition("://")
            if scheme not in {"http", "https"} or not separator or not place:
                raise ValueError("expected http://host:8081 or https://host")
            if "@" in place:
                raise ValueError(
                    "credentials belong in schema_registry.username and schema_registry.password, not here"
                )
        return url
