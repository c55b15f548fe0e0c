# make demo     run the demo on a SQLite stream; DEMO_ARGS=--keep runs it until Ctrl-C
# make install  install the package in $(VENV), compiled, in about a minute: the same results, 2 to 50 times as fast
# make test     install the package and its test dependencies, and test the installed package
# make test-uncompiled  test the core without compiled modules
# make test-sanitized   test the core under AddressSanitizer and UBSan, with failing allocations
# make test-lowest   run the fast tests with the lowest supported releases of the dependencies
# make test-newest   run `make test` with the newest releases, without constraints.txt; list releases beyond an upper bound
# make test-pythons  run the fast tests on each installed Python from 3.11 to 3.14
# make nightly  run all tests, also those of tests/nightly.toml, in their long forms; then uncompiled, sanitized, lowest
# make coverage  run the fast tests and list the lines that they do not run
# make lock     renew constraints.txt, the releases that CI installs
# make dev      make an editable installation, compiled in place
# make quick    check the rules and run the fast tests: before each commit
# make lint     run ruff with all rules, the import contracts and mypy --strict
# make chaos    run the long form of the tests that kill and freeze processes and cut connections
# make simulate  run thousands of simulated faults; SEEDS=1000000, or SEED=7 for one run with a line for each step
# make bench    measure speed, as ratios to other programs in the same run
# make profile  measure the processor time of `serve` per event, by stage, for each client
# make docs     build the documentation site, where warnings are errors; make docs-plots draws its plots
# make dist     build sdist and wheel; make release-check adds licences, bill of materials, known vulnerabilities

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEMO_ARGS ?=
PYTEST_ARGS ?=
# The tests of a file run in one worker, because they share a broker. PYTEST_ARGS="-n 0" runs all in one process, as for --pdb.
# Half of the files mostly wait for brokers and processes, so that four workers suit two cores.
PARALLEL ?= -n 4 --dist loadfile --no-loadscope-reorder
# Rules of pycodestyle that C in Cython breaks, as cython-lint has them, which would start it for each file.
UNLIKE_PYTHON := E121,E123,E126,E133,E203,E211,E225,E226,E227,E241,E242,E251,E271,E272,E275,E4,E704,E9,W5
BENCH  ?= .venv-bench
RELEASE ?= .venv-release
BENCH_ARGS ?=
SEEDS ?= 10000
# uv does not compile modules to bytecode: the first import does, unless this variable is set.
unexport PYTHONDONTWRITEBYTECODE
# LOCKED=1 installs the releases that constraints.txt names.
export PIP_CONSTRAINT := $(if $(LOCKED),$(CURDIR)/constraints.txt,$(PIP_CONSTRAINT))
# An editable installation by `make dev` is used where the wheel is not required.
PACKAGE = $(if $(wildcard $(VENV)/installed-editable),dev,$(VENV)/installed-dev)
# The demo needs no compiled package, so that it starts sooner.
DEMONSTRATED = $(firstword $(wildcard $(VENV)/installed $(VENV)/installed-editable) $(VENV)/installed-uncompiled)
SOURCES := $(shell find perceptron_core service -type f -not -name '*.so' -not -path '*/__pycache__/*')
UNCOMPILED := $(CURDIR)/build/uncompiled
# The package comes last: otherwise pytest would import modules of this folder first, for doctests.
UNCOMPILED_TESTS := $(addprefix tests/perceptron_core/,arrays formats/test_model_bytes.py structured text weights \
  $(addprefix linear/,test_binary.py test_data_frames.py test_example_weights.py test_multiclass.py) test_compiled.py \
  test_golden.py test_import.py) perceptron_core
SANITIZED_TESTS := $(addprefix tests/perceptron_core/,$(addsuffix .py,test_failing_allocations test_golden \
  formats/test_model_bytes formats/test_hostile_states weights/test_weight_table weights/test_hashed_index \
  weights/test_values text/test_hasher arrays/test_text_batch)) \
  tests/service/messages/test_event_reader.py tests/service/partition/test_output_writer.py tests/service/stream/test_batches.py
SANITIZED := $(CURDIR)/build/sanitized
# Half of the time goes to one file, whose cases start processes.
SANITIZED_PARALLEL := -n 2 --dist worksteal
LOWEST ?= .venv-lowest
NEWEST ?= .venv-newest
LOWEST_TESTS ?= $(addprefix tests/service/,files messages models partition settings web) \
  $(addprefix tests/service/cli/,$(addsuffix .py,test_app test_options $(addprefix commands/test_,config models replay training))) \
  tests/perceptron_core/test_golden.py
QUICK_TESTS := tests/service tests/perceptron_core tests/test_architecture.py
PYTHONS ?= $(or $(wildcard $(HOME)/.pyenv/versions/3.1[1-4].*/bin/python3),python3.11 python3.12 python3.13 python3.14)

.PHONY: demo install dev quick test test-uncompiled test-sanitized test-lowest \
  test-newest test-pythons test-all nightly \
  coverage lock lint chaos simulate bench profile docs docs-plots dist release-check clean

demo: $(DEMONSTRATED)
	$(BIN)/perceptron demo $(DEMO_ARGS)
	@test ! -e $(VENV)/installed-uncompiled || echo '  make install                  the same, compiled, in a minute: twice to fifty times as fast'

install: $(VENV)/installed

test: $(VENV)/imported
	$(BIN)/pytest $(PARALLEL) $(PYTEST_ARGS)

nightly: test-all test-uncompiled test-sanitized test-lowest

test-all: $(VENV)/installed-dev
	$(BIN)/pip install --quiet --group export
	PERCEPTRON_TESTS=all PERCEPTRON_CHAOS=long PERCEPTRON_SIMULATION_SEEDS=100000 PERCEPTRON_TORN_TRIALS=50 PERCEPTRON_FUZZ_INPUTS=10000000 \
	  PERCEPTRON_FUZZ_STATES=1000000 \
	  $(BIN)/pytest $(PARALLEL) --timeout 7200 $(PYTEST_ARGS)

# Machine code and the processes that tests start are not traced.
coverage: dev
	$(BIN)/pip install --quiet --group coverage
	$(BIN)/coverage run -m pytest -q -m 'not slow and not kafka' $(QUICK_TESTS) $(PYTEST_ARGS)
	$(BIN)/coverage report --skip-covered

test-pythons:
	@for python in $(PYTHONS); do \
	  $$python --version 2>/dev/null || { echo "$$python: not found"; continue; }; \
	  venv=$$($$python -c 'import sys; print(".venv-python%d.%d" % sys.version_info[:2])'); \
	  $(MAKE) --no-print-directory test PYTHON=$$python VENV=$$venv \
	    PYTEST_ARGS="-m 'not slow and not kafka' $(QUICK_TESTS) $(PYTEST_ARGS)" || exit 1; \
	done

lock: $(VENV)/bin/pip
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --group dev \
	  --no-annotate --no-emit-index-url --custom-compile-command 'make lock' pyproject.toml --output-file constraints.txt

# These tests cover code that differs without a compiler. tests/perceptron_core/test_compiled.py, on the compiled core,
# tests that each learner computes the same bits in both. Any installation serves.
test-uncompiled: $(if $(wildcard $(VENV)/installed-dev $(VENV)/installed-editable),,$(VENV)/installed-editable)
	rm -rf $(UNCOMPILED) && mkdir -p $(UNCOMPILED) && cp -R perceptron_core $(UNCOMPILED)
	find $(UNCOMPILED) -name '*.so' -delete
	PYTHONPATH=$(UNCOMPILED) PERCEPTRON_REQUIRE_COMPILED=0 $(BIN)/pytest \
	  $(UNCOMPILED_TESTS) $(PARALLEL) $(PYTEST_ARGS)

# This folder is imported; only changed modules are compiled again.
dev: $(VENV)/installed-editable
	$(BIN)/python setup.py --quiet build_ext --inplace

quick: dev
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/lint-imports --no-cache > /dev/null
	$(BIN)/pytest -q -x -m 'not slow and not kafka' $(QUICK_TESTS) -n 2 --dist loadfile $(PYTEST_ARGS)

# The copy of the sources keeps this build apart from others. PYTHONMALLOC=malloc: Python's own allocator divides large
# blocks, and AddressSanitizer cannot see the ends of their parts.
test-sanitized: $(VENV)/installed-dev
	@case "$$(gcc -print-file-name=libasan.so 2>/dev/null)" in /*) ;; \
	  *) echo "skipped: the core is not sanitized, as gcc or its libasan is missing"; exit 0;; esac; set -ex; \
	rm -rf $(SANITIZED); mkdir -p $(SANITIZED)/source; \
	cp -Rp perceptron_core service setup.py pyproject.toml README.md LICENSE $(SANITIZED)/source; \
	if [ -d build/c ]; then mkdir $(SANITIZED)/source/build && cp -Rp build/c $(SANITIZED)/source/build; fi; \
	find $(SANITIZED)/source -name '*.so' -delete; \
	PERCEPTRON_SANITIZE=address,undefined $(BIN)/pip install --quiet --no-deps --target $(SANITIZED)/site $(SANITIZED)/source; \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	  PYTHONMALLOC=malloc PERCEPTRON_FUZZ_STATES=20000 PYTHONPATH=$(SANITIZED)/site PERCEPTRON_REQUIRE_COMPILED=1 $(BIN)/pytest $(SANITIZED_TESTS) $(SANITIZED_PARALLEL) $(PYTEST_ARGS)

# Direct dependencies have their declared minimum, indirect ones their newest releases. The core is interpreted, so tests
# of time limits are left out; so are tests of imports, because former releases of click and Pydantic import other modules.
test-lowest: export PIP_CONSTRAINT :=
test-lowest: $(VENV)/bin/pip
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --upgrade 'pip>=25.1' uv
	PERCEPTRON_UNCOMPILED=1 $(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct '.[confluent,plot,schemas,sklearn]'
	$(LOWEST)/bin/pip install --quiet --group lowest
	$(LOWEST)/bin/pytest -p no:anyio -m 'not slow and not kafka' -k 'not sizes and not serve_help' $(LOWEST_TESTS) $(PARALLEL) $(PYTEST_ARGS)

# The list at the end has newer releases that an upper bound, here or of another package, excluded.
test-newest:
	rm -rf $(NEWEST)
	$(MAKE) test VENV=$(NEWEST) LOCKED= PIP_CONSTRAINT=
	$(NEWEST)/bin/pip list --outdated

lint: $(PACKAGE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/cython-lint --no-pycodestyle perceptron_core service
	$(BIN)/pycodestyle --filename='*.pyx,*.pxd' --max-line-length=120 --ignore=$(UNLIKE_PYTHON) perceptron_core service
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

chaos: $(PACKAGE)
	PERCEPTRON_TESTS=all PERCEPTRON_CHAOS=long $(BIN)/pytest tests/chaos --timeout 3600 $(PYTEST_ARGS)

# SEED=7 runs one seed and prints each step; DEFECT=name adds a known defect first (tests/simulation/defects.py).
simulate: $(PACKAGE)
	$(BIN)/python -m tests.simulation $(if $(SEED),--seed $(SEED),--seeds $(SEEDS)) $(if $(DEFECT),--defect $(DEFECT))

# BENCH_ARGS: --quick, --only NAME, --runs N, --help (see benchmarks/run.py and measures.toml).
bench: $(BENCH)/project/installed $(BENCH)/quix/installed
	$(BENCH)/project/bin/python benchmarks/run.py $(BENCH_ARGS)

# EVENTS=300000: a longer run.
profile: $(BENCH)/project/installed
	$(BENCH)/project/bin/python benchmarks/stages.py $(EVENTS)

docs: $(PACKAGE)
	$(BIN)/python -m tools.documentation.build

docs-plots: $(PACKAGE)
	$(BIN)/python -m tools.documentation.plots

dist: $(VENV)/installed-release
	rm -rf dist build/lib* build/bdist.*
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz

# The checks examine what users install: the wheel with its extras, in an environment with nothing else.
release-check: dist
	$(PYTHON) -m venv --clear $(RELEASE)
	$(RELEASE)/bin/pip install --quiet "$$(echo dist/*.whl)[confluent,plot,schemas]"
	$(RELEASE)/bin/perceptron --version
	$(BIN)/pip-licenses --python $(RELEASE)/bin/python --format markdown --order license --with-urls --output-file dist/licences.md
	$(BIN)/cyclonedx-py environment $(RELEASE)/bin/python --output-reproducible \
	  --of JSON --output-file dist/sbom.cdx.json
	$(BIN)/python -m tools.release.audit "$$($(RELEASE)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" dist/audit.json

clean:
	rm -rf $(VENV) $(LOWEST) $(NEWEST) .venv-python3.* $(BENCH) $(RELEASE) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The pip that $(PYTHON) has installs a new one there. Where it has none, venv installs the bundled pip first: 4 s more.
$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "error: Python 3.11 or newer is needed; hint: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "creating the environment $(VENV)"
	@$(PYTHON) -m venv --without-pip $(VENV)
	@$(PYTHON) -m pip --python $(BIN)/python install --quiet 'pip>=25.1' uv 2> /dev/null \
	  || { $(PYTHON) -m venv $(VENV) && $(BIN)/pip install --quiet --upgrade 'pip>=25.1' && { $(BIN)/pip install --quiet uv || true; }; }

# Build the compiled wheel and install it.
$(VENV)/installed: $(VENV)/bin/pip pyproject.toml setup.py $(SOURCES)
	@echo 'installing the package, compiled, and what it needs'
	@$(BIN)/python -m tools.install .
	@rm -f $(VENV)/installed-editable $(VENV)/installed-uncompiled
	@touch $@

$(VENV)/installed-uncompiled: $(VENV)/bin/pip pyproject.toml setup.py $(SOURCES)
	@echo 'installing the package, interpreted, and what it needs'
	@PERCEPTRON_UNCOMPILED=1 $(BIN)/python -m tools.install .
	@touch $@

# --group reads [dependency-groups] of pyproject.toml: packages for developers only, fetched while the core compiles.
$(VENV)/installed-dev: $(VENV)/bin/pip pyproject.toml setup.py $(SOURCES)
	@echo 'installing the package, compiled, and what it and its tests need'
	@$(BIN)/python -m tools.install --group dev .
	@rm -f $(VENV)/installed-editable $(VENV)/installed-uncompiled
	@touch $(VENV)/installed $@

# Otherwise each of four workers would compile the modules that it imports before collection. The first to collect compiles
# the other modules, while the others wait (tests/conftest.py).
$(VENV)/imported: $(VENV)/installed-dev
	@$(BIN)/pytest --collect-only --quiet tests/test_nightly.py > /dev/null
	@touch $@

$(VENV)/installed-editable: $(VENV)/bin/pip pyproject.toml
	@echo 'installing the package, editable, and what it and its tests need'
	@PERCEPTRON_UNCOMPILED=1 $(BIN)/python -m tools.install --editable --group dev '.[confluent,plot,schemas,sklearn]'
	@rm -f $(VENV)/installed $(VENV)/installed-dev $(VENV)/installed-uncompiled
	@touch $@

$(VENV)/installed-release: $(VENV)/installed
	$(BIN)/pip install --quiet --group release
	@touch $@

# Benchmarks measure the installed package, not the sources; it is rebuilt when they change.
$(BENCH)/project/installed: pyproject.toml setup.py $(SOURCES)
	$(PYTHON) -m venv $(BENCH)/project
	$(BENCH)/project/bin/pip install --quiet --upgrade 'pip>=25.1'
	rm -rf build
	$(BENCH)/project/bin/pip install --quiet --group bench '.[confluent]'
	@touch $@

# Quix Streams pins other releases of the Kafka clients, so it has its own environment.
$(BENCH)/quix/installed:
	$(PYTHON) -m venv $(BENCH)/quix
	$(BENCH)/quix/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(BENCH)/quix/bin/pip install --quiet quixstreams 'river>=0.26' \
	  || { echo 'warning: no Quix Streams for this Python; its row will be skipped'; rm -rf $(BENCH)/quix/bin; }
	@touch $@
