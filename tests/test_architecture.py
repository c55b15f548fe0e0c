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
perceptron_core.errors perceptron_core.version perceptron_core.step
perceptron_core.values perceptron_core.envelope perceptron_core.ascii
perceptron_core.patterns
perceptron_core.tokens
perceptron_core.murmur perceptron_core.repeats
perceptron_core.text
perceptron_core.sparse perceptron_core.frames perceptron_core.explanation perceptron_core.schedules
perceptron_core.entries perceptron_core.prefetch
perceptron_core.names perceptron_core.variances
perceptron_core.slots
perceptron_core.hashed_slots perceptron_core.rules perceptron_core.multiclass_rules perceptron_core.copies
perceptron_core.batches
perceptron_core.csr perceptron_core.text_batches
perceptron_core.confidence perceptron_core.kernels
perceptron_core.binary
perceptron_core.compiled perceptron_core.voted_perceptron perceptron_core.kernel_perceptron
perceptron_core.linear perceptron_core.averaged_perceptron
perceptron_core.perceptron perceptron_core.passive_aggressive perceptron_core.confidence_weighted
perceptron_core.margin_perceptron perceptron_core.arow perceptron_core.scw
perceptron_core.multiclass perceptron_core.tables perceptron_core.viterbi
perceptron_core.structured perceptron_core.multiclass_linear
perceptron_core.multiclass_perceptron perceptron_core.multiclass_passive_aggressive
perceptron_core.multiclass_arow
perceptron_core.averaged_multiclass_perceptron
perceptron_core.geometry perceptron_core.chance perceptron_core.learning_curve
perceptron_core.batch_perceptron perceptron_core.separability perceptron_core.assessment
perceptron_core.training
perceptron_core.theory perceptron_core.sklearn_estimator perceptron_core.hashed_classifier
perceptron_core.serialisation
perceptron_core

# The words everything else is said in.
service service.errors service.visible service.vocabulary service.transport.base
service.kafka_settings service.secret_files service.redaction service.departure service.counters service.rows
service.features service.clock service.backoff service.logs service.visitor service.version
service.merged_metrics service.garbage service.ends service.health
service.availability
service.inbox

# The way of a message: bytes → message → x → prediction → update.
service.binary service.multiclass service.river
service.messages service.labels service.models service.sources service.playback
service.decode
service.dead_letters service.answers
service.processor
service.contributions service.history service.recent
service.evaluation service.metrics service.snapshot service.model_file
service.checkpoint service.poison
service.standing

# Streams: each adapter a stack of its own.
service.transport.sqlite.schema service.transport.sqlite.files service.transport.sqlite.assignment
service.transport.sqlite.liveness service.transport.sqlite.heartbeat
service.transport.sqlite.database
service.transport.sqlite.log service.transport.sqlite.group
service.transport.sqlite.consumer
service.transport.sqlite.transport
service.transport.sqlite
service.transport.memory
service.transport.kafka
service.transport.kafka_writer
service.transport.kafka_member service.transport.kafka_transport
service.transport.kafka_python.errors
service.transport.kafka_python.cluster service.transport.kafka_python.membership
service.transport.kafka_python.messages
service.transport.kafka_python.producer
service.transport.kafka_python.consumer
service.transport.kafka_python.transport
service.transport.kafka_python
service.transport.confluent.errors
service.transport.confluent.cluster service.transport.confluent.messages
service.transport.confluent.producer service.transport.confluent.membership
service.transport.confluent.consumer
service.transport.confluent.transport
service.transport.confluent
service.transport

# Settings become parts, parts a loop.
service.setting_forms
service.setting_fields
service.settings
service.made_with
service.topics service.assembly service.charts
service.examples service.growth
service.input_loss service.log_loss
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
service.recovery service.redelivery service.activity service.live service.group_end
service.task
service.tasks service.reset
service.runner
service.worker
service.worker_process
service.workers

# What people and other programs see.
service.web service.web.problems
service.web.answers service.web.guard service.web.probes
service.web.window service.web.page
service.web.api
service.web.relay
service.web.app service.web.server
service.cli.output
service.cli.app
service.cli.options service.cli.progress service.cli.sender service.cli.summary service.cli.table
service.cli.line_filter service.cli.checkpoint_reset service.cli.model_files
service.cli.training
service.cli.train service.cli.test service.cli.plot
service.cli.completion service.cli.config service.cli.schema service.cli.serve
service.cli.consume service.cli.produce service.cli.replay service.cli.inspect
service.cli.status service.cli.verify service.cli.checkpoint service.cli.dead_letters
service.cli.demo
service.cli
service.__main__
"""

# Who may import these: any module whose name begins so. Of ours and of others.
FENCES = {
    "kafka": ["service.transport.kafka_python"],
    "confluent_kafka": ["service.transport.confluent"],
    "sqlite3": ["service.transport.sqlite"],
    "click": ["service.cli"],
    "rich": ["service.cli"],
    "multiprocessing": ["service.worker", "service.worker_process"],
    "matplotlib": ["service.charts", "service.cli.plot"],
    "fastapi": ["service.web"],
    "fastapi_offline": ["service.web"],
    "starlette": ["service.web"],
    "uvicorn": ["service.web"],
    "service.transport.kafka_python": ["service.transport"],
    "service.transport.confluent": ["service.transport"],
    "service.transport.sqlite": ["service.transport"],
    "service.transport.memory": ["service.transport"],
    "service.transport": ["service.transport", "service.assembly"],
    "service.web": ["service.web", "service.cli"],
    "service.cli": ["service.cli", "service.__main__"],
}
OPEN_TO_ALL = "service.transport.base"
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
    "service.models": {"importlib", "pathlib", "sys"},  # a --model of one's own is a file
    "perceptron_core.multiclass": {"sys"},  # whether NumPy is imported, without importing it
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


@pytest.mark.parametrize("module", sorted(closure("service.processor")))
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
