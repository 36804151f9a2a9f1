#!/bin/sh
# Installs OpenTelemetry's SDK and exporter (the extra otel) where tests/servers/test_telemetry.py
# looks for them: into a folder of its own, so that the tests also run without the extra.
#
#   sh scripts/otel.sh && .venv/bin/python -m pytest tests/servers/test_telemetry.py
set -eu
cd "$(dirname "$0")/.."
FOLDER=${DOXA_CACHE:-$HOME/.cache/doxa-tests}/otel
VERSION=$("${PYTHON:-.venv/bin/python}" -c 'import importlib.metadata as m; print(m.version("opentelemetry-api"))')
"${PYTHON:-.venv/bin/python}" -m pip install --disable-pip-version-check -q --upgrade --target "$FOLDER" \
  "opentelemetry-sdk==$VERSION" "opentelemetry-exporter-otlp-proto-http==$VERSION"
echo "OpenTelemetry $VERSION is in $FOLDER"
