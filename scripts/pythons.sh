#!/usr/bin/env bash
# Installs the wheel and the locked core into an environment of each Python from 3.11 to 3.14 that is
# on this machine (the path, pyenv, uv), runs the demonstration and some tests there, and says which
# were not found. FULL=1 installs the extras too and runs more tests. Environments are kept in a
# cache folder.
set -uo pipefail
cd "$(dirname "$0")/.."
unset PYTHONPATH  # the wheel is tried, not the checkout
cache=${DOXA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/doxa-tests}/pythons
dist=$(mktemp -d); trap 'rm -rf "$dist"' EXIT
main=${MAIN:-.venv/bin/python}
wheel=$("$main" scripts/release.py wheel "$dist") || exit 1
failed=0 tried=0

find_python() {
  local version=$1 found
  for found in "$(command -v "python$version")" "$HOME"/.pyenv/versions/"$version".*/bin/python \
               "$HOME"/.local/share/uv/python/cpython-"$version".*/bin/python; do
    test -x "$found" && "$found" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null \
      && { echo "$found"; return; }
  done
  return 1
}

for version in 3.11 3.12 3.13 3.14; do
  python=$(find_python "$version") || { echo "$version: skipped, there is none on this machine"; continue; }
  tried=$((tried + 1)) folder=$cache/$version
  made=$(cat requirements/test.txt <("$python" -VV) | cksum)
  if test "$(cat "$folder/made-from" 2>/dev/null)" != "$made"; then
    "$python" -m venv --clear "$folder" \
      && "$folder/bin/python" -m pip --disable-pip-version-check -q install --only-binary :all: --require-hashes -r requirements/test.txt \
      && echo "$made" > "$folder/made-from" \
      || { echo "$version: FAILED, the locked packages do not install"; failed=1; continue; }
  fi
  "$folder/bin/python" -m pip --disable-pip-version-check -q install --no-deps --no-index --force-reinstall "$wheel" \
    && (cd "$folder" && DOXA_CONFIG=/dev/null bin/doxa demo > demo.txt) \
    && "$folder/bin/python" -m pytest -q -p no:cacheprovider ${FULL:+-n auto} $(test -n "${FULL:-}" && echo tests || echo tests/settings tests/belief/test_revising.py tests/store/test_opening.py tests/cli/test_cli_start.py) > "$folder/tests.txt" 2>&1 \
    && echo "$version: passed ($("$python" -V))" \
    || { echo "$version: FAILED ($("$python" -V)), see $folder"; failed=1; }
done
test "$tried" -gt 0 || { echo "no Python from 3.11 was found"; exit 1; }
exit $failed
