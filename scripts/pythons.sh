#!/usr/bin/env bash
# Installs the wheel as a user would, at the locked versions, on each Python from 3.11 to 3.14 that is
# on this machine (the path, pyenv, uv, Debian), runs the demonstration there, and says which were not
# found. FULL=1 runs the tests too, with everything that they need; OTHERS=1 leaves out the version of the
# checkout's own environment. Environments are kept in a cache folder.
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
               /usr/bin/python"$version" "$HOME"/.local/share/uv/python/cpython-"$version".*/bin/python; do
    test -x "$found" && "$found" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null \
      && { echo "$found"; return; }
  done
  return 1
}

pins=$dist/pins.txt
grep == requirements/run.txt | sed 's/ \\$//' > "$pins"

# Install what belongs into an environment, unless it is there already.
prepare() {
  local python=$1 folder=$2 made
  made=$(cat "$3" <("$python" -VV) | cksum)
  test "$(cat "$folder/made-from" 2>/dev/null)" = "$made" && return
  "$python" -m venv --clear "$folder" || return 1
  if test -n "${FULL:-}"; then
    "$folder/bin/python" -m pip --disable-pip-version-check -q install --only-binary :all: --require-hashes -r "$3" || return 1
  fi
  echo "$made" > "$folder/made-from"
}

try() {
  local folder=$1
  if test -n "${FULL:-}"; then
    "$folder/bin/python" -m pip --disable-pip-version-check -q install --no-deps --no-index --force-reinstall "$wheel"
  else
    "$folder/bin/python" -m pip --disable-pip-version-check -q install --only-binary :all: -c "$pins" --force-reinstall --no-deps "$wheel" \
      && "$folder/bin/python" -m pip --disable-pip-version-check -q install --only-binary :all: -c "$pins" "$wheel"
  fi || return 1
  (cd "$folder" && DOXA_CONFIG=/dev/null bin/doxa demo > demo.txt) || return 1
  test -z "${FULL:-}" || "$folder/bin/python" -m pytest -q -p no:cacheprovider -n auto tests > "$folder/tests.txt" 2>&1
}

for version in 3.11 3.12 3.13 3.14; do
  python=$(find_python "$version") || { echo "$version: skipped, there is none on this machine"; continue; }
  tried=$((tried + 1))
  if test -n "${OTHERS:-}" && "$main" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$version')"; then
    echo "$version: left to \`make wheel\`, as the checkout's own"
    continue
  fi
  folder=$cache/$version${FULL:+-full}
  if prepare "$python" "$folder" "$(test -n "${FULL:-}" && echo requirements/test.txt || echo "$pins")" && try "$folder"; then
    echo "$version: passed ($("$python" -V))"
  else
    echo "$version: FAILED ($("$python" -V)), see $folder"
    failed=1
  fi
done
test "$tried" -gt 0 || { echo "no Python from 3.11 was found"; exit 1; }
exit $failed
