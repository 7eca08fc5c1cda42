# SPDX-License-Identifier: Apache-2.0
#
# PostgreSQL: initdb, a short pgbench, an immediate stop and the recovery from the log, checksums
# checked at the end. It refuses to run as root, and becomes nobody then.
. "${BASH_SOURCE%/*}/lib.sh"
need setpriv
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$bin" ] || { echo "skipped: there is no PostgreSQL server"; exit 77; }

seed() {
  mkdir -m 0700 db
  [ "$(id -u)" != 0 ] || chown nobody db
}

start() { "$bin/pg_ctl" -D db -l db/log -w -t 30 -o "-c listen_addresses= -k $PWD/db" start; }
query() { "$bin/psql" -h "$PWD/db" -d postgres -XAtc "$1"; }

check_as_user() {
  "$bin/initdb" -D db --data-checksums -U "$(id -un)" -A trust >/dev/null
  start >/dev/null
  "$bin/pgbench" -h "$PWD/db" -i -s 1 -q postgres >/dev/null 2>&1
  "$bin/pgbench" -h "$PWD/db" -c 4 -j 2 -T 3 postgres >"$TMPDIR/pgbench" 2>&1 ||
    fail "pgbench: $(cat "$TMPDIR/pgbench")"
  local history
  history=$(query 'SELECT count(*) FROM pgbench_history')
  [ "$history" -gt 0 ] || fail "pgbench did nothing"
  "$bin/pg_ctl" -D db -m immediate stop >/dev/null
  start >/dev/null
  expect "$history" "$(query 'SELECT count(*) FROM pgbench_history')" "transactions after recovery"
  expect "$(query 'SELECT sum(tbalance) FROM pgbench_tellers')" \
    "$(query 'SELECT sum(delta) FROM pgbench_history')" "balance"
  "$bin/pg_ctl" -D db -m fast stop >/dev/null
  "$bin/pg_checksums" -D db --check >/dev/null
}

check() {
  if [ "$(id -u)" = 0 ]; then
    chown nobody "$TMPDIR"
    setpriv --reuid nobody --regid nogroup --clear-groups bash "${BASH_SOURCE[0]}" check_as_user
  else
    check_as_user
  fi
}

"$1"
