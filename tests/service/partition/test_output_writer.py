from operator import truediv

from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_core import to_json

from service.messages.schema import OUTCOME, PREDICTION, Outcome, Prediction, output_fields
from service.partition.examples import probability_of
from tests.service.building import RecordedWriter

ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=256)
finite = st.floats(allow_nan=False, allow_infinity=False)


NAMES = ("ham", 'quo"te', "per%b cent", "Ωmega\n")
WRITER = RecordedWriter(NAMES)
classes = st.sampled_from(NAMES)
delays = st.builds(truediv, st.integers(0, 2 * 10**12), st.sampled_from([1000, 999.9999, -1000]))


def declared(message):
    """Return a message in JSON, as its declaration says."""
    fields = output_fields(type(message).model_fields)
    fields_set = {field.name: getattr(message, field.name) for field in fields}
    return to_json({name: value for name, value in fields_set.items() if value is not None})


VALUES = {float: finite, int: st.integers(0, 2**63 - 1), bool: st.booleans(), str: st.text()}
OWN = ("id", "label", "score", "probability", "updates", "truth", "mistake", "event_time_ms")
further = st.fixed_dictionaries(
    {}, optional={field.name: VALUES[field.types[0]] for field in PREDICTION if field.name not in OWN}
)


@given(
    ids,
    classes,
    finite,
    st.integers(0, 2**63 - 1),
    st.none() | classes,
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    further,
)
def test_prediction_has_the_bytes_of_its_declaration(
    event_id, predicted, score, updates, truth, time_ms, has_log_odds, further
):
    ordered = {field.name: further[field.name] for field in PREDICTION if field.name in further}
    added = b"," + to_json(ordered)[1:-1] if further else b""
    output = WRITER.prediction(event_id, predicted, score, updates, truth, time_ms, has_log_odds, added)
    prediction = Prediction(
        id=event_id,
        label=predicted,
        score=score,
        probability=probability_of(predicted, score) if has_log_odds else None,
        updates=updates,
        truth=truth,
        mistake=None if truth is None else predicted != truth,
        event_time_ms=time_ms,
        **further,
    )
    assert output.value == declared(prediction)
    assert Prediction.model_validate_json(output.value) == prediction
    assert (output.topic, output.key, output.timestamp_ms) == ("predictions", event_id.encode(), None)


@given(ids, classes, classes, finite | delays)
@example("e", "ham", "ham", 0.0)
@example("e", "ham", "ham", -1.0)
@example("e", "ham", "ham", 999_999_999.999)
@example("e", "ham", "ham", 1e9)
def test_outcome_has_the_bytes_of_its_declaration(event_id, truth, predicted, delay):
    output = WRITER.outcome(event_id, truth, predicted, delay, 7)
    outcome = Outcome(
        id=event_id,
        label=truth,
        predicted=predicted,
        mistake=predicted != truth,
        label_delay_seconds=delay,
        event_time_ms=7,
    )
    assert output.value == declared(outcome)
    assert Outcome.model_validate_json(output.value) == outcome
    assert output.key == event_id.encode()


def test_field_has_one_type_in_all_outputs():
    types = {field.name: field.types for field in PREDICTION + OUTCOME}
    assert all(field.types == types[field.name] for field in PREDICTION + OUTCOME)
