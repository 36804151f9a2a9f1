#!/bin/sh
# Installs the GraphQL library of Neo4j that tests/compat/test_graphql_library.py tries against the
# Bolt server. Run it once; the test is skipped without it. It needs Node.js and npm.
#
#   sh scripts/graphql.sh [FOLDER] && .venv/bin/python -m pytest tests/compat/test_graphql_library.py
#
# FOLDER: where to install, .venv/compat/graphql by default; for another one, set
# DOXA_COMPAT to the folder that holds graphql/ when running the test.
set -eu
cd "$(dirname "$0")/.."
FOLDER=${1:-.venv/compat/graphql}
mkdir -p "$FOLDER"
npm install --silent --no-audit --no-fund --prefix "$FOLDER" \
  "@neo4j/graphql@^7" "neo4j-driver@^5" "graphql@^16"
