#!/bin/sh
# Installs the agent hosts that tests/hosts runs doxa in, with a scripted model and without a network or key.
# Claude Code is proprietary and comes inside a package of the Python registry; Codex comes from npm. A host that cannot be
# installed is left out, and its tests say so.
#
#   sh scripts/hosts.sh && .venv/bin/python -m pytest tests/hosts/test_real_hosts.py
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
HOSTS=${DOXA_TEST_HOSTS:-.venv/hosts}
mkdir -p "$HOSTS/bin"
HOSTS=$(cd "$HOSTS" && pwd)

if [ ! -x "$HOSTS/bin/claude" ]; then
  "$PYTHON" -m pip --disable-pip-version-check -q install --no-deps --target "$HOSTS/claude" "claude-agent-sdk==0.2.187" \
    && chmod +x "$HOSTS/claude/claude_agent_sdk/_bundled/claude" \
    && ln -sf "$HOSTS/claude/claude_agent_sdk/_bundled/claude" "$HOSTS/bin/claude" \
    || echo "Left out: Claude Code"
fi
if [ ! -x "$HOSTS/bin/codex" ]; then
  npm install --silent --prefix "$HOSTS/codex" "@openai/codex@0.169.0" \
    && ln -sf "$HOSTS/codex/node_modules/.bin/codex" "$HOSTS/bin/codex" \
    || echo "Left out: Codex"
fi
