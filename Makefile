# Few verbs, each complete on a fresh clone with Python alone. PYTHON names the interpreter (3.11 or newer).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
DATA   ?= $(wildcard ../shared/data)
STAMP  := $(VENV)/.installed

.PHONY: demo test lane campaign mutants lint bench tck oracle wheel release pythons lock ready

demo: ready
	@$(BIN)/python -m doxa.cli demo

# On all processors, with one worker more than there are, since some tests wait for the limits of
# others. What is left over at the end is shared out again (worksteal), so that no file holds up the
# rest.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))')
test: ready
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The same tests with every memory on a replica of a shared log in PostgreSQL (tests/lane.py).
# TESTS="tests/recall tests/app" chooses.
lane: ready
	@sh scripts/postgres.sh >/dev/null
	DOXA_TEST_DB=postgresql $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(or $(TESTS),tests)

# The long form of everything that is tried with random choices, of kills, damage and enumerations,
# and the adversary suite: N times what `make test` does, with one seed. LONG=1 takes hours. The
# counts are kept for docs/reliability.md, which `python -m bench table` writes. ONLY="tests/crash"
# chooses.
N ?= $(if $(LONG),200,10)
campaign: ready
	$(BIN)/python -m bench campaign --factor $(N) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),$(ONLY),--record)

# Small faults in chosen modules, and which of them no test notices (docs/testing.md).
# GROUPS="belief logic" chooses, SAMPLE=0 tries every fault.
mutants: ready
	$(BIN)/python scripts/mutants.py $(GROUPS) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

lint: ready
	$(BIN)/python -m ruff check --no-cache .
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy bench
	$(BIN)/python -m mypy scripts/mutants.py scripts/release.py scripts/cluster.py
	$(BIN)/python -m mypy examples

# Every scenario of the openCypher TCK, if its feature files are available (FEATURES=folder).
FEATURES ?= $(wildcard ../shared/data/tck)
tck: ready
	$(if $(FEATURES),$(BIN)/python -m bench tck --features $(FEATURES),@echo "No feature files: name their folder, as in make tck FEATURES=folder.")

# Random statements compared with a Neo4j server, which is emptied (docs/testing.md). STATEMENTS is
# the number of each kind, SEEDS=3:4 repeats a batch, KINDS="read call" chooses.
STATEMENTS ?= 1000
oracle: ready
	$(if $(ORACLE),$(BIN)/python -m tests.oracle --oracle $(ORACLE) --statements $(STATEMENTS) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(KINDS),--kinds "$(KINDS)"),@echo "No oracle: name the address of a Neo4j server, as in make oracle ORACLE=bolt://127.0.0.1:7687. Its data is deleted.")

bench: ready
	$(BIN)/python -m bench all $(if $(DATA),--data $(DATA))
	$(BIN)/python -m bench table

# The stamp holds the folder that the environment was made in and what it was made from. The probe
# decides: an environment of another folder, of another lock, or one that cannot import what is
# needed is installed into again; nothing else is touched. Modules are compiled here, since tests start
# hundreds of processes, each of which would compile them where PYTHONDONTWRITEBYTECODE is set.
MADE_FROM := requirements/test.txt requirements/models.txt pyproject.toml
IDENTITY   = $(CURDIR) $(shell cat $(MADE_FROM) | cksum)
PARTS     := apsw, msgspec, numpy, Stemmer, re2, typer, rich, pytest, mypy, importlib.util
FOUND     := ("ruff", "hypothesis", "mcp", "onnxruntime", "tokenizers", "xdist")
PROBE     := import pathlib, sys, $(PARTS), doxa.cli; assert all(map(importlib.util.find_spec, $(FOUND))); \
  sys.exit(pathlib.Path(doxa.__file__).resolve() != pathlib.Path("src/doxa/__init__.py").resolve())
WEIGHTS   := import sys, doxa.models; sys.exit(doxa.models.find_weights() is None)

ready:
	@if test "$$(cat $(STAMP) 2>/dev/null)" = "$(IDENTITY)" && $(BIN)/python -c '$(PROBE)' 2>/dev/null; then :; else $(MAKE) --no-print-directory install; fi
	@$(BIN)/python -c '$(WEIGHTS)' 2>/dev/null || $(MAKE) --no-print-directory weights
	@$(BIN)/python -m compileall -q src tests bench examples

.PHONY: install weights
install:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "doxa needs Python 3.11 or newer; set PYTHON=...")'
	@$(BIN)/python -c 'import pip' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --require-hashes -r requirements/test.txt
	@$(BIN)/python -c 'import $(PARTS); assert all(map(importlib.util.find_spec, $(FOUND)))' 2>/dev/null \
	  || $(PIP) install --force-reinstall --require-hashes -r requirements/test.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@echo "$(IDENTITY)" > $(STAMP)

# Retried each time until they are there: without them everything works except search by meaning.
weights:
	@$(PIP) install --no-deps --no-build-isolation ./weights \
	  || echo "The embedding model could not be built: doxa searches by words until it is (see weights/README.md)."

# Builds the wheel, installs it in an empty environment and runs the demonstration from there.
wheel: ready
	$(BIN)/python scripts/release.py wheel dist
	@$(PIP) wheel --no-deps --no-build-isolation -w dist ./weights || true
	$(PYTHON) -m venv --clear $(VENV)/wheel
	$(VENV)/wheel/bin/python -m pip --disable-pip-version-check -q install --require-hashes -r requirements/run.txt
	$(VENV)/wheel/bin/python -m pip --disable-pip-version-check -q install --no-deps --no-index --force-reinstall dist/*.whl
	cd $(VENV)/wheel && bin/python -m doxa.cli demo

# Everything of a release but the weights, into dist: the wheel, its bill of materials (CycloneDX) and
# the MCPB bundle; the bundle's manifest and the registry's server.json are checked.
RELEASE := $(VENV)/release
release: ready
	@cmp -s requirements/release.txt $(RELEASE)/made-from || { $(PYTHON) -m venv --clear $(RELEASE) \
	  && $(RELEASE)/bin/python -m pip --disable-pip-version-check -q install --require-hashes -r requirements/release.txt \
	  && cp requirements/release.txt $(RELEASE)/made-from; }
	$(BIN)/python scripts/release.py all dist --sbom-tool $(RELEASE)/bin/cyclonedx-py

# Installs the wheel on each Python from 3.11 that is on this machine, and says which are not there.
pythons: ready
	scripts/pythons.sh

# Rewrites the lock from requirements/*.in (needs uv on the path). It contains no address of an index.
LOCK := uv pip compile -q --universal --python-version 3.11.0 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links
lock:
	$(LOCK) requirements/run.in -o requirements/run.txt
	$(LOCK) requirements/test.in -o requirements/test.txt
	$(LOCK) requirements/release.in -o requirements/release.txt
