"""A wrong value, and values that disagree, are rejected by name, with where they came from and why."""

import json
import re
from time import process_time

import pytest

from service.errors import ConfigurationError
from service.settings.load import Settings, load_settings

ONE = {"by": "card", "over": ["1h"], "of": {"amount": ["sum"]}}
AMOUNT = "amount_sum_1h_by"
TEXT = {"format": "text", "id": "@key"}
SINGLE = [
    ("hash_bits", "31", "expected a number of at most 30"),
    ("hash_bits", "many", "expected a whole number"),
    ("http_hosts", "localhost:8000", "a name or an address without a port"),
    ("partitions", "0", "expected a number of at least 1"),
    ("commit_interval_seconds", "-1", "expected a number above 0"),
    ("commit_interval_seconds", "nan", "expected a finite number"),
    ("max_batch_records", "-1", "expected a whole number, or auto"),
    ("text", "letters", "'words', 'chars' or 'scripts'"),
    ("ngrams", "x", "N or MIN-MAX"),
    ("ngrams", "3-1", "MIN <= MAX"),
    ("ngrams", "0", "1 <= MIN"),
    ("ngrams", "1-11", "MAX <= 10"),
    ("classes", "ham", "two different names"),
    ("classes", "ham,ham", "two different names"),
    ("classes", "ham,", "two different names"),
    ("http", "localhost", "host:port"),
    ("http", "localhost:99999", "host:port"),
    ("http", "::1:80", "host:port"),
    ("broker", "redis://x", "kafka://"),
    ("kafka_client", "librdkafka", "kafka-python"),
    ("events_topic", "a b", "a-z"),
    ("events_topic", "x" * 250, "1 to 249"),
    ("events_topic", "..", "a-z"),
    ("events_topic", "", "expected a topic name"),
    ("events_topic", "labels", "events_topic and labels_topic must differ"),
    ("start_from", "yesterday", "ISO 8601"),
    ("kafka.transaction_timeout_seconds", "0", "expected a number of at least 1"),
    ("kafka.security_protocol", "SASL_SSL", "needs kafka.sasl_mechanism"),
    ("kafka.sasl_username", "me", "not used with kafka.security_protocol PLAINTEXT"),
    ("kafka.ssl_cafile", "ca.pem", "not used with kafka.security_protocol PLAINTEXT"),
    ("kafka.commit_timeout_seconds", "61", "must not exceed kafka.transaction_timeout_seconds"),
    ("kafka.commit_timeout_seconds", "nan", "expected a finite number"),
    ("events.id", "a..b", "not JMESPath at character 3"),
    ("events.id", "@header.", "not JMESPath"),
    ("events.label", "is(a)", "not JMESPath: Unknown function"),
    ("events.timestamp", "[", "not JMESPath"),
    ("events.text", "a,b[", "not JMESPath"),
    ("events.text", [""], "cannot be empty"),
    ("events.features", "a.b,c-d", "not JMESPath at character 2"),
    ("events.features", "a,a", "expected each feature once, got 'a' twice"),
    ("events.exclude", "a[0]", "expected names with dots, such as a.b, got the expression 'a[0]'"),
    ("events.format", "text", "set events.id to @key, @header.NAME or @offset"),
    ("events.format", "xml", "expected 'json'"),
    ("labels.id", "'", "not JMESPath at character 1"),
    ("labels.label", "a b", "not JMESPath at character 3"),
    ("labels.label", "a == 0", "at character 6: unexpected 0 (write a number in backticks: `0`)"),
]
TOGETHER = [
    ({"events": {**TEXT, "label": "status"}}, "format = text has no fields for events.label"),
    ({"events": {**TEXT, "features": "*"}}, "format = text has no fields for events.features"),
    ({"events": {**TEXT, "windows": [ONE]}}, "format = text has no fields for events.windows"),
    ({"events.label": "contains(values(@), 'x')", "events.features": "*"}, "uses the whole record"),
    ({"events.label_on_timeout": "no"}, "unknown label"),
    ({"events.label_on_timeout": "eggs", "classes": "ham,spam"}, "unknown label"),
    ({"events.label_on_timeout": "1", "classes": "a,b,c"}, "unknown label"),
    ({"label_correction_seconds": 5}, "has no effect without events.label_on_timeout"),
    ({"events.unlabelled": "at_timeout"}, "has no effect without events.label_on_timeout"),
    ({"drift.labels_between_false_alarms": 2000}, "has no effect without drift.reaction"),
    ({"decisions_half_life": 500}, "has no effect without decisions"),
    ({"labels.id": "order", "labels_topic": ""}, "has no effect without labels_topic"),
    ({"events.hook": "a:b", "allow_hook": "no"}, "events.hook names code, but allow_hook is off"),
    ({"events": {"vectors": "a", "features": "a"}}, "'a' is in both"),
    ({"hash_key": "hunter2"}, r"^hash_key = \*+ \(from command line\): expected at least 16 characters"),
    ({"costs.false_positive": 1}, "must both be given"),
    ({"costs.false_positive": 1, "costs.false_negative": -1}, "expected a number of at least 0"),
    (
        {"costs.false_positive": 1, "costs.false_negative": 2, "classes": "a,b,c"},
        "expected two classes, got 3",
    ),
]
DECISIONS = [
    ({"min_precision": 0.9}, "name"),
    ({"name": "a", "min_precision": 1}, "entry 1: min_precision: expected a number below 1"),
    ({"name": "a", "min_precision": True}, "a number"),
    ({"name": "a", "min_recall": 0.5, "threshold": 3}, "expected one goal, got min_recall and threshold"),
    *(
        ({"name": "a", "max_rate": rate}, "a whole number from 1 to 999999999 by second, ")
        for rate in ("many", "0/day", "0.001/day", "1e9/second", "1000000000/day")
    ),
    ({"name": "a", "threshold": 3, "confidence": 0.9}, "confidence: has no effect on threshold"),
    ({"name": "a", "max_rate": "9/day", "confidence": 0.9}, "confidence: has no effect on max_rate"),
    ({"name": "a", "threshold": 1e308}, r"a number from -1e\+100 to 1e\+100"),
    ({"name": "a", "threshold": float("nan")}, "expected a finite number"),
    ({"name": "a", "min_precison": 0.9}, "unknown setting"),
    ({"name": "a", "threshold": 0.5, "class": "eggs"}, "eggs"),
    ({"name": "a"}, r"or \[costs\]"),
]


def of_window(**given):
    return [{**ONE, **given}]


WINDOWS = [
    (of_window(over=["1x"]), "entry 1: over: expected .*such as 10m.*, got '1x'"),
    (of_window(over=["0s"]), "expected .*, got '0s'"),
    (of_window(over=["9999w"]), "3660d at most"),
    (of_window(over=["60m", "1h"]), "expected different spans, got '60m' and '1h'"),
    (of_window(over=[]), "at least 1 entries"),
    (of_window(over=[f"{n}s" for n in range(1, 10)]), "at most 8 entries"),
    (of_window(of={"amount": ["median"]}), "amount: unknown aggregate 'median', expected count, sum, mean"),
    (of_window(of={"amount": ["sum", "sum"]}), "amount: expected names of aggregates, each once"),
    (of_window(of={"amount": []}), "amount: expected names of aggregates"),
    (of_window(of={"@event": ["sum"]}), "unknown aggregate 'sum', expected count, seconds_since_last"),
    (of_window(of={"@label": ["mean"]}), "expected rate"),
    (of_window(of={"@key": ["sum"]}), "expected @event, @label or a path, got @key"),
    (of_window(of={"a[": ["sum"]}), "of: not JMESPath"),
    (of_window(of={}), "of: .* at least 1 entries"),
    (of_window(by=""), "by: .* at least 1 character"),
    (of_window(by="a["), "by: not JMESPath"),
    (of_window(max_keys=0), "max_keys: expected a number of at least 1"),
    (of_window(max_keys=True), "max_keys: expected a number, got a boolean"),
    (of_window(most=3), "most: unknown setting"),
    ([ONE, ONE], "got 'amount_sum_1h_by_card' twice"),
    ([{**ONE, "by": f"k{n}"} for n in range(9)], "at most 8 entries"),
    (of_window(of={f"a{n}": "sum,mean,max" for n in range(100)}), "expected at most 256 features, got 300"),
    (7, "expected a list, got a number"),
    ("{", "not JSON: line 1, column 1: expected , or }"),
]


def rejected(given):
    with pytest.raises(ConfigurationError) as caught:
        load_settings(given)
    return caught.value


@pytest.mark.parametrize(("setting", "value", "said"), SINGLE)
def test_wrong_value_is_rejected_with_name_value_origin_and_reason(setting, value, said):
    error = rejected({setting: value})
    assert str(error).startswith(f"{setting} = {value!r} (from command line): ")
    assert said in str(error)
    assert setting in error.hint


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *TOGETHER,
        *(
            ({"classes": "ham,spam", "decisions": [table]}, rf"(?s)decisions.*{why}")
            for table, why in DECISIONS
        ),
        ({"decisions": [{"name": "a", "threshold": 0.5}] * 2}, "expected different names, got 'a' twice"),
        ({"decisions": [{"name": "a", "threshold": 0.5}], "classes": "a,b,c"}, "needs class = NAME"),
        *(({"events.windows": given}, rf"(?s)events\.windows.*{why}") for given, why in WINDOWS),
        *(
            ({"events": {"windows": [ONE], name: made}}, f"made by events.{name} as well")
            for name, made in (("derive", {f"{AMOUNT}_card": "1"}), ("features", f"{AMOUNT}_card"))
        ),
        *(
            (
                {
                    "events": {
                        "windows": of_window(by=by),
                        "derive": {"spent": "amount * 2", "ratio": f"spent / {AMOUNT}_{by}"},
                    }
                },
                f"ratio uses '{AMOUNT}_{by}', a feature of events.windows: windows count derived",
            )
            for by in ("card", "user.card")
        ),
        ({"events": {"windows": of_window(of={"@label": "rate"})}, "classes": "a,b,c"}, "need two classes"),
    ],
)
def test_values_that_disagree_or_tables_are_rejected_with_the_origin(given, said):
    assert re.search(said, str(rejected(given)))


MEGABYTE = "x" * 1_000_000


@pytest.mark.parametrize(
    "given",
    [
        *({name: MEGABYTE} for name in ("classes", "max_pending", "broker", "http", "events_topic", "group")),
        *({name: f"{MEGABYTE}("} for name in ("events.id", "events.features", "events.where")),
        {MEGABYTE: 1},
        {"events.decimal": {MEGABYTE: "x"}},
        {"events.label_on_timeout": MEGABYTE},
        {"decisions": json.dumps([{"name": MEGABYTE}])},
        {"decisions": json.dumps([{MEGABYTE: 1}])},
        {"decisions": json.dumps([{"nme": 1}] * 50_000)},
        {"decisions": "[" * 100_000},
    ],
    ids=lambda given: next(iter(given))[:20],
)
def test_long_invalid_value_is_shortened_in_the_error(given):
    begun = process_time()
    error = rejected(given)
    assert process_time() - begun < 10
    assert len(str(error)) + len(error.hint) < 10_000


def test_credentials_in_a_broker_url_are_rejected_without_being_shown():
    error = rejected({"broker": "kafka://user:secret@host:9092"})
    assert "credentials belong in" in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "given",
    [
        {"events_topic": "a." * 124 + "a"},
        {"ngrams": (1, 10)},
        {"http": "[::1]:8000"},
        {"labels_topic": "", "http": ""},
        {"events": {"windows": of_window(of={"@label": "rate"})}, "classes": ("ham", "spam")},
        {"events": {"windows": of_window(over="2h"), "derive": {"r": "x / amount_sum_1h_by_card"}}},
    ],
)
def test_values_at_a_bound_are_accepted(given):
    Settings(**given)


@pytest.mark.parametrize(
    ("addresses", "is_on_loopback"),
    [
        (("localhost:1", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000"), True),
        (("0.0.0.0:8000", "[::]:8000", "example.org:80"), False),
    ],
)
def test_loopback_address_is_recognized(addresses, is_on_loopback):
    assert {Settings(http=address).is_on_loopback for address in addresses} == {is_on_loopback}
