"""Send lines, and the same records one by one."""

import json

NDJSON = "application/x-ndjson"
JSON = "application/json"


def body_of(*messages):
    return b"".join(
        (each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in messages
    )


def post(client, path, body, **params):
    return client.post(path, content=body, params=params, headers={"content-type": NDJSON})


def singly(client, path, lines, **params):
    """Send each line in a request of its own; return status and fields of each answer."""
    answers = [
        client.post(path, content=line, params=params, headers={"content-type": JSON}) for line in lines
    ]
    return [(answer.status_code, answer.json()) for answer in answers]


def problems_of(answers):
    """Return the problems that a body of the same lines must have."""
    return [
        {"line": number, "status": status, **fields}
        for number, (status, fields) in enumerate(answers, 1)
        if status >= 300
    ]
