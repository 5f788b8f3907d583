# Everything a newcomer needs: `make demo` and `make test` set themselves up in .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# Without compiled modules every start of Python would compile scikit-learn and its libraries again, which takes seconds.
unexport PYTHONDONTWRITEBYTECODE
KERNELS := $(shell find src/eigenlens/native/src -name "*.[ch]pp")

# Installed files are compiled when they are first imported, which is few of them.
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
# One test process per processor, each with one thread.
TESTS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -q -n auto --dist worksteal

.PHONY: demo test test-gpu test-all campaigns sanitize docs search browser browser-tools web web-check check format bench clean

demo: $(VENV)/demo.stamp
	$(RUN) -m eigenlens.cli.commands.demo

test: $(VENV)/dev.stamp
	$(TESTS) -m "not long"

# On a machine with a GPU; those of its tests that need none are part of `make test`.
test-gpu: $(VENV)/dev.stamp
	@$(RUN) -c "import torch; assert torch.cuda.is_available()" 2>/dev/null \
		|| echo "*** No CUDA device was found (or no PyTorch), so nothing is tested on one. ***"
	$(RUN) -m pytest -q -rs tests/gpu

# The long campaigns too: minutes, not seconds.
test-all: $(VENV)/dev.stamp
	$(TESTS)

# Generated cases, each of which has to end well; `python -m campaigns` takes a seed and a number of cases.
campaigns: $(VENV)/dev.stamp
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN) -m campaigns --show

# The kernels built so that every access to memory is checked, called with arrays of all kinds: needs GCC, and minutes to build.
CHECKED := -fsanitize=address,undefined
GCC_LIBRARY = $$(gcc -print-file-name=$(1))
sanitize: $(VENV)/dev.stamp
	CXXFLAGS="$(CHECKED) -fno-sanitize-recover=undefined" LDFLAGS="$(CHECKED)" \
		$(RUN) setup.py --quiet build --build-base build/sanitize --build-lib build/sanitize/lib
	LD_PRELOAD="$(call GCC_LIBRARY,libasan.so) $(call GCC_LIBRARY,libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONPATH=build/sanitize/lib $(RUN) -m campaigns.kernels 10000

# The report in a real browser: needs chromium, and says aloud where it is missing; so are node and npm, which bring axe-core.
browser: browser-tools $(if $(shell command -v npm),web/node_modules/.package-lock.json)
	$(RUN) -m pytest -q tests/browser

browser-tools: $(VENV)/dev.stamp
	$(RUN) requirements.py browser | $(PIP) --requirement /dev/stdin

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
# from elsewhere fail. All pages are written (-a), those that have not changed from what was read of them: Sphinx would
# lose their entries in the index of the search.
docs: $(VENV)/docs.stamp
	$(RUN) -m sphinx -q -a -W --keep-going -n -b html docs docs/build/html
	$(RUN) docs/check_links.py docs/build/html

# The search of the built pages in a real browser; it is skipped, and says so, where there is none.
search: browser-tools
	$(RUN) -m pytest -q tests/browser/test_search.py

bench: .venv-bench/bench.stamp
	.venv-bench/bin/python benchmarks/run.py

clean:
	rm -rf $(VENV) .venv-bench build docs/build docs/generated report src/*.egg-info src/eigenlens/native/*.so

# A pip that is there already installs pip in a third of the time that ensurepip takes.
$(VENV)/bin/python:
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $@ install --quiet --disable-pip-version-check --no-compile "pip>=24" || $@ -m ensurepip

# Kernels are compiled while pip installs libraries and the package, which finds them built.
$(VENV)/%.stamp: $(VENV)/bin/python pyproject.toml setup.py constraints.txt docs/constraints.txt $(KERNELS)
	$(MAKE) --no-print-directory --jobs=2 $(VENV)/kernels.built $(VENV)/$*.installed
	touch $@

$(VENV)/build.libraries: $(VENV)/bin/python pyproject.toml
	$(RUN) requirements.py --build | $(PIP) --requirement /dev/stdin
	touch $@

$(VENV)/kernels.built: $(VENV)/build.libraries setup.py $(KERNELS)
	$(RUN) setup.py --quiet build_ext --inplace
	touch $@

# The first import compiles libraries to byte code: better now, beside the kernels, than when the demo runs.
.PRECIOUS: $(VENV)/%.libraries $(VENV)/%.installed
$(VENV)/%.installed: $(VENV)/build.libraries $(VENV)/%.libraries setup.py
	EIGENLENS_BUILD_KERNELS=0 $(PIP) --no-build-isolation --no-deps --editable .
	$(RUN) -c "import eigenlens.cli.commands.demo, eigenlens.plot, eigenlens.reporting, matplotlib.pyplot"
	touch $@

EXTRAS_demo := plot app tables
EXTRAS_dev := dev
EXTRAS_docs := docs
$(VENV)/%.libraries: $(VENV)/bin/python pyproject.toml constraints.txt docs/constraints.txt
	$(RUN) requirements.py $(EXTRAS_$*) | $(PIP) $(if $(filter docs,$*),--constraint docs/constraints.txt) --requirement /dev/stdin
	touch $@

.venv-bench/bench.stamp: pyproject.toml setup.py benchmarks/requirements.txt $(KERNELS)
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade "pip>=24"
	.venv-bench/bin/python -m pip install --quiet --editable ".[all]" -r benchmarks/requirements.txt
	touch $@
