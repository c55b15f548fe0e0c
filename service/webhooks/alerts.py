"""Make alerts from predictions, outcomes and drifts: which records a webhook posts, and in what form.

The headers follow Standard Webhooks (standardwebhooks.com): id, time, and an HMAC-SHA-256 of both and
the body. A repeated delivery has the same id.
"""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from service.settings.parts import DECISION, DRIFT, MISTAKE, WebhookSettings
from service.stream.protocol import Record

_STANDARD_SECRET: Final = "whsec_"  # noqa: S105 - a prefix of secrets


class Alert(NamedTuple):
    """What is posted for a record."""

    id: str
    """Topic, partition and offset of the record."""
    offset: int
    body: bytes


class AlertMaker:
    """Makes the alerts of one webhook.

    Parameters
    ----------
    hook
        Which records they are about.

    Attributes
    ----------
    n_unreadable : int
        Records that could not be read.

    """

    def __init__(self, hook: WebhookSettings) -> None:
        self._reasons = hook.on
        self.n_unreadable = 0

    def alert(self, record: Record) -> Alert | None:
        """Return the alert of a prediction, an outcome or a drift; None if the webhook is not about it."""
        origin = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        try:
            fields = json.loads(record.value or b"null")
            reasons = self._reasons if isinstance(fields, dict) else ()
            reason = next((each for each in reasons if _is_about(each, fields)), None)
            body = json.dumps({"on": reason, **origin, "record": fields}) if reason else ""
        except (ValueError, RecursionError):
            self.n_unreadable += 1
            return None
        return Alert("-".join(map(str, origin.values())), record.offset, body.encode()) if body else None


def _is_about(reason: str, fields: Mapping[str, Any]) -> bool:
    if reason == MISTAKE:
        return fields.get("mistake") is True
    if reason == DRIFT:
        return fields.get("type") == DRIFT and isinstance(fields.get("data"), dict)
    return fields.get("decision") == reason.removeprefix(DECISION)


def headers_of(alert: Alert, secret: str, seconds: int) -> dict[str, str]:
    """Return the headers of an alert that is posted at a time; without a secret, it is not signed."""
    headers = {"Content-Type": "application/json", "webhook-id": alert.id, "webhook-timestamp": str(seconds)}
    if secret:
        signed = b".".join((alert.id.encode(), str(seconds).encode(), alert.body))
        digest = hmac.digest(_key_of(secret), signed, "sha256")
        headers["webhook-signature"] = f"v1,{b64encode(digest).decode()}"
    return headers


def _key_of(secret: str) -> bytes:
    """Return the bytes of a secret: after `whsec_` in base64, else its text."""
    if secret.startswith(_STANDARD_SECRET):
        with suppress(Error):
            return b64decode(secret.removeprefix(_STANDARD_SECRET), validate=True)
    return secret.encode()
