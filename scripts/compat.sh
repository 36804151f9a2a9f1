#!/bin/sh
# Installs the outside clients that tests/compat tries against the Bolt server: object mappers and retrieval libraries in an environment of
# their own (they want other versions of the driver than the fast one), and the JavaScript driver. Run it once; the tests that need a
# client are skipped without it.
#
#   sh scripts/compat.sh && .venv/bin/python -m pytest tests/compat
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
CLIENTS=.venv/compat

if [ ! -x "$CLIENTS/python/bin/python" ]; then
  "$PYTHON" -m venv "$CLIENTS/python"
fi
"$CLIENTS/python/bin/python" -m pip --disable-pip-version-check -q install "neomodel>=7" "neo4j-graphrag>=1.21" "langchain-neo4j>=0.11"

if command -v npm >/dev/null 2>&1; then
  mkdir -p "$CLIENTS/javascript"
  npm install --silent --no-audit --no-fund --prefix "$CLIENTS/javascript" "neo4j-driver@^6"
else
  echo "There is no npm: the JavaScript driver is left out."
fi
