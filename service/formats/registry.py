"""A Schema Registry. In: the id of a schema. Out: the schema with all it refers to.

Speaks the REST API that Confluent's registry, Karapace and Apicurio share; registers nothing but the schema
of predictions, where these are written with one.
"""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request

from service.errors import RegistryUnavailable
from service.formats.bounded_http import bounded_opener
from service.formats.protobuf_files import UnusableSchema, descriptors
from service.formats.schema import Schema, SchemaKind
from service.formats.wire import is_guid, name_of
from service.settings.registry import RegistrySettings

_TIMEOUT_SECONDS: Final = 3.0
"""Of connecting, and of an answer as a whole."""
_MOST_BYTES: Final = 16 << 20
_MOST_REFERENCES: Final = 1000
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"

_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_NO_REGISTRY: Final = "the answer is not that of a Schema Registry"
_NOT_FOUND: Final = 404
_NOT_FOUND_CODES: Final = frozenset({40401, 40402, 40403})
"""No such subject, version, schema. Any other 404 is of something that is no registry."""
_REFUSED: Final = frozenset({401, 403})


class SchemaMissing(Exception):
    """The registry says that it has no such schema."""


class ReferenceMissing(SchemaMissing):
    """It has a schema, but not what that refers to."""


class SchemaRegistry:
    """Asks a registry for schemas.

    Parameters
    ----------
    settings
        Where it is, and who asks.

    """

    def __init__(self, settings: RegistrySettings) -> None:
        self._urls = [url.strip().rstrip("/") for url in settings.url.split(",")]
        context = ssl.create_default_context(cafile=settings.ssl_cafile or None)
        self._opener = bounded_opener(context)
        password = settings.password.get_secret_value()
        given = f"{settings.username}:{password}".encode()
        self._authorization = (
            f"Basic {base64.b64encode(given).decode()}" if settings.username or password else ""
        )

    def schema(self, key: bytes) -> Schema:
        """Fetch a schema and what it refers to.

        Parameters
        ----------
        key
            An id or a GUID, as `service.formats.wire` reads it.

        Raises
        ------
        SchemaMissing
            The registry has none of that id; or, `ReferenceMissing`, not all that it refers to.
        RegistryUnavailable
            It does not answer, or not as a registry does.

        """
        found = self._get(f"/schemas/{'guids' if is_guid(key) else 'ids'}/{name_of(key)}?format=serialized")
        kind = found.get("schemaType") or SchemaKind.AVRO
        named = [*self._referred(found), ("", found)]
        if kind == SchemaKind.PROTOBUF:
            try:
                return Schema(kind, descriptors([(name, _text(each)) for name, each in named]))
            except UnusableSchema as error:
                return Schema(SchemaKind.UNUSABLE, (str(error).encode(),))
        return Schema(kind, tuple(_text(each).encode() for _, each in named))

    def register(self, subject: str, schema: Schema) -> int:
        """Register a schema that refers to no others, if it is not yet; return its id.

        Raises
        ------
        RegistryUnavailable
            The registry does not answer, or does not take it.

        """
        body = {"schema": schema.parts[-1].decode(), "schemaType": schema.kind}
        url = f"{self._urls[0]}/subjects/{quote(subject, safe='')}/versions"
        found = json.loads(self._send(url, json.dumps(body).encode()))
        if not isinstance(found, dict) or not isinstance(found.get("id"), int):
            raise _unavailable(url, _NO_REGISTRY)
        return int(found["id"])

    def _referred(self, schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield what a schema refers to with the names used, each after what it refers to itself."""
        seen: set[tuple[str, int]] = set()

        def walk(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
            for reference in schema.get("references") or ():
                subject, version = reference["subject"], reference["version"]
                if (subject, version) in seen or len(seen) >= _MOST_REFERENCES:
                    continue
                seen.add((subject, version))
                path = f"/subjects/{quote(subject, safe='')}/versions/{version}"
                try:
                    found = self._get(f"{path}?format=serialized&deleted=true")
                except SchemaMissing:
                    named = f"{reference['name']!r:.150}, version {version} of the subject {subject!r:.150}"
                    raise ReferenceMissing(f"it refers to {named}: the Schema Registry has none") from None
                yield from walk(found)
                yield reference["name"], found

        return walk(schema)

    def _get(self, path: str) -> Mapping[str, Any]:
        """Ask each address in turn; the first that answers decides."""
        for url in self._urls[:-1]:
            try:
                return self._ask(url + path)
            except RegistryUnavailable:
                continue
        return self._ask(self._urls[-1] + path)

    def _ask(self, url: str) -> Mapping[str, Any]:
        return _object(self._send(url), url)

    def _send(self, url: str, body: bytes | None = None) -> bytes:
        headers = {"Accept": _ACCEPT} | ({"Content-Type": _CONTENT_TYPE} if body else {})
        request = Request(url, body, headers)  # noqa: S310 - the settings take http and https
        if self._authorization:
            request.add_unredirected_header("Authorization", self._authorization)
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                return bytes(response.read(_MOST_BYTES))
        except HTTPError as error:
            raise _explain(error, url) from None
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            raise _unavailable(url, reason) from None


def _object(body: bytes, url: str) -> Mapping[str, Any]:
    """Read what was answered, as far as it is needed here."""
    try:
        found = json.loads(body)
        references = found.get("references") or ()
        named = all(
            isinstance(each["name"], str) and isinstance(each["subject"], str) and int(each["version"]) > 0
            for each in references
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        named = False
    if not named or not isinstance(found.get("schema"), str):
        raise _unavailable(url, _NO_REGISTRY)
    return dict(found)


def _explain(error: HTTPError, url: str) -> Exception:
    with error:
        try:
            said = json.loads(error.read(_MOST_BYTES))
            code, message = said.get("error_code"), str(said.get("message", ""))
        except (ValueError, AttributeError, OSError, HTTPException):
            code, message = None, ""
    if error.code == _NOT_FOUND and code in _NOT_FOUND_CODES:
        return SchemaMissing(message)
    hint = "check schema_registry.username and schema_registry.password" if error.code in _REFUSED else _HINT
    return _unavailable(url, f"HTTP {error.code} {message or error.reason}", hint)


_HINT: Final = "check schema_registry.url, and whether the registry runs"


def _unavailable(url: str, reason: object, hint: str = _HINT) -> RegistryUnavailable:
    return RegistryUnavailable(f"schema registry: {url}: {reason}", hint=hint)


def _text(found: Mapping[str, Any]) -> str:
    return str(found["schema"])
