# Everything a newcomer needs: `make demo` and `make test` set themselves up in .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
KERNELS := $(shell find src/eigenlens/native/src -name "*.[ch]pp")

.PHONY: demo test docs browser browser-tools web web-check check format bench clean

demo: $(VENV)/plot.stamp
	$(RUN) -m eigenlens.cli.commands.demo

test: $(VENV)/dev.stamp
	$(RUN) -m pytest -q

# The report in a real browser: needs chromium, and says aloud where it is missing.
browser: browser-tools
	$(RUN) -m pytest -q tests/browser

browser-tools: $(VENV)/dev.stamp
	$(RUN) -m pip install --quiet --constraint constraints.txt "playwright>=1.45,<2"

# The bundle of the report's page, from its TypeScript: needs node and npm. `web-check` compares it with what is committed.
web: web/node_modules/.package-lock.json
	cd web && npm run --silent build

web-check: web/node_modules/.package-lock.json
	cd web && npm run --silent check

web/node_modules/.package-lock.json: web/package-lock.json web/package.json
	cd web && npm ci --no-audit --no-fund --ignore-scripts
	touch $@

check: $(VENV)/dev.stamp
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports

format: $(VENV)/dev.stamp
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

# The pages, with every script of the gallery run (once, until it changes); warnings, dead links and anything loaded
# from elsewhere fail.
docs: $(VENV)/docs.stamp
	$(RUN) -m sphinx -q -W --keep-going -n -b html docs docs/build/html
	$(RUN) docs/check_links.py docs/build/html

bench: .venv-bench/bench.stamp
	.venv-bench/bin/python benchmarks/run.py

clean:
	rm -rf $(VENV) .venv-bench build docs/build docs/generated report src/*.egg-info src/eigenlens/native/*.so

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade "pip>=24"

$(VENV)/plot.stamp: $(VENV)/bin/python pyproject.toml setup.py $(KERNELS)
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable ".[plot,app,tables]"
	touch $@

$(VENV)/dev.stamp: $(VENV)/bin/python pyproject.toml setup.py constraints.txt $(KERNELS)
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@ $(VENV)/plot.stamp

$(VENV)/docs.stamp: $(VENV)/bin/python pyproject.toml setup.py constraints.txt docs/constraints.txt $(KERNELS)
	$(RUN) -m pip install --quiet --constraint constraints.txt --constraint docs/constraints.txt --editable ".[docs]"
	touch $@

.venv-bench/bench.stamp: pyproject.toml setup.py benchmarks/requirements.txt $(KERNELS)
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade "pip>=24"
	.venv-bench/bin/python -m pip install --quiet --editable ".[all]" -r benchmarks/requirements.txt
	touch $@
