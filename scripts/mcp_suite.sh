#!/bin/sh
# Installs the official conformance suite of MCP and the inspector where tests/servers looks for them, pinned, with a Node that is
# new enough for the inspector. Run it once; the tests that need them say so and are skipped without it.
#
#   sh scripts/mcp_suite.sh [FOLDER] && .venv/bin/python -m pytest tests/servers/test_mcp_conformance.py
#
# FOLDER: .venv/mcp-suite by default; for another one, set DOXA_MCP_SUITE to it when running the tests.
set -eu
cd "$(dirname "$0")/.."
FOLDER=${1:-.venv/mcp-suite}

if ! command -v npm >/dev/null 2>&1; then
  echo "There is no npm here: install Node.js." >&2
  exit 1
fi
mkdir -p "$FOLDER"
cd "$FOLDER"
[ -f package.json ] || printf '{"name": "mcp-suite", "version": "0.0.0", "private": true}\n' >package.json
npm install --no-audit --no-fund --save-exact --loglevel error \
  @modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0 node@22.23.3
node_modules/node/bin/node --version
