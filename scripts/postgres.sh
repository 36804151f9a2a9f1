#!/bin/sh
# Installs what the tests of a shared log in PostgreSQL need, where tests/replication looks for it:
# the driver psycopg, and the server unless it is installed. Nothing is started. Run it once; the
# tests say so and are skipped without it.
#
#   sh scripts/postgres.sh && .venv/bin/python -m pytest tests/replication
#
# It goes to $DOXA_CACHE/postgres, or ~/.cache/doxa-tests/postgres. PYTHON names the interpreter.
set -eu
folder=${DOXA_CACHE:-$HOME/.cache/doxa-tests}/postgres
python=${PYTHON:-$(dirname "$0")/../.venv/bin/python}
mkdir -p "$folder/packages"
if ! "$python" -c 'import psycopg, psycopg_pool' 2>/dev/null && [ ! -d "$folder/site/psycopg" ]; then
  "$python" -m pip install -q --target "$folder/site" 'psycopg[binary,pool]==3.3.9'
fi
if command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
  echo "PostgreSQL is installed; the driver is in $folder/site"
  exit 0
fi
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-deb >/dev/null 2>&1; then
  echo "There is no apt-get here: install PostgreSQL 14 or later with the system's package manager." >&2
  exit 1
fi
cd "$folder/packages"
version=$(apt-cache depends postgresql | sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1)
apt-get -q download "postgresql-$version" "postgresql-client-$version" libpq5 libllvm14 2>/dev/null ||
  apt-get -q download "postgresql-$version" "postgresql-client-$version" libpq5
for package in *.deb; do dpkg-deb -x "$package" "$folder"; done
"$folder/usr/lib/postgresql/$version/bin/postgres" --version
