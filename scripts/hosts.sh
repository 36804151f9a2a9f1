#!/bin/sh
# Installs the agent hosts that tests/hosts runs doxa in, with a scripted model and without a network or key.
# Claude Code is proprietary and comes inside a package of the Python registry; the others come from npm, some 650 MB
# together. A host that cannot be installed is left out, and its tests say so.
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
install_from_npm() {  # program, package with version, what to run below node_modules
  if [ ! -x "$HOSTS/bin/$1" ]; then
    npm install --silent --no-audit --no-fund --prefix "$HOSTS/$1" "$2" \
      && ln -sf "$HOSTS/$1/node_modules/$3" "$HOSTS/bin/$1" \
      || echo "Left out: $1"
  fi
}
install_from_npm gemini "@google/gemini-cli@0.61.0" .bin/gemini
install_from_npm opencode "opencode-ai@1.18.33" .bin/opencode
install_from_npm copilot "@github/copilot@1.0.102" .bin/copilot
