#!/usr/bin/env bash
# Asks the official tool whether the MCPB bundle's manifest is valid. Needs npm and its registry; the
# tool is installed into a cache folder, at a pinned version.
set -euo pipefail
cd "$(dirname "$0")/.."
version=2.1.2
folder=${DOXA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/doxa-tests}/mcpb-$version
mkdir -p "$folder"
test -x "$folder/node_modules/.bin/mcpb" || npm install --silent --no-audit --no-fund --prefix "$folder" "@anthropic-ai/mcpb@$version"
"$folder/node_modules/.bin/mcpb" validate packaging/mcpb/manifest.json
