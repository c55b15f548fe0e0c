"""Streams that no one has described: records as other programs write them, invented from a seed."""

import csv
import io
import json
import random
from datetime import UTC, datetime, timedelta

COUNT = 120
EPOCH = 1_763_000_000
WORDS = ["please", "call", "your", "bank", "about", "lunch", "we", "had", "with", "friends", "on", "long"]


def _iso(seconds):
    return (
        (datetime.fromtimestamp(EPOCH, UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    )


def _sentence(chance, *first):
    return " ".join([*first, *chance.choices(WORDS, k=chance.randint(4, 12))])


def _rows(make, seed=1):
    chance = random.Random(seed)
    return [make(chance, number) for number in range(COUNT)]


def debezium(chance, n):
    status = chance.choice(["pending", "settled", "settled", "chargeback"])
    row = {"id": 1000 + n, "amount": round(chance.uniform(1, 900), 2), "country": chance.choice(["DE", "NG"])}
    after = row | {"coupon": chance.choice([None, "NEW"]), "status": status}
    source = {"table": "payments", "ts_ms": (EPOCH + n) * 1000}
    return {"before": None, "after": after, "source": source, "op": "c", "ts_ms": (EPOCH + n) * 1000}


def cloudevents(chance, n):
    data = {
        "plan": chance.choice(["free", "pro"]),
        "logins": chance.randint(0, 90),
        "churned": chance.random() < 0.3,
    }
    head = {"specversion": "1.0", "id": f"A-{n}-{chance.random()}", "source": "/crm", "type": "com.acme.seen"}
    return head | {"time": _iso(n), "datacontenttype": "application/json", "data": data}


def payment(chance, n):
    bad = chance.random() < 0.25
    card = {"brand": chance.choice(["visa", "amex"]), "country": chance.choice(["US", "FR", "NG"])}
    card |= {"fingerprint": f"{chance.getrandbits(64):x}"}
    lost = {"refunded": bad or chance.random() < 0.1, "amount_refunded": 500 if bad else 0}
    lost |= {"dispute": {"reason": "fraudulent"} if bad else None, "chargeback": bad}
    known = {"id": f"ch_{n:04}", "amount": chance.randint(100, 90_000), "created": EPOCH + n, "card": card}
    return known | lost | {"livemode": chance.random() < 0.9}


def sms(chance, n):
    return {"v1": "spam" if n % 4 == 0 else "ham", "v2": _sentence(chance, "WIN" if n % 4 == 0 else "hi")}


def credit_card(chance, n):
    parts = {f"V{number}": round(chance.gauss(0, 1), 6) for number in range(1, 29)}
    return {"Time": n * 13, **parts, "Amount": round(chance.uniform(0, 300), 2), "Class": int(n % 17 == 0)}


def log_line(chance, n):
    severity = chance.choice(["INFO", "INFO", "WARN", "ERROR"])
    head = {"@timestamp": _iso(n), "host": chance.choice(["web-1", "web-2"]), "severity": severity}
    return head | {"message": _sentence(chance, severity.lower()), "trace_id": f"{chance.getrandbits(64):x}"}


def census(chance, n):
    row = {"age": str(chance.randint(17, 90)), "hours": chance.choice(["40", "38.5", "?", "NA"])}
    row |= {"workclass": chance.choice(["Private", "State-gov", "?"]), "person_id": f"p{n}"}
    return row | {"income": chance.choice([">50K", "<=50K", "<=50K"])}


def ticket(chance, n):
    """Has an epoch in seconds, an ISO time, and a text."""
    row = {"ticket_uuid": f"{n:08}-{chance.getrandbits(32):x}", "opened_at": EPOCH + n, "seen": _iso(n)[:10]}
    row |= {"subject": _sentence(chance), "body": _sentence(chance), "resolution": chance.choice(["a", "b"])}
    return row | {"category": chance.choice(["billing", "login", "other"])}


def embedding(chance, n):
    vector = [round(chance.gauss(0, 1), 4) for _ in range(8)]
    return {
        "doc_id": n,
        "lang": chance.choice(["en", "de"]),
        "embedding": vector,
        "label": chance.choice([0, 1, 2]),
    }


def iris(chance, n):
    """Has no id."""
    names = "sepal_length", "sepal_width", "petal_length"
    row = {name: round(chance.uniform(0.1, 7), 1) for name in names}
    return row | {"species": chance.choice(["setosa", "virginica", "versicolor"])}


def login(chance, n):
    """Has a label in an object, and users who come again."""
    event = {"uuid": f"{chance.getrandbits(128):x}", "at": _iso(n), "attempt": chance.randint(1, 5)}
    event |= {"loginResult": chance.choice(["ok", "ok", "failed"])}
    return {"event": event, "user": {"id": f"u{chance.randint(0, 90)}"}, "os": chance.choice(["mac", "win"])}


def lending(chance, n):
    """Has a field that is 0 unless the loan is lost."""
    lost = chance.random() < 0.4
    row = {"applicationId": f"A{n}", "submittedAt": _iso(n), "applicant": {"age": chance.randint(18, 80)}}
    row |= {"purpose": chance.choice(["car", "home"]), "loanStatus": "Charged Off" if lost else "Fully Paid"}
    return row | {"recoveries": chance.randint(1, 900) if lost else 0}


def clinic(chance, n):
    """Has an id and a label that no list of names has."""
    row = {"patient_nr": 500 + n, "alter": chance.randint(18, 95), "raucher": chance.choice(["ja", "nein"])}
    return row | {"befund": chance.choice(["gesund", "krank", "gesund"])}


def vehicle(chance, n):
    """Has an id of a name that says nothing, and a label that is a type."""
    row = {"vin": f"W{chance.getrandbits(60):X}", "mileage": chance.randint(0, 200_000)}
    return row | {"fuel": chance.choice(["gas", "diesel"]), "Repair_Type": chance.randint(1, 4)}


NDJSON = {
    each.__name__: each
    for each in (debezium, cloudevents, payment, log_line, census, ticket, embedding, login, lending)
}
CSV = {each.__name__: each for each in (sms, credit_card, iris, clinic, vehicle)}


def documents(name):
    """Return the records of a stream."""
    return _rows(NDJSON.get(name) or CSV[name])


def write(folder, name):
    """Write a stream to a file in its form; return the path."""
    rows = documents(name)
    path = folder / f"{name}.{'ndjson' if name in NDJSON else 'csv'}"
    if name in NDJSON:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0])
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue())
    return path
