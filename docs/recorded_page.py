"""Record what a running service answers to the live page, and write page and answers as one static file.

    PYTHONPATH=. python docs/recorded_page.py

In: a service that it starts itself. Out: docs/live-page.html, which needs no service and no other file.
"""

from __future__ import annotations

import base64
import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import sleep
from typing import Any

import httpx
from screenshots import ADDRESS, service

from tools.documentation.live_page import RECORDED, composed

EVENTS = 1250
ROWS = 8
"""Of the latest mistakes, as the page shows them: these open."""


def explained(address: str, event: dict[str, Any]) -> dict[str, Any]:
    """Ask why an event is predicted as it is."""
    question = {"id": "typed", "text": event["text"], "features": event["features"]}
    answer = httpx.post(f"{address}/explain?fields=native", json=question).raise_for_status()
    return {"features": event["features"], "answer": answer.json()}


def record(address: str) -> dict[str, Any]:
    """Ask each second for what the page shows, and about the newest event; at the end about the rows."""
    states: list[Any] = []
    answers = []
    while not states or states[-1]["counts"]["predictions"] < EVENTS:
        with suppress(httpx.HTTPError):  # it is not there yet, or has no model
            state = httpx.get(f"{address}/state").raise_for_status().json()
            for event in state["events"][:1]:  # none, before the first is predicted
                answers.append(explained(address, event))
                states.append(state | {"broker": "sqlite:///stream.db"})
        sleep(1)
    answers += [explained(address, row) for row in states[-1]["events"] + states[-1]["mistakes"][:ROWS]]
    return {"states": states, "answers": answers}


def without_repeats(recorded: dict[str, Any]) -> dict[str, Any]:
    """Keep each row once: states name the places of theirs."""
    rows: dict[str, int] = {}
    for state in recorded["states"]:
        for name in ("events", "mistakes"):
            state[name] = [rows.setdefault(json.dumps(row), len(rows)) for row in state[name]]
    return recorded | {"rows": [json.loads(row) for row in rows]}


def main() -> None:
    """Record the page of `--model auto`."""
    with ThreadPoolExecutor() as threads:
        recording = threads.submit(record, f"http://{ADDRESS}")
        with service("auto"):
            packed = gzip.compress(json.dumps(without_repeats(recording.result())).encode(), mtime=0)
            RECORDED.write_text(composed(base64.b64encode(packed).decode()), encoding="utf-8")


if __name__ == "__main__":
    main()
