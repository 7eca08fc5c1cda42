# SPDX-License-Identifier: Apache-2.0
#
# npm install of packages from tarballs and directories, without a registry.
. "${BASH_SOURCE%/*}/lib.sh"
need node npm

package() {
  mkdir -p "packages/$1/lib"
  cat >"packages/$1/package.json" <<JSON
{"name": "$1", "version": "1.0.0", "main": "lib/index.js", "bin": {"$1": "lib/cli.js"},
 "dependencies": {$2}}
JSON
  printf 'module.exports = "%s";\n' "$1" >"packages/$1/lib/index.js"
  printf '#!/usr/bin/env node\nconsole.log("%s");\n' "$1" >"packages/$1/lib/cli.js"
  for i in $(seq 30); do echo "exports.x = $i;" >"packages/$1/lib/part$i.js"; done
}

npm_quiet() {
  npm --offline --no-audit --no-fund --no-update-notifier --loglevel=error \
    --cache "$TMPDIR/npm" "$@"
}

seed() {
  for name in alpha beta gamma; do package "$name" ""; done
  mkdir tarballs
  (cd tarballs && npm_quiet pack ../packages/alpha ../packages/beta >/dev/null)
  cat >package.json <<'JSON'
{"name": "top", "version": "1.0.0", "dependencies": {
  "alpha": "file:tarballs/alpha-1.0.0.tgz", "beta": "file:tarballs/beta-1.0.0.tgz",
  "gamma": "file:packages/gamma"}}
JSON
}

check() {
  npm_quiet install
  expect "alpha beta gamma" \
    "$(node -p '[require("alpha"), require("beta"), require("gamma")].join(" ")')" "modules"
  for name in alpha beta gamma; do
    expect "$name" "$("node_modules/.bin/$name")" "the program of $name"
  done
  [ -L node_modules/gamma ] || fail "gamma is no link"
  npm_quiet ls >/dev/null
  npm_quiet uninstall alpha
  [ ! -e node_modules/alpha ] || fail "alpha is still there"
  npm_quiet ci
  expect beta "$(node -p 'require("beta")')" "module after npm ci"
}

"$1"
