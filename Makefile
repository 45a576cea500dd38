# Needs Python >= 3.11 and a package registry; everything else comes from the lock.
PYTHON ?= python3
BIN := .venv/bin
CORES ?= all
MINUTES ?= 0
# Tests that are quick, and those that are slow. Processes share the cores already, and more threads for products would
# wait for each other. Hundreds of processes import the suite: its bytecode is kept, also where the environment says not to.
USUAL := not cluster and not gpu and not explore
TOGETHER := --numprocesses auto --maxprocesses 4
PYTEST := OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest $(TOGETHER)
# Processors that `make test-kernels` takes the place of, and the rooms whose tests it runs: those that compute.
KERNELS ?= generic
ROOMS ?= $(addprefix tests/,problems base algorithms privacy results claims)

.PHONY: env quick test test-slow test-kernels explore test-cluster test-gpu coverage check docs findings pictures lock schema vendor clean
.DELETE_ON_ERROR:

env: .venv/installed

.venv/installed: envs/lock.txt pyproject.toml cuda/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("admmbench needs Python >= 3.11, but $(PYTHON) is " + sys.version.split()[0] + "; set PYTHON=...") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement envs/lock.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable ./cuda
	touch $@

quick: env
	PATH="$(CURDIR)/$(BIN):$$PATH" admmbench study config/quick.yaml --cores $(CORES)
	@echo "Report: results/report/quick/index.html"

test: env
	$(PYTEST) -m "not slow and $(USUAL)"

# The same with the code that OpenBLAS and numba choose on other processors: `make test-kernels KERNELS="generic Haswell SkylakeX" ROOMS=tests`
# runs all tests under all of them that this processor can run, and prints what it left out.
test-kernels: env
	OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests.kernels $(KERNELS) -- \
	    $(TOGETHER) -m "not slow and $(USUAL)" $(ROOMS)

# Those that run whole studies, all methods and data sets, all kept results or long solves, or kill a run again and again.
test-slow: env
	$(PYTEST) -m "slow and $(USUAL)"

# Thousands of invented studies, and property tests with fresh examples, ten times as many; again and again for MINUTES, until one fails.
explore: env
	end=$$(($$(date +%s) + 60 * $(MINUTES))); \
	while OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m "(hypothesis or explore) and not cluster and not gpu" --hypothesis-profile explore \
	    --numprocesses auto --maxprocesses 4; do \
	  [ $$(date +%s) -lt $$end ] || exit 0; \
	done; exit 1

# On a Slurm of one node, which it starts and ends: needs root and Debian's packages slurm-wlm and munge.
test-cluster: env
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -m cluster tests/cluster

# With a GPU, and the packages that compute on it.
test-gpu: env
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ./cuda
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -m gpu tests/device

# Which lines no test reaches; commands that tests start are followed as well.
coverage: env
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m "not cluster and not gpu and not explore" --numprocesses auto --maxprocesses 4 --cov --cov-report term

# What continuous integration runs besides the tests.
check: env
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 src  # text is in UTF-8 whatever the locale is
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@# Names that tests import, which mypy does not check.
	collected=$$($(BIN)/python -m pytest -qqq --collect-only) || { echo "$$collected"; exit 1; }
	$(BIN)/codespell
	$(BIN)/python -m tests.language
	$(BIN)/python -m numpydoc lint $$(git ls-files 'src/*.py' 'cuda/*.py')
	$(BIN)/snakefmt --check Snakefile workflow src/admmbench/scaffold
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --lint
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --lint --snakefile workflow/Snakefile

# The site, from nothing and without a network; a warning is an error.
docs: env
	rm -rf docs/_build docs/jupyter_execute docs/reference/generated
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --builder html docs docs/_build
	@echo "Site: docs/_build/index.html"

# docs/findings.md and the results in README.md, from templates and kept results.
findings: env
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/findings/generate.py

# Pictures of the pipeline, of a round and of a total, in docs/figures.
pictures: env
	$(BIN)/python docs/pictures.py

# Renew the lock from pyproject.toml (needs uv).
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-strip-extras --group dev --group docs \
	    --extra cluster --extra parquet --output-file envs/lock.txt pyproject.toml

schema: env
	$(BIN)/python -m admmbench schema --output workflow/schemas

# The library that the report draws with, from vendor/ (needs Node and npm).
vendor:
	cd vendor && npm ci --ignore-scripts --no-audit --no-fund && npm run build

clean:
	rm -rf .venv vendor/node_modules docs/_build docs/jupyter_execute docs/reference/generated results/*/ resources .snakemake
