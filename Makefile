# Everything here works in a fresh clone: each target makes what it needs first.
#
#   PYTHON=python3.13   the interpreter to build the environment with (kept until another is named)
#   VENV=build/py3.13   where the environment is
#   ARGS='-k window'    passed on, by `test` and `e2e` to pytest, by `demo` to the demo
#   JOBS=0              how many processes `test` runs its tests in; 0 is none beside itself
#   OTLP=1              `demo` sends its telemetry to OTEL_EXPORTER_OTLP_ENDPOINT, or what `make up` started
#   GRAFANA_PORT=3001   for `up`, like everything else in deploy/.env

VENV   ?= .venv
PYTHON ?= $(shell cat $(VENV)/.interpreter 2>/dev/null || echo python3)
BIN    := $(VENV)/bin
JOBS   ?= logical

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo examples up down test lint types imports tools e2e frameworks services dashboards reference prerelease bench constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## run an honest and a lying tool, and see which one is caught
	@$(if $(OTLP),OTEL_EXPORTER_OTLP_ENDPOINT="$${OTEL_EXPORTER_OTLP_ENDPOINT:-http://localhost:4317}") $(BIN)/python examples/demo $(ARGS)

examples: $(VENV)/.test ## run the agents of the examples that need no server
	@for each in coding data infrastructure orders; do echo "$(BIN)/python examples/$$each"; $(BIN)/python examples/$$each || exit; done

up: ## start a collector, Jaeger, Prometheus, Alertmanager and Grafana on this machine (Docker)
	@$(PYTHON) deploy/stack.py up

down: ## stop them; what they have stored stays (ARGS=--volumes: it goes)
	@$(PYTHON) deploy/stack.py down $(ARGS)

test: $(VENV)/.test ## run the unit and integration tests
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

lint: $(VENV)/.lint ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test $(VENV)/.types ## check the types, strictly, and what a caller's type checker sees
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

imports: $(VENV)/.lint ## check that imports point down the layers
	$(BIN)/lint-imports

tools: ## build the servers that the end-to-end tests need (Go; once, some twenty minutes)
	@tools/build

e2e: $(VENV)/.e2e ## run the end-to-end tests against those servers
	$(BIN)/python -m pytest -m e2e tests/e2e $(ARGS)

frameworks: $(VENV)/.frameworks ## run the tests under agent frameworks, numpy and pandas
	$(BIN)/python -m pytest tests/integration/frameworks tests/unit/state/test_freeze.py tests/unit/state/test_freeze_honesty.py tests/unit/state/test_freeze_structure.py $(ARGS)

services: $(VENV)/.services ## run the tests against real databases, a web server and Celery (Debian, Ubuntu: apt-get install redis-server postgresql mariadb-server)
	$(BIN)/python -m pytest -m services tests/integration $(ARGS)

dashboards: $(VENV)/.deploy ## write grafana/dashboards anew from grafana/panels (Python 3.11 or newer)
	@$(BIN)/python -c 'import grafana_foundation_sdk' 2>/dev/null || { \
	  echo "grafana-foundation-sdk needs Python 3.11 or newer: make dashboards VENV=build/dashboards PYTHON=python3.12" >&2; exit 1; }
	$(BIN)/python grafana/build.py

reference: $(VENV)/.deploy ## write semconv.py and docs/telemetry.md anew from telemetry/model
	@$(BIN)/python telemetry/generate.py

# An environment of its own, from the versions of constraints.txt upwards. `.dev0` lets uv take pre-releases of these packages and of no others.
prerelease: ## run the tests of telemetry against the newest pre-release of OpenTelemetry
	@$(MAKE) --no-print-directory VENV=build/prerelease build/prerelease/.test
	@$$($(FIND_UV)) pip freeze --python build/prerelease/bin/python \
	  | sed -n 's/^\(opentelemetry-[a-z0-9-]*\)==\([0-9.]*\).*/\1>=\2.dev0/p' >build/prerelease/opentelemetry.txt
	@$$($(FIND_UV)) pip install --quiet --python build/prerelease/bin/python --upgrade --requirements build/prerelease/opentelemetry.txt
	@$$($(FIND_UV)) pip freeze --python build/prerelease/bin/python | grep '^opentelemetry-[as][pd][ik]=='
	build/prerelease/bin/python -m pytest -n $(JOBS) tests/unit/telemetry tests/unit/causal_tag tests/integration/test_registry.py $(ARGS)

bench: $(VENV)/.test ## measure what a decorated call costs
	@for each in benchmarks/*.py; do echo "$(BIN)/python $$each"; $(BIN)/python $$each || exit; done

clean: ## remove the environments and everything generated (the built servers stay)
	rm -rf .venv .uv build dist demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests examples benchmarks grafana -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment ------------------------------------------------------------------------------------------
# $(VENV)/.base-PYTHON says that the environment is new and empty, $(VENV)/.GROUP that a dependency group is
# in it, at the versions of constraints.txt. Another interpreter, pyproject.toml or constraints.txt: a new one.

BASE := $(VENV)/.base-$(subst /,_,$(PYTHON))

# A uv that knows dependency groups: the one on PATH, or one of our own.
UV := $(CURDIR)/.uv/bin/uv
FIND_UV = if uv pip install --help 2>/dev/null | grep -q -e --group; then echo uv; else echo $(UV); fi

$(BASE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'pass' 2>/dev/null || { \
	  echo "deltaspan needs Python 3.10 or newer, and '$(PYTHON)' does not run: install it, or name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "deltaspan needs Python 3.10 or newer, and '$(PYTHON)' is $$($(PYTHON) -V 2>&1): name a newer one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@test "$$($(FIND_UV))" = uv || test -x $(UV) || { $(PYTHON) -m venv --clear .uv && .uv/bin/pip install --quiet --disable-pip-version-check 'uv>=0.8,<1'; } || { \
	  rm -rf .uv; \
	  echo "uv could not be installed into .uv: if 'python3 -m venv' failed above, install it (Debian, Ubuntu: apt-get install python3-venv)" >&2; \
	  echo "if the download failed, install uv by hand and put it on PATH" >&2; exit 1; }
	@rm -rf $(VENV)
	@$$($(FIND_UV)) venv --quiet --no-python-downloads --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV)
	@echo $(PYTHON) >$(VENV)/.interpreter
	@touch $@

$(VENV)/.demo $(VENV)/.test $(VENV)/.deploy $(VENV)/.e2e $(VENV)/.services $(VENV)/.frameworks $(VENV)/.lint $(VENV)/.types: $(VENV)/.%: $(BASE)
	@echo "installing the '$*' dependencies into $(VENV)"
	@$$($(FIND_UV)) pip install --quiet --python $(BIN)/python \
	  --constraints constraints.txt --build-constraints constraints.txt --group $* --editable .
	@touch $@

# The versions ---------------------------------------------------------------------------------------------
# UPGRADE=--upgrade takes the newest ones; without it only what pyproject.toml demands changes.

GROUPS = $(shell awk '/^\[/{on = $$0 == "[dependency-groups]"} on && /^[a-z0-9-]+ = \[/{print "--group", $$1}' pyproject.toml)

constraints: $(BASE) ## write constraints.txt anew (UPGRADE=--upgrade for the newest versions)
	@cp constraints.txt $(VENV)/constraints.new
	@printf 'hatchling\n' | $$($(FIND_UV)) pip compile --quiet --universal --python-version 3.10 --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --no-emit-package deltaspan \
	  --all-extras $(GROUPS) $(UPGRADE) --output-file $(VENV)/constraints.new pyproject.toml -
	@! grep -n '://' $(VENV)/constraints.new
	@{ sed '/^[^#]/,$$d' constraints.txt; cat $(VENV)/constraints.new; } >constraints.tmp
	@mv constraints.tmp constraints.txt
