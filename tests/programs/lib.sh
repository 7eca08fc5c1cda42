# SPDX-License-Identifier: Apache-2.0
#
# For the scripts beside it: each defines seed and check, and ends with `"$1"`.
set -euo pipefail

fail() {
  echo "$*" >&2
  exit 1
}

# The test cannot run without these programs.
need() {
  local program
  for program; do
    command -v "$program" >/dev/null || { echo "skipped: there is no $program"; exit 77; }
  done
}

# expect WANTED GOT WHAT
expect() {
  [ "$1" = "$2" ] || fail "$3: wanted '$1', got '$2'"
}

# Fails if the command succeeds.
refused() {
  if "$@" 2>/dev/null; then fail "should have failed: $*"; fi
}

seed() { :; }
