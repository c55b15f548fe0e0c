"""What is proposed for streams that no one has described."""

import json
import tomllib
from pathlib import Path

import pytest

from service.errors import InputFileError
from service.lab.proposal import Labels, Records, propose, toml_of
from service.settings.load import Settings
from service.settings.mapping import EventSettings, LabelSettings
from tests.service.lab import streams

EXPECTED = tomllib.loads(Path(__file__).with_name("streams.toml").read_text(encoding="utf-8"))


def rows(**fields):
    """Make records whose fields are functions of their number, or the same in all."""
    return [
        {name: value(n) if callable(value) else value for name, value in fields.items()} for n in range(40)
    ]


def proposed(documents, **given):
    keys = given.pop("keys", ())
    return propose(Records("here", documents, len(documents), keys), EventSettings(), **given)


def written(proposal):
    return tomllib.loads(toml_of(proposal, "head"))


def role_of(proposal, field):
    return next((row.role, row.why) for row in proposal.rows if row.field == field)


def half(number):
    return number % 2 == 0


@pytest.mark.parametrize("name", EXPECTED)
def test_stream_of_another_producer_is_understood(name):
    found = written(proposed(streams.documents(name)))
    events = found.pop("events")
    classes = {"classes": found["classes"]} if "classes" in found else {}
    assert events | classes == EXPECTED[name]
    assert (found["model"], found["labels_topic"]) == ("auto", "")


def test_fields_known_after_the_outcome_are_excluded_with_a_warning():
    found = proposed(streams.documents("payment"))
    for field in ("refunded", "amount_refunded", "dispute.reason"):
        assert role_of(found, field)[0] == "left out"
        assert any(warning.startswith(f"{field} is left out") for warning in found.warnings)


def test_field_determining_the_label_gives_a_warning():
    found = proposed(rows(id=lambda n: n, label=half, team=lambda n: "ab"[half(n)], size=lambda n: n % 7))
    assert role_of(found, "team") == ("commented out", "2 values: b, a; determines the label")
    assert written(found)["events"]["features"] == ["size"]
    assert '  "team",  # 2 values: b, a; determines the label' in toml_of(found, "head")
    assert [warning for warning in found.warnings if "team" in warning]
    assert not [warning for warning in found.warnings if "size" in warning]


def test_label_chosen_by_position_gives_a_warning():
    found = proposed(streams.documents("clinic"))
    assert any(warning.startswith("befund is assumed to be the label") for warning in found.warnings)
    assert role_of(proposed(streams.documents("clinic"), topic="befunde"), "befund")[0] == "feature"


def test_second_label_candidate_gives_a_warning():
    found = proposed(rows(id=lambda n: n, x=lambda n: n % 7, attack_type=lambda n: "abc"[n % 3], label=half))
    assert role_of(found, "label")[0] == "label"
    assert any(warning.startswith("attack_type may be the label, or") for warning in found.warnings)


ID = {"id": lambda n: n}
USER = {"user": lambda n: {"id": n % 30}}
ROLES = {
    "a count of earlier outcomes": (
        ID | {"failed_count": lambda n: n % 3, "status": half, "x": 1},
        {"status": "label"},
    ),
    "what is always the same": (ID | {"x": lambda n: n % 7, "type": "seen"}, {"type": "feature"}),
    "a user's id": (ID | {"x": 1, "label": half} | USER, {"user.id": "left out"}),
    "a label called so": (
        {"y": half, "default": lambda n: n % 3 == 0} | ID,
        {"y": "label", "default": "feature"},
    ),
    "a time without its zone, taken for UTC": (
        ID | {"x": 1, "label": half, "time": lambda n: f"2026-03-01 10:00:{n:02}"},
        {"time": "timestamp"},
    ),
    "a number of an order in German": (
        {"x": 1, "Bestellnummer": lambda n: 100 + 3 * n, "label": half},
        {"Bestellnummer": "id"},
    ),
    "an epoch that is text": (
        ID | {"x": 1, "label": half, "at": lambda n: f"{1772000000 + n}"},
        {"at": "timestamp"},
    ),
    "a time without signs": (
        ID | {"x": 1, "label": half, "at": lambda n: 20260301100000 + n},
        {"at": "left out"},
    ),
}


@pytest.mark.parametrize(
    ("value", "classes", "on_timeout"),
    [(True, None, "false"), ("CHARGEBACK", ["other", "CHARGEBACK"], "other")],
)
def test_labels_of_one_class_are_completed_by_the_timeout(value, classes, on_timeout):
    labelled = rows(
        id=lambda n: n - (n == 8), x=lambda n: n % 7, chargeback=lambda n: value if n == 8 else None
    )
    found = proposed(labelled)
    events = written(found)["events"]
    assert (events["id"], events["label"], events["label_on_timeout"]) == ("id", "chargeback", on_timeout)
    assert (written(found).get("classes"), written(found)["label_timeout_seconds"]) == (classes, 2_592_000)
    assert any("is ever labelled" in each for each in found.warnings)


def test_labels_in_a_file_have_times_in_their_own_format():
    feed = rows(ref=lambda n: f"p-{n}", receivedOn=lambda n: f"05.03.2026 10:{n:02}:00", kind="CHARGEBACK")
    given = Labels(Records("feed", feed, len(feed)), LabelSettings(label="kind"))
    assert written(proposed(rows(id=lambda n: f"p-{n}", x=lambda n: n % 7), labels=given))["labels"] == {
        "id": "ref",
        "label": "kind",
        "timestamp": "receivedOn",
        "time_format": {"receivedOn": "%d.%m.%Y %H:%M:%S"},
    }


def test_repeated_ids_give_a_warning():
    found = proposed(rows(transactionId=lambda n: f"t{n - (n == 7)}", x=1, label=half))
    assert "transactionId: 1 records repeat an id, which makes them the same event" in found.warnings


def test_missing_value_word_is_a_category_among_categories():
    found = proposed(
        rows(**ID, label=lambda n: n % 3 == 0, country=lambda n: ["DE", "NA", "none", "null"][n % 4])
    )
    assert role_of(found, "country") == ("feature", "3 values: DE, NA, none, missing in 10")
    assert written(found)["events"]["missing"] == ["null"]


def test_missing_value_word_is_missing_among_numbers():
    found = proposed(rows(**ID, label=half, balance=lambda n: [f"{n}.5", "NA", "-", "none"][n % 4]))
    assert role_of(found, "balance") == ("feature", "numbers as strings, missing in 30: '-', 'NA', 'none'")
    assert "missing" not in written(found)["events"]


def test_mostly_unlabelled_two_class_events_give_a_warning():
    found = proposed(rows(**ID, x=lambda n: n % 7, fraud=lambda n: half(n // 10) if n % 10 == 0 else None))
    assert any(each.startswith("only 4 of 40 events have a label: if the others") for each in found.warnings)


@pytest.mark.parametrize("case", ROLES)
def test_each_field_has_its_role(case):
    fields, expected = ROLES[case]
    found = proposed(rows(**fields))
    assert {name: role_of(found, name)[0] for name in expected} == expected


@pytest.mark.parametrize(("value", "found"), [(lambda n: n, "row"), (lambda n: n * 7 % 41, "@offset")])
def test_first_field_is_the_id_if_it_counts_records(value, found):
    assert written(proposed(rows(row=value, x=lambda n: n * 3, label=half)))["events"]["id"] == found


def test_records_of_the_services_own_schema_need_no_mapping():
    found = written(proposed(rows(id=lambda n: f"{n}", text="win", label=lambda n: "ab"[half(n)])))
    assert found == {"model": "auto", "classes": ["a", "b"]}


def test_numbers_of_several_classes_need_an_expression_in_native_schema():
    assert written(proposed(rows(id="x", text="win", label=lambda n: n % 3))) == {
        "model": "auto",
        "classes": ["0", "1", "2"],
        "events": {"label": "label && to_string(label)"},
    }


def test_placeholder_label_becomes_null():
    documents = rows(id=lambda n: n, x=1, label=lambda n: ("a", "b", "?")[n % 3])
    assert written(proposed(documents))["events"]["label"] == "(label != '?' && label) || null"


@pytest.mark.parametrize("label", [lambda n: n % 2, lambda n: n % 2 * 2 - 1, half])
def test_labels_of_a_known_form_get_no_class_names(label):
    assert "classes" not in written(proposed(rows(id=lambda n: n, x=lambda n: n, label=label)))


def test_majority_of_two_unnamed_classes_is_the_negative():
    found = proposed(rows(id=lambda n: n, x=1, label=lambda n: "a" if n % 4 else "b"))
    assert written(found)["classes"] == ["a", "b"]


@pytest.mark.parametrize(("name", "is_id"), [("loan_nr", True), ("cardNumber", True), ("num_clicks", False)])
def test_unordered_numbers_are_ids_if_named_like_an_id(name, is_id):
    found = proposed(rows(x=lambda n: n % 7, label=half, **{name: lambda n: n * 7 % 41}))
    assert (written(found)["events"]["id"] == name) == is_id


def test_record_keys_are_ids_if_no_field_is():
    documents = rows(x=lambda n: n % 7, label=half)
    assert written(proposed(documents, keys=[b"%d" % n for n in range(40)]))["events"]["id"] == "@key"
    assert written(proposed(documents, keys=[b"a"] * 40))["events"]["id"] == "@offset"


def test_localized_numbers_and_times_are_recognized():
    def written(n):
        return {
            "id": f"a{n}",
            "paid_at": f"{n % 28 + 1:02}.02.2026 10:00",
            "due": f"{n % 9 + 1}/28/2026",
            "order": {"amount": f"1.{n:03},50"},
            "price": f"1,{n:03}.25" if n % 3 else n + 0.5,
            "code": "3DS" if n % 3 else "10",
            "items": [{"price": f"{n},81"}],
            "label": n % 2,
        }

    found = propose(Records("x", [written(n) for n in range(60)], 60), EventSettings())
    proposed = {name: value for name, (value, _) in found.settings.items()}
    assert proposed["events.decimal"] == {"order.amount": ",", "price": ".", "items.price": ","}
    assert proposed["events.time_format"] == {"paid_at": "%d.%m.%Y %H:%M"}
    assert proposed["events.timestamp"] == "paid_at"
    assert [row.field for row in found.of("feature")] == ["order.amount", "price", "code", "items"]
    settings = tomllib.loads(toml_of(found, ""))["events"]
    assert dict(EventSettings(**settings).decimal) == proposed["events.decimal"]


def test_records_without_labels_propose_a_labels_topic():
    found = proposed(rows(id=lambda n: n, x=lambda n: n))
    assert "labels_topic" not in written(found)
    assert any("no field looks like a label" in warning for warning in found.warnings)


def test_numeric_names_are_categories():
    found = proposed(rows(id=lambda n: n, shop_id=lambda n: n % 5, zip=lambda n: f"00{n % 3}", label=half))
    assert written(found)["events"]["features"] == ["{shop_id: shop_id && to_string(shop_id)}", "zip"]


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (lambda n: 1_763_000_000 + n, "seconds since 1970"),
        (lambda n: 1_763_000_000.5 + n, "seconds since 1970"),
        (lambda n: 1_763_000_000_000 + n, "milliseconds since 1970"),
        (lambda n: f"2026-03-01T10:00:{n:02}Z", "ISO 8601"),
        (lambda n: f"2026-03-01T10:00:{n:02}+01:00", "ISO 8601"),
    ],
)
def test_times_are_known_by_name_and_values(value, form):
    found = proposed(rows(id=lambda n: n, x=lambda n: n, label=half, created_at=value))
    assert role_of(found, "created_at") == ("timestamp", form)


@pytest.mark.parametrize(
    ("documents", "what"),
    [
        (rows(id=1, label=True), "is true wherever it is known"),
        (rows(id=1, label=None, status="pending"), "is never known"),
        (rows(id=lambda n: n, label=half), "no field to learn from"),
    ],
)
def test_stream_without_labels_or_features_is_an_error(documents, what):
    with pytest.raises(InputFileError, match=what) as caught:
        proposed(documents)
    assert caught.value.hint


@pytest.mark.parametrize("name", ['a"b', "a'b", "a.b", "ü", "\x7f", "a\nb", "", "'\""])
def test_every_name_round_trips_as_a_path(name):
    documents = rows(**{"id": lambda n: n, "label": half, "x": 1, name: lambda n: n % 3})
    settings = Settings(**written(proposed(documents)))
    if name:
        assert {json.dumps(name, ensure_ascii=False), name} & {*settings.events.features}


def test_id_missing_in_a_few_records_is_accepted_with_warning():
    found = proposed(
        rows(x=lambda n: n % 7, transactionId=lambda n: f"t-{n}" if n % 20 else None, label=half)
    )
    assert role_of(found, "transactionId") == ("id", "missing in 2 records, and never twice")
    assert "transactionId: 2 records without this id are dead letters" in found.warnings
    sparse = proposed(rows(x=lambda n: n % 7, transactionId=lambda n: n if n % 2 else None, label=half))
    assert written(sparse)["events"]["id"] == "@offset"


@pytest.mark.parametrize("name", ["type", "kind"])
def test_type_field_is_not_proposed_as_label_without_reason(name):
    found = proposed(
        rows(**{name: lambda n: "ab"[n % 2], "id": lambda n: n, "x": lambda n: n % 7}), topic="t"
    )
    assert role_of(found, name)[0] == "feature"


def test_label_may_be_an_expression_of_fields_without_features():
    documents = rows(id=lambda n: n, x=lambda n: n % 7, status=lambda n: "abc"[n % 3])
    found = propose(Records("here", documents, len(documents)), EventSettings(label="status == 'a'"))
    assert role_of(found, "status == 'a'") == ("label", "false 26, true 14")
    assert role_of(found, "status") == ("left out", "the label is made of it")
    assert written(found)["events"] == {"label": "status == 'a'", "id": "id", "features": ["x"]}
    assert "classes" not in written(found)


def test_identifiers_within_lists_are_not_features():
    items = [{"id": 0, "sku": "s"}]
    documents = rows(
        id=lambda n: n,
        label=half,
        tags=lambda n: [f"t-{n}", f"u-{n}"],
        items=lambda n: [{**items[0], "id": 2 * n}, {**items[0], "id": 2 * n + 1}],
    )
    found = proposed(documents)
    events = written(found)["events"]
    assert (events["features"], events["exclude"]) == (["items"], ["items.id"])
    for field in ("tags", "items.id"):
        assert role_of(found, field) == ("left out", "identifiers: nearly each is another one")
    Settings(**written(found))


def labelled_apart(events, labels, **given):
    theirs = Labels(Records("labels", labels, len(labels)), LabelSettings(**given))
    return propose(Records("here", events, len(events)), EventSettings(), labels=theirs)


def test_labels_of_a_separate_file_are_found_by_shared_ids():
    events = rows(row=lambda n: n * 3, order_no=lambda n: f"o-{n}", x=lambda n: n % 7, told=half)
    labels = [
        {"ref": f"o-{n}", "at": f"2026-01-01T00:00:{n:02}Z", "fraud": n % 2 == 0} for n in range(39, 5, -1)
    ]
    found = labelled_apart(events, labels)
    told = written(found)
    assert told["labels"] == {"id": "ref", "label": "fraud", "timestamp": "at"}
    assert (told["events"]["id"], told["events"]["features"]) == ("order_no", ["row", "x"])
    assert role_of(found, "told")[0] == "commented out"
    assert "labels_topic" not in told
    Settings(**told)


def test_labels_without_an_id_of_the_events_are_rejected():
    with pytest.raises(InputFileError, match="no field matches the ids of the events"):
        labelled_apart(rows(id=lambda n: f"a{n}", x=0.5), rows(ref=lambda n: f"b{n}", fraud=half))


def test_only_field_is_kept_with_warning_though_it_determines_labels():
    found = proposed(rows(id=lambda n: n, label=half, team=lambda n: "ab"[half(n)]))
    assert written(found)["events"]["features"] == ["team"]
    assert found.warnings == [
        "team is all there is, and determines the label, so it may be known only after it"
    ]
