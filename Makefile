# `make` lists what there is. Everything runs in .venv, which the first target that needs it creates.
# Settings: PYTHON=… (3.11 to 3.14), CXX=…, EXTRAS=… (see pyproject.toml), JOBS=… (parallel tests), ARGS=… (to the tool).

VENV   := .venv
BIN    := $(VENV)/bin
PY     := $(BIN)/python
EXTRAS ?= dev,chess,gym,openspiel,pettingzoo,torch,onnx,selfplay,train,arena,postgres,web,sweep,cluster,docs
JOBS   ?= 3
ARGS   ?=

# Without bytecode of packages: most of it would never be read, and Python writes what it needs.
PIP    := $(PY) -m pip --disable-pip-version-check install --quiet --no-compile -c constraints.txt

CORE_SOURCES := CMakeLists.txt $(shell find cpp -type f)
INSTALLED    := $(VENV)/.installed

# Tests start many processes, and each of them and every worker of pytest would compile the same files again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo package wheel test test-browser test-slow lint docs format signature bench fuzz uci-match stub sanitize sanitize-threads check-arm64 install build-tools core dependencies clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## install, then train Hex 5x5 from nothing, rate it, and write a report: four minutes
	@$(BIN)/ramify demo $(ARGS)

test: $(INSTALLED) ## every test but the slow ones and the long ones in a browser
	$(PY) -m pytest -n $(JOBS) --dist worksteal -m "not slow and not browser" $(ARGS)

test-browser: $(INSTALLED) ## the long tests of the web interface, in Chromium
	$(PY) -m pytest -n 2 -m browser tests/dashboard $(ARGS)

test-slow: $(INSTALLED) ## the long proofs
	$(PY) -m pytest -n $(JOBS) -m slow $(ARGS)

package: $(INSTALLED) ## source distribution and wheel in dist/, checked, and tried in an empty environment
	@$(PY) -m tools.requirements package >$(VENV)/package.txt && $(PIP) -r $(VENV)/package.txt
	rm -rf dist
	$(PY) -m build --no-isolation
	$(PY) -m twine check --strict dist/*
	$(PY) -m tools.try_wheel dist/*.whl

wheel: $(INSTALLED) ## the wheel alone, of what is compiled already, tried in an empty environment
	rm -rf build/wheel
	$(PY) -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation \
	  -C cmake.define.RAMIFY_WERROR=ON -w build/wheel .
	$(PY) -m tools.try_wheel build/wheel/*.whl

lint: $(INSTALLED) ## formatting, style, types, layers, vocabulary, stub
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2 || { [ $$? = 2 ] && $(BIN)/mypy; } # 2: on a busy machine its workers may not start in time
	$(PY) -m tools.layers
	$(PY) -m tools.vocabulary
	$(PY) -m tools.stub --check

docs: $(INSTALLED) ## the documentation site, into build/site; every link, anchor and word is checked
	$(BIN)/codespell *.md docs examples src tools
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict # not --quiet: it would hide warnings from --strict too

format: $(INSTALLED) ## rewrite Python files in the project's format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

signature: $(INSTALLED) ## what the search finds in a fixed set of searches, as one short number
	@$(PY) -m tools.signature $(ARGS)

bench: $(INSTALLED) ## every benchmark, in one table
	$(PY) -m benchmarks $(ARGS)

fuzz: $(INSTALLED) ## random inputs, files, programs and kills, half a minute of each kind
	$(PY) -m tools.fuzz $(ARGS)

uci-match: $(INSTALLED) ## 200 games against a UCI engine with a clock: make uci-match ARGS=stockfish
	$(PY) -m tools.uci_match $(ARGS)

stub: $(INSTALLED) ## regenerate src/ramify/_core.pyi after a change in cpp/bind
	$(PY) -m tools.stub

sanitize: $(INSTALLED) ## tests of the core under AddressSanitizer and UBSan
	tools/sanitize.sh address $(PY) $(ARGS)

sanitize-threads: $(INSTALLED) ## tests of the core under ThreadSanitizer
	tools/sanitize.sh thread $(PY) $(ARGS)

check-arm64: $(INSTALLED) ## compile the core for arm64, for syntax only
	tools/check_arm64.sh $(PY)

install: $(INSTALLED) ## only set up .venv and build the core

clean: ## remove what was built; .venv stays, its next use rebuilds the core
	rm -rf build dist src/ramify/_core*.so $(INSTALLED)
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@python=$$(PYTHON="$(PYTHON)" tools/preflight.sh) && echo "creating $(VENV) with $$python" && $$python -m venv $(VENV)

# An editable install does not rebuild C++ by itself: any change under cpp/ comes through here. Build tools live in the
# environment and the build folder is kept, so that only what changed is compiled. Dependencies are looked at again
# only when one of the files that name them has changed; the core is compiled while they are installed.
$(INSTALLED): $(CORE_SOURCES) pyproject.toml constraints.txt | $(PY)
	@$(if $(filter pyproject.toml constraints.txt,$?),$(MAKE) --no-print-directory build-tools)
	@$(MAKE) --no-print-directory -j 2 core $(if $(filter pyproject.toml constraints.txt,$?),dependencies)
	@touch $@

build-tools: | $(PY)
	@echo "installing what the project needs (minutes the first time)"
	@$(PY) -m tools.requirements --build >$(VENV)/build-tools.txt && $(PIP) -r $(VENV)/build-tools.txt

core: | $(PY)
	@echo "building the core"
	@$(PIP) --no-build-isolation --no-deps -C cmake.define.RAMIFY_WERROR=ON -e .

dependencies: | $(PY)
	@$(PY) -m tools.requirements $(EXTRAS) >$(VENV)/requirements.txt && $(PIP) -r $(VENV)/requirements.txt
