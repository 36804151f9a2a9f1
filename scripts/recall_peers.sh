#!/bin/sh
# Installs the memory and search libraries that `python -m bench libraries` runs next to doxa, in an environment of their own. One that cannot be
# installed is left out, and the benchmark says so. Any Python that doxa runs under will do.
#
#   sh scripts/recall_peers.sh && .venv/bin/python -m bench libraries --data FOLDER
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
PEERS=.venv/recall-peers

if [ ! -x "$PEERS/bin/python" ]; then
  "$PYTHON" -m venv "$PEERS"
fi
install() {
  "$PEERS/bin/python" -m pip --disable-pip-version-check -q install "$@" || echo "Left out: $*"
}
install "numpy>=2"
install "bm25s==0.3.16" "PyStemmer>=3"
install "sqlite-vec==0.1.9" "apsw==3.54.1.0"
install "chromadb==1.5.9"
install "mem0ai==2.2.1" "qdrant-client==1.20.0"
