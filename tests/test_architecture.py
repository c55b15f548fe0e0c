"""Imports point one way only, and what is dangerous stays in its room.

`MAP` lists the modules in the order of their imports: who reads from the top needs nothing further down.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A module imports from the layers above its own line, never from its own line or from below.
MAP = """
# What a learner is: numbers in, numbers out.
perceptron_core.errors perceptron_core.version perceptron_core.base.update
perceptron_core.validation perceptron_core.formats.envelope perceptron_core.text.ascii
perceptron_core.text.patterns
perceptron_core.text.tokenizer
perceptron_core.text.murmur3 perceptron_core.text.deduplication
perceptron_core.text.hasher
perceptron_core.sparse_vectors perceptron_core.base.data_frames perceptron_core.base.explanation perceptron_core.learning_rates
perceptron_core.weights.example perceptron_core.weights.prefetch
perceptron_core.weights.feature_index perceptron_core.weights.variances
perceptron_core.weights.weight_table
perceptron_core.weights.hashed_table perceptron_core.base.binary_rule perceptron_core.base.multiclass_rule perceptron_core.base.cloning
perceptron_core.base.batches
perceptron_core.arrays.csr perceptron_core.arrays.text_batch
perceptron_core.weights.covariance perceptron_core.binary.kernels
perceptron_core.base.binary
perceptron_core.base.compiled perceptron_core.binary.voted perceptron_core.binary.kernel
perceptron_core.base.linear perceptron_core.binary.averaged
perceptron_core.binary.perceptron perceptron_core.binary.passive_aggressive perceptron_core.binary.confidence_weighted
perceptron_core.binary.margin perceptron_core.binary.arow perceptron_core.binary.scw
perceptron_core.base.multiclass perceptron_core.structured.averaged_table perceptron_core.structured.viterbi
perceptron_core.structured.perceptron perceptron_core.base.multiclass_linear
perceptron_core.multiclass.perceptron perceptron_core.multiclass.passive_aggressive
perceptron_core.multiclass.arow
perceptron_core.multiclass.averaged
perceptron_core.theory.geometry perceptron_core.training.rng perceptron_core.training.learning_curve
perceptron_core.training.batch_perceptron perceptron_core.theory.separability perceptron_core.training.holdout
perceptron_core.training.epochs
perceptron_core.theory.mistake_bound perceptron_core.formats.sklearn perceptron_core.arrays.hashed_classifier
perceptron_core.formats.model_bytes
perceptron_core

# The words everything else is said in.
service service.errors service.visible service.messages.labels service.stream
service.settings.kafka service.settings.secrets service.settings.redaction service.loop.departure service.partition.counters service.datasets.rows
service.messages.features service.clock service.loop.backoff service.logs service.dead_letters.temporary_member service.version
service.workers.merged_metrics service.loop.gc_tuning service.loop.topic_ends service.monitoring.health
service.loop.availability
service.loop.record_queue

# The way of a message: bytes → message → x → prediction → update.
service.models.binary service.models.multiclass service.models.river
service.messages.schema service.partition.label_join service.models.registry service.datasets.files service.datasets.stream_simulator
service.messages.decoder
service.messages.dead_letter service.messages.encoder
service.partition.processor
service.models.explanation service.monitoring.error_history service.monitoring.recent_predictions
service.monitoring.evaluation service.monitoring.metrics service.checkpoints.snapshot service.models.model_file
service.checkpoints.log service.partition.rejection_limit
service.checkpoints.status

# Streams: each adapter a stack of its own.
service.transport.sqlite.schema service.transport.sqlite.files service.transport.sqlite.assignment
service.transport.sqlite.liveness service.transport.sqlite.heartbeat
service.transport.sqlite.database
service.transport.sqlite.log service.transport.sqlite.group
service.transport.sqlite.consumer
service.transport.sqlite.transport
service.transport.sqlite
service.transport.memory
service.transport.kafka.limits
service.transport.kafka.writer
service.transport.kafka.member service.transport.kafka.transport
service.transport.kafka.kafka_python.errors
service.transport.kafka.kafka_python.cluster service.transport.kafka.kafka_python.membership
service.transport.kafka.kafka_python.messages
service.transport.kafka.kafka_python.producer
service.transport.kafka.kafka_python.consumer
service.transport.kafka.kafka_python.transport
service.transport.kafka.kafka_python
service.transport.kafka.confluent.errors
service.transport.kafka.confluent.cluster service.transport.kafka.confluent.messages
service.transport.kafka.confluent.producer service.transport.kafka.confluent.membership
service.transport.kafka.confluent.consumer
service.transport.kafka.confluent.transport
service.transport.kafka.confluent
service.transport

# Settings become parts, parts a loop.
service.settings.forms
service.settings.fields
service.settings.load
service.models.made_with
service.transport.topics service.partition.factory service.monitoring.charts
service.datasets.labelled_examples service.loop.growth
service.checkpoints.input_loss service.checkpoints.log_loss
service.audit service.audit.findings
service.audit.history service.audit.outputs service.audit.letters service.audit.reader
service.audit.cases service.audit.counts service.audit.commits service.audit.predictions
service.audit.settings_used
service.audit.window service.audit.open_cases
service.audit.shared_ids
service.audit.pairing
service.audit.ledger
service.audit.inputs
service.audit.partition
service.audit.verdict
service.audit.auditor
service.loop.recovery service.dead_letters.replay service.monitoring.throughput_log service.monitoring.live_models service.loop.end_of_input
service.loop.task
service.loop.tasks service.loop.reset
service.loop.runner
service.workers.worker
service.workers.process
service.workers.supervisor

# What people and other programs see.
service.web service.web.problems
service.web.responses service.web.guard service.web.probes
service.web.views service.web.page
service.web.api
service.web.relay
service.web.app service.web.server
service.cli.output
service.cli.app
service.cli.options service.cli.progress service.cli.sender service.cli.summary service.cli.table
service.cli.line_filter service.cli.checkpoint_reset service.cli.model_files
service.cli.training
service.cli.commands.train service.cli.commands.test service.cli.commands.plot
service.cli.commands.completion service.cli.commands.config service.cli.commands.schema service.cli.commands.serve
service.cli.commands.consume service.cli.commands.produce service.cli.commands.replay service.cli.commands.inspect
service.cli.commands.status service.cli.commands.verify service.cli.commands.checkpoint service.cli.commands.dead_letters
service.cli.commands.demo
service.cli
service.__main__
"""

# Who may import these: any module whose name begins so. Of ours and of others.
FENCES = {
    "kafka": ["service.transport.kafka.kafka_python"],
    "confluent_kafka": ["service.transport.kafka.confluent"],
    "sqlite3": ["service.transport.sqlite"],
    "click": ["service.cli"],
    "rich": ["service.cli"],
    "multiprocessing": ["service.workers.worker", "service.workers.process"],
    "matplotlib": ["service.monitoring.charts", "service.cli.commands.plot"],
    "fastapi": ["service.web"],
    "fastapi_offline": ["service.web"],
    "starlette": ["service.web"],
    "uvicorn": ["service.web"],
    "service.transport.kafka.kafka_python": ["service.transport"],
    "service.transport.kafka.confluent": ["service.transport"],
    "service.transport.sqlite": ["service.transport"],
    "service.transport.memory": ["service.transport"],
    "service.transport": ["service.transport", "service.partition.factory"],
    "service.web": ["service.web", "service.cli"],
    "service.cli": ["service.cli", "service.__main__"],
}
OPEN_TO_ALL = "service.stream"
"""The protocol of the streams is what the other rooms know of them."""

# Whatever reaches the outside world or tells the time: not for the state machine of a partition.
FILES = {"glob", "io", "os", "pathlib", "shutil", "sqlite3", "tempfile"}
CLIENTS = {"confluent_kafka", "httpx", "kafka", "prometheus_client"}
NETWORK = {"asyncio", "http", "selectors", "socket", "urllib"} | CLIENTS
PROCESS = {"click", "importlib", "logging", "multiprocessing", "signal", "subprocess", "sys", "threading"}
CLOCKS_AND_CHANCE = {"datetime", "random", "secrets", "time", "uuid"}
IMPURE = FILES | NETWORK | PROCESS | CLOCKS_AND_CHANCE
IMPURE_CALLS = {"open", "print", "input"}
IMPURE_WITH_REASON = {
    "perceptron_core": {"importlib"},  # what brings NumPy is imported when it is asked for
    "service.models.registry": {"importlib", "pathlib", "sys"},  # a --model of one's own is a file
    "perceptron_core.base.multiclass": {"sys"},  # whether NumPy is imported, without importing it
}

MAX_MODULE_LINES = 350  # style.md: about 300
MAX_FUNCTION_LINES = 50  # without the docstring; style.md: about 30


def module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {
    module_name(path): path
    for package in ("perceptron_core", "service")
    for path in sorted((ROOT / package).rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}
LAYERS = [line.split() for line in MAP.splitlines() if not line.startswith("#")]
LAYER_OF = {module: depth for depth, layer in enumerate(LAYERS) for module in layer}


def imports(module):
    """Name all that a module imports, anywhere in it: modules of ours in full."""
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: a relative import hides where it points"
            submodules = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES.keys()
            yield from submodules or {node.module}


def imports_of_ours(module):
    return {name for name in imports(module) if name in MODULES}


def belongs_to(name, package):
    return name == package or name.startswith(f"{package}.")


def closure(module):
    """Give the module and all of ours that it imports, directly or not."""
    found, left = set(), {module}
    while left:
        name = left.pop()
        found.add(name)
        left |= imports_of_ours(name) - found
    return found


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def length(node):
    """Count a function's lines without its docstring."""
    docstring = node.body[0] if ast.get_docstring(node) is not None else None
    documented = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
    return node.end_lineno - node.lineno + 1 - documented


def test_the_map_shows_every_module_once_and_no_other():
    listed = [module for layer in LAYERS for module in layer]
    assert len(listed) == len(set(listed))
    assert {"not on the map": MODULES.keys() - set(listed)} == {"not on the map": set()}
    assert {"on the map, but gone": set(listed) - MODULES.keys()} == {"on the map, but gone": set()}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module):
    depth = LAYER_OF.get(module, len(LAYERS))
    wrong = {name for name in imports_of_ours(module) if LAYER_OF.get(name, 0) >= depth}
    assert not wrong


@pytest.mark.parametrize("module", MODULES)
def test_a_fence_is_crossed_by_those_named_only(module):
    for name in set(imports(module)) - {OPEN_TO_ALL}:
        fence = next((fenced for fenced in FENCES if belongs_to(name, fenced)), None)
        assert fence is None or any(belongs_to(module, allowed) for allowed in FENCES[fence]), name


@pytest.mark.parametrize("module", sorted(closure("service.partition.processor")))
def test_the_processor_and_what_it_imports_do_no_io_and_read_no_clock(module):
    roots = {name.partition(".")[0] for name in imports(module)}
    assert not roots & IMPURE - IMPURE_WITH_REASON.get(module, set())
    called = {
        node.func.id
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & IMPURE_CALLS


def test_the_core_knows_nothing_of_the_service():
    for module in MODULES:
        if belongs_to(module, "perceptron_core"):
            assert not any(belongs_to(name, "service") for name in imports(module)), module


@pytest.mark.parametrize("module", MODULES)
def test_files_and_functions_fit_the_eye(module):
    text = MODULES[module].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_MODULE_LINES
    long = {node.name: length(node) for node in functions(TREES[module]) if length(node) > MAX_FUNCTION_LINES}
    assert not long


@pytest.mark.parametrize("module", MODULES)
def test_a_docstring_opens_every_module(module):
    assert ast.get_docstring(TREES[module])
