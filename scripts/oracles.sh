#!/bin/sh
# Installs the outside oracles that tests/compat compares answers with, in an environment of their own: a compliance suite for openCypher 9
# that speaks Bolt, and another Cypher engine for random queries. Run it once; the tests that need an oracle are skipped without it.
#
#   sh scripts/oracles.sh && .venv/bin/python -m pytest tests/compat/test_oracle_compliance.py tests/compat/test_oracle_ocg.py
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
ORACLES=.venv/oracles

if [ ! -x "$ORACLES/bin/python" ]; then
  "$PYTHON" -m venv "$ORACLES"
fi
"$ORACLES/bin/python" -m pip --disable-pip-version-check -q install "opencypher-compliance==1.0.1" "neo4j>=6,<7" "ocg==0.4.6"
