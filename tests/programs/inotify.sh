# SPDX-License-Identifier: Apache-2.0
#
# inotifywait sees what happens on the tree, in order.
. "${BASH_SOURCE%/*}/lib.sh"
need inotifywait

seed() {
  mkdir watched
  echo base >watched/base
  echo gone >watched/gone
}

check() {
  local log=$TMPDIR/log ready=$TMPDIR/ready
  mkfifo "$ready"
  inotifywait -m -e create,modify,moved_from,moved_to,delete,attrib,close_write \
    --format '%e %f' watched >"$log" 2>"$ready" &
  local watcher=$!
  sed '/Watches established/q' "$ready" >/dev/null
  echo more >>watched/base
  echo new >watched/new
  mv watched/new watched/newer
  chmod 0600 watched/base
  rm watched/gone
  mkdir watched/last
  until grep -q last "$log"; do sleep 0.05; done
  kill "$watcher"
  wait "$watcher" || true
  diff "$log" - <<'EVENTS' || fail "other events than those of Linux"
MODIFY base
CLOSE_WRITE,CLOSE base
CREATE new
MODIFY new
CLOSE_WRITE,CLOSE new
MOVED_FROM new
MOVED_TO newer
ATTRIB base
DELETE gone
CREATE,ISDIR last
EVENTS
}

"$1"
