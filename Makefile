# Everything a newcomer needs: `make demo` and `make test` set themselves up in .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
KERNELS := $(wildcard src/eigenlens/compiled/*.cpp src/eigenlens/compiled/*.hpp)

.PHONY: demo test check format bench clean

demo: $(VENV)/plot.stamp
	$(RUN) -m eigenlens.app.demo

test: $(VENV)/dev.stamp
	$(RUN) -m pytest -q

check: $(VENV)/dev.stamp
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports

format: $(VENV)/dev.stamp
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

bench: .venv-bench/bench.stamp
	.venv-bench/bin/python benchmarks/run.py

clean:
	rm -rf $(VENV) .venv-bench build report src/*.egg-info src/eigenlens/compiled/*.so

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade "pip>=24"

$(VENV)/plot.stamp: $(VENV)/bin/python pyproject.toml setup.py $(KERNELS)
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable ".[plot,app,tables]"
	touch $@

$(VENV)/dev.stamp: $(VENV)/bin/python pyproject.toml setup.py constraints.txt $(KERNELS)
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@ $(VENV)/plot.stamp

.venv-bench/bench.stamp: pyproject.toml setup.py benchmarks/requirements.txt $(KERNELS)
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade "pip>=24"
	.venv-bench/bin/python -m pip install --quiet --editable ".[all]" -r benchmarks/requirements.txt
	touch $@
