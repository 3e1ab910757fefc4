# `make run` sets up and starts Moot; `make test` sets up and passes every test but those that drive
# every command-line agent there is, which `make test-agents` sets up and passes, and the long matrices, which
# `make test-long` does.
# Both need Python 3.11 or newer and make; the tests use Node and a Chromium where they are there.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.PHONY: run test test-agents test-agents-latest test-long check page bench lock rocketchat-app clean

run: .venv/run
	@echo "Starting Moot; Ctrl-C ends it."
	@$(BIN)/moot run $(ARGS)

# What failed beside others is tried once more alone: a small machine under load is slow, not wrong.
ALONE := --last-failed --last-failed-no-failures none

# Half as many again at a time as there are processors: most tests wait for programs. Each worker has a
# database and a browser of its own.
WORKERS = $$($(BIN)/python -c "import os; print(min((os.cpu_count() or 1) * 3 // 2, 8) or 1)")
test: .venv/dev .venv/node check
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=15 -m "not long" $(ARGS) || \
		$(BIN)/python -m pytest $(ALONE) $(ARGS)

test-agents: .venv/dev .venv/agents
	$(BIN)/python -m pytest tests/every_agent -n 3 --dist loadgroup --durations=15 -m "not long" $(ARGS) || \
		$(BIN)/python -m pytest tests/every_agent $(ALONE) $(ARGS)

# What is left of the matrices of which the two above run a sample.
test-long: .venv/dev .venv/node .venv/agents
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=15 -m long $(ARGS)
	$(BIN)/python -m pytest tests/every_agent -n 3 --dist loadgroup --durations=15 -m long $(ARGS)

# The newest releases instead, in a folder of their own; a table of what broke.
test-agents-latest: .venv/dev .venv/agents .venv/node
	$(BIN)/python -m tests.every_agent.latest $(ARGS)

check: .venv/dev .venv/page
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@if [ -d tests/page/node_modules ]; then npm --prefix tests/page run --silent check; else \
		echo "no npm here: the types and the form of the page's code are not checked"; [ -z "$$CI" ]; fi

# gateway/web/dist, which is served and committed, out of gateway/web/static. Needs Node.
page: .venv/page
	@npm --prefix tests/page run --silent bundle

bench: .venv/dev
	$(BIN)/python -m bench $(ARGS)

# Each stamp is renewed when what it was made from changes.
.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Moot needs Python 3.11 or newer; say where it is: make PYTHON=python3.12 run"; exit 1; }
	@echo "[1/3] A Python environment in .venv: a few seconds"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/run: .venv/python requirements/run.txt pyproject.toml
	@echo "[2/3] The libraries: about 110, 320 MB in .venv; a minute or two, once"
	@$(PIP) install --require-hashes -r requirements/run.txt
	@echo "[3/3] Moot itself: a few seconds"
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

.venv/dev: .venv/run requirements/dev.txt
	$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

# The real command-line agents and chat clients that the tests drive, in the project's own folders.
.venv/node: .venv/python tests/setup tests/agents/package-lock.json tests/clients/package-lock.json \
		tests/clients/discord/package-lock.json tests/clients/markup/package-lock.json \
		tests/clients/matrix/package-lock.json tests/clients/oidc/package-lock.json \
		tests/clients/rocketchat/package-lock.json apps/rocketchat/package-lock.json \
		tests/clients/mattermost/package-lock.json \
		tests/matrix/requirements.txt
	sh tests/setup
	@touch $@

# What bundles and checks the page's code: esbuild, TypeScript, Prettier, and CommonMark's own examples.
.venv/page: .venv/python tests/page/package-lock.json
	@if command -v npm >/dev/null; then \
		(cd tests/page && npm ci --prefer-offline --no-audit --no-fund --loglevel=error) && touch $@; fi

# 3 GB of command-line agents, in tests/every_agent.
.venv/agents: .venv/python tests/every_agent/setup tests/every_agent/package-lock.json \
		$(wildcard tests/every_agent/requirements/*.txt)
	sh tests/every_agent/setup
	@touch $@

# Needs uv; the lock files name no index.
lock:
	cd requirements && for group in run dev; do \
		uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
			--python-version 3.11 --custom-compile-command "make lock" ../pyproject.toml --group ../pyproject.toml:build \
			$$([ $$group = dev ] && echo --group ../pyproject.toml:dev) -o $$group.txt; done
	cd tests/every_agent/requirements && for agent in *.in; do \
		uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
			--python-version $$([ $$agent = vibe.in ] && echo 3.12 || echo 3.11) \
			--custom-compile-command "make lock" $$agent -o $${agent%.in}.txt; done
	cd tests/matrix && uv pip compile -q --universal --generate-hashes --no-emit-index-url \
		--no-emit-find-links --python-version 3.11 --custom-compile-command "make lock" \
		requirements.in -o requirements.txt

# apps/rocketchat/dist/moot.zip, which an administrator of a Rocket.Chat uploads. Needs Node.
rocketchat-app:
	sh apps/rocketchat/build

clean:
	rm -rf .venv apps/*/dist apps/*/node_modules tests/*/node_modules tests/clients/*/node_modules tests/every_agent/venvs tests/matrix/venv
