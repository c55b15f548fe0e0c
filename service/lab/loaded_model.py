"""A model file in Python: it predicts as the service does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic_core import PydanticSerializationError, to_json

from perceptron_core import LearnerError
from perceptron_core.linear.data_frames import frame_like, frame_of, rows_of, series_like
from service.errors import ConfigurationError, InputFileError
from service.files.columns import Columns
from service.files.rows import BadRow
from service.files.tables import frame_writer
from service.messages.decoder import Decoder
from service.messages.features import X
from service.messages.labels import LabelValue, TrueLabel, UnreadLabels, Vocabulary
from service.messages.rejection import Reason, Rejection, Skipped
from service.models.explanation import decide
from service.models.learner import rejection_of
from service.models.model_file import ModelFile, read_model_file, reject_other_classes, settings_for
from service.models.registry import learner_of
from service.partition.factory import for_file, make_decoder, make_extractor, reject_windows
from service.partition.output_writer import assessment
from service.partition.parts.decisions import DECISIONS, Decisions, decisions_of
from service.settings.load import Settings, load_settings
from service.stream.protocol import Record

T = TypeVar("T")
Object: TypeAlias = Mapping[str, Any]
PathName: TypeAlias = str | PathLike[str]


def load_model(path: PathName) -> LoadedModel:
    """Read a model file. Raises `InputFileError` and `ConfigurationError`."""
    return model_of(read_model_file(Path(path)))


def model_of(file: ModelFile) -> LoadedModel:
    """Make a `LoadedModel` of a model file. Raises `ConfigurationError`."""
    settings = settings_for(file, load_settings({}), makes_model=False).settings
    reject_other_classes(file.path, file.model, settings.classes)
    return LoadedModel(file, settings)


def decisions_in(file: ModelFile) -> Decisions | None:
    """Make the decisions in a model file; None without any. Raises `InputFileError`."""
    if not (kept := (file.settings or {}).get(DECISIONS)):
        return None
    try:
        return decisions_of(kept, has_log_odds=learner_of(file.model).has_log_odds)
    except ValueError as error:
        raise InputFileError(f"{file.path}: {error}") from None


class LoadedModel:
    """A trained model, with the mapping, the text settings and the classes that it was made with.

    The methods take a record, a list of records or a data frame. They return one result, a list of results
    or, for a frame, a series or frame of the same kind. Records are read like records of the events topic:

    - bytes or text: the value of a record, as it is on the topic;
    - a dict: a JSON object;
    - a frame of pandas, polars or another library that narwhals supports: rows are read like rows of a
      Parquet file. A missing value makes no feature.

    A dict or a row needs no id, nor does a record that is not in the native schema: its number is the id.
    Labels are not read, and nothing is learned. The prediction of a record that the filter `events.where`
    skips is None. A model serves one thread at a time. It can be pickled: the pickle holds the model file,
    and no settings of the environment.

    Parameters
    ----------
    file
        The model and the decisions kept with it.
    settings
        The settings of the model file.

    Attributes
    ----------
    model
        The model itself, which takes features.
    classes : tuple
        The classes as predictions spell them; of two, the negative one first.

    """

    def __init__(self, file: ModelFile, settings: Settings) -> None:
        reject_windows(settings)
        self._file = file
        settings = for_file(settings)
        events = settings.events
        self.model = file.model
        self._learner = learner_of(file.model)
        self._decisions = decisions_in(file)
        self._decoder = self._of_objects = make_decoder(settings, asks_only=True)
        if events.format == "text":
            self._of_objects = Decoder(UnreadLabels(), settings.max_message_bytes)
        self._extractor = make_extractor(settings)
        self._topic = settings.events_topic
        self._columns = Columns(
            classes=frozenset(settings.classes), mapping=events if events.maps_fields else None
        )
        self._vocabulary = Vocabulary(settings.classes)
        self._spelling = self._vocabulary.first_spelling()
        is_multiclass = self._vocabulary.is_multiclass
        self.classes: tuple[LabelValue, ...] = self._vocabulary.classes if is_multiclass else self._spelling

    def __reduce__(self) -> tuple[Any, ...]:
        return model_of, (self._file,)

    def predict(self, records: Any) -> Any:  # noqa: ANN401 - see the class
        """Predict the class of each record.

        Raises
        ------
        Rejection
            The service would reject a record; the message names it.

        """
        return self._field(records, "label")

    def score(self, records: Any) -> Any:  # noqa: ANN401 - see the class
        """Return the score of each record: signed for two classes, else the predicted class's score.

        Raises as `predict`.
        """
        return self._field(records, "score")

    def predict_proba(self, records: Any) -> Any:  # noqa: ANN401 - see the class
        """Return the probability of each class: a dict for a record, a frame with a column for each class.

        Raises
        ------
        Rejection
            As `predict`.
        ConfigurationError
            The model's scores are not log-odds: its predictions carry no probability.

        """
        if not self._learner.has_log_odds:
            raise ConfigurationError(
                f"model: {type(self.model).__name__} has no probabilities",
                hint="rank records by `score`, or choose `auto` or `normalized-adagrad`",
            )
        probabilities = self._each(records, self._probabilities)
        if not _is_frame(records):
            return probabilities
        columns = {str(name): [row and row[name] for row in probabilities] for name in self.classes}
        return frame_like(frame_of(records), columns)

    def decide(self, records: Any) -> Any:  # noqa: ANN401 - see the class
        """Return the name of the first decision that each record matches; None if it matches none.

        The thresholds are the partition's at the time of the model file; a decision without a threshold is
        never taken. A `max_rate` is never used up.

        Raises
        ------
        Rejection
            As `predict`.
        ConfigurationError
            The model file has no decisions.

        """
        if self._decisions is None:
            raise ConfigurationError(
                "decisions: missing from the model file",
                hint="set [[decisions]] or [costs] before `checkpoint export` or `replay --save`",
            )
        return self._field(records, "decision")

    def explain(self, records: Any) -> Any:  # noqa: ANN401 - see the class
        """Return the response of `POST /explain` as a dict for each record, also for a frame.

        Raises as `predict`.
        """
        return self._each(records, self._explanation)

    def assess(self, message: bytes, number: int = 1) -> dict[str, Any]:
        """Return the response of `POST /predict`: id, label, score, and probability and decision if any.

        Raises
        ------
        Rejection
            It is not an event, or the model cannot take its features; `Skipped` if a filter skips it.

        """
        return self._compute(message, number, self._decoder, self._assessment)

    def _field(self, records: Any, name: str) -> Any:  # noqa: ANN401 - see the class
        """Return a field of each prediction; for a frame, as a series of the same kind."""
        values = self._each(records, lambda event_id, x: self._assessment(event_id, x)[name])
        return series_like(frame_of(records), values) if _is_frame(records) else values

    def _probabilities(self, _: str, x: X) -> dict[LabelValue, float]:
        return {self._spelled(truth): p for truth, p in self._learner.probabilities(x).items()}

    def _assessment(self, event_id: str, x: X) -> dict[str, Any]:
        predicted, score = self._learner.assess(x)
        return self._fields(event_id, predicted, score)

    def _explanation(self, event_id: str, x: X) -> dict[str, Any]:
        predicted, score = self._learner.assess(x)
        decision = decide(self._learner, x, predicted, score)
        fields = self._fields(event_id, predicted, score)
        return {**fields, "updates": self._learner.updates, **decision.fields()}

    def _fields(self, event_id: str, predicted: TrueLabel, score: float) -> dict[str, Any]:
        label, has_log_odds = self._spelled(predicted), self._learner.has_log_odds
        fields = assessment(event_id, label, predicted, score, has_log_odds=has_log_odds)
        if self._decisions is not None:
            fields |= self._decisions.would_decide(predicted, score, 0)
        return fields

    def _spelled(self, truth: TrueLabel) -> LabelValue:
        return self._vocabulary.spell(truth, self._spelling)

    def _each(self, records: Any, compute: Callable[[str, X], T]) -> Any:  # noqa: ANN401 - see the class
        """Call `compute` for a record, or for each of several."""
        if isinstance(records, (Mapping, bytes, str)):
            return self._compute_record(records, 0, compute)
        results: list[T | None] = []
        try:
            if _is_frame(records):
                for number, row in enumerate(self._rows(records), start=1):
                    results.append(self._compute_or_none(row, number, self._of_objects, compute))
            else:
                for number, record in enumerate(records):
                    results.append(self._compute_record(record, number, compute))
        except Rejection as rejection:
            raise Rejection(rejection.reason, f"record {len(results)}: {rejection.message}") from None
        return results

    def _rows(self, records: Any) -> Iterable[bytes]:  # noqa: ANN401 - see the class
        """Yield the rows of a frame as JSON. Raises `Rejection`."""
        frame = frame_of(records)
        names = [str(name) for name in frame.columns]
        write = frame_writer(names, self._columns)
        for number, row in enumerate(rows_of(frame), start=1):
            event = write(dict(zip(names, row.values(), strict=True)), number)
            if isinstance(event, BadRow):
                raise Rejection(Reason.INVALID_DATA, event.complaint)
            yield event

    def _compute_record(
        self, record: Object | bytes | str, number: int, compute: Callable[[str, X], T]
    ) -> T | None:
        if isinstance(record, Mapping):
            try:
                message = to_json(
                    {**self._columns.name(number + 1), **record}, inf_nan_mode="constants", fallback=_plain
                )
            except (PydanticSerializationError, UnicodeEncodeError, TypeError) as error:
                raise Rejection(Reason.INVALID_TYPE, str(error)) from None
            return self._compute_or_none(message, number, self._of_objects, compute)
        message = record.encode() if isinstance(record, str) else record
        return self._compute_or_none(message, number, self._decoder, compute)

    def _compute_or_none(
        self, message: bytes, number: int, decoder: Decoder, compute: Callable[[str, X], T]
    ) -> T | None:
        try:
            return self._compute(message, number, decoder, compute)
        except Skipped:
            return None

    def _compute(self, message: bytes, number: int, decoder: Decoder, compute: Callable[[str, X], T]) -> T:
        event = decoder.decode(message, Record(self._topic, 0, number, 0, None, message))
        if event.is_label:
            raise Rejection(Reason.MISSING_FIELD, "an event needs features or text")
        try:
            return compute(event.id, self._extractor.extract(event.features, event.text, event.tenant))
        except LearnerError as error:
            raise rejection_of(error) from None


def _is_frame(records: object) -> bool:
    return not isinstance(records, (Mapping, bytes, str, list, tuple))


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value
    """Return a scalar of NumPy as one of Python. Raises TypeError."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a JSON value")
