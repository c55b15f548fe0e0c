"""Events as somebody else would have written them: nested, and with more in them than is needed."""

import json
import random

CLASSES = ("no", "yes")
MAPPING = {
    "id": "meta.number",
    "text": ["mail.subject", "mail.preview", "mail.body"],
    "label": "review.verdict",
    "timestamp": "meta.sent_at",
}
LABELS = {"id": "ticket.mail", "label": "ticket.verdict", "timestamp": "ticket.closed_at"}


def foreign(number, text, spam, at_seconds=0):
    """Write a labelled text as nested JSON: an integer id, subject and body apart, nulls, other fields."""
    subject, _, body = text.partition(" ")
    document = {
        "meta": {"number": number, "sent_at": 1000 * at_seconds or None, "version": 2},
        "mail": {"subject": subject, "preview": None, "body": body, "cc": []},
        "review": {"verdict": None if spam is None else CLASSES[spam], "by": {"team": 7}},
    }
    if not at_seconds:
        del document["meta"]["sent_at"]
    return json.dumps(document).encode()


def foreign_label(number, spam, at_seconds):
    """Write what became of an event, for a topic of its own."""
    ticket = {"mail": number, "verdict": CLASSES[spam], "closed_at": at_seconds, "open": False}
    return json.dumps({"ticket": ticket}).encode()


def corpus(count=400):
    """Make texts of which half the words say the class."""
    rng, made = random.Random(3), []
    for _ in range(count):
        spam = rng.random() < 0.3
        words = rng.choices(["win", "prize", "call", "free"] if spam else ["see", "you", "home", "ok"], k=3)
        words += rng.choices(["the", "a", "now", "Ü", "100", "free", "you"], k=rng.randint(0, 6))
        rng.shuffle(words)
        made.append((" ".join(words), spam))
    return made
