"""The mails in Avro of the guide "Your topic in five minutes", with its settings as they stand there."""

import json
import tomllib
from pathlib import Path

from service.settings.load import load_settings
from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.docs.documents import ROOT, blocks
from tests.service.formats.avro_values import record, written
from tests.service.formats.test_streams import framed, outputs, reasons, run

GUIDE = ROOT / "docs" / "tutorials" / "your-topic.md"


def named(name, **fields):
    return record(**fields) | {"name": name}


MAIL = named(
    "Mail",
    message=named("Message", uuid="string", subject=["null", "string"], body="string"),
    sender=named("Sender", domain="string", age_days=["null", "int"]),
    n_links="int",
    folder={"type": "array", "items": "string"},
)
VERDICT = named("Verdict", uuid="string", verdict="string", by=["null", "string"])


def mail(number, body, n_links):
    return {
        "message": {"uuid": f"u-{number}", "subject": "hello" if number % 2 else None, "body": body},
        "sender": {"domain": "a.example", "age_days": None},
        "n_links": n_links,
        "folder": ["inbox"],
    }


def settings_of_the_guide(registry, folder: Path):
    (text,) = (block.code for block in blocks(GUIDE) if block.mark == "file: mails.toml")
    assert tomllib.loads(text)["schema_registry"]["url"] in text
    path = folder / "mails.toml"
    path.write_text(text.replace("http://localhost:8081", registry.url), encoding="utf-8")
    return load_settings({"commit_interval_seconds": 0.001}, path).settings


def test_mails_of_the_guide_are_learned_from_the_verdicts(registry, tmp_path):
    given = settings_of_the_guide(registry, tmp_path)
    mails, verdicts = (
        registry.register(f"{topic}-value", schema)
        for topic, schema in zip(("mails", "verdicts"), (MAIL, VERDICT), strict=True)
    )
    stream = open_transport("memory://")
    stream.ensure_topics({"mails": 1, "verdicts": 1})
    for number in range(40):
        is_spam = number % 2 > 0
        value = written(MAIL, mail(number, "win a prize now" if is_spam else "see you at noon", 9 * is_spam))
        verdict = {"uuid": f"u-{number}", "verdict": "JUNK" if is_spam else "FINE", "by": "ann"}
        time_ms = 1000 * number
        stream.produce([Output("mails", b"k", framed(mails, value), (), 0, time_ms)])
        stream.produce(
            [Output("verdicts", b"k", framed(verdicts, written(VERDICT, verdict)), (), 0, time_ms + 1)]
        )
    run(stream, given)
    assert reasons(stream) == []
    said = [json.loads(value) for _, value in outputs(stream)]
    outcomes = [each for each in said if "predicted" in each]
    assert len(outcomes) == 40
    assert {each["label"] for each in outcomes} == {"legitimate", "spam"}
    assert sum(each["mistake"] for each in outcomes[20:]) == 0
    stream.close()
