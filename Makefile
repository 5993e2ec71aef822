# The front door. Every target makes what it needs first, and says what it does.
# Settings, on the command line: PYTHON=python3.12 CXX=g++-13 JOBS=4 NATIVE=ON STORES=none
# EXTRAS="test lint"

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
JOBS ?= $(shell nproc)
NATIVE ?= OFF
WERROR ?= OFF
STORES ?= auto
EXTRAS ?=
ARGS ?=

VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export HEDDLE_NATIVE := $(NATIVE)
export HEDDLE_STORES := $(STORES)
ifneq ($(origin CXX),default)
export CXX
endif

ENVIRONMENT := .ci/environment.py pyproject.toml constraints.txt
CMAKE := cmake -G Ninja -S . -DHEDDLE_WERROR=$(WERROR) -DHEDDLE_NATIVE=$(NATIVE) \
  -DHEDDLE_STORES="$(STORES)"
CTEST := ctest --output-on-failure --no-tests=error -j $(JOBS)
CXX_FILES = $(shell find engine heddle_client -name '*.h' -o -name '*.cc')
# gcc's thread sanitizer needs addresses that are not randomised as widely as some kernels do.
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

export UBSAN_OPTIONS := print_stacktrace=1
export ASAN_OPTIONS := detect_stack_use_after_return=1
export TSAN_OPTIONS := halt_on_error=1:second_deadlock_stack=1

.PHONY: help setup train contest test test-slow test-full test-stages test-release test-address \
        test-thread test-python test-release-slow test-python-slow soak docs lint lint-format \
        lint-python lint-prose lint-headers lint-tidy format bench instructions memory clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready $(foreach extra,$(EXTRAS),$(VENV)/.ready-$(extra)) ## Make .venv and build the engine (EXTRAS="test lint")
	@:

$(VENV)/.ready: $(ENVIRONMENT)
	@$(PYTHON) .ci/environment.py

$(VENV)/.ready-%: $(ENVIRONMENT)
	@$(PYTHON) .ci/environment.py --extra $*

train: $(VENV)/.ready ## Train a policy for TPC-C on 48 virtual cores, compare it there and here (ARGS=…)
	@heddle train experiment=quick $(ARGS)

contest: $(VENV)/.ready-policy-gradient ## Let the search methods compete, or go on with it; hours (ARGS=…)
	@heddle train -m experiment=search_contest sweep=contest $(ARGS) && heddle lab searches sweep=contest

TEST_STAGES := test-release test-python
SLOW_STAGES := test-release-slow test-thread test-address test-python-slow
# What test-full sets: tests at ten times their length, and all workloads under the sanitizers, in
# build folders of their own.
FULL :=
LIMIT := $(if $(FULL),3600,300)
# What test-slow sets: the tests that take long, and only those.
SLOW :=

test: ## Run the tests of the engine and of Python, in less than 15 minutes; then a summary
	@$(MAKE) test-stages STAGES="$(TEST_STAGES)"

test-slow: ## Run what `make test` leaves out: slow tests, ASan, UBSan and TSan
	@$(MAKE) test-stages STAGES="$(SLOW_STAGES)"

test-full: export HEDDLE_TEST_SCALE ?= 10
test-full: ## Run all tests, ten times as long, and the longest; hours
	@$(MAKE) test-stages FULL=-full STAGES="test-release test-address test-thread test-python"

test-stages: $(VENV)/.ready-test
	@results=(); status=0; begin=$$SECONDS; \
	for stage in $(STAGES); do \
	  start=$$SECONDS; \
	  if $(MAKE) $$stage; then verdict=passed; else verdict=FAILED; status=1; fi; \
	  results+=("$$(printf '  %-17s %-7s %5d s' $$stage $$verdict $$((SECONDS - start)))"); \
	done; \
	printf '\n'; printf '%s\n' "$${results[@]}"; \
	printf '  %-17s %-7s %5d s\n' all "$$( ((status)) && echo FAILED || echo passed)" $$((SECONDS - begin)); \
	exit $$status

test-release-slow test-python-slow: test-%-slow:
	@$(MAKE) test-$* SLOW=slow

test-release: $(VENV)/.ready ## Run the engine's tests, on the engine as it is shipped
	@echo "== $@ $(SLOW)"
	@python -c "import engine" # brings the library that Python loads up to date: it is the one tested
	@$(CMAKE) -B build/release --log-level=WARNING -DHEDDLE_TEST_TIMEOUT=$(LIMIT) \
	  -DHEDDLE_TEST_SLOW=$(if $(FULL)$(SLOW),ON,OFF) \
	  -DHEDDLE_CORE="$$(ls -t $(CURDIR)/build/python/*/engine/libheddle_engine_core.a | head -n 1)"
	@cmake --build build/release
	@$(CTEST) --test-dir build/release $(if $(SLOW),-L $(SLOW))

test-address: $(VENV)/.ready ## Run the engine's tests under the address and undefined-behaviour sanitizers
	@echo "== $@"
	@$(CMAKE) -B build/address$(FULL) -DHEDDLE_SANITIZE=address,undefined \
	  -DHEDDLE_COVER_ALL=$(if $(FULL),ON,OFF) -DHEDDLE_TEST_TIMEOUT=$(LIMIT) --log-level=WARNING
	@cmake --build build/address$(FULL)
	@$(CTEST) --test-dir build/address$(FULL)

test-thread: $(VENV)/.ready ## Run the engine's tests under the thread sanitizer
	@echo "== $@"
	@$(CMAKE) -B build/thread$(FULL) -DHEDDLE_SANITIZE=thread \
	  -DHEDDLE_COVER_ALL=$(if $(FULL),ON,OFF) -DHEDDLE_TEST_TIMEOUT=$(LIMIT) --log-level=WARNING
	@cmake --build build/thread$(FULL)
	@$(FIXED_ADDRESSES) $(CTEST) --test-dir build/thread$(FULL)

# Half of the tests' time passes while they wait for a process or a clock: four of them at a time keep
# two cores busy.
WORKERS ?= $(shell echo $$(( $(JOBS) * 2 )))

# Tests start Python many times over. Each time it would compile all libraries anew where an installer
# left that out and the environment forbids to keep what was compiled, as containers' often do.
test-python: export PYTHONDONTWRITEBYTECODE :=
test-python: export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
test-python: $(VENV)/.ready-test ## Python tests (ARGS="-k name")
	@echo "== $@ $(SLOW)"
	@python -c "import engine" # rebuilds what has changed, outside any test's time-out
	@pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
	  $(if $(FULL),-m "",$(if $(SLOW),-m "slow and not full")) $(ARGS)

soak: $(VENV)/.ready-test ## Run the hours-long checks: consistency, bounded memory (ARGS="--seconds 10")
	@python -m tests.soak $(ARGS)

docs: $(VENV)/.ready-docs ## Build the documentation site into build/docs
	@python docs/site/build.py $(ARGS)

lint: lint-format lint-python lint-prose lint-headers lint-tidy ## Run every check of form

lint-format: $(VENV)/.ready-lint ## clang-format and ruff: layout
	@clang-format --dry-run --Werror $(CXX_FILES)
	@ruff format --check .

lint-python: $(VENV)/.ready-lint ## ruff and mypy
	@ruff check .
	@mypy

lint-prose: $(VENV)/.ready-lint ## Words per sentence of README.md and docs/ (ARGS=--all lists the pages)
	@python -m tests.docs.lint_prose $(ARGS)

lint-headers: $(VENV)/.ready-lint ## Each header by itself, without a warning
	@$(CMAKE) -B build/lint -DHEDDLE_WERROR=ON -DHEDDLE_BENCH=ON -DHEDDLE_GROUP_SOURCES=OFF \
	  --log-level=WARNING
	@cmake --build build/lint --target all_verify_interface_header_sets

# The sessions instantiate every workload under every protocol, so the headers are seen through them.
lint-tidy: lint-headers ## clang-tidy on the engine's sources and, through them, its headers
	@run-clang-tidy.py -quiet -j $(JOBS) -p build/lint \
	  '$(CURDIR)/(engine/(machine|storage|protocol|driver|workload)|build/lint/engine/sessions)/.*\.cc$$'

format: $(VENV)/.ready-lint ## Lay out every file as lint wants it
	@clang-format -i $(CXX_FILES)
	@ruff format .
	@ruff check --fix .

bench: $(VENV)/.ready ## Run the engine's micro-benchmarks (ARGS="--benchmark_filter=…")
	@$(CMAKE) -B build/bench -DHEDDLE_BENCH=ON -DHEDDLE_TESTS=OFF --log-level=WARNING
	@cmake --build build/bench
	@for bench in build/bench/bench/heddle_bench_*; do \
	  if [ -x "$$bench" ]; then echo "== $${bench##*/}"; "$$bench" $(ARGS) || exit; fi; \
	done

instructions: $(VENV)/.ready ## Count instructions per transaction with valgrind (ARGS="--only YCSB")
	@$(COUNT) engine/bench/counts.py instructions $(COUNTED) $(ARGS)

memory: $(VENV)/.ready ## Count cache and TLB misses per transaction with valgrind (ARGS="--only YCSB")
	@$(COUNT) engine/bench/counts.py memory $(COUNTED) $(ARGS)

# What is counted, and what builds it first.
COUNTED := build/bench/bench/heddle_run_workload
COUNT = command -v valgrind >/dev/null || { echo "this needs valgrind: sudo apt-get install valgrind"; exit 1; }; \
  $(CMAKE) -B build/bench -DHEDDLE_BENCH=ON -DHEDDLE_TESTS=OFF --log-level=WARNING && \
  cmake --build build/bench --target heddle_run_workload && python

clean: ## Remove the environment and everything built (keeps runs/)
	@rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
