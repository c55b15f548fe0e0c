"""The root of the command line is quick, kind about typing errors, and honest in its exit codes."""

import errno
import gc
import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest

import online_perceptron
from service.cli import app, output
from service.cli.commands.serve import tune_process
from service.errors import ConfigurationError
from tests.support.speed import patience

HEAVY = (
    *("river", "numpy", "scipy", "narwhals", "pandas", "sklearn", "matplotlib", "perceptron_core"),
    *("kafka", "confluent_kafka", "sqlite3", "pydantic", "dotenv"),
    *("fastapi", "uvicorn", "prometheus_client", "asyncio", "multiprocessing"),
)


@pytest.fixture
def failing(perceptron, monkeypatch):
    """Run a command that raises what it is given."""

    def run(error):
        def callback():
            raise error

        monkeypatch.setattr(
            app.LazyGroup, "get_command", lambda *_: click.Command("schema", callback=callback)
        )
        return perceptron("schema")

    return run


def imported_by(*arguments):
    """Run the command line in a process of its own, and name what it imports of what is heavy."""
    (found,) = imported_in_turn(arguments)
    return found


def imported_in_turn(*command_lines):
    """Run each in the same new process; yield what it is the first to import of what is heavy."""
    program = (
        "import sys; from service.cli import main\n"
        "seen = set()\n"
        f"for sys.argv[1:] in {command_lines}:\n"
        "    try: main()\n"
        f"    except SystemExit: new = {{m for m in {HEAVY} if m in sys.modules}} - seen\n"
        "    seen |= new; print('imported:', *new, file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=patience(60)
    )
    lines = [line for line in run.stderr.splitlines() if line.startswith("imported:")]
    return [set(line.split()[1:]) for line in lines]


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], ["nonsense"]])
def test_nothing_heavy_is_imported_before_a_command_runs(arguments):
    assert imported_by(*arguments) == set()


def test_built_in_models_serve_without_optional_packages(tmp_path):
    stream = ["--broker", f"sqlite:///{tmp_path}/stream.db"]
    events = tmp_path / "events.ndjson"
    events.write_text(
        '{"id": "1", "text": "win", "label": true}\n{"id": "2", "text": "no", "label": false}\n'
    )
    found = imported_in_turn(
        ["produce", str(events), *stream],
        ["serve", "--exit-at-end", "--model", "auto", "--http", "127.0.0.1:0", *stream],
        ["verify", *stream],
        ["replay", str(events)],
        ["compare", str(events)],
    )
    assert set().union(*found) & {"numpy", "scipy", "narwhals"} == set()


def test_serve_help_needs_only_the_settings():
    assert imported_by("serve", "--help") == {"pydantic", "dotenv"}


def test_help_needs_no_heavy_imports():
    needless = {"kafka", "confluent_kafka", "fastapi", "uvicorn", "pandas"}
    imported = imported_in_turn(*([name, "--help"] for name in app.COMMANDS))
    found = {name: new & needless for name, new in zip(app.COMMANDS, imported, strict=True)}
    assert {name: modules for name, modules in found.items() if modules} == {}


def test_help_lists_every_command(perceptron):
    result = perceptron("--help")
    assert result.exit_code == 0
    for name, (_, text) in app.COMMANDS.items():
        assert f"  {name} " in result.stdout
        assert text.split()[0] in result.stdout
        assert perceptron(name, "-h").stdout.startswith(f"Usage: perceptron {name}")


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigurationError("hash_bits"), 2), (KeyboardInterrupt(), 130), (click.exceptions.Exit(1), 1)],
)
def test_exit_code_depends_on_the_error_class(failing, error, code):
    assert failing(error).exit_code == code


def test_too_many_open_files_are_one_error_with_a_hint(failing):
    result = failing(OSError(errno.EMFILE, "Too many open files", "schema.sql"))
    assert (result.exit_code, result.stderr.splitlines()[0]) == (1, "error: schema.sql: Too many open files")
    assert "ulimit -n" in result.stderr


def test_unexpected_exception_is_not_hidden(failing):
    with pytest.raises(ZeroDivisionError):
        failing(ZeroDivisionError())


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_labels_are_coloured_only_on_a_terminal(monkeypatch, capsys, no_color, coloured):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    output.report_error("bad")
    assert ("\x1b[" in capsys.readouterr().err) is coloured


def test_closed_pipe_ends_a_command_quietly():
    python = f'"{sys.executable}" -m service schema event'
    run = subprocess.run(
        ["/bin/sh", "-c", f"({python}; echo $? >&2) | true"],
        capture_output=True,
        text=True,
        check=True,
        timeout=patience(30),
    )
    assert run.stderr == "0\n"


def test_ctrl_c_exits_130_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "service", "produce", "-", "--broker", f"sqlite:///{tmp_path}/s.db"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + patience(30)
        while not (tmp_path / "s.db").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)  # let it wait for stdin
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=patience(30))
    assert process.returncode == 130
    assert "Traceback" not in said


@pytest.mark.parametrize("module", ["click", "service.cli.commands.models", "service.messages.schema"])
def test_ctrl_c_during_imports_exits_130_silently(module):
    program = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from service.cli import main\n"
        "sys.argv[1:] = ['schema', 'event']\n"
        "main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=patience(30)
    )
    assert (run.returncode, run.stdout, run.stderr.strip()) == (130, "", "")


def test_completion_lists_commands_without_importing_them(perceptron, monkeypatch):
    monkeypatch.setenv("COMP_WORDS", "perceptron pro")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("_PERCEPTRON_COMPLETE", "bash_complete")
    monkeypatch.setattr(app.LazyGroup, "get_command", lambda *_: pytest.fail("imported"))
    assert perceptron().stdout == "plain,produce\n"


@pytest.mark.parametrize("others", ["__init__.py", "cli.py"])
def test_command_runs_next_to_a_folder_of_the_same_name(tmp_path, others):
    """The first is a package, the second makes a folder without `__init__.py` one."""
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / others).write_text("raise ImportError('another service')")
    root = Path(online_perceptron.__file__).parent
    command = "import online_perceptron; online_perceptron.main()"
    paths = os.pathsep.join([str(tmp_path), str(root)])
    result = subprocess.run(
        [sys.executable, "-c", command, "--version"],
        env=os.environ | {"PYTHONPATH": paths},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout.split()[0]) == (0, "perceptron"), result.stderr
    (script,) = entry_points(group="console_scripts", name="perceptron")
    assert script.value == "online_perceptron:main"


@pytest.fixture
def _process_restored():
    before, turn = gc.get_threshold(), sys.getswitchinterval()
    gc.unfreeze()  # what tests/conftest.py has frozen; the test freezes it again
    yield
    gc.set_threshold(*before)
    sys.setswitchinterval(turn)


@pytest.mark.usefixtures("_process_restored")
def test_batch_of_examples_triggers_no_garbage_collection_of_old_objects():
    tune_process()
    assert gc.get_freeze_count() > 10_000
    kept = [[n] for n in range(1000)]
    before = gc.get_stats()[0]["collections"]
    kept += [[n] for n in range(1000)]
    assert gc.get_stats()[0]["collections"] == before


def test_wrong_setting_found_after_the_start_is_logged_as_json(perceptron, broker):
    result = perceptron("serve", "--broker", broker, "--http", "", "--model", "nope")
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert (result.exit_code, lines[-1]["level"]) == (2, "error")
    assert lines[-1]["message"].startswith("model: unknown model 'nope'")
