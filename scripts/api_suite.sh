#!/bin/sh
# Installs what the API is tested with beyond the tests' own requirements, pinned: Schemathesis and a validator of OpenAPI in an
# environment of their own, and the generator of TypeScript types with its compiler. About 170 MB. Run it once; the tests that need
# them say so and are skipped without it.
#
#   sh scripts/api_suite.sh && .venv/bin/python -m pytest tests/http/test_api_suite.py
#
# It goes to $DOXA_CACHE/api-suite, or ~/.cache/doxa-tests/api-suite. PYTHON names the interpreter. DOXA_API_EXAMPLES=50 runs
# Schemathesis in full with so many examples for each operation (minutes, not seconds).
set -eu
FOLDER=${DOXA_CACHE:-$HOME/.cache/doxa-tests}/api-suite

mkdir -p "$FOLDER"
cd "$FOLDER"
[ -x venv/bin/python ] || "${PYTHON:-python3}" -m venv venv
venv/bin/python -m pip --disable-pip-version-check -q install "schemathesis==4.32.5" "openapi-spec-validator==0.9.0"
venv/bin/schemathesis --version
command -v npm >/dev/null 2>&1 || { echo "There is no npm here: install Node.js for the client in TypeScript." >&2; exit 1; }
[ -f package.json ] || printf '{"name": "api-suite", "version": "0.0.0", "private": true, "type": "module"}\n' >package.json
npm install --no-audit --no-fund --save-exact --loglevel error openapi-typescript@7.13.0 typescript@5.9.3
node_modules/.bin/tsc --version
