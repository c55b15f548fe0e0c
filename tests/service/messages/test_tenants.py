"""Features of tenants: each counts once for all, and once for the tenant."""

import mmh3
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perceptron_core.formats.packed import pack, unpack
from service.errors import ConfigurationError
from service.messages.features import FeatureExtractor, FeatureOptions
from service.messages.rejection import Reason
from service.partition.factory import make_extractor
from tests.service.building import Feed, settings

values = st.one_of(st.floats(-1e6, 1e6), st.booleans(), st.sampled_from(["en", "de"]))
features = st.dictionaries(st.text("abc", min_size=1, max_size=3), values, max_size=5)
texts = st.one_of(st.none(), st.text("ab ", max_size=10))
tenants = st.one_of(st.just(""), st.text(max_size=8, alphabet=st.characters(exclude_categories=["Cs"])))


def extract(features, text, tenant, **options):
    return FeatureExtractor(FeatureOptions(**options)).extract(features, text, tenant)


def test_tenant_event_has_shared_and_tenant_features():
    assert extract({"n": 2.5, "lang": "en"}, "win", "acme") == {
        "n": 2.5,
        "lang=en": 1.0,
        "text=win": 1.0,
        "tenant=acme": 1.0,
        "tenant=acme×n": 2.5,
        "tenant=acme×lang=en": 1.0,
        "tenant=acme×text=win": 1.0,
    }


@given(features, texts, st.sampled_from([0, 12]), st.sampled_from(["none", "l2"]))
def test_events_without_tenant_are_unchanged(features, text, hash_bits, normalize):
    extractor = FeatureExtractor(FeatureOptions(hash_bits=hash_bits, normalize=normalize))
    assert extractor.extract(features, text, None) == extractor.extract(features, text)


@given(features, texts, tenants)
def test_shared_features_stay_first_and_unchanged(features, text, tenant):
    shared = extract(features, text, None)
    assert list(extract(features, text, tenant).items())[: len(shared)] == list(shared.items())


@given(features, texts, tenants)
def test_hash_is_murmur3_of_tenant_and_common_index(features, text, tenant):
    shared = extract(features, text, None, hash_bits=22)
    expected = dict(shared)
    own = {mmh3.hash(f"tenant={tenant}".encode(), signed=False) % 2**22: 1.0}
    for index, value in shared.items():
        key = f"tenant={tenant}×".encode() + index.to_bytes(4, "little")
        place = mmh3.hash(key, signed=False) % 2**22
        own[place] = own.get(place, 0.0) + value
    for place, value in own.items():
        expected[place] = expected.get(place, 0.0) + value
    assert extract(features, text, tenant, hash_bits=22) == expected


@pytest.mark.parametrize(
    ("key", "own"), [(b"", {2014817: 1.0, 1089812: 2.0}), (b"0123456789abcdef", {1400865: 1.0, 1819586: 2.0})]
)
def test_tenant_hash_is_fixed(key, own):
    assert extract({"n": 2.0}, None, "acme", hash_bits=22, hash_key=key) == {1169580: 2.0} | own


pieces = st.lists(st.sampled_from(["tenant", "=", "acme", "×", "\\", "n"]), max_size=6).map("".join)


@given(
    st.dictionaries(pieces, st.one_of(st.just(1.0), pieces)),
    st.dictionaries(pieces, st.one_of(st.just(1.0), pieces)),
    pieces,
    st.one_of(st.none(), pieces),
)
@example({"length": 1.0}, {"tenant=acme×length": 1.0}, "acme", "evil")
@example({"length": 1.0}, {"tenant": "acme×length"}, "acme", None)
@example({}, {"tenant": "acme"}, "acme", "evil")
@example({}, {"tenant\\": "acme"}, "acme", "evil")
@example({"×n": 1.0}, {"n": 1.0}, "acme", "acme×")
def test_tenants_features_are_isolated_for_any_name(own, others, tenant, other):
    extractor = FeatureExtractor(FeatureOptions(has_tenants=True))
    of_tenant = extractor.extract(own, None, tenant).keys() - extractor.extract(own, None, None).keys()
    assert of_tenant
    if other != tenant:
        assert not of_tenant & extractor.extract(others, None, other).keys()


def test_tenant_like_names_are_unchanged_without_tenants():
    named = {"tenant=acme×n": 1.0, "tenant": "acme"}
    assert extract(named, None, None) == {"tenant=acme×n": 1.0, "tenant=acme": 1.0}


def test_hash_key_changes_only_tenant_features():
    keyless, one, other = (
        list(extract({"n": 2.0}, None, "acme", hash_bits=22, hash_key=key)) for key in (b"", b"one", b"other")
    )
    assert keyless[0] == one[0] == other[0]
    assert len({*keyless[1:], *one[1:], *other[1:]}) == 6


MAPPED = {"events": {"id": "id", "tenant": "who.company", "text": ["text"], "features": ["*"]}}


def mail(event_id, text, company=None, **more):
    return {"id": event_id, "text": text, "who": {"company": company, "size": 3}, **more}


def test_tenant_is_read_by_its_setting_without_a_feature():
    feed = Feed(**MAPPED)
    feed(mail("a", "win", "acme", label=True))
    assert set(feed.model.weights) == {
        "text=win",
        "who.size",
        "tenant=acme",
        "tenant=acme×text=win",
        "tenant=acme×who.size",
    }


@pytest.mark.parametrize(("company", "name"), [(17, "17"), (17.0, "17"), (1.5, "1.5"), (" ", " ")])
def test_tenant_may_be_a_text_or_a_number(company, name):
    feed = Feed(**MAPPED)
    feed(mail("a", "win", company, label=True))
    assert f"tenant={name}×text=win" in feed.model.weights


@pytest.mark.parametrize(
    ("company", "reason"),
    [(["a"], Reason.INVALID_TYPE), ({"a": 1}, Reason.INVALID_TYPE), ("a" * 257, Reason.TOO_LARGE)],
)
def test_invalid_tenant_is_rejected_by_its_path(company, reason):
    (letter,) = Feed(**MAPPED)(mail("a", "win", company))
    told = dict(letter.headers)
    assert told["error.reason"] == reason.encode()
    assert told["error.message"].startswith(b"who.company (events.tenant): ")


def test_lone_surrogate_is_rejected():
    (letter,) = Feed(**MAPPED, hash_bits=12)(b'{"id":"a","text":"win","who":{"company":"\\ud800"}}')
    assert letter.topic == "dead-letters"


def test_pending_event_keeps_its_tenant_through_a_snapshot():
    feed, restored = Feed(**MAPPED), Feed(**MAPPED)
    feed(mail("a", "win", "acme"))
    restored.processor.restore(unpack(pack(feed.processor.state())))
    restored({"id": "a", "label": True}, topic="labels")
    assert "tenant=acme×text=win" in restored.model.weights


def test_auto_rejects_tenants():
    with pytest.raises(ConfigurationError, match=r"events\.tenant: auto"):
        make_extractor(settings(model="auto", **MAPPED))
