# make demo   set up everything and run the main job on the embedded broker; DEMO_ARGS=--keep: go on until Ctrl-C
# make install  the package in $(VENV), compiled, which takes a minute: the same answers, twice to fifty times as fast
# make test   set up everything and pass the tests, with what was built and installed, not with what lies here
# make test-uncompiled   the same for the core as it runs where there is no compiler
# make test-sanitized   the core with its memory and its arithmetic checked by the compiler, allocations failing
# make test-lowest   the fast tests with the lowest releases of what the package depends on
# make test-newest   make test with the newest releases that there are, whatever constraints.txt says; lists those beyond a bound
# make test-pythons  the fast tests on each Python from 3.11 to 3.14 that is found
# make nightly  make test with what tests/nightly.toml names, the long forms of what is short by default; then uncompiled, sanitized, lowest
# make coverage  the fast tests, and which lines they leave out
# make lock   renew constraints.txt, the releases that CI installs
# make dev    an editable installation, compiled in place; make quick   what to run before each commit, within a minute
# make lint   ruff with all rules, import contracts, mypy --strict
# make chaos  the long form of the tests that kill, freeze and cut things
# make simulate  thousands of runs in which everything goes wrong that can; SEEDS=1000000, or SEED=7 for one with its story
# make bench  speed, as ratios against peers in the same run
# make profile  processor time of serve per event, by stage, for each client
# make docs   the documentation site, strictly; make docs-plots redraws its pictures
# make dist   sdist and wheel; make release-check adds licences, bill of materials, known vulnerabilities

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEMO_ARGS ?=
PYTEST_ARGS ?=
# A file of tests stays together: its broker and its clock are its own. PYTEST_ARGS="-n 0" for one process, as for --pdb.
# Half of the files wait for brokers and processes most of the time, so that four share two cores.
PARALLEL ?= -n 4 --dist loadfile --no-loadscope-reorder
BENCH  ?= .venv-bench
RELEASE ?= .venv-release
BENCH_ARGS ?=
SEEDS ?= 10000
# uv leaves it to the first import to compile modules; images that stay small leave it to each.
unexport PYTHONDONTWRITEBYTECODE
# LOCKED=1 installs the releases that constraints.txt names.
export PIP_CONSTRAINT := $(if $(LOCKED),$(CURDIR)/constraints.txt,$(PIP_CONSTRAINT))
# What `make dev` has installed serves as well, where nothing depends on its being the wheel.
PACKAGE = $(if $(wildcard $(VENV)/installed-editable),dev,$(VENV)/installed-dev)
# The demo is as well interpreted: nobody waits for a compiler to see it.
DEMONSTRATED = $(firstword $(wildcard $(VENV)/installed $(VENV)/installed-editable) $(VENV)/installed-uncompiled)
SOURCES := $(shell find perceptron_core service -type f -not -name '*.so' -not -path '*/__pycache__/*')
UNCOMPILED := $(CURDIR)/build/uncompiled
# The package comes last: the modules that pytest imports first for doctests would be those that lie here.
UNCOMPILED_TESTS := $(addprefix tests/perceptron_core/,arrays formats/test_model_bytes.py structured text weights \
  $(addprefix linear/,test_binary.py test_data_frames.py test_example_weights.py test_multiclass.py) test_compiled.py \
  test_golden.py test_import.py test_public_surface.py) perceptron_core
SANITIZED_TESTS := $(addprefix tests/perceptron_core/,$(addsuffix .py,test_failing_allocations test_golden \
  formats/test_model_bytes formats/test_hostile_states weights/test_weight_table weights/test_hashed_index \
  weights/test_values text/test_hasher arrays/test_text_batch)) \
  tests/service/messages/test_event_reader.py tests/service/partition/test_answers.py tests/service/stream/test_batches.py
SANITIZED := $(CURDIR)/build/sanitized
# Half of the time goes to one file, whose cases are processes of their own.
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

# The service in the tests' own process: machine code cannot be traced, and processes that tests start are not.
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

# Where the interpreter runs other code than the compiler's, or code that it alone can run; that each learner gives the
# same bits in both is tested on the compiled core (tests/perceptron_core/test_compiled.py). Whatever is installed will do.
test-uncompiled: $(if $(wildcard $(VENV)/installed-dev $(VENV)/installed-editable),,$(VENV)/installed-editable)
	rm -rf $(UNCOMPILED) && mkdir -p $(UNCOMPILED) && cp -R perceptron_core $(UNCOMPILED)
	find $(UNCOMPILED) -name '*.so' -delete
	PYTHONPATH=$(UNCOMPILED) PERCEPTRON_REQUIRE_COMPILED=0 $(BIN)/pytest \
	  $(UNCOMPILED_TESTS) $(PARALLEL) $(PYTEST_ARGS)

# What lies here is what is imported; compiled again only what has changed.
dev: $(VENV)/installed-editable
	$(BIN)/python setup.py --quiet build_ext --inplace

quick: dev
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/lint-imports --no-cache > /dev/null
	$(BIN)/pytest -q -x -m 'not slow and not kafka' $(QUICK_TESTS) -n 2 --dist loadfile $(PYTEST_ARGS)

# A copy of the sources, so that nothing built for users is mixed with it. Python's own allocator hands out parts of
# larger blocks, whose ends nobody could see.
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

# The declared minimum of each package that is imported, and what these need as new as it comes. Interpreted: without
# the bounds on time; click and Pydantic import other modules there.
test-lowest: export PIP_CONSTRAINT :=
test-lowest: $(VENV)/bin/pip
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --upgrade 'pip>=25.1' uv
	PERCEPTRON_UNCOMPILED=1 $(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct '.[confluent,plot,schemas,sklearn]'
	$(LOWEST)/bin/pip install --quiet --group lowest
	$(LOWEST)/bin/pytest -p no:anyio -m 'not slow and not kafka' -k 'not sizes and not serve_help' $(LOWEST_TESTS) $(PARALLEL) $(PYTEST_ARGS)

# What is listed at the end is newer than what was tested: an upper bound, here or of another package, keeps it out.
test-newest:
	rm -rf $(NEWEST)
	$(MAKE) test VENV=$(NEWEST) LOCKED= PIP_CONSTRAINT=
	$(NEWEST)/bin/pip list --outdated

lint: $(PACKAGE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cython-lint perceptron_core service
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

chaos: $(PACKAGE)
	PERCEPTRON_TESTS=all PERCEPTRON_CHAOS=long $(BIN)/pytest tests/chaos --timeout 3600 $(PYTEST_ARGS)

# SEED=7 runs one seed and tells its story; DEFECT=name puts a defect back first (tests/simulation/defects.py).
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

# What is looked at is what users get: the wheel with its extras, in an environment with nothing else.
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

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "error: Python 3.11 or newer is needed; hint: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "creating the environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --upgrade 'pip>=25.1' uv || $(BIN)/pip install --quiet --upgrade 'pip>=25.1'

# Not editable: it builds the wheel, compiled, and installs that.
$(VENV)/installed: $(VENV)/bin/pip pyproject.toml setup.py $(SOURCES)
	@echo 'installing the package, compiled, and what it needs'
	@$(BIN)/python -m tools.install .
	@rm -f $(VENV)/installed-editable $(VENV)/installed-uncompiled
	@touch $@

$(VENV)/installed-uncompiled: $(VENV)/bin/pip pyproject.toml setup.py $(SOURCES)
	@echo 'installing the package, interpreted, and what it needs'
	@PERCEPTRON_UNCOMPILED=1 $(BIN)/python -m tools.install .
	@touch $@

# --group reads [dependency-groups] of pyproject.toml: what only developers need; it is fetched while the core compiles.
$(VENV)/installed-dev: $(VENV)/bin/pip pyproject.toml setup.py $(SOURCES)
	@echo 'installing the package, compiled, and what it and its tests need'
	@$(BIN)/python -m tools.install --group dev .
	@rm -f $(VENV)/installed-editable $(VENV)/installed-uncompiled
	@touch $(VENV)/installed $@

# Four processes begin together, and each would compile for itself what it imports before it collects tests. The first
# to collect compiles the rest, while the others wait (tests/conftest.py).
$(VENV)/imported: $(VENV)/installed-dev
	@$(BIN)/pytest --collect-only --quiet tests/test_nightly.py > /dev/null
	@touch $@

$(VENV)/installed-editable: $(VENV)/bin/pip pyproject.toml
	@echo 'installing the package as it lies here, and what it and its tests need'
	@PERCEPTRON_UNCOMPILED=1 $(BIN)/python -m tools.install --editable --group dev '.[confluent,plot,schemas,sklearn]'
	@rm -f $(VENV)/installed $(VENV)/installed-dev $(VENV)/installed-uncompiled
	@touch $@

$(VENV)/installed-release: $(VENV)/installed
	$(BIN)/pip install --quiet --group release
	@touch $@

# What is measured is what users install: the built package, not the sources; rebuilt when they change.
$(BENCH)/project/installed: pyproject.toml setup.py $(SOURCES)
	$(PYTHON) -m venv $(BENCH)/project
	$(BENCH)/project/bin/pip install --quiet --upgrade 'pip>=25.1'
	rm -rf build
	$(BENCH)/project/bin/pip install --quiet --group bench '.[confluent]'
	@touch $@

# Quix Streams pins other releases of clients that the project uses, so it lives apart.
$(BENCH)/quix/installed:
	$(PYTHON) -m venv $(BENCH)/quix
	$(BENCH)/quix/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(BENCH)/quix/bin/pip install --quiet quixstreams 'river>=0.26' \
	  || { echo 'warning: no Quix Streams for this Python; its row will be skipped'; rm -rf $(BENCH)/quix/bin; }
	@touch $@
