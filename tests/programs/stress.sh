# SPDX-License-Identifier: Apache-2.0
#
# stress-ng's filesystem stressors, all at once, each verifying what it does.
. "${BASH_SOURCE%/*}/lib.sh"
need stress-ng

stressors='access chdir chmod chown dentry dir dirdeep dirmany dup fallocate fcntl fiemap file-ioctl
  filename flock fpunch fstat getdent hdd iomix lease link locka lockf lockofd mknod open readahead
  rename revio seek sendfile symlink sync-file touch utime xattr'

check() {
  local name arguments=()
  for name in $stressors; do arguments+=("--$name" 1); done
  mkdir work
  stress-ng --temp-path "$PWD/work" --verify --oomable --no-rand-seed --hdd-bytes 8M \
    --fallocate-bytes 8M --iomix-bytes 8M --seek-size 8M --readahead-bytes 8M --revio-bytes 8M \
    --sync-file-bytes 8M --sendfile-size 1M --dirdeep-inodes 500 --dirdeep-dirs 2 \
    --timeout 8 "${arguments[@]}" >"$TMPDIR/log" 2>&1 || fail "$(grep -v dispatching "$TMPDIR/log")"
  expect "" "$(ls work)" "what is left"
}

"$1"
