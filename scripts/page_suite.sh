#!/bin/sh
# Installs what the page is tested with beyond the tests' own requirements, pinned: Playwright for Python in an environment of its
# own, axe-core, and, where there is no Chromium, Playwright's (on Debian: apt-get install chromium). Run it once; the tests that
# need them say so and are skipped without it.
#
#   sh scripts/page_suite.sh && .venv/bin/python -m pytest tests/page
#
# It goes to $DOXA_CACHE/page-suite, or ~/.cache/doxa-tests/page-suite. PYTHON names the interpreter of that environment.
set -eu
FOLDER=${DOXA_CACHE:-$HOME/.cache/doxa-tests}/page-suite

command -v npm >/dev/null 2>&1 || { echo "There is no npm here: install Node.js." >&2; exit 1; }
mkdir -p "$FOLDER"
cd "$FOLDER"
[ -x venv/bin/python ] || "${PYTHON:-python3}" -m venv venv
venv/bin/python -m pip --disable-pip-version-check -q install "playwright==1.65.2"
[ -f package.json ] || printf '{"name": "page-suite", "version": "0.0.0", "private": true}\n' >package.json
npm install --no-audit --no-fund --save-exact --loglevel error axe-core@4.14.1
command -v chromium >/dev/null 2>&1 || PLAYWRIGHT_BROWSERS_PATH="$FOLDER/browsers" venv/bin/playwright install chromium
venv/bin/playwright --version
