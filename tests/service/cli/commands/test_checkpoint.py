"""`checkpoint` shows what is committed; a model goes out by `export` and comes in by `import`."""

import errno
import json
import os
import sys

import pytest

from perceptron_core import AveragedPerceptron, Perceptron, from_bytes, to_bytes
from service.errors import CheckpointError, ServiceError
from service.models.model_file import read_model_file, write_atomically
from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.service.building import Feed, event, label
from tests.service.cli.standing_stream import crash, damage, produce, serve

EVENTS = [event(f"e{n}", f"word{n % 3} word{n % 5}", label=n % 2 == 0) for n in range(20)]


@pytest.fixture
def stream(opened):
    return opened({"events": 1})


@pytest.fixture
def checkpoint(perceptron, broker):
    def run(*arguments):
        return perceptron("checkpoint", *arguments, "--broker", broker)

    return run


@pytest.fixture
def import_(checkpoint):
    def run(*arguments):
        return checkpoint("import", "--session-timeout-seconds", "1", *arguments)

    return run


def undisturbed(events):
    feed = Feed()
    for each in events:
        feed(each)
    return feed.model


def committed(checkpoint, path):
    result = checkpoint("export", path)
    assert result.exit_code == 0, result.stderr
    return from_bytes(path.read_bytes())


def trained_file(path, **parameters):
    model = Perceptron(**parameters)
    model.learn_one({"word1": 1.0}, True)
    model.weights = {"word1": 0.1 + 0.2}
    path.write_bytes(to_bytes(model))
    return path


def test_show_lists_snapshots_and_progress(checkpoint, stream, monkeypatch):
    produce(stream, *EVENTS)
    crash(stream, monkeypatch, max_batch_records=5)
    (found,) = json.loads(checkpoint("show").stdout)["partitions"]
    (snapshot,) = found["snapshots"]
    assert (snapshot["sequence"], snapshot["offset"], snapshot["invalid"]) == (0, 0, None)
    assert found["progress"]["last_sequence"] == 4
    assert found["progress"]["offsets"] == {"events": {"0": 20}, "labels": {"0": 0}}
    assert found["made_with"]["model"] == "perceptron"


def test_show_gives_the_reason_of_a_rejected_snapshot(checkpoint, stream, monkeypatch):
    produce(stream, *EVENTS)
    serve(stream)
    damage(stream, monkeypatch, newest_offset(stream))
    (found,) = json.loads(checkpoint("show").stdout)["partitions"]
    sound, damaged = found["snapshots"]
    assert sound["invalid"] is None
    assert damaged["invalid"].startswith("not a perceptron-snapshot")


def test_show_distinguishes_increments_from_full_snapshots(checkpoint, stream, monkeypatch):
    monkeypatch.setattr("service.loop.snapshots.AT_ONCE_BYTES", 0)
    monkeypatch.setattr("service.loop.snapshots.INCREMENT_RATIO", float("inf"))
    monkeypatch.setattr("perceptron_core.formats.model_changes._MAX_RATIO", float("inf"))
    produce(stream, *EVENTS)
    serve(stream, max_batch_records=5, snapshot_interval_records=5)
    (found,) = json.loads(checkpoint("show").stdout)["partitions"]
    whole, increment, *_ = found["snapshots"]
    assert (whole["parent"], increment["parent"]) == (None, whole["sequence"])
    assert increment["invalid"] is None


def newest_offset(stream):
    return stream.bounds("checkpoints", 0)[1] - 1


def test_export_includes_batches_committed_after_the_snapshot(checkpoint, stream, tmp_path, monkeypatch):
    produce(stream, *EVENTS)
    crash(stream, monkeypatch, max_batch_records=7)
    assert to_bytes(committed(checkpoint, tmp_path / "model.bin")) == to_bytes(undisturbed(EVENTS))
    assert [path.name for path in tmp_path.glob("*.bin*")] == ["model.bin"]
    assert list(tmp_path.glob(".*")) == []


def test_export_does_not_overwrite_the_stream(perceptron, tmp_path):
    path = tmp_path / "stream.db"
    open_transport(f"sqlite:///{path}").close()
    content = path.read_bytes()
    result = perceptron("checkpoint", "export", path, "--broker", f"sqlite:///{path}")
    assert "is a SQLite database" in result.stderr
    assert path.read_bytes() == content


def test_export_and_import_take_settings_from_the_checkpoint(checkpoint, import_, stream, tmp_path):
    produce(stream, *EVENTS)
    given = {"model": "averaged-perceptron", "classes": ("ham", "spam"), "label_timeout_seconds": 7.0}
    serve(stream, **given, decisions=[{"name": "block", "threshold": 0.5}])
    path = tmp_path / "model.bin"
    assert isinstance(committed(checkpoint, path), AveragedPerceptron)
    settings = read_model_file(path).settings
    assert (settings["model"], settings["classes"]) == ("averaged-perceptron", ("ham", "spam"))
    (kept,) = settings["decisions"]
    assert (kept["name"], kept["threshold"]) == ("block", 0.5)
    assert import_(path).exit_code == 0
    (found,) = json.loads(checkpoint("show").stdout)["partitions"]
    (made,) = found["made_with"]["decisions"]
    assert made == {"name": "block", "class": "", "threshold": 0.5, "confidence": 0.8}


def test_commands_do_not_run_code_named_by_a_checkpoint(perceptron, stream, broker, tmp_path):
    produce(stream, *EVENTS)
    model = tmp_path / "model.py"
    model.write_text("from river.linear_model import LogisticRegression as make")
    serve(stream, model=f"{model}:make", checkpoint_key="k")
    model.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    del sys.modules["perceptron_model_model"]  # so that its code runs when it is named again
    trained_file(tmp_path / "m.bin")
    of_partition = ["--partition", "0", "--session-timeout-seconds", "1"]
    for command in (
        ["checkpoint", "export", "--partition", "0", tmp_path / "x.bin"],
        ["checkpoint", "import", *of_partition, tmp_path / "m.bin"],
        ["checkpoint", "show"],
        ["status"],
        ["verify"],
        ["serve", "--exit-at-end", "--http", ""],
    ):
        result = perceptron(*command, "--broker", broker)
        assert not (tmp_path / "ran").exists(), command
    assert f"model: expected '{model}:make' as in the checkpoint" in result.stderr


def test_export_explains_how_to_run_code_named_by_a_checkpoint(checkpoint, stream, tmp_path):
    produce(stream, *EVENTS)
    (tmp_path / "model.py").write_text("from perceptron_core import Perceptron as make")
    serve(stream, model="model.py:make")
    rejected = checkpoint("export", "--partition", "0", tmp_path / "x.bin")
    assert rejected.exit_code == 2
    assert "model: checkpoints[0] was made with model.py:make, which is code" in rejected.stderr
    assert "hint: --model model.py:make, if you trust it" in rejected.stderr
    named = checkpoint("export", "--partition", "0", tmp_path / "x.bin", "--model", "model.py:make")
    assert named.exit_code == 0, named.stderr


@pytest.mark.parametrize("command", ["export", "import"])
def test_partition_is_required_if_there_are_several(checkpoint, stream, tmp_path, command):
    stream.add_partitions({"events": 2})
    serve(stream)
    result = checkpoint(command, trained_file(tmp_path / "x.bin"))
    assert (result.exit_code, "choose one with --partition" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", ["export", "import"])
def test_river_models_cannot_be_exported(checkpoint, stream, tmp_path, command):
    path = trained_file(tmp_path / "m.bin")
    result = checkpoint(command, "--partition", "0", path, "--model", "river.linear_model:LogisticRegression")
    assert result.exit_code == 2
    assert "pickle" in result.stderr


def test_import_replaces_the_model_and_nothing_else(
    checkpoint, import_, perceptron, broker, stream, tmp_path
):
    produce(stream, *EVENTS, event("open", "", word1=1.0))
    serve(stream)
    result = import_(trained_file(tmp_path / "m.bin"))
    assert result.exit_code == 0, result.stderr
    assert committed(checkpoint, tmp_path / "out.bin").weights == {"word1": 0.1 + 0.2}
    shown = json.loads(perceptron("status", "--broker", broker, "--format", "json").stdout)["partitions"][0]
    assert (shown["predictions"], shown["labelled"], shown["pending_labels"]) == (21, 20, 1)
    assert (shown["updates"], shown["lag"]["events"]) == (1, 0)


def test_service_continues_with_an_imported_model(checkpoint, import_, stream, tmp_path, monkeypatch):
    produce(stream, *EVENTS, event("open", "", word1=1.0))
    serve(stream)
    path = trained_file(tmp_path / "m.bin")
    assert import_(path).exit_code == 0
    produce(stream, event("new", "", word1=1.0), label("open", True))
    crash(stream, monkeypatch)
    *_, prediction, outcome = (json.loads(record.value) for record in stream.read("predictions", 0))
    assert (prediction["id"], prediction["score"]) == ("new", 1.0 + 0.1 + 0.2)
    assert outcome["id"] == "open"
    expected = from_bytes(path.read_bytes())
    expected.learn_one({"word1": 1.0}, True)
    assert to_bytes(committed(checkpoint, tmp_path / "out.bin")) == to_bytes(expected)


def test_import_rejects_a_model_with_other_parameters(import_, stream, tmp_path):
    serve(stream)
    result = import_(trained_file(tmp_path / "m.bin", threshold=0.5))
    assert result.exit_code == 2
    assert "threshold=0.5, not threshold=0.0" in result.stderr
    assert "--model-param" in result.stderr


@pytest.mark.parametrize("command", ["import m.bin", "reset --from committed --yes"])
def test_export_does_not_disturb_a_running_service(checkpoint, stream, tmp_path, monkeypatch, command):
    monkeypatch.setattr("service.stream.temporary_member._PATIENCE_SECONDS", 0.1)
    trained_file(tmp_path / "m.bin")
    serve(stream)
    before = stream.bounds("checkpoints", 0)
    owner = stream.join("online-perceptron", ["events", "labels"], Owner())
    owner.poll(0.1, 1)
    result = checkpoint(*command.split(), "--session-timeout-seconds", "1")
    owner.close()
    assert result.exit_code == 1
    assert "events[0]: owned by another member of the group 'online-perceptron'" in result.stderr
    assert "hint: stop the service first" in result.stderr
    assert stream.bounds("checkpoints", 0) == before


class Owner:
    def partitions_assigned(self, partitions): ...
    def partitions_revoked(self, partitions): ...
    def partitions_lost(self, partitions): ...


def test_import_is_not_undone_by_an_older_snapshot(checkpoint, import_, stream, tmp_path, monkeypatch):
    produce(stream, *EVENTS)
    serve(stream)
    assert import_(trained_file(tmp_path / "m.bin")).exit_code == 0
    imported = newest_offset(stream)
    produce(stream, event("new"))
    crash(stream, monkeypatch)
    damage(stream, monkeypatch, imported)
    result = checkpoint("export", "--partition", "0", tmp_path / "out.bin")
    assert result.exit_code == 1
    assert "is missing from the log" in result.stderr


def test_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.bin"
    write_atomically(path, b"old")
    (tmp_path / "link").symlink_to(path)
    write_atomically(tmp_path / "link", b"new")
    assert (path.read_bytes(), (tmp_path / "link").is_symlink()) == (b"new", True)
    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(ServiceError, match=r"model\.bin: cannot be written: No space left"):
        write_atomically(path, b"newest")
    assert path.read_bytes() == b"new"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "model.bin"]


def full_disk(_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def reset(checkpoint):
    def run(*arguments):
        return checkpoint("reset", "--session-timeout-seconds", "1", *arguments)

    return run


def empty_the_checkpoints(stream):
    stream.delete_before("checkpoints", 0, stream.bounds("checkpoints", 0)[1])


def predicted(stream):
    return [json.loads(record.value)["id"] for record in stream.read("predictions", 0)]


def ids(events):
    return [each["id"] for each in events]


def test_reset_from_committed_predicts_each_event_once(checkpoint, reset, stream, tmp_path):
    produce(stream, *EVENTS[:10])
    serve(stream)
    empty_the_checkpoints(stream)
    produce(stream, *EVENTS[10:])
    result = reset("--from", "committed", "--yes")
    assert result.exit_code == 0, result.stderr
    assert "partition 0 continues at events[0]@10, labels[0]@0" in result.stderr
    serve(stream)
    assert predicted(stream) == ids(EVENTS)
    assert to_bytes(committed(checkpoint, tmp_path / "m.bin")) == to_bytes(undisturbed(EVENTS[10:]))


@pytest.mark.parametrize(("start", "times"), [("committed", 1), ("beginning", 2)])
def test_reset_replaces_an_unreadable_log(reset, stream, start, times):
    produce(stream, *EVENTS)
    serve(stream)
    stream.produce([Output("checkpoints", None, b"not ours", (), 0)])
    assert reset("--from", start, "--yes").exit_code == 0
    serve(stream)
    assert predicted(stream) == ids(EVENTS) * times


def test_reset_of_one_partition_leaves_the_others_alone(reset, perceptron, broker, stream, tmp_path):
    topics = {"events_topic": "e2", "labels_topic": ""}
    stream.ensure_topics({"e2": 2})
    for partition in (0, 1):
        produce(stream, *EVENTS, topic="e2", partition=partition)
    serve(stream, **topics)
    options = ("--events-topic", "e2", "--labels-topic", "")
    result = reset("--from", "committed", "--partition", "1", "--yes", *options)
    assert result.exit_code == 0, result.stderr
    found = json.loads(perceptron("status", "--broker", broker, "--format", "json").stdout)["partitions"]
    assert [each["predictions"] for each in found] == [20, 0]


def test_reset_without_yes_asks_and_changes_nothing(reset, stream):
    produce(stream, *EVENTS)
    serve(stream)
    before = stream.bounds("checkpoints", 0)
    result = reset("--from", "committed")
    assert result.exit_code == 130
    assert "Forget the models of the group 'online-perceptron', partition 0 of 'events'?" in result.stderr
    assert stream.bounds("checkpoints", 0) == before


def test_killed_reset_is_not_a_fresh_start(reset, stream, monkeypatch):
    produce(stream, *EVENTS)
    serve(stream)
    with monkeypatch.context() as patch:
        patch.setattr("service.loop.reset.Task", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            reset("--from", "committed", "--yes")
    with pytest.raises(CheckpointError, match="checkpoint missing"):
        serve(stream)
    assert reset("--from", "committed", "--yes").exit_code == 0
    serve(stream)
    assert predicted(stream) == ids(EVENTS)
