#!/bin/sh
# Puts redis-server and redis-sentinel where tests/working looks for them, unless they are installed:
# unpacks Debian's packages into a folder, without installing them or starting a service. Run it
# once; the tests that need a server say so and are skipped without it.
#
#   sh scripts/redis.sh [FOLDER] && .venv/bin/python -m pytest tests/working
#
# FOLDER: .venv/redis by default; for another one, set DOXA_REDIS to it when running the tests.
set -eu
cd "$(dirname "$0")/.."
FOLDER=${1:-.venv/redis}

if command -v redis-server >/dev/null 2>&1; then
  echo "redis-server is installed: $(redis-server --version)"
  exit 0
fi
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-deb >/dev/null 2>&1; then
  echo "There is no apt-get here: install redis-server with the system's package manager." >&2
  exit 1
fi
mkdir -p "$FOLDER/packages"
FOLDER=$(cd "$FOLDER" && pwd)
cd "$FOLDER/packages"
libraries=$(apt-cache depends redis-tools | awk '/Depends: lib(atomic|jemalloc|lzf|lua|hiredis)/{print $2}')
apt-get -q download redis-tools redis-server redis-sentinel $libraries
for package in *.deb; do dpkg-deb -x "$package" "$FOLDER"; done
libraries=$(dirname "$(find "$FOLDER/usr/lib" -name 'libjemalloc.so*' | head -n 1)")
mkdir -p "$FOLDER/bin"
for name in redis-server redis-sentinel; do
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$libraries" "$FOLDER/usr/bin/$name" \
    >"$FOLDER/bin/$name"
  chmod 755 "$FOLDER/bin/$name"
done
"$FOLDER/bin/redis-server" --version
