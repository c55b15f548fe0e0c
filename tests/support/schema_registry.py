"""A Schema Registry for tests: what clients use of the documented REST API, in memory, on 127.0.0.1.

Subjects, versions, references, lookup; `schemas/ids` and `schemas/guids`; the documented error codes. It can
be slow, fail, ask for a password, stop and start again.
"""

import base64
import json
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.protobuf_schemas import compiled

SUBJECT_MISSING, VERSION_MISSING, SCHEMA_MISSING = (404, 40401), (404, 40402), (404, 40403)
INVALID = (422, 42201)


class Rejected(Exception):
    def __init__(self, status, code, message="rejected"):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass
class Entry:
    id: int
    guid: str
    schema: str
    type: str
    references: list

    def described(self, **more):
        found = {"id": self.id, "guid": self.guid, "schema": self.schema, **more}
        if self.type != "AVRO":  # the default is left out, as Confluent's does
            found["schemaType"] = self.type
        return found | ({"references": self.references} if self.references else {})


@dataclass
class Catalog:
    """What is registered."""

    by_id: dict = field(default_factory=dict)
    subjects: dict = field(default_factory=dict)
    """Subject: version: id."""
    deleted: set = field(default_factory=set)

    def register(self, subject, body):
        schema, kind = body["schema"], body.get("schemaType") or "AVRO"
        references = body.get("references") or []
        for each in references:
            self.version(each["subject"], each["version"])
        self._check(kind, schema)
        versions = self.subjects.setdefault(subject, {})
        known = self._find(schema, kind, references)
        if known is not None and known.id in versions.values():
            return known
        entry = known or Entry(len(self.by_id) + 1, str(uuid.uuid4()), schema, kind, references)
        self.by_id[entry.id] = entry
        versions[max(versions, default=0) + 1] = entry.id
        return entry

    def _check(self, kind, schema):
        if kind not in {"AVRO", "JSON", "PROTOBUF"} or (kind != "PROTOBUF" and json_of(schema) is None):
            raise Rejected(*INVALID, f"Invalid schema of type {kind}")

    def _find(self, schema, kind, references):
        wanted = (schema, kind, references)
        return next((e for e in self.by_id.values() if (e.schema, e.type, e.references) == wanted), None)

    def lookup(self, subject, body):
        versions = self.subjects.get(subject)
        if not versions:
            raise Rejected(*SUBJECT_MISSING, f"Subject '{subject}' not found.")
        entry = self._find(body["schema"], body.get("schemaType") or "AVRO", body.get("references") or [])
        for version, schema_id in versions.items():
            if entry is not None and schema_id == entry.id and (subject, version) not in self.deleted:
                return entry.described(subject=subject, version=version)
        raise Rejected(*SCHEMA_MISSING, "Schema not found")

    def live(self, subject, *, deleted=False):
        versions = self.subjects.get(subject, {})
        found = {v: i for v, i in versions.items() if deleted or (subject, v) not in self.deleted}
        if not found:
            raise Rejected(*SUBJECT_MISSING, f"Subject '{subject}' not found.")
        return found

    def version(self, subject, version, *, deleted=False):
        versions = self.live(subject, deleted=deleted)
        number = max(versions) if version in {"latest", -1} else int(version)
        if number not in versions:
            raise Rejected(*VERSION_MISSING, f"Version {version} not found.")
        return self.by_id[versions[number]].described(subject=subject, version=number)

    def schema(self, key, kind):
        found = (
            self.by_id.get(int(key))
            if kind == "ids"
            else next((each for each in self.by_id.values() if each.guid == key), None)
        )
        if found is None:
            raise Rejected(*SCHEMA_MISSING, f"Schema {key} not found")
        return found.described()

    def delete(self, subject, *, permanent=False):
        for number in list(self.live(subject, deleted=permanent)):
            self.deleted.add((subject, number))
            if permanent:
                del self.by_id[self.subjects[subject].pop(number)]


def json_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


class SchemaRegistryServer:
    """The registry; `with` starts and stops it.

    Parameters
    ----------
    serialized
        Whether it knows `format=serialized`, as Confluent's does.
    credentials
        User name and password that it asks for.
    context
        Of TLS.

    """

    def __init__(self, *, serialized=True, credentials=None, context=None):
        self.catalog = Catalog()
        self.serialized = serialized
        self.credentials = credentials
        self.requests = []
        self.status = None
        """Its response to everything, if not None."""
        self.delay_seconds = 0.0
        self.lag = {}
        """How often a schema's id is still unknown: a replica that lags."""
        self._context = context
        self._port = 0
        self._server = None

    @property
    def url(self):
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self._port}"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), _handler(self))
        self._server.daemon_threads = True
        self._port = self._server.server_port
        if self._context:
            self._server.socket = self._context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def register(self, subject, schema, kind="AVRO", references=()):
        """Register a schema; return its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        body = {"schema": text, "schemaType": kind, "references": list(references)}
        return self.catalog.register(subject, body).id

    def respond(self, method, target, body, authorization):
        """Return the response to a request. Raises `Rejected`."""
        self.requests.append((method, target))
        time.sleep(self.delay_seconds)
        if self.status is not None:
            raise Rejected(self.status, self.status * 100 + 1, "as if")
        if self.credentials and authorization != basic(*self.credentials):
            raise Rejected(401, 401, "Unauthorized")
        url = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        found = self._route(method, parts, query, body)
        if query.get("format") == "serialized" and self.serialized and found.get("schemaType") == "PROTOBUF":
            found = found | {"schema": self._serialized(found)}
        return found

    def _route(self, method, parts, query, body):
        catalog, deleted = self.catalog, query.get("deleted", "").lower() == "true"
        match method, parts:
            case "GET", ["schemas", ("ids" | "guids") as kind, key]:
                if self.lag.get(key, 0) > 0:
                    self.lag[key] -= 1
                    raise Rejected(*SCHEMA_MISSING, f"Schema {key} not found")
                return catalog.schema(key, kind)
            case "POST", ["subjects", subject]:
                return catalog.lookup(subject, body)
            case "GET", ["subjects", subject, "versions"]:
                return sorted(catalog.live(subject, deleted=deleted))
            case "POST", ["subjects", subject, "versions"]:
                return catalog.register(subject, body).described(subject=subject)
            case "GET", ["subjects", subject, "versions", version]:
                return catalog.version(subject, version, deleted=deleted)
        raise Rejected(404, 404, "HTTP 404 Not Found")

    def _serialized(self, found):
        """Return the descriptor of a Protobuf schema, which may have been registered as one."""
        text = found["schema"]
        return base64.b64encode(compiled(text, self._referred(found))[-1]).decode() if " " in text else text

    def _referred(self, found):
        for each in found.get("references", ()):
            other = self.catalog.version(each["subject"], each["version"], deleted=True)
            yield from self._referred(other)
            yield each["name"], other["schema"]


def basic(username, password):
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def _handler(registry):
    class Handler(BaseHTTPRequestHandler):
        def _respond(self):
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            try:
                asked = (self.command, self.path, body, self.headers.get("Authorization"))
                status, found = 200, registry.respond(*asked)
            except Rejected as rejected:
                status = rejected.status
                found = {"error_code": rejected.code, "message": rejected.message}
            data = json.dumps(found).encode()
            with suppress(OSError):  # the client has left
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        do_GET = do_POST = _respond  # noqa: N815

        def log_message(self, *_):
            pass

    return Handler
