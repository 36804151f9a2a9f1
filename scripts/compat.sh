#!/bin/sh
# Installs the outside clients that tests/compat tries against the Bolt server: object mappers and
# retrieval libraries, each in an environment of its own (they want different versions of the
# driver), and the JavaScript driver. Run it once; the tests that need a client are skipped without
# it.
#
#   sh scripts/compat.sh [FOLDER] && .venv/bin/python -m pytest tests/compat
#
# FOLDER: where to install, .venv/compat by default; for another one, set DOXA_COMPAT to it when
# running the tests.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
CLIENTS=${1:-.venv/compat}

environment() {
  name=$1
  shift
  [ -x "$CLIENTS/$name/bin/python" ] || "$PYTHON" -m venv "$CLIENTS/$name"
  "$CLIENTS/$name/bin/python" -m pip --disable-pip-version-check -q install "$@"
}

environment neomodel "neomodel>=7"
environment langchain "neo4j-graphrag>=1.21" "langchain-neo4j>=0.11"
environment graphiti "graphiti-core>=0.31" httpx
environment llamaindex "llama-index-graph-stores-neo4j>=0.8" "llama-index-vector-stores-neo4jvector>=0.7"

if command -v npm >/dev/null 2>&1; then
  mkdir -p "$CLIENTS/javascript"
  npm install --silent --no-audit --no-fund --prefix "$CLIENTS/javascript" "neo4j-driver@^6"
else
  echo "There is no npm: the JavaScript driver is left out."
fi
