"""Fetch schemas from a Schema Registry, each with its references.

The client uses the REST API that Confluent's registry, Karapace and Apicurio share. It registers nothing.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Iterator
from http.client import HTTPException, InvalidURL
from time import monotonic
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request

from pydantic import BaseModel, Field, ValidationError

from service.errors import RegistryUnavailable
from service.formats.bounded_http import bounded_opener
from service.formats.protobuf import UnusableSchema, descriptors
from service.formats.schema import Schema, SchemaKind, name_of
from service.settings.kafka import RegistrySettings

_TIMEOUT_SECONDS: Final = 3.0
"""Timeout of connecting, and of a whole response."""
_LOOKUP_SECONDS: Final = 10.0
"""Time limit of a schema with its references: after it the batch waits, and the next attempt continues."""
_MAX_BYTES: Final = 16 << 20
"""Largest response, and largest schema with its references."""
_MAX_REFERENCES: Final = 1000
_MAX_MESSAGE_LENGTH: Final = 500
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"
_NO_REGISTRY: Final = "expected the response of a Schema Registry"
_NOT_FOUND: Final = 404
_NOT_FOUND_CODES: Final = frozenset({40401, 40402, 40403})
"""Error codes for a missing subject, version or schema. With any other 404, the server is not a registry."""
_REJECTED: Final = frozenset({401, 403})


class _Reference(BaseModel, frozen=True):
    """A reference from a schema to another."""

    name: str
    subject: str
    version: int = Field(gt=0)


class _Registered(BaseModel):
    """A schema in a registry's response."""

    text: str = Field(alias="schema")
    schema_type: str | None = Field(None, alias="schemaType", max_length=100)
    references: list[_Reference] | None = None


class _ErrorResponse(BaseModel):
    error_code: int | None = None
    message: str | None = None


class SchemaMissing(Exception):
    """The registry does not have the schema."""


class ReferenceMissing(SchemaMissing):
    """The registry has a schema, but not all that it refers to."""


class SchemaRegistry:
    """Asks a registry for schemas.

    Parameters
    ----------
    settings
        Address and credentials.

    """

    def __init__(self, settings: RegistrySettings) -> None:
        self._url = settings.url.strip().rstrip("/")
        context = ssl.create_default_context(cafile=settings.ssl_cafile or None)
        self._opener = bounded_opener(context)
        self._referred_before: dict[_Reference, _Registered] = {}
        """Schemas found by lookups that ran out of time, from which the next attempt continues."""
        password = settings.password.get_secret_value()
        given = f"{settings.username}:{password}".encode()
        basic = {"Authorization": f"Basic {base64.b64encode(given).decode()}"}
        self._authorization = basic if settings.username or password else {}

    def schema(self, key: bytes) -> Schema:
        """Fetch a schema and its references.

        Parameters
        ----------
        key
            The id of the schema, as `service.formats.schema` encodes it.

        Raises
        ------
        SchemaMissing
            The registry does not have the schema, or one of its references.
        RegistryUnavailable
            The registry does not answer in time, or the server is not a registry.

        """
        deadline = monotonic() + _LOOKUP_SECONDS
        schema = self._get(f"/schemas/ids/{name_of(key)}?format=serialized", deadline)
        kind = schema.schema_type or SchemaKind.AVRO
        try:
            named = [*self._referred(schema, deadline), ("", schema)]
            if kind == SchemaKind.PROTOBUF:
                parts = descriptors([(name, each.text) for name, each in named])
            else:
                parts = tuple(each.text.encode() for _, each in named)
        except UnusableSchema as error:
            kind, parts = SchemaKind.UNUSABLE, (str(error).encode(errors="backslashreplace"),)
        self._referred_before.clear()
        return Schema(kind, parts)

    def _referred(self, schema: _Registered, deadline: float) -> Iterator[tuple[str, _Registered]]:
        """Yield the schemas that a schema refers to, with the references' names; dependencies come first."""
        seen: set[tuple[str, int]] = set()
        left = _MAX_BYTES - len(schema.text)
        waiting: list[tuple[str, _Registered, Iterator[_Reference]]] = [
            ("", schema, iter(schema.references or ()))
        ]
        while waiting:
            name, referred, references = waiting[-1]
            reference = next(references, None)
            if reference is None:
                waiting.pop()
                if waiting:
                    yield name, referred
            elif (reference.subject, reference.version) not in seen:
                seen.add((reference.subject, reference.version))
                if len(seen) > _MAX_REFERENCES:
                    raise UnusableSchema(f"it refers to more than {_MAX_REFERENCES} others")
                other = self._ask_for(reference, deadline)
                left -= len(other.text)
                if left < 0:
                    raise UnusableSchema(f"it has more than {_MAX_BYTES} characters, with what it refers to")
                waiting.append((reference.name, other, iter(other.references or ())))

    def _ask_for(self, reference: _Reference, deadline: float) -> _Registered:
        known = self._referred_before.get(reference)
        if known is None:
            path = f"/subjects/{quote(reference.subject, safe='')}/versions/{reference.version}"
            try:
                known = self._get(f"{path}?format=serialized&deleted=true", deadline)
            except SchemaMissing as error:
                version = f"version {reference.version} of the subject {reference.subject!r:.150}"
                raise ReferenceMissing(f"it refers to {version}: {error}") from None
            self._referred_before[reference] = known
        return known

    def _get(self, path: str, deadline: float) -> _Registered:
        seconds = min(_TIMEOUT_SECONDS, deadline - monotonic())
        if seconds <= 0:
            raise _unavailable(self._url + path, f"no whole schema within {_LOOKUP_SECONDS:g} s")
        url = self._url + path
        try:
            return _Registered.model_validate_json(self._send(url, seconds))
        except ValidationError:
            raise _unavailable(url, _NO_REGISTRY) from None

    def _send(self, url: str, seconds: float) -> bytes:
        headers = self._authorization | {"Accept": _ACCEPT}
        request = Request(url, None, headers)  # noqa: S310 - the settings take http and https
        try:
            with self._opener.open(request, timeout=seconds) as response:
                return bytes(response.read(_MAX_BYTES))
        except HTTPError as error:
            raise _explain(error, url) from None
        except InvalidURL:  # its message shows the URL
            raise _unavailable(url, "not a URL") from None
        except (URLError, HTTPException, OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            raise _unavailable(url, reason) from None


def _explain(error: HTTPError, url: str) -> Exception:
    with error:
        try:
            rejection = _ErrorResponse.model_validate_json(error.read(_MAX_BYTES))
        except (ValueError, OSError, HTTPException):
            rejection = _ErrorResponse()
    message = rejection.message or ""
    if error.code == _NOT_FOUND and rejection.error_code in _NOT_FOUND_CODES:
        return SchemaMissing(message)
    hint = "check schema_registry.username and schema_registry.password" if error.code in _REJECTED else _HINT
    return _unavailable(url, f"HTTP {error.code} {message or error.reason}", hint)


_HINT: Final = "check schema_registry.url and that the registry is running"


def _unavailable(url: str, reason: object, hint: str = _HINT) -> RegistryUnavailable:
    address = re.split("[?#]", url)[0]  # a query may contain a key
    return RegistryUnavailable(f"schema registry: {address}: {str(reason)[:_MAX_MESSAGE_LENGTH]}", hint=hint)
