"""Settings of the webhooks that `perceptron relay` posts to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import BeforeValidator, ConfigDict, Field, SecretStr, field_validator

from service.redaction import STARS
from service.settings.decisions import DRIFT
from service.settings.declaration import Table
from service.settings.forms import Names

MISTAKE: Final = "mistake"
DECISION: Final = "decision:"
_NAME: Final = re.compile(r"[\w.:+-]{1,100}")


def _as_json(value: object) -> object:
    """Write a template that is a table as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value


class WebhookSettings(Table):
    """Where alerts are posted, and which."""

    model_config = ConfigDict(hide_input_in_errors=True)

    url: SecretStr
    """It often has a token in its path: only the host is ever shown."""
    on: Names
    name: str = ""
    """Part of the consumer group's name; by default what `on` says."""
    secret: SecretStr = SecretStr("")
    template: Annotated[str, BeforeValidator(_as_json)] = ""
    """JSON whose texts have {fields} in them; empty: the record with its place."""
    timeout_seconds: float = Field(10.0, gt=0, le=300)
    concurrency: int = Field(4, ge=1, le=64)

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: SecretStr) -> SecretStr:
        parts = urlsplit(url.get_secret_value())
        if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
            raise ValueError("expected https://host/path, without a user name")
        if not url.get_secret_value().isascii() or re.search(r"\s", url.get_secret_value()):
            raise ValueError("expected no spaces, and other letters than ASCII's percent-encoded")
        return url

    @field_validator("on")
    @classmethod
    def _check_on(cls, on: tuple[str, ...]) -> tuple[str, ...]:
        if DRIFT in on and len(on) > 1:
            raise ValueError("drift is another topic's: give it a webhook of its own")
        plain = {MISTAKE, DRIFT}
        if not on or not all(each in plain or each.removeprefix(DECISION) not in {"", each} for each in on):
            raise ValueError("expected mistake, decision:NAME, or drift")
        return on

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if name and not _NAME.fullmatch(name):
            raise ValueError("expected letters, digits and . : + - _, 100 at most")
        return name

    @field_validator("template")
    @classmethod
    def _check_template(cls, template: str) -> str:
        if template:
            try:
                json.loads(template)
            except ValueError as error:
                raise ValueError(f"no JSON: {error}") from None
        return template

    @property
    def title(self) -> str:
        """Its name, or what it is about."""
        return self.name or "+".join(self.on)

    @property
    def place(self) -> str:
        """Return the URL as it may be shown: a token may be anywhere behind the host."""
        parts = urlsplit(self.url.get_secret_value())
        return f"{parts.scheme}://{parts.netloc}/{STARS}"

    def shown(self) -> Mapping[str, object]:
        """Return what may be shown of it."""
        return {"name": self.title, "on": self.on, "url": self.place, "template": self.template}


def check_titles(webhooks: tuple[WebhookSettings, ...]) -> tuple[WebhookSettings, ...]:
    """Return webhooks whose titles differ. Raises ValueError."""
    titles = [each.title for each in webhooks]
    if twice := next((title for n, title in enumerate(titles) if title in titles[:n]), None):
        raise ValueError(f"another one is called {twice!r}: give them a name each")
    return webhooks
